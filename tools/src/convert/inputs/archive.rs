//! ZIP files with one file in them: finds the entry and reads it, with its length and checksum. Does not depend on the
//! contents of the entry.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::failure::Failure;

const MAGIC: [u8; 4] = *b"PK\x03\x04";
/// Entries of an archive that are looked at.
const ENTRIES_MAX: usize = 1_000;

/// The only file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    is_packed: bool,
    start: u64,
    packed_bytes: u64,
    bytes: u64,
    checksum: u32,
}

/// The only file in a ZIP file; `None` if `path` is no ZIP file.
pub fn only_entry(path: &Path) -> Result<Option<Entry>, Failure> {
    let file = File::open(path).map_err(Failure::io(path, "open"))?;
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Ok(None);
    }
    let mut head = Vec::new();
    (&file).take(MAGIC.len() as u64).read_to_end(&mut head).map_err(Failure::io(path, "read"))?;
    if head != MAGIC {
        return Ok(None);
    }
    let damaged =
        |error: &dyn std::fmt::Display| refusal(path, "an archive that can be read", error.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    if archive.len() > ENTRIES_MAX {
        return Err(refusal(path, "one file in it", format!("{} entries", archive.len())));
    }
    let mut found = None;
    let mut files = 0;
    for number in 0..archive.len() {
        let entry = archive.by_index_raw(number).map_err(|error| damaged(&error))?;
        let name = entry.name().map_err(|error| damaged(&error))?.into_owned();
        // Archives made on a Mac have these beside every file.
        if entry.is_dir() || name.starts_with("__MACOSX/") || name.ends_with(".DS_Store") {
            continue;
        }
        files += 1;
        let is_packed = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => return Err(refusal(path, "an entry that is stored or deflated", format!("{other}"))),
        };
        if entry.encrypted() {
            return Err(refusal(path, "an archive without a password", "an encrypted entry".into()));
        }
        found = Some(Entry {
            is_packed,
            start: entry.data_start().unwrap_or(0),
            packed_bytes: entry.compressed_size(),
            bytes: entry.size(),
            checksum: entry.crc32(),
            name,
        });
    }
    found
        .filter(|_| files == 1)
        .map(Some)
        .ok_or_else(|| refusal(path, "one file in it", format!("{files} files")))
}

impl Entry {
    /// The bytes of the entry, out of the file that `raw` wraps. The end is an error when length or checksum are others.
    pub fn open<R: Read + 'static>(
        &self,
        path: &Path,
        raw: impl FnOnce(File) -> R,
    ) -> Result<Box<dyn Read>, Failure> {
        let mut file = File::open(path).map_err(Failure::io(path, "open"))?;
        file.seek(SeekFrom::Start(self.start)).map_err(Failure::io(path, "read"))?;
        let packed = BufReader::new(raw(file)).take(self.packed_bytes);
        let plain: Box<dyn Read> =
            if self.is_packed { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        Ok(Box::new(Checked { plain, entry: self.clone(), sum: Crc::new(), bytes: 0 }))
    }
}

/// Compares length and checksum at the end.
struct Checked {
    plain: Box<dyn Read>,
    entry: Entry,
    sum: Crc,
    bytes: u64,
}

impl Read for Checked {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.plain.read(room)?;
        self.sum.update(room.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        let is_end = count == 0 && !room.is_empty();
        if self.bytes > self.entry.bytes
            || (is_end && (self.bytes, self.sum.sum()) != (self.entry.bytes, self.entry.checksum))
        {
            return Err(io::Error::other("another length or checksum than the archive says"));
        }
        Ok(count)
    }
}

fn refusal(path: &Path, expected: &str, found: String) -> Failure {
    Failure::refused(
        path.display().to_string(),
        "ZIP archive",
        expected,
        found,
        "unpack it, and name the files that belong to the dataset",
    )
}
