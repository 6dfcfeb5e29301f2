//! The books on sled 0.34.7, used in the narrow way in which it keeps its word.
//!
//! One owner, one tree, whole batches; no transaction, no `flush_async`, no `generate_id`, no merge operator. Its
//! flush waits for the disk twice and still goes no further than the operating system. So a batch is handed to the
//! operating system through the journal, and sled is flushed only with a sync, which then forces its log down over a
//! handle of our own. Every batch carries its number, so that an opening knows which batches of the journal sled has
//! not got. After an error sled answers with that error until it is opened again: `reopen` does that.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::journal::Journal;
use super::safe_open::{self, Lock, damaged, io, store_error};
use super::{Changes, Record, Store, StoreError};

/// Where the number of the newest batch stands.
const NUMBER: &[u8] = b"J";

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
    journal: Journal,
    /// Number of the newest batch.
    number: u64,
}

impl Open {
    fn apply(&self, number: u64, changes: &Changes) -> sled::Result<()> {
        let mut batch = sled::Batch::default();
        for (key, value) in changes.iter() {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        batch.insert(NUMBER, &number.to_be_bytes());
        self.db.apply_batch(batch)
    }
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
        let directory = &self.directory;
        let Some(open) = &mut self.open else { return self.parts().map(drop) };
        let number = open.number + 1;
        open.apply(number, changes).map_err(|error| store_error(directory, "writing", &error))?;
        open.number = number;
        let journal = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| io(&path, "writing the journal", &error)
        };
        let path = open.journal.file_path().to_owned();
        if open.journal.has_room(number, changes).map_err(journal(&path))? {
            return open.journal.append().map_err(journal(&path));
        }
        open.db.flush().map_err(|error| store_error(directory, "flushing", &error))?;
        open.journal.rewind();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let directory = &self.directory;
        let Some(open) = &mut self.open else { return self.parts().map(drop) };
        open.db.flush().map_err(|error| store_error(directory, "flushing", &error))?;
        open.log.sync_data().map_err(|error| io(directory, "syncing the log", &error))?;
        open.journal.rewind();
        Ok(())
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
    let path = Journal::path(directory);
    let journal = Journal::open(directory).map_err(|error| io(&path, "opening", &error))?;
    let number = number(directory, &db)?;
    let mut open = Open { db, log, journal, number };
    catch_up(directory, &mut open)?;
    Ok(open)
}

/// The number of the newest batch that sled holds; zero for books from before there was a journal.
fn number(directory: &Path, db: &sled::Db) -> Result<u64, StoreError> {
    let found = db.get(NUMBER).map_err(|error| store_error(directory, "reading", &error))?;
    let Some(found) = found else { return Ok(0) };
    let bytes = <[u8; 8]>::try_from(found.as_ref());
    bytes.map(u64::from_be_bytes).map_err(|_| damaged(directory, "the number of a batch is cut".to_owned()))
}

/// Brings sled up to what the journal says was written. Killed in the middle, it is done again at the next opening.
fn catch_up(directory: &Path, open: &mut Open) -> Result<(), StoreError> {
    let path = Journal::path(directory);
    let missing = open.journal.read_after(open.number).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => damaged(&path, "a record that its checksum covers".to_owned()),
        _ => io(&path, "reading", &error),
    })?;
    let Some((number, changes)) = missing else { return Ok(()) };
    let failed = |error: &sled::Error| store_error(directory, "writing what the journal held", error);
    open.apply(number, &changes).map_err(|error| failed(&error))?;
    open.db.flush().map_err(|error| failed(&error))?;
    open.log.sync_data().map_err(|error| io(directory, "syncing the log", &error))?;
    open.number = number;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn batch(number: u64) -> Changes {
        let mut changes = Changes::default();
        changes.put(b"Knewest".to_vec(), number.to_be_bytes().to_vec());
        changes.put([b"K".as_slice(), &number.to_be_bytes()].concat(), vec![7; 20]);
        if number > 3 {
            changes.remove([b"K".as_slice(), &(number - 3).to_be_bytes()].concat());
        }
        changes
    }

    /// What a process leaves behind that dies now: the files as the operating system has them.
    fn died(folder: &Path) -> tempfile::TempDir {
        let left = tempfile::tempdir().unwrap();
        copy(folder, left.path());
        left
    }

    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let (source, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if source.is_dir() {
                fs::create_dir(&target).unwrap();
                copy(&source, &target);
            } else {
                fs::copy(source, target).unwrap();
            }
        }
    }

    fn newest(store: &SledStore) -> Option<u64> {
        store.get(b"Knewest").unwrap().map(|value| u64::from_be_bytes(value.try_into().unwrap()))
    }

    #[test]
    fn what_was_written_and_not_synced_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        for number in 1..=40 {
            store.write(&batch(number)).unwrap();
            if number % 7 == 0 {
                store.sync().unwrap();
            }
            let left = died(folder.path());
            let mut again = SledStore::open(left.path()).unwrap();
            assert_eq!(newest(&again), Some(number));
            assert_eq!(again.scan(b"K", b"K", 100).unwrap().len() as u64, 1 + number.min(3));
            // And it goes on from there, also when it dies once more at once.
            again.write(&batch(number + 1)).unwrap();
            assert_eq!(newest(&SledStore::open(died(left.path()).path()).unwrap()), Some(number + 1));
        }
    }

    #[test]
    fn an_older_journal_beside_newer_books_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        store.write(&batch(1)).unwrap();
        store.write(&batch(2)).unwrap();
        store.sync().unwrap();
        store.write(&batch(3)).unwrap();
        store.sync().unwrap();
        let left = died(folder.path());
        assert_eq!(newest(&SledStore::open(left.path()).unwrap()), Some(3));
    }

    #[test]
    fn a_batch_larger_than_the_journal_is_flushed_instead() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        store.write(&batch(1)).unwrap();
        let mut large = batch(2);
        let values = crate::limits::ledger::JOURNAL_BYTES_MAX / 50_000 + 1;
        for value in 0..values {
            large.put([b"L".as_slice(), &value.to_be_bytes()].concat(), vec![1; 50_000]);
        }
        store.write(&large).unwrap();
        store.write(&batch(3)).unwrap();
        let left = died(folder.path());
        let again = SledStore::open(left.path()).unwrap();
        assert_eq!(newest(&again), Some(3));
        assert_eq!(again.scan(b"L", b"L", 1_000).unwrap().len() as u64, values);
    }
}
