//! The checkpoint of the books: every record but the entries, as of one sequence number, in sled 0.34.7.
//!
//! A start reads the checkpoint and replays the log behind it, so the checkpoint may be as old as the oldest segment.
//! Uses only the reliable part of sled: one writer, one tree, batches; no transaction, no `flush_async`, no
//! `generate_id`, no merge operator. Its flush stops at the operating system, so its file is synced here. After an
//! error, sled returns that error until it is reopened. Does not depend on the types of records.

mod safe_open;

use std::fs::File;
use std::path::{Path, PathBuf};

use super::changes::Changes;

/// The key of the mark.
const MARK: &[u8] = b"J";
/// Changes that sled gets at a time, so that a reader does not wait long behind them.
const SLICE_CHANGES: usize = 256;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The sequence number up to which a checkpoint holds everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// The newest record of the log that is in it; zero in a new one.
    pub sequence: u64,
    /// Entries up to there.
    pub entries: u64,
}

/// Whether a record is a checkpoint's own.
pub fn is_own(key: &[u8]) -> bool {
    key == MARK
}

/// A sled folder that this process alone has open.
pub struct Checkpoint {
    directory: PathBuf,
    db: sled::Db,
    log: File,
}

impl Checkpoint {
    /// Opens the folder, which is created when it does not exist. The caller holds the lock of the books.
    pub fn open(directory: &Path) -> Result<Checkpoint, StoreError> {
        std::fs::create_dir_all(directory).map_err(|error| io(directory, "creating the folder", &error))?;
        let db = safe_open::open(directory)?;
        let path = directory.join("db");
        let log = File::open(&path).map_err(|error| io(&path, "opening", &error))?;
        Ok(Checkpoint { directory: directory.to_owned(), db, log })
    }

    /// Whether a record is the checkpoint's own.
    pub fn is_own(key: &[u8]) -> bool {
        is_own(key)
    }

    /// The sequence number up to which it holds everything.
    pub fn mark(&self) -> Result<Mark, StoreError> {
        let Some(value) = self.get(MARK)? else { return Ok(Mark::default()) };
        match value.as_chunks::<8>() {
            ([sequence, entries], []) => {
                let [sequence, entries] = [sequence, entries].map(|number| u64::from_be_bytes(*number));
                Ok(Mark { sequence, entries })
            }
            _ => Err(self.damaged("its mark is cut")),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.db.get(key).map_err(|error| self.failed("reading", &error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    /// The records with `prefix` from the key `from` on, in order.
    pub fn scan<'c>(
        &'c self,
        prefix: &'c [u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<Pair, StoreError>> + 'c {
        let found = self.db.range(from.max(prefix).to_vec()..).map(|found| match found {
            Ok((key, value)) => Ok((key.to_vec(), value.to_vec())),
            Err(error) => Err(self.failed("reading", &error)),
        });
        found.take_while(move |found| {
            found.as_ref().is_ok_and(|(key, _)| key.starts_with(prefix)) || found.is_err()
        })
    }

    /// Writes changes, then the mark of the sequence number up to which it holds everything, and syncs.
    ///
    /// A power failure on the way leaves some of the changes and the former mark: the log, which must be synced up to the new
    /// mark before, holds them all, whole.
    pub fn write(&self, changes: &Changes, mark: Mark) -> Result<(), StoreError> {
        let mut changes = changes.from(&[]).peekable();
        loop {
            let mut batch = sled::Batch::default();
            for (key, value) in changes.by_ref().take(SLICE_CHANGES) {
                match value {
                    Some(value) => batch.insert(key, value),
                    None => batch.remove(key),
                }
            }
            let is_last = changes.peek().is_none();
            if is_last {
                batch.insert(MARK, [mark.sequence.to_be_bytes(), mark.entries.to_be_bytes()].concat());
            }
            self.db.apply_batch(batch).map_err(|error| self.failed("writing", &error))?;
            if is_last {
                break;
            }
        }
        self.db.flush().map_err(|error| self.failed("writing", &error))?;
        self.log.sync_data().map_err(|error| io(&self.directory, "syncing", &error))
    }

    fn failed(&self, action: &'static str, error: &sled::Error) -> StoreError {
        safe_open::store_error(&self.directory, action, error)
    }

    fn damaged(&self, detail: &str) -> StoreError {
        StoreError::Damaged { path: self.directory.clone(), detail: detail.to_owned() }
    }
}

/// Errors of the files of the books.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the books open.
    #[error("{}: another program has the books open; use its admin listener, or stop it first", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The books are kept in the form of an earlier version of the program.
    #[error(
        "{}: these books are in the form of an earlier version (found `{found}`); this one does not read it: export the \
         entries with that version, move the folder away, and enter the accounts anew",
        path.display()
    )]
    Former {
        /// The folder.
        path: PathBuf,
        /// The file that shows it.
        found: String,
    },
    /// The disk or the file system refused.
    #[error("{}: {action} failed: {detail}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation.
        action: &'static str,
        /// The error of the system.
        detail: String,
    },
    /// The files are damaged.
    #[error("{}: the store is damaged: {detail}; restore the newest backup with `mercato-tools restore`", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// The finding.
        detail: String,
    },
}

pub fn io(path: &Path, action: &'static str, error: &std::io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), action, detail: error.to_string() }
}
