//! The books on sled 0.34.7, used in the narrow way in which it keeps its word.
//!
//! One owner, one tree, whole batches; no transaction, no `flush_async`, no `generate_id`, no merge operator. Its
//! flush hands the log to the operating system and no further, so `sync` forces the log file down over a handle of
//! our own. After an error sled answers with that error until it is opened again: `reopen` does that.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::safe_open::{self, Lock, damaged, io, store_error};
use super::{Changes, Record, Store, StoreError};

/// A sled folder that this process alone has open.
pub struct SledStore {
    directory: PathBuf,
    // Fields drop in this order: the database lets go before the lock does.
    open: Option<Open>,
    _lock: Lock,
}

struct Open {
    db: sled::Db,
    log: File,
}

impl SledStore {
    /// Opens the folder, which is created when it does not exist.
    pub fn open(directory: &Path) -> Result<SledStore, StoreError> {
        let lock = safe_open::lock(directory)?;
        let open = Some(open_folder(directory)?);
        Ok(SledStore { directory: directory.to_owned(), open, _lock: lock })
    }

    fn parts(&self) -> Result<&Open, StoreError> {
        self.open
            .as_ref()
            .ok_or_else(|| self.error("reading", &sled::Error::Io(std::io::ErrorKind::NotConnected.into())))
    }

    fn error(&self, action: &'static str, error: &sled::Error) -> StoreError {
        store_error(&self.directory, action, error)
    }

    fn first_of(
        &self,
        found: Option<sled::Result<(sled::IVec, sled::IVec)>>,
    ) -> Result<Option<Record>, StoreError> {
        match found {
            None => Ok(None),
            Some(Ok((key, value))) => Ok(Some((key.to_vec(), value.to_vec()))),
            Some(Err(error)) => Err(self.error("reading", &error)),
        }
    }
}

impl Store for SledStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.parts()?.db.get(key).map_err(|error| self.error("reading", &error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        for found in self.parts()?.db.range(from.max(prefix).to_vec()..).take(limit) {
            match self.first_of(Some(found))? {
                Some(record) if record.0.starts_with(prefix) => records.push(record),
                _ => break,
            }
        }
        Ok(records)
    }

    fn last(&self, prefix: &[u8]) -> Result<Option<Record>, StoreError> {
        self.first_of(self.parts()?.db.scan_prefix(prefix).next_back())
    }

    fn write(&mut self, changes: &Changes) -> Result<(), StoreError> {
        let mut batch = sled::Batch::default();
        for (key, value) in changes.iter() {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        let open = self.parts()?;
        open.db.apply_batch(batch).map_err(|error| self.error("writing", &error))?;
        open.db.flush().map_err(|error| self.error("flushing", &error))?;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.parts()?.log.sync_data().map_err(|error| io(&self.directory, "syncing the log", &error))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.open = None;
        self.open = Some(open_folder(&self.directory)?);
        Ok(())
    }
}

fn open_folder(directory: &Path) -> Result<Open, StoreError> {
    let db = safe_open::open(directory)?;
    if db.tree_names().len() > 1 {
        return Err(damaged(directory, "expected one tree, found more".to_owned()));
    }
    let path = directory.join("db");
    let log = File::open(&path).map_err(|error| io(&path, "opening", &error))?;
    Ok(Open { db, log })
}
