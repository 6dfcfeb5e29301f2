//! The header and the trailer: offsets, encoding and checks. FORMAT.md chapters "Header" and "Trailer" are normative.

use crate::checksum::checksum;
use crate::error::{FormatError, Place, corrupt};

/// The first eight bytes: a byte above 127, a name, and line breaks that a text-mode transfer would change.
pub const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'O', b'L', 0x0D, 0x0A, 0x1A];
/// The first eight bytes of the trailer.
pub const TRAILER_MAGIC: [u8; 8] = [0x1A, 0x0A, 0x0D, b'L', b'O', b'C', b'M', 0x89];
/// Major version: a reader refuses any other.
pub const VERSION_MAJOR: u16 = 1;
/// Minor version of the writer: grows when optional sections are added.
pub const VERSION_MINOR: u16 = 0;
pub const HEADER_SIZE: usize = 4096;
pub const TRAILER_SIZE: usize = 64;
/// Every section starts at a multiple of this.
pub const SECTION_ALIGNMENT: u64 = 64;
/// The smallest possible file: header and trailer.
pub const FILE_SIZE_MIN: usize = HEADER_SIZE + TRAILER_SIZE;

const MAGIC_OFFSET: usize = 0;
const MAJOR_OFFSET: usize = MAGIC_OFFSET + 8;
const MINOR_OFFSET: usize = MAJOR_OFFSET + 2;
const FLAGS_OFFSET: usize = MINOR_OFFSET + 2;
const FILE_SIZE_OFFSET: usize = FLAGS_OFFSET + 4;
const ROW_COUNT_OFFSET: usize = FILE_SIZE_OFFSET + 8;
const COLUMN_COUNT_OFFSET: usize = ROW_COUNT_OFFSET + 8;
const SECTION_COUNT_OFFSET: usize = COLUMN_COUNT_OFFSET + 4;
const DIRECTORY_POSITION_OFFSET: usize = SECTION_COUNT_OFFSET + 4;
const DIRECTORY_SIZE_OFFSET: usize = DIRECTORY_POSITION_OFFSET + 8;
const DIRECTORY_CHECKSUM_OFFSET: usize = DIRECTORY_SIZE_OFFSET + 8;
const FINGERPRINT_OFFSET: usize = DIRECTORY_CHECKSUM_OFFSET + 8;
const WRITER_OFFSET: usize = FINGERPRINT_OFFSET + 16;
const WRITER_SIZE: usize = 32;
const HEADER_CHECKSUM_OFFSET: usize = HEADER_SIZE - 8;

const TRAILER_FILE_SIZE_OFFSET: usize = 8;
const TRAILER_DIRECTORY_OFFSET: usize = TRAILER_FILE_SIZE_OFFSET + 8;
const TRAILER_DIRECTORY_CHECKSUM_OFFSET: usize = TRAILER_DIRECTORY_OFFSET + 8;
const TRAILER_FINGERPRINT_OFFSET: usize = TRAILER_DIRECTORY_CHECKSUM_OFFSET + 8;
const TRAILER_CHECKSUM_OFFSET: usize = TRAILER_SIZE - 8;

const _: () = assert!(WRITER_OFFSET + WRITER_SIZE <= HEADER_CHECKSUM_OFFSET);
const _: () = assert!(TRAILER_FINGERPRINT_OFFSET + 16 <= TRAILER_CHECKSUM_OFFSET);

/// The fields of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Minor version of the first reader that knows all sections of the file.
    pub minor: u16,
    /// Length of the whole file in bytes.
    pub file_size: u64,
    /// Rows of the table.
    pub row_count: u64,
    /// Columns of the table.
    pub column_count: u32,
    /// Records of the directory.
    pub section_count: u32,
    /// Position of the directory.
    pub directory_offset: u64,
    /// Bytes of the directory.
    pub directory_size: u64,
    /// XXH3 of the directory.
    pub directory_checksum: u64,
    /// XXH3-128 of the directory, which contains every section's checksum.
    pub fingerprint: [u8; 16],
    /// Name and version of the program that wrote the file, at most 32 bytes.
    pub writer: String,
}

