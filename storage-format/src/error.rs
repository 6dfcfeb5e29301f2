//! The errors of store files: damage, unsupported versions, exceeded limits, I/O. Does not depend on status codes or
//! clients.

use std::io;
use std::path::{Path, PathBuf};

use crate::section::SectionKind;

/// Why a store file could not be written, opened, read or verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The operating system refused an operation.
    #[error("{action}: {source}")]
    Io { action: &'static str, source: io::Error },
    /// Any error below, with the file it belongs to.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: Box<FormatError> },
    /// The first eight bytes are not the magic number.
    #[error(
        "header at byte 0: expected the magic number of a mercato store file, found {found:02x?}; \
         the file is of another kind or was damaged in transfer: convert it again from its Parquet"
    )]
    NotAStoreFile {
        /// The bytes found.
        found: Vec<u8>,
    },
    /// The file is shorter or longer than its header says.
    #[error(
        "file length: expected {expected} bytes, found {found}; the copy is incomplete or was appended to: copy it again"
    )]
    WrongLength {
        /// Length by the header, or the smallest possible length.
        expected: u64,
        /// Length on disk.
        found: u64,
    },
    /// The file has a newer version, or a version that does not exist.
    #[error("header: {}", unsupported_version((*found_major, *found_minor), (*known_major, *known_minor)))]
    UnsupportedVersion {
        /// Major version of the file.
        found_major: u16,
        /// Minor version of the file.
        found_minor: u16,
        /// Newest major version read.
        known_major: u16,
        /// Newest minor version read.
        known_minor: u16,
    },
    /// The file requires a section that this version does not know.
    #[error(
        "directory record {record}: section kind {kind} is required and unknown; it needs a reader of format 1.{minimal_minor} or newer: update this program"
    )]
    UnsupportedSection {
        /// Number of the directory record.
        record: u32,
        /// Kind code.
        kind: u16,
        /// Minor version of the first reader that knows it.
        minimal_minor: u16,
    },
    /// A page of the mapped file is no longer readable.
    #[error(
        "a page of the mapped file cannot be read: the file was cut short in place, or its disk failed: restore it under another name and rename it"
    )]
    LostPage,
    /// A checksum does not match its bytes.
    #[error(
        "{place} at byte {offset}: checksum is {found:#018x}, the file says {expected:#018x}; the bytes were damaged: restore or convert the file again"
    )]
    ChecksumMismatch {
        place: Place,
        /// Position in the file.
        offset: u64,
        /// Checksum by the file.
        expected: u64,
        /// Checksum of the bytes.
        found: u64,
    },
    /// A structure violates the format.
    #[error(
        "{place}: {what}: expected {expected}, found {found}; the file is damaged: restore or convert it again"
    )]
    Corrupt {
        place: Place,
        what: &'static str,
        /// The value that the rule requires, or its bound.
        expected: u64,
        found: u64,
    },
    /// A value exceeds a limit of the format.
    #[error("{what}: found {found}, the limit is {limit}; {remedy}")]
    LimitExceeded { what: String, limit: u64, found: u64, remedy: &'static str },
    /// A value of the wrong kind was pushed into a column.
    #[error("column `{column}`: expected values of kind {expected}, found {found}")]
    WrongKind {
        column: String,
        /// Kind of the column.
        expected: &'static str,
        /// Kind of the values.
        found: &'static str,
    },
    /// A null was pushed into a column that is declared without nulls.
    #[error(
        "column `{column}`, row {row}: expected a value because the column is declared without nulls, found null"
    )]
    UnexpectedNull { column: String, row: u64 },
    /// Columns of one table have different lengths.
    #[error("column `{column}`: expected {expected} rows as in the columns before it, found {found}")]
    RowCountMismatch {
        column: String,
        /// Rows of the first column.
        expected: u64,
        /// Rows of this column.
        found: u64,
    },
    /// Two columns have one name.
    #[error("column `{column}`: expected every column name once, found it again; rename or drop one")]
    DuplicateColumn { column: String },
}

fn unsupported_version(found: (u16, u16), known: (u16, u16)) -> String {
    let (major, minor) = found;
    let newest = format!("{}.{}", known.0, known.1);
    if found > known {
        return format!(
            "format version {major}.{minor} is newer than {newest}, the newest this program reads: update this program"
        );
    }
    format!(
        "expected a format version from 1.0 to {newest}, found {major}.{minor}, which does not exist: the file is damaged, convert it again from its Parquet"
    )
}

impl FormatError {
    /// Wraps an operating-system error with the attempted operation.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> FormatError {
        move |source| FormatError::Io { action, source }
    }

    /// Adds the file's path, once.
    #[must_use]
    pub fn in_file(self, path: &Path) -> FormatError {
        match self {
            FormatError::File { .. } => self,
            other => FormatError::File { path: path.to_path_buf(), source: Box::new(other) },
        }
    }
}

/// A structure inside a store file, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The 4,096 bytes at the start.
    Header,
    /// The 64 bytes at the end.
    Trailer,
    Directory,
    /// Bytes between sections, which must be zero.
    Padding,
    /// The outline of a file.
    Outline,
    /// A section of the whole file.
    File(SectionKind),
    /// A section of a column.
    Column(SectionKind, u32),
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Header => out.write_str("header"),
            Place::Trailer => out.write_str("trailer"),
            Place::Directory => out.write_str("directory"),
            Place::Padding => out.write_str("padding"),
            Place::Outline => out.write_str("outline"),
            Place::File(kind) => write!(out, "section {}", kind.name()),
            Place::Column(kind, column) => write!(out, "section {} of column {column}", kind.name()),
        }
    }
}

/// Shorthand for [`FormatError::Corrupt`].
pub(crate) fn corrupt(place: Place, what: &'static str, expected: u64, found: u64) -> FormatError {
    FormatError::Corrupt { place, what, expected, found }
}
