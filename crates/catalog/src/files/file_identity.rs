//! Identities of files, to detect changes without reading the content.
//!
//! Depends on file metadata only.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::CatalogError;
use mercato_base::clock::Moment;

/// Device, inode, size and times: differs as soon as a file is written, replaced or moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified_nanos: u64,
    /// Change time of the inode. A program can set back the modification time, but not this one.
    pub changed_nanos: u64,
}

impl FileIdentity {
    /// Length of the file in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Modification time of the content.
    pub fn moment(&self) -> Moment {
        Moment::from_unix_millis(i64::try_from(self.modified_nanos / 1_000_000).unwrap_or(i64::MAX))
    }

    /// Whether this is the file of another identity, moved and not written since.
    pub fn is_moved(&self, before: &Self) -> bool {
        *self == Self { changed_nanos: self.changed_nanos, ..*before }
    }

    /// The identity of a file; `None` when it is absent.
    pub fn of(path: &Path) -> Result<Option<Self>, CatalogError> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(CatalogError::io(path, "look at it", error)),
        }
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified_nanos: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed_nanos: nanos(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Nanoseconds since 1970; 64 bits last until the year 2554.
fn nanos(seconds: i64, rest: i64) -> u64 {
    u64::try_from(seconds.saturating_mul(1_000_000_000).saturating_add(rest)).unwrap_or(0)
}

/// Whether the error means that a file or folder is absent.
pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
