//! The books on sled 0.34.7, used in the narrow way in which it keeps its word.
//!
//! One writer, one tree, whole batches; no transaction, no `flush_async`, no `generate_id`, no merge operator. Its
//! flush waits for the disk twice and still goes no further than the operating system, and each batch wakes all of its
//! threads. So a batch goes into a journal, which one sync forces down, and is read from memory until sled has it:
//!
//! ```text
//! write:  journal, memory
//! load:   when a journal is full, batches go on in the other one, and a thread gives sled what the first holds
//! read:   memory, then sled
//! ```
//!
//! Every batch carries its number and sled keeps the newest that it holds, so an opening knows which batches of the
//! journals sled has not got. After an error sled answers with that error until it is opened again: `reopen` does that.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::carrier::{Base, Carrier, Done, Job, SLICE_CHANGES};
use super::journal::{FILES, Journal};
use super::overlay::Overlay;
use super::safe_open::{self, Lock, damaged, io, store_error};
use super::{Changes, Record, Store, StoreError, SyncDone};
use crate::limits::ledger::{JOURNAL_LOAD_BYTES, LOAD_WAIT, SYNC_UNDER_WAY_MAX};

/// Where the number of the newest batch stands that sled holds.
pub(super) const NUMBER: &[u8] = b"J";

/// A sled folder that this process alone has open.
pub struct SledStore {
    directory: PathBuf,
    // Fields drop in this order: the database lets go before the lock does.
    open: Option<Open>,
    _lock: Lock,
}

struct Open {
    // The thread ends before the rest is let go.
    carrier: Carrier,
    base: Base,
    current: Journal,
    other: Journal,
    overlay: Overlay,
    /// Number of the newest batch.
    number: u64,
    is_loading: bool,
    syncing_since: Option<Instant>,
    /// The thread could not do something: what it was at stays undone until the books are opened again.
    has_failed: bool,
    /// Length of a journal from which on it is given to sled.
    load_bytes: u64,
}

impl SledStore {
    /// Opens the folder, which is created when it does not exist.
    pub fn open(directory: &Path) -> Result<SledStore, StoreError> {
        let lock = safe_open::lock(directory)?;
        let open = Some(open_folder(directory)?);
        Ok(SledStore { directory: directory.to_owned(), open, _lock: lock })
    }

    fn parts(&self) -> Result<&Open, StoreError> {
        self.open.as_ref().ok_or_else(|| closed(&self.directory))
    }

    fn parts_mut(&mut self) -> Result<&mut Open, StoreError> {
        self.open.as_mut().ok_or_else(|| closed(&self.directory))
    }

    fn read_error(&self, error: &sled::Error) -> StoreError {
        store_error(&self.directory, "reading", error)
    }

    fn record(&self, found: sled::Result<(sled::IVec, sled::IVec)>) -> Result<Record, StoreError> {
        found.map(|(key, value)| (key.to_vec(), value.to_vec())).map_err(|error| self.read_error(&error))
    }
}

impl Store for SledStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let open = self.parts()?;
        if let Some(value) = open.overlay.get(key) {
            return Ok(value.map(<[u8]>::to_vec));
        }
        let value = open.base.db.get(key).map_err(|error| self.read_error(&error))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Record>, StoreError> {
        let open = self.parts()?;
        let stored = open.base.db.range(from.max(prefix).to_vec()..).map(|found| self.record(found));
        open.overlay.ascending(prefix, from, limit, stored)
    }

    fn last(&self, prefix: &[u8]) -> Result<Option<Record>, StoreError> {
        let open = self.parts()?;
        let stored = open.base.db.scan_prefix(prefix).rev().map(|found| self.record(found));
        open.overlay.last(prefix, stored)
    }

    fn write(&mut self, changes: &Changes) -> Result<(), StoreError> {
        let open = self.parts_mut()?;
        open.take_outcomes(Duration::ZERO)?;
        open.append(changes)?;
        // A load that has not ended puts off the next one, until the journal has no room left.
        if open.current.bytes() >= open.load_bytes && !open.is_loading {
            open.begin_load(SLICE_CHANGES)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let open = self.parts_mut()?;
        open.take_outcomes(Duration::ZERO)?;
        // What a thread is forcing down at this moment is not done yet: it is waited for as well.
        open.wait_for_sync()?;
        let files = open.dirty();
        open.base.sync(&files)
    }

    fn sync_later(&mut self, done: SyncDone) -> Result<bool, StoreError> {
        let open = self.parts_mut()?;
        open.take_outcomes(Duration::ZERO)?;
        if open.syncing_since.is_some_and(|since| since.elapsed() > SYNC_UNDER_WAY_MAX) {
            open.wait_for_sync()?;
        }
        if open.syncing_since.is_some() {
            return Ok(false);
        }
        let files = open.dirty();
        open.hand_in(Job::Sync { files, done })?;
        open.syncing_since = Some(Instant::now());
        Ok(true)
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.open = None;
        self.open = Some(open_folder(&self.directory)?);
        Ok(())
    }
}

