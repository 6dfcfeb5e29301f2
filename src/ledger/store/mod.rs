//! What the books ask of a store: ordered keys, atomic writes, and a word about when they are safe.
//!
//! Knows no account and no entry, only bytes. The one implementation stands in `sled_store`; a second one on
//! another database would stand beside it.

mod carrier;
mod journal;
mod overlay;
mod safe_open;
mod sled_store;

use std::collections::HashMap;
use std::path::PathBuf;

pub use sled_store::SledStore;

/// A record: its key and its value.
pub type Record = (Vec<u8>, Vec<u8>);

/// A store of the books. One thread at a time has it; no two calls are made at once.
pub trait Store: Send {
    /// The value under a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// At most `limit` records whose key is at least `from` and begins with `prefix`, in key order.
    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Record>, StoreError>;
    /// The record with the greatest key that begins with `prefix`.
    fn last(&self, prefix: &[u8]) -> Result<Option<Record>, StoreError>;
    /// Writes all changes or none, and hands them to the operating system: they survive the death of the process.
    fn write(&mut self, changes: &Changes) -> Result<(), StoreError>;
    /// Forces everything written onto the disk: it survives a loss of power.
    fn sync(&mut self) -> Result<(), StoreError>;
    /// Lets the store force everything written so far onto the disk while it goes on, and call `done` after that. Says
    /// whether that has begun; if not, an earlier one is still at it, and the caller asks again later. What goes wrong
    /// then, a later call tells.
    fn sync_later(&mut self, done: SyncDone) -> Result<bool, StoreError>;
    /// Lets go of everything and opens the store anew, after it has failed.
    fn reopen(&mut self) -> Result<(), StoreError>;
}

/// What is to be done once something is safe from a loss of power; it is called on any thread.
pub type SyncDone = Box<dyn FnOnce() -> std::io::Result<()> + Send>;

/// Writes that belong together: a key and its new value, or nothing for a key that goes.
#[derive(Debug, Default)]
pub struct Changes {
    by_key: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Changes {
    /// Puts a value under a key.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.by_key.insert(key, Some(value));
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: Vec<u8>) {
        self.by_key.insert(key, None);
    }

    /// What the changes say about a key: nothing, that it goes, or its new value.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.by_key.get(key).map(Option::as_deref)
    }

    /// Every change once, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.by_key.iter().map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Forgets every change and keeps the memory.
    pub fn clear(&mut self) {
        self.by_key.clear();
    }
}

/// Why a store does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the books open.
    #[error("{}: another program has the books open; use its admin listener, or stop it first", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The disk or the file system refused.
    #[error("{}: {action} failed: {detail}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        detail: String,
    },
    /// The files do not hold what they should.
    #[error("{}: the store is damaged: {detail}; restore the newest backup with `mercato-tools restore`", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
}
