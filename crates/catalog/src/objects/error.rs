//! Why a call on an object failed. Never shows an address with a signature or a secret.

use std::io;
use std::path::{Path, PathBuf};

/// What came of a call that failed.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is no such object.
    #[error("{object}: the object store has no such object")]
    Missing {
        /// The object.
        object: String,
    },
    /// There is no such bucket.
    #[error("{object}: the object store has no such bucket; make it, or correct the name")]
    NoBucket {
        /// The object.
        object: String,
    },
    /// The store takes nothing more.
    #[error("{object}: the object store is full ({code})")]
    Full {
        /// The object.
        object: String,
        /// The code of the store.
        code: String,
    },
    /// The store does not let these credentials do that (403).
    #[error(
        "{object}: the object store denies access ({code}); compare credentials, clock and rights of the bucket"
    )]
    Denied {
        /// The object.
        object: String,
        /// The code of the store.
        code: String,
    },
    /// The store was not reached, broke off, has too much to do, or failed. The same again may do.
    #[error("{object}: the object store cannot be reached: {reason}")]
    Away {
        /// The object.
        object: String,
        /// What happened last.
        reason: String,
    },
    /// The object has another length or other bytes than expected.
    #[error("{object}: {reason}")]
    Damaged {
        /// The object.
        object: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// A file here cannot be read or written.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The store refuses the call, or answers in a way that no store should.
    #[error("{object}: the object store answers {status} ({code})")]
    Refused {
        /// The object.
        object: String,
        /// The status of the answer.
        status: u16,
        /// The code of the store, or what is wrong with the answer.
        code: String,
    },
    /// More bytes than the call takes.
    #[error("{object}: {bytes} bytes are too many, at most {most} are possible")]
    TooLong {
        /// The object.
        object: String,
        /// Bytes that were asked for.
        bytes: u64,
        /// Bytes that are possible.
        most: u64,
    },
}

impl ObjectError {
    /// Whether the same call may succeed later, without anybody changing anything.
    pub const fn is_passing(&self) -> bool {
        matches!(self, ObjectError::Away { .. })
    }

    /// The error of a file.
    pub(super) fn disk(path: &Path) -> impl Fn(io::Error) -> ObjectError + use<> {
        let path = path.to_owned();
        move |source| ObjectError::Disk { path: path.clone(), source }
    }
}
