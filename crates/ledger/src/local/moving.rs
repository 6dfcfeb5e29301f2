//! Books in files as the source and as the target of a move.
//!
//! The target is a log of its own beside the folder: entries under their numbers, then records. It is opened, which makes its
//! checkpoint and adds it up, before the folder gets its name. Does not depend on the other side of the move.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LocalBooks;
use super::lock::{self, Lock};
use super::opening::{Opened, Opening, log_folder, log_path};
use super::reading::audit;
use crate::ChargeDurability;
use crate::audit::AuditReport;
use crate::changes::Changes;
use crate::checkout::Checkout;
use crate::checkpoint::{Pair, io};
use crate::claim::expires_at;
use crate::codec::{DecodeError, Record};
use crate::directory::Directory;
use crate::entry::Entry;
use crate::error::OpenError;
use crate::key_space;
use crate::log::{BATCH_HEAD_BYTES, Log, OpenOptions, open_log};
use crate::moving::{Item, MoveError, Source, Take, Target, beside, travels};
use crate::state::{LiveStreams, Read, Written, read_batch};
use mercato_base::clock::Moment;

/// Entries of one batch of the log.
const ENTRIES_PER_BATCH_MAX: u64 = 512;
/// Records of one batch of the log.
const RECORDS_PER_BATCH_MAX: usize = 512;
/// Numbers that one batch without entries passes over.
const PASSED_PER_BATCH_MAX: u64 = 32 * 1024;
/// Numbers that are passed over by batches; a longer gap begins a segment.
const PASSED_BY_BATCHES_MAX: u64 = 1 << 20;

/// Books of a folder, locked and without open reservations.
pub struct Closed {
    path: PathBuf,
    opened: Opened,
    _lock: Lock,
}

impl Closed {
    /// Settles what a stop left open, as a start does, and locks the books.
    pub fn open(path: &Path, now: Moment) -> Result<Closed, MoveError> {
        if !log_path(path).is_dir() {
            return Err(MoveError::Refused(format!("{}: there are no books", path.display())));
        }
        let directory = Arc::<Directory>::default();
        LocalBooks::open(path, ChargeDurability::Power, directory, now)?.end();
        let closed = Closed::lock(path)?;
        let first = closed.opened.log.reader().map_err(OpenError::from)?.first_sequence();
        if first > 1 {
            return Err(MoveError::Refused(format!(
                "{}: the log begins at record {first}; put the segments back that `ledger archive` moved away",
                path.display()
            )));
        }
        let open = closed.opened.state.reservations().count();
        if open > 0 {
            return Err(MoveError::Refused(format!(
                "{}: {open} reservations are still open",
                path.display()
            )));
        }
        Ok(closed)
    }

    fn lock(path: &Path) -> Result<Closed, OpenError> {
        let lock = lock::lock(path)?;
        let opening = Opening {
            path,
            folder: log_folder(path)?,
            directory: Arc::default(),
            options: OpenOptions::default(),
            live: &LiveStreams::new(),
            now: Moment::from_unix_millis(0),
        };
        Ok(Closed { path: path.to_owned(), opened: opening.open()?, _lock: lock })
    }
}

impl Source for Closed {
    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError> {
        let log = self.opened.log.reader().map_err(OpenError::from)?;
        for batch in log.batches(log.first_sequence()) {
            let batch = batch.map_err(OpenError::from)?;
            let mut entries: Vec<Entry> = Vec::new();
            read_batch(&self.path, &batch, |record| {
                if let Read::Entry(entry) = record {
                    entries.push(entry);
                }
            })?;
            entries.into_iter().try_for_each(|entry| take(Item::Entry(entry)))?;
        }
        for found in self.opened.checkpoint.scan(&[], &[]) {
            let (key, value) = found.map_err(OpenError::from)?;
            if travels(&key) {
                take(Item::Record(key, value))?;
            }
        }
        Ok(audit(&self.path, &self.opened)?)
    }

    /// The lock keeps others away.
    fn refuse_opened(&mut self) -> Result<(), MoveError> {
        Ok(())
    }
}

/// Books that are being written beside the folder which they will be in.
pub struct Unfinished {
    folder: PathBuf,
    beside: PathBuf,
    log: Log,
    entries: Run,
    records: Changes,
}

/// Entries whose numbers follow each other, not appended yet.
#[derive(Default)]
struct Run {
    first: u64,
    count: u64,
    written: Written,
}

