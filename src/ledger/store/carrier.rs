//! The thread that waits for the disk, so that whoever charges need not: it syncs the journal, and carries over to
//! sled what a full journal holds.
//!
//! Knows files and the one database; knows no record.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::overlay::Layer;
use super::safe_open::{io, store_error};
use super::sled_store::NUMBER;
use super::{StoreError, SyncDone};

/// Changes that sled gets at a time, so that a reader does not wait long behind them.
pub(super) const SLICE_CHANGES: usize = 256;
/// Jobs that wait: a load and a sync behind the one that runs.
const JOBS_WAITING_MAX: usize = 2;

/// What is to be done.
pub(super) enum Job {
    /// Force files onto the disk, then say so.
    Sync {
        /// Journals that hold something new.
        files: Vec<Arc<File>>,
        /// What follows.
        done: SyncDone,
    },
    /// Force the journal onto the disk, give sled what it holds, and force that onto the disk as well.
    Load {
        /// The journals.
        files: Vec<Arc<File>>,
        /// What the journal holds, every key once.
        layer: Arc<Layer>,
        /// The number of the newest batch in it.
        number: u64,
        /// How much of it sled gets at a time: [`SLICE_CHANGES`], or everything when the journal does not hold it too.
        slice: usize,
    },
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// A sync.
    Synced,
    /// A load.
    Loaded,
}

/// The thread and the way to it. Dropping it waits until everything handed in is done.
pub(super) struct Carrier {
    jobs: Option<SyncSender<Job>>,
    outcomes: Receiver<Result<Done, StoreError>>,
    thread: Option<JoinHandle<()>>,
}

impl Carrier {
    /// Starts the thread for the books in a folder.
    pub(super) fn start(base: Base) -> std::io::Result<Carrier> {
        let (jobs, queue) = sync_channel(JOBS_WAITING_MAX);
        let (report, outcomes) = sync_channel(JOBS_WAITING_MAX + 1);
        let thread = thread::Builder::new().name("ledger-disk".to_owned()).spawn(move || {
            // Whoever hands in jobs takes their outcomes before it hands in more.
            for job in queue {
                if report.send(base.carry_out(job)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Carrier { jobs: Some(jobs), outcomes, thread: Some(thread) })
    }

    /// Hands a job in; gives it back when too many wait or the thread has ended.
    pub(super) fn hand_in(&self, job: Job) -> Result<(), Job> {
        let Some(jobs) = &self.jobs else { return Err(job) };
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
        })
    }

    /// The next outcome, if there is one within `wait`.
    pub(super) fn outcome(&self, wait: Duration) -> Option<Result<Done, StoreError>> {
        match wait {
            Duration::ZERO => self.outcomes.try_recv().ok(),
            _ => self.outcomes.recv_timeout(wait).ok(),
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.jobs = None;
        // Until the thread ends: it may wait for room for an outcome.
        while self.outcomes.recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// What lies below the journals and the memory: sled and its log.
#[derive(Clone)]
pub(super) struct Base {
    /// The folder, for an error.
    pub(super) directory: PathBuf,
    /// The database.
    pub(super) db: sled::Db,
    /// Its log, which its own flush does not force further than the operating system.
    pub(super) log: Arc<File>,
}

impl Base {
    fn carry_out(&self, job: Job) -> Result<Done, StoreError> {
        match job {
            Job::Sync { files, done } => {
                self.sync(&files)?;
                done().map_err(|error| io(&self.directory, "noting what is safe", &error))?;
                Ok(Done::Synced)
            }
            Job::Load { files, layer, number, slice } => {
                // The journal first: sled may come to hold a part of what only the journal holds whole.
                self.sync(&files)?;
                self.load(&layer, number, slice)?;
                Ok(Done::Loaded)
            }
        }
    }

    /// Forces journals onto the disk.
    pub(super) fn sync(&self, files: &[Arc<File>]) -> Result<(), StoreError> {
        let synced = files.iter().try_for_each(|file| file.sync_data());
        synced.map_err(|error| io(&self.directory, "syncing the journal", &error))
    }

    /// Gives sled changes, at most `slice` of them at a time and with the last of them the number up to which it now
    /// holds everything; then forces it onto the disk.
    pub(super) fn load(&self, layer: &Layer, number: u64, slice: usize) -> Result<(), StoreError> {
        let given = self.give(layer, number, slice).and_then(|()| self.db.flush());
        given.map_err(|error| store_error(&self.directory, "writing", &error))?;
        self.log.sync_data().map_err(|error| io(&self.directory, "syncing the log", &error))
    }

    fn give(&self, layer: &Layer, number: u64, slice: usize) -> sled::Result<()> {
        let mut changes = layer.iter().peekable();
        loop {
            let mut batch = sled::Batch::default();
            for (key, value) in changes.by_ref().take(slice) {
                match value {
                    Some(value) => batch.insert(key.as_slice(), value.as_slice()),
                    None => batch.remove(key.as_slice()),
                }
            }
            let is_last = changes.peek().is_none();
            if is_last {
                batch.insert(NUMBER, &number.to_be_bytes());
            }
            self.db.apply_batch(batch)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