/// Reads `N` bytes at `offset`; `None` beyond the end.
pub(crate) fn take<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    take(bytes, offset).map_or(0, u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    take(bytes, offset).map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    take(bytes, offset).map_or(0, u64::from_le_bytes)
}

pub(crate) fn put(target: &mut [u8], offset: usize, bytes: &[u8]) {
    if let Some(slot) = target.get_mut(offset..offset + bytes.len()) {
        slot.copy_from_slice(bytes);
    }
}

impl Header {
    /// Encodes the 4,096 bytes of the header.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0u8; HEADER_SIZE];
        put(&mut out, MAGIC_OFFSET, &MAGIC);
        put(&mut out, MAJOR_OFFSET, &VERSION_MAJOR.to_le_bytes());
        put(&mut out, MINOR_OFFSET, &self.minor.to_le_bytes());
        put(&mut out, FILE_SIZE_OFFSET, &self.file_size.to_le_bytes());
        put(&mut out, ROW_COUNT_OFFSET, &self.row_count.to_le_bytes());
        put(&mut out, COLUMN_COUNT_OFFSET, &self.column_count.to_le_bytes());
        put(&mut out, SECTION_COUNT_OFFSET, &self.section_count.to_le_bytes());
        put(&mut out, DIRECTORY_POSITION_OFFSET, &self.directory_offset.to_le_bytes());
        put(&mut out, DIRECTORY_SIZE_OFFSET, &self.directory_size.to_le_bytes());
        put(&mut out, DIRECTORY_CHECKSUM_OFFSET, &self.directory_checksum.to_le_bytes());
        put(&mut out, FINGERPRINT_OFFSET, &self.fingerprint);
        let writer = self.writer.as_bytes();
        put(&mut out, WRITER_OFFSET, writer.get(..WRITER_SIZE).unwrap_or(writer));
        let sum = checksum(out.get(..HEADER_CHECKSUM_OFFSET).unwrap_or_default());
        put(&mut out, HEADER_CHECKSUM_OFFSET, &sum.to_le_bytes());
        out
    }

    /// Reads and checks the header and the trailer of a whole file.
    ///
    /// # Errors
    /// The errors for header, trailer and length in FORMAT.md, chapter "Validation".
    pub fn decode(file: &[u8]) -> Result<Header, FormatError> {
        let found_size = file.len() as u64;
        let Some(bytes) = file.get(..HEADER_SIZE) else {
            if file.get(..8) != Some(&MAGIC) {
                return Err(not_a_store_file(file));
            }
            return Err(FormatError::WrongLength { expected: FILE_SIZE_MIN as u64, found: found_size });
        };
        if bytes.get(..8) != Some(&MAGIC) {
            return Err(not_a_store_file(bytes));
        }
        check_sum(bytes, HEADER_CHECKSUM_OFFSET, Place::Header, 0)?;
        let (major, minor) = (u16_at(bytes, MAJOR_OFFSET), u16_at(bytes, MINOR_OFFSET));
        if major != VERSION_MAJOR {
            return Err(FormatError::UnsupportedVersion {
                found_major: major,
                found_minor: minor,
                known_major: VERSION_MAJOR,
                known_minor: VERSION_MINOR,
            });
        }
        let reserved = bytes.get(WRITER_OFFSET + WRITER_SIZE..HEADER_CHECKSUM_OFFSET).unwrap_or_default();
        if let Some(at) = reserved.iter().position(|byte| *byte != 0) {
            return Err(corrupt(
                Place::Header,
                "bytes that must be zero",
                0,
                (WRITER_OFFSET + WRITER_SIZE + at) as u64,
            ));
        }
        let header = Header::fields(bytes);
        if header.file_size != found_size {
            return Err(FormatError::WrongLength { expected: header.file_size, found: found_size });
        }
        header.check_bounds(u32_at(bytes, FLAGS_OFFSET))?;
        header.check_trailer(file)?;
        Ok(header)
    }

    fn fields(bytes: &[u8]) -> Header {
        let writer = bytes.get(WRITER_OFFSET..WRITER_OFFSET + WRITER_SIZE).unwrap_or_default();
        let writer = writer.split(|byte| *byte == 0).next().unwrap_or_default();
        Header {
            minor: u16_at(bytes, MINOR_OFFSET),
            file_size: u64_at(bytes, FILE_SIZE_OFFSET),
            row_count: u64_at(bytes, ROW_COUNT_OFFSET),
            column_count: u32_at(bytes, COLUMN_COUNT_OFFSET),
            section_count: u32_at(bytes, SECTION_COUNT_OFFSET),
            directory_offset: u64_at(bytes, DIRECTORY_POSITION_OFFSET),
            directory_size: u64_at(bytes, DIRECTORY_SIZE_OFFSET),
            directory_checksum: u64_at(bytes, DIRECTORY_CHECKSUM_OFFSET),
            fingerprint: take(bytes, FINGERPRINT_OFFSET).unwrap_or_default(),
            writer: String::from_utf8_lossy(writer).into_owned(),
        }
    }

    fn check_bounds(&self, flags: u32) -> Result<(), FormatError> {
        let refuse = |what, expected, found| Err(corrupt(Place::Header, what, expected, found));
        if flags != 0 {
            return refuse("flags that this version does not define", 0, u64::from(flags));
        }
        if self.row_count > crate::limits::ROWS_MAX {
            return refuse("row count above the limit", crate::limits::ROWS_MAX, self.row_count);
        }
        if self.column_count as usize > crate::limits::COLUMNS_MAX {
            return refuse(
                "column count above the limit",
                crate::limits::COLUMNS_MAX as u64,
                self.column_count.into(),
            );
        }
        if self.section_count as usize > crate::limits::SECTIONS_MAX {
            let limit = crate::limits::SECTIONS_MAX as u64;
            return refuse("section count above the limit", limit, self.section_count.into());
        }
        let size = u64::from(self.section_count) * crate::section::RECORD_SIZE as u64;
        if self.directory_size != size {
            return refuse("directory size", size, self.directory_size);
        }
        let end =
            self.directory_offset.checked_add(size).and_then(|end| end.checked_add(TRAILER_SIZE as u64));
        if end != Some(self.file_size) || !self.directory_offset.is_multiple_of(SECTION_ALIGNMENT) {
            return refuse("end of the directory", self.file_size, end.unwrap_or(u64::MAX));
        }
        Ok(())
    }

    fn check_trailer(&self, file: &[u8]) -> Result<(), FormatError> {
        let start = file.len() - TRAILER_SIZE;
        let bytes = file.get(start..).unwrap_or_default();
        if bytes != self.encode_trailer() {
            check_sum(bytes, TRAILER_CHECKSUM_OFFSET, Place::Trailer, start as u64)?;
            return Err(corrupt(Place::Trailer, "differs from the header", self.file_size, u64_at(bytes, 8)));
        }
        Ok(())
    }

    /// Encodes the 64 bytes of the trailer.
    #[must_use]
    pub fn encode_trailer(&self) -> [u8; TRAILER_SIZE] {
        let mut out = [0u8; TRAILER_SIZE];
        put(&mut out, 0, &TRAILER_MAGIC);
        put(&mut out, TRAILER_FILE_SIZE_OFFSET, &self.file_size.to_le_bytes());
        put(&mut out, TRAILER_DIRECTORY_OFFSET, &self.directory_offset.to_le_bytes());
        put(&mut out, TRAILER_DIRECTORY_CHECKSUM_OFFSET, &self.directory_checksum.to_le_bytes());
        put(&mut out, TRAILER_FINGERPRINT_OFFSET, &self.fingerprint);
        let sum = checksum(out.get(..TRAILER_CHECKSUM_OFFSET).unwrap_or_default());
        put(&mut out, TRAILER_CHECKSUM_OFFSET, &sum.to_le_bytes());
        out
    }
}

fn not_a_store_file(bytes: &[u8]) -> FormatError {
    FormatError::NotAStoreFile { found: bytes.get(..8).unwrap_or(bytes).to_vec() }
}

fn check_sum(bytes: &[u8], at: usize, place: Place, start: u64) -> Result<(), FormatError> {
    let expected = u64_at(bytes, at);
    let found = checksum(bytes.get(..at).unwrap_or_default());
    if expected == found {
        return Ok(());
    }
    Err(FormatError::ChecksumMismatch { place, offset: start, expected, found })
}