impl Unfinished {
    /// Begins books for a folder that must hold none. What an interrupted move left is removed.
    pub fn create(folder: &Path) -> Result<Unfinished, MoveError> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(MoveError::Refused(format!("{}: there are books already", folder.display())));
        }
        let beside = beside(folder);
        if beside.exists() {
            fs::remove_dir_all(&beside).map_err(at(&beside, "removing what an interrupted move left"))?;
        }
        let files = log_folder(&beside).map_err(OpenError::from)?;
        let log = open_log(files, &OpenOptions::default()).map_err(OpenError::from)?.log;
        let (entries, records) = (Run::default(), Changes::default());
        Ok(Unfinished { folder: folder.to_owned(), beside, log, entries, records })
    }

    fn append(&mut self, count: u64, payload: &[u8]) -> Result<(), MoveError> {
        self.log.append(count, payload).map(drop).map_err(|error| OpenError::from(error).into())
    }

    fn put_entry(&mut self, entry: &Entry) -> Result<(), MoveError> {
        let run = &self.entries;
        let follows = entry.sequence == run.first.saturating_add(run.count);
        if run.count == 0 || !follows || run.count >= ENTRIES_PER_BATCH_MAX {
            self.append_entries()?;
            self.pass_to(entry.sequence)?;
            self.entries.first = entry.sequence;
        }
        self.entries.written.push(entry);
        self.entries.count += 1;
        Ok(())
    }

    fn append_entries(&mut self) -> Result<(), MoveError> {
        let Run { count, written, .. } = std::mem::take(&mut self.entries);
        if count == 0 {
            return Ok(());
        }
        let mut payload = Vec::new();
        written.encode(&mut payload).map_err(too_long)?;
        self.append(count, &payload)
    }

    /// Passes over the numbers before this one, which belong to no entry of these books. A batch has as many numbers as its
    /// frame has bytes at most, so the removal of a record that is not there fills it.
    fn pass_to(&mut self, number: u64) -> Result<(), MoveError> {
        loop {
            let gap = match number.checked_sub(self.log.next_sequence()) {
                Some(0) => return Ok(()),
                Some(gap) => gap,
                None => {
                    let (found, next) = (number, self.log.next_sequence());
                    return Err(MoveError::Refused(format!("entry {found} comes where {next} is the next")));
                }
            };
            if gap > PASSED_BY_BATCHES_MAX {
                self.log.skip_to(number).map_err(OpenError::from)?;
                return Ok(());
            }
            let count = gap.min(PASSED_PER_BATCH_MAX);
            let filling = usize::try_from(count).unwrap_or(0).saturating_sub(BATCH_HEAD_BYTES);
            let mut filler = Changes::default();
            filler.remove([key_space::META, b"passed", vec![0; filling].as_slice()].concat());
            self.append_changes(count, &filler)?;
        }
    }

    fn append_records(&mut self) -> Result<(), MoveError> {
        let records = std::mem::take(&mut self.records);
        if records.is_empty() { Ok(()) } else { self.append_changes(1, &records) }
    }

    fn append_changes(&mut self, count: u64, changes: &Changes) -> Result<(), MoveError> {
        let mut payload = Vec::new();
        Written::default().encode(&mut payload).map_err(too_long)?;
        changes.encode(&mut payload).map_err(too_long)?;
        self.append(count, &payload)
    }
}

impl Target for Unfinished {
    fn put(&mut self, item: Item) -> Result<(), MoveError> {
        match item {
            Item::Entry(entry) => self.put_entry(&entry),
            Item::Record(key, value) => {
                self.append_entries()?;
                if let Some((key, value)) =
                    derived(&key, &value).map_err(|error| damaged(&self.beside, &error))?
                {
                    self.records.put(key, value);
                }
                self.records.put(key, value);
                if self.records.len() >= RECORDS_PER_BATCH_MAX { self.append_records() } else { Ok(()) }
            }
        }
    }

    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError> {
        self.append_entries()?;
        self.append_records()?;
        self.log.close().map_err(OpenError::from)?;
        Closed::lock(&self.beside)?.read(take)
    }

    fn publish(self: Box<Self>) -> Result<(), MoveError> {
        let Unfinished { folder, beside, .. } = *self;
        if folder.exists() {
            fs::remove_dir(&folder).map_err(at(&folder, "removing the empty folder"))?;
        }
        fs::rename(&beside, &folder).map_err(at(&folder, "renaming the folder"))?;
        let parent =
            folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = fs::File::open(parent).and_then(|parent| parent.sync_all());
        Ok(synced.map_err(at(parent, "syncing the folder"))?)
    }
}

/// The records that indexes keep of this one.
fn derived(key: &[u8], value: &[u8]) -> Result<Option<Pair>, DecodeError> {
    let index = match key_space::kind(key) {
        key_space::CHECKOUT => {
            let checkout = Checkout::decode(value)?;
            key_space::checkout_of(checkout.account, checkout.id.number)
        }
        _ => match expires_at(key, value)? {
            Some(until) => key_space::expiry(until, key),
            None => return Ok(None),
        },
    };
    Ok(Some((index, Vec::new())))
}

fn too_long(bytes: usize) -> MoveError {
    MoveError::Refused(format!("a record of {bytes} bytes is too long"))
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> MoveError {
    MoveError::Refused(format!("{}: {error}", path.display()))
}

fn at(path: &Path, action: &'static str) -> impl Fn(std::io::Error) -> OpenError + use<> {
    let path = path.to_owned();
    move |error| OpenError::Store(io(&path, action, &error))
}