impl Open {
    /// Puts a batch into the journal and the memory above sled.
    fn append(&mut self, changes: &Changes) -> Result<(), StoreError> {
        let number = self.number + 1;
        if !self.has_room(number, changes)? {
            self.wait_for_load()?;
            self.begin_load(SLICE_CHANGES)?;
            if !self.has_room(number, changes)? {
                return self.write_through(number, changes);
            }
        }
        let appended = self.current.append();
        appended.map_err(|error| self.journal_error(&error))?;
        self.overlay.absorb(changes);
        self.number = number;
        Ok(())
    }

    fn has_room(&mut self, number: u64, changes: &Changes) -> Result<bool, StoreError> {
        let has_room = self.current.has_room(number, changes);
        has_room.map_err(|error| self.journal_error(&error))
    }

    fn journal_error(&self, error: &std::io::Error) -> StoreError {
        io(&self.base.directory, "writing the journal", error)
    }

    /// A batch that is longer than a journal may be goes to sled at once and whole, behind everything before it.
    fn write_through(&mut self, number: u64, changes: &Changes) -> Result<(), StoreError> {
        self.wait_for_load()?;
        self.overlay.absorb(changes);
        self.number = number;
        self.begin_load(usize::MAX)?;
        self.wait_for_load()
    }

    /// Lets the thread give sled what the current journal holds; batches go on in the other one, which sled does not
    /// need any more.
    fn begin_load(&mut self, slice: usize) -> Result<(), StoreError> {
        let files = self.dirty();
        let layer = self.overlay.set_off();
        self.hand_in(Job::Load { files, layer, number: self.number, slice })?;
        self.is_loading = true;
        std::mem::swap(&mut self.current, &mut self.other);
        self.current.rewind();
        Ok(())
    }

    fn hand_in(&self, job: Job) -> Result<(), StoreError> {
        self.carrier.hand_in(job).map_err(|_| self.stuck())
    }

    fn dirty(&mut self) -> Vec<Arc<File>> {
        [&mut self.current, &mut self.other].into_iter().filter_map(Journal::take_dirty).collect()
    }

    /// Learns what the thread has done; waits for the first word at most `wait`.
    fn take_outcomes(&mut self, wait: Duration) -> Result<(), StoreError> {
        if self.has_failed {
            let reason = std::io::Error::other("an earlier write failed; open the books again");
            return Err(io(&self.base.directory, "writing", &reason));
        }
        let mut next = self.carrier.outcome(wait);
        while let Some(outcome) = next {
            self.has_failed |= outcome.is_err();
            match outcome? {
                Done::Synced => self.syncing_since = None,
                Done::Loaded => {
                    self.is_loading = false;
                    self.overlay.has_arrived();
                }
            }
            next = self.carrier.outcome(Duration::ZERO);
        }
        Ok(())
    }

    fn wait_for_load(&mut self) -> Result<(), StoreError> {
        self.wait_until(|open| !open.is_loading)
    }

    /// A load that began before has synced the journal first, so it is waited for as well.
    fn wait_for_sync(&mut self) -> Result<(), StoreError> {
        self.wait_until(|open| open.syncing_since.is_none() && !open.is_loading)
    }

    fn wait_until(&mut self, is_done: fn(&Open) -> bool) -> Result<(), StoreError> {
        let began = Instant::now();
        while !is_done(self) {
            let left = LOAD_WAIT.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(self.stuck());
            }
            self.take_outcomes(left)?;
        }
        Ok(())
    }

    fn stuck(&self) -> StoreError {
        let reason = std::io::Error::other("the disk has not answered for a long time");
        io(&self.base.directory, "writing", &reason)
    }

    /// Hands over what sled does not hold yet; whoever drops the thread waits for it.
    fn begin_last_load(&mut self) -> Result<(), StoreError> {
        self.take_outcomes(Duration::ZERO)?;
        self.wait_for_load()?;
        if self.overlay.is_empty() { Ok(()) } else { self.begin_load(SLICE_CHANGES) }
    }
}

impl Drop for Open {
    /// Books that are closed are whole without their journals. What fails here, the next opening does again.
    fn drop(&mut self) {
        drop(self.begin_last_load());
    }
}

fn closed(directory: &Path) -> StoreError {
    io(directory, "reading", &std::io::ErrorKind::NotConnected.into())
}

fn open_folder(directory: &Path) -> Result<Open, StoreError> {
    let db = safe_open::open(directory)?;
    if db.tree_names().len() > 1 {
        return Err(damaged(directory, "expected one tree, found more".to_owned()));
    }
    let path = directory.join("db");
    let log = Arc::new(File::open(&path).map_err(|error| io(&path, "opening", &error))?);
    let base = Base { directory: directory.to_owned(), db, log };
    let [current, other] = FILES.map(|name| {
        Journal::open(directory, name).map_err(|error| io(&directory.join(name), "opening", &error))
    });
    let (current, other) = (current?, other?);
    let number = catch_up(&base, &[&current, &other])?;
    let carrier = Carrier::start(base.clone());
    let carrier = carrier.map_err(|error| io(directory, "starting a thread", &error))?;
    Ok(Open {
        carrier,
        base,
        current,
        other,
        overlay: Overlay::default(),
        number,
        is_loading: false,
        syncing_since: None,
        has_failed: false,
        load_bytes: JOURNAL_LOAD_BYTES,
    })
}

