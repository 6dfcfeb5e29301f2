//! Results and errors of backups and archives.

use std::io;
use std::path::PathBuf;

use super::error::{BooksError, OpenError};

/// Why a backup was not made or not taken back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not an undamaged backup.
    #[error("{}: {detail}; use another backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The expected and the found value.
        detail: String,
    },
    /// There are books already.
    #[error("{}: there are books already; move the folder away first", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The restored books do not open or do not balance.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The running books refuse.
    #[error(transparent)]
    Ledger(#[from] BooksError),
}

/// The summary of a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupSummary {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Records of its checkpoint.
    pub records: u64,
    /// The newest record in it.
    pub last_sequence: u64,
}

/// A segment of the log that was moved to an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedSegment {
    pub number: u64,
    /// Number of its first record.
    pub first: u64,
    /// Number of its last record.
    pub last: u64,
    /// Its length.
    pub bytes: u64,
    pub path: PathBuf,
}
