//! Outlines: what a reader needs of a store file to open it, as a small run of bytes. Not a part of the store format.
//!
//! ```text
//! magic 8 │ length of the store file 8 │ pieces 4 │ (offset 8, length 8) each │ bytes of the pieces │ XXH3 of all before 8
//! ```
//!
//! Inflated, an outline is a sparse file of the full length: [`Table::open`] shows its columns, rows and fingerprint, and
//! everything else reads as zeros. Whoever opens it must read no value. Does not depend on where outlines are kept.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::checksum::checksum;
use crate::error::{FormatError, Place, corrupt};
use crate::layout::{HEADER_SIZE, TRAILER_SIZE, u32_at, u64_at};
use crate::reader::Table;
use crate::section::SectionKind;

/// Bytes of an outline at most: names and records of the columns, and the directory.
pub const OUTLINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Length of a store file that an outline may claim, bytes.
pub const STORE_FILE_BYTES_MAX: u64 = 1 << 46;

const MAGIC: [u8; 8] = *b"MCOUTL\r\n";
/// Header, column records, names, directory and trailer.
const PIECES_MAX: usize = 5;
const PIECE_SIZE: usize = 16;
const HEAD_SIZE: usize = 20;
const CHECKSUM_SIZE: usize = 8;

impl Table {
    /// The outline of the file.
    ///
    /// # Errors
    /// [`FormatError::LimitExceeded`] above [`OUTLINE_BYTES_MAX`]; [`FormatError::LostPage`].
    pub fn outline(&self) -> Result<Vec<u8>, FormatError> {
        let file = self.file();
        let small = self.records.iter().filter(|record| record.kind <= SectionKind::Strings as u16);
        let mut pieces = vec![(0, HEADER_SIZE as u64)];
        pieces.extend(small.map(|record| (record.offset, record.len)));
        pieces.push((self.header.directory_offset, self.header.directory_size));
        pieces.push((self.header.file_size - TRAILER_SIZE as u64, TRAILER_SIZE as u64));
        let mut outline = MAGIC.to_vec();
        outline.extend_from_slice(&self.header.file_size.to_le_bytes());
        outline.extend_from_slice(&u32::try_from(pieces.len()).unwrap_or(u32::MAX).to_le_bytes());
        for (offset, len) in &pieces {
            outline.extend_from_slice(&offset.to_le_bytes());
            outline.extend_from_slice(&len.to_le_bytes());
        }
        for (offset, len) in pieces {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            // An open table lies within its file.
            outline.extend_from_slice(file.get(start..end).unwrap_or_default());
        }
        self.check_intact()?;
        let sum = checksum(&outline);
        outline.extend_from_slice(&sum.to_le_bytes());
        if outline.len() > OUTLINE_BYTES_MAX {
            return Err(FormatError::LimitExceeded {
                what: "bytes of the outline".into(),
                limit: OUTLINE_BYTES_MAX as u64,
                found: outline.len() as u64,
                remedy: "drop columns",
            });
        }
        Ok(outline)
    }
}

/// Writes an outline as a sparse file of the length of its store file, which it returns. The file must not exist; it is
/// synced and has mode 0444.
///
/// # Errors
/// [`FormatError::Corrupt`] for bytes that are no outline, and [`FormatError::Io`].
pub fn inflate(outline: &[u8], to: &Path) -> Result<u64, FormatError> {
    let (length, pieces) = decode(outline)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(to);
    let file = file.map_err(FormatError::io("create the outline"))?;
    file.set_len(length).map_err(FormatError::io("set the length of the outline"))?;
    for (offset, bytes) in pieces {
        file.write_all_at(bytes, offset).map_err(FormatError::io("write the outline"))?;
    }
    file.sync_all().map_err(FormatError::io("sync the outline"))?;
    Ok(length)
}

type Pieces<'a> = Vec<(u64, &'a [u8])>;

fn decode(outline: &[u8]) -> Result<(u64, Pieces<'_>), FormatError> {
    let refuse = |what, expected, found| Err(corrupt(Place::Outline, what, expected, found));
    let Some(end) = outline.len().checked_sub(CHECKSUM_SIZE).filter(|end| *end >= HEAD_SIZE) else {
        return refuse("length", (HEAD_SIZE + CHECKSUM_SIZE) as u64, outline.len() as u64);
    };
    let (body, sum) = outline.split_at(end);
    if outline.len() > OUTLINE_BYTES_MAX || !body.starts_with(&MAGIC) {
        return refuse("magic number and length", OUTLINE_BYTES_MAX as u64, outline.len() as u64);
    }
    let (expected, found) = (u64_at(sum, 0), checksum(body));
    if expected != found {
        return Err(FormatError::ChecksumMismatch { place: Place::Outline, offset: 0, expected, found });
    }
    let (length, count) = (u64_at(body, MAGIC.len()), u32_at(body, MAGIC.len() + 8) as usize);
    if length > STORE_FILE_BYTES_MAX {
        return refuse("length of the store file", STORE_FILE_BYTES_MAX, length);
    }
    if count > PIECES_MAX {
        return refuse("number of pieces", PIECES_MAX as u64, count as u64);
    }
    let mut position = HEAD_SIZE + count * PIECE_SIZE;
    let mut pieces = Vec::with_capacity(count);
    for piece in 0..count {
        let at = HEAD_SIZE + piece * PIECE_SIZE;
        let (offset, len) = (u64_at(body, at), u64_at(body, at + 8));
        let next = position.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        match body.get(position..next) {
            Some(bytes) if offset.checked_add(len).is_some_and(|end| end <= length) => {
                pieces.push((offset, bytes));
            }
            _ => return refuse("end of a piece", length, offset.saturating_add(len)),
        }
        position = next;
    }
    if position != body.len() {
        return refuse("length", position as u64, body.len() as u64);
    }
    Ok((length, pieces))
}