/// The number of the newest batch that sled holds; zero for books from before there was a journal.
fn number(directory: &Path, db: &sled::Db) -> Result<u64, StoreError> {
    let found = db.get(NUMBER).map_err(|error| store_error(directory, "reading", &error))?;
    let Some(found) = found else { return Ok(0) };
    let bytes = <[u8; 8]>::try_from(found.as_ref());
    bytes.map(u64::from_be_bytes).map_err(|_| damaged(directory, "the number of a batch is cut".to_owned()))
}

/// Brings sled up to what the journals say was written, and gives the number of the newest batch. Killed in the middle,
/// it is done again at the next opening.
fn catch_up(base: &Base, journals: &[&Journal]) -> Result<u64, StoreError> {
    let known = number(&base.directory, &base.db)?;
    let mut found = known;
    let mut overlay = Overlay::default();
    let mut goes_on = true;
    while std::mem::take(&mut goes_on) {
        for journal in journals {
            let missing = journal.read_after(found).map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => {
                    damaged(journal.file_path(), "a record that its checksum covers".to_owned())
                }
                _ => io(journal.file_path(), "reading", &error),
            })?;
            if let Some((number, changes)) = missing {
                overlay.absorb(&changes);
                (found, goes_on) = (number, true);
            }
        }
    }
    if found > known {
        base.load(&overlay.set_off(), found, SLICE_CHANGES)?;
    }
    Ok(found)
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

    /// Journals that are full after a few batches: loads begin and end all the time, and the process dies among them.
    #[test]
    fn whatever_a_load_is_at_nothing_is_lost_or_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        store.open.as_mut().unwrap().load_bytes = 500;
        for number in 1..=300 {
            store.write(&batch(number)).unwrap();
            if number % 7 == 0 {
                while !store.sync_later(Box::new(|| Ok(()))).unwrap() {}
            }
            if number % 31 == 0 {
                store.sync().unwrap();
            }
            assert_eq!(newest(&store), Some(number));
            let keys = store.scan(b"K", b"K", 100).unwrap();
            assert_eq!(keys.len() as u64, 1 + number.min(3));
            assert_eq!(store.last(b"K").unwrap().unwrap().0, b"Knewest");
            if number % 10 == 0 {
                let left = died(folder.path());
                let again = SledStore::open(left.path()).unwrap();
                assert_eq!((newest(&again), again.scan(b"K", b"K", 100).unwrap()), (Some(number), keys));
            }
            if number % 100 == 0 {
                store.reopen().unwrap();
                store.open.as_mut().unwrap().load_bytes = 500;
            }
        }
        drop(store);
        for name in FILES {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        assert_eq!(
            newest(&SledStore::open(folder.path()).unwrap()),
            Some(300),
            "closed books need no journal"
        );
    }

    #[test]
    fn a_sync_says_when_everything_before_it_is_safe() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        let (told, done) = std::sync::mpsc::channel();
        for number in 1..=20 {
            store.write(&batch(number)).unwrap();
            let told = told.clone();
            let begun =
                store.sync_later(Box::new(move || told.send(number).map_err(std::io::Error::other))).unwrap();
            assert!(begun || number > 1);
        }
        store.sync().unwrap();
        let heard: Vec<u64> = done.try_iter().collect();
        assert!(heard.first() == Some(&1) && heard.is_sorted(), "{heard:?}");
        // What cannot be noted is told by a later call, and the store can be opened again.
        while !store.sync_later(Box::new(|| Err(std::io::ErrorKind::StorageFull.into()))).unwrap() {}
        assert!(store.sync().is_err());
        store.reopen().unwrap();
        assert_eq!(newest(&store), Some(20));
    }

    /// A load that failed is not waited for by anybody: the next call says so, and the books can be opened again.
    #[test]
    fn after_a_load_that_failed_the_books_are_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SledStore::open(folder.path()).unwrap();
        store.write(&batch(1)).unwrap();
        let open = store.open.as_mut().unwrap();
        // No system syncs this file: it refuses with an error, as a disk that fails does.
        let log = Arc::new(File::open("/dev/null").unwrap());
        open.carrier = Carrier::start(Base { log, ..open.base.clone() }).unwrap();
        open.load_bytes = 1;
        store.write(&batch(2)).unwrap();
        assert!(store.sync().unwrap_err().to_string().contains("syncing the log"));
        assert!(store.write(&batch(3)).unwrap_err().to_string().contains("an earlier write failed"));
        store.reopen().unwrap();
        assert_eq!(newest(&store), Some(2));
        store.write(&batch(3)).unwrap();
        assert_eq!(newest(&store), Some(3));
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
