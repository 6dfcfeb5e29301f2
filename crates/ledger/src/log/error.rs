//! Errors of the log. Each text names the file and a remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Why a log does not open, read, append or sync.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The system refuses.
    #[error("{}: {action}: {detail}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation.
        action: &'static str,
        /// The error of the system.
        detail: String,
    },
    /// Synced bytes are damaged.
    #[error(
        "{}: expected {expected} at byte {offset}, found {found}; \
         restore the newest backup with `mercato-tools restore`",
        path.display()
    )]
    Corrupt {
        /// The segment.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        expected: String,
        found: String,
    },
    /// A segment between others is not there.
    #[error("{}: the segment is missing; put it back from where it was archived", path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    /// A write or a sync failed before, so the content of the disk is unknown.
    #[error("the log takes nothing more until it is opened anew, because of an earlier failure: {cause}")]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// The disk has been stuck for long. The record may still become safe.
    #[error("the disk has not answered for a long time; look at its state")]
    Stalled,
    /// The payload of a batch is too long. Nothing was written.
    #[error("a batch of {bytes} bytes is longer than {limit}; split it")]
    TooLong {
        /// Length of the payload.
        bytes: usize,
        /// The longest payload.
        limit: usize,
    },
    /// A batch has no records or too many. Nothing was written.
    #[error("a batch has 1 to {limit} records, {count} were given; split it")]
    Records {
        /// Records that were given.
        count: u64,
        /// The most that one batch has.
        limit: u64,
    },
    /// A sync of a record that was never appended.
    #[error("record {asked} cannot be synced, because the log ends at {appended}")]
    NotAppended {
        /// The requested record.
        asked: u64,
        /// The newest record.
        appended: u64,
    },
    /// A segment cannot be archived where another file has its name.
    #[error("{}: is another file than {}; find out which one is right, and move the other away", path.display(), source_path.display())]
    Differs {
        /// The file in the archive.
        path: PathBuf,
        /// The segment.
        source_path: PathBuf,
    },
}

pub fn io(path: &Path, action: &'static str, error: &io::Error) -> LogError {
    LogError::Io { path: path.to_owned(), action, detail: error.to_string() }
}

pub fn corrupt(path: &Path, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> LogError {
    LogError::Corrupt { path: path.to_owned(), offset, expected: expected.into(), found: found.into() }
}
