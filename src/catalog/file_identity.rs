//! How a file looks from outside, so that a change of its content shows without reading it.
//!
//! Knows what the system says of a file; knows no content.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::CatalogError;
use crate::clock::Moment;

/// How a file looked: when it is written or replaced, this changes. Moving the file leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileMark {
    device: u64,
    inode: u64,
    size: u64,
    modified_nanos: u64,
}

impl FileMark {
    /// The mark of a file; nothing where there is none.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, CatalogError> {
        Ok(FileIdentity::of(path)?.map(|identity| identity.mark))
    }

    /// When the content last changed, as the file system says.
    pub(super) fn moment(&self) -> Moment {
        Moment::from_unix_millis(i64::try_from(self.modified_nanos / 1_000_000).unwrap_or(i64::MAX))
    }
}

/// A mark with the time of the last change of any kind. A program can set back the time of the content, but not this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileIdentity {
    #[serde(flatten)]
    pub(super) mark: FileMark,
    pub(super) changed_nanos: u64,
}

impl FileIdentity {
    /// The identity of a file; nothing where there is none.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, CatalogError> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(CatalogError::io(path, "look at it", error)),
        }
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        let mark = FileMark {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified_nanos: nanos(metadata.mtime(), metadata.mtime_nsec()),
        };
        Self { mark, changed_nanos: nanos(metadata.ctime(), metadata.ctime_nsec()) }
    }
}

/// Nanoseconds since 1970, which fit until the year 2554.
fn nanos(seconds: i64, rest: i64) -> u64 {
    u64::try_from(seconds.saturating_mul(1_000_000_000).saturating_add(rest)).unwrap_or(0)
}

/// Whether a file or folder is simply not there.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
