//! The books of one process on its own disk: a log, the state in memory, and a checkpoint.
//!
//! ```text
//! operation    lock; decide and change the state; append to the log; unlock
//! durable      with `power`: a sync of the log, shared by all operations appended before it; its thread runs their continuations
//! checkpoint   every few seconds: the changes since the last one, up to a synced sequence number
//! ```
//!
//! After a failed write the content of the disk is unknown: the log is poisoned, charging is refused, and everything
//! is read from the disk again, without unacknowledged records.

mod backup;
mod lock;
pub mod moving;
mod opening;
mod reading;
mod serving;
#[cfg(test)]
mod tests;
mod upkeep;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::ChargeDurability;
use super::checkpoint::{Checkpoint, StoreError};
use super::directory::Directory;
use super::error::{BooksError, OpenError, Unavailable};
use super::health::{Health, Status};
use super::log::{Commits, Folder, Log, LogError, OpenOptions, SyncObserver, Synced};
use super::pending::{Durability, Next, Pending};
use super::state::{LiveStreams, State};
use crate::limits::CHECKPOINT_RECORDS_MAX;
use lock::Lock;
use mercato_base::clock::Moment;
use opening::{Opened, Opening, log_folder};

pub use backup::restore;
pub use reading::inspect;

/// Records changed since the last checkpoint above which operations are refused as busy.
const UNWRITTEN_RECORDS_MAX: usize = 1_048_576;
/// The longest wait for other operations on the books.
const BOOKS_WAIT_MILLIS_MAX: u64 = 10_000;
/// Pause before failed books are reopened; it doubles with each attempt.
const RECOVERY_RETRY_MILLIS: u64 = 250;

/// Books on the disk of this machine.
pub struct LocalBooks {
    pub shared: Arc<Shared>,
    threads: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads of the books share.
pub struct Shared {
    path: PathBuf,
    folder: Arc<dyn Folder>,
    directory: Arc<Directory>,
    durability: ChargeDurability,
    core: Mutex<Core>,
    /// Held while a checkpoint is written or read.
    checkpointing: Mutex<()>,
    /// Held for writing while segments of the log are moved away.
    segments: RwLock<()>,
    status: Status,
    itself: Weak<Shared>,
    is_ending: AtomicBool,
    syncer: OnceLock<Thread>,
    checkpointer: OnceLock<Thread>,
    /// Released when the books are closed, also while a thread still waits for an outcome.
    lock: Mutex<Option<Lock>>,
}

/// Whether there are books to work on.
enum Core {
    Up(Box<Open>),
    /// The disk failed; holds the state needed to reopen the books.
    Down(Down),
    Closed,
}

pub struct Open {
    state: State,
    /// What the state stands above.
    checkpoint: Arc<Checkpoint>,
    log: Log,
    waiter: Arc<Waiter>,
    payload: Vec<u8>,
}

/// The state that survives a failure.
struct Down {
    live: LiveStreams,
    options: OpenOptions,
    latest: Moment,
    pause: Duration,
    next_try: Instant,
}

/// Why an operation was not written.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("a record of {0} bytes is too long")]
    TooLong(usize),
    #[error("an operation stopped in its middle")]
    Panicked,
}

impl Open {
    fn new(opened: Opened, shared: &Arc<Shared>) -> Open {
        let commits = opened.log.commits();
        let observer: Arc<dyn SyncObserver> = Arc::<Shared>::clone(shared);
        commits.observe(observer);
        let waiter = Waiter { commits, shared: Arc::clone(shared) };
        let Opened { state, checkpoint, log } = opened;
        Open { state, checkpoint, log, waiter: Arc::new(waiter), payload: Vec::new() }
    }

    /// Appends the records of the operation. Returns whether there were any.
    fn write(&mut self) -> Result<bool, WriteError> {
        let Some(written) = self.state.take_written()? else { return Ok(false) };
        self.payload.clear();
        written.encode(&mut self.payload).map_err(WriteError::TooLong)?;
        let last = self.log.append(written.count(), &self.payload)?;
        self.state.appended(written, last);
        Ok(true)
    }

    /// Settles reservations without a live stream, and syncs.
    fn begin(&mut self, live: &LiveStreams, now: Moment) -> Result<(), OpenError> {
        while self.state.settle_orphans(live, now)? {
            self.write()?;
        }
        self.write()?;
        self.waiter.commits.sync_all()?;
        Ok(())
    }
}

impl Shared {
    /// Carries an operation out and appends its records to the log.
    fn change<T, E: From<BooksError>>(
        &self,
        operation: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<Pending<T, E>, E> {
        let _busy = self.status.operate();
        if self.status.health() != Health::Serving {
            return refuse(if self.is_ending() { Unavailable::Stopped } else { Unavailable::Down });
        }
        let mut core = self.lock()?;
        let open = match &mut *core {
            Core::Up(open) if open.state.unwritten() < UNWRITTEN_RECORDS_MAX => open,
            Core::Up(_) => return refuse(Unavailable::Busy),
            Core::Down(_) => return refuse(Unavailable::Down),
            Core::Closed => return refuse(Unavailable::Stopped),
        };
        let carried_out = catch_unwind(AssertUnwindSafe(|| {
            let outcome = operation(&mut open.state);
            open.write().map(|is_changed| (outcome, is_changed))
        }));
        let (outcome, is_changed) = match carried_out.unwrap_or(Err(WriteError::Panicked)) {
            Ok(written) => written,
            Err(error) => {
                let waiter = Arc::clone(&open.waiter);
                self.fail(&mut core, &error);
                drop(core);
                // Operations that wait for a sync fail at once.
                waiter.commits.lead();
                return refuse(Unavailable::Down);
            }
        };
        self.status.count_operation();
        self.status.entries.store(open.state.entries(), Ordering::Relaxed);
        self.status.operations.fetch_add(u64::from(is_changed), Ordering::Relaxed);
        self.status.open_reservations.store(open.state.open_reservations() as u64, Ordering::Relaxed);
        let (waiter, last) = (Arc::clone(&open.waiter), open.log.last_sequence());
        let is_full = open.state.unwritten() >= CHECKPOINT_RECORDS_MAX;
        drop(core);
        if is_full {
            wake(&self.checkpointer);
        }
        Ok(Pending::new(outcome?, waiter, last))
    }

    /// Reads the books, or notes facts that may be lost, so there is nothing to wait for.
    fn with_state<T, E: From<BooksError>>(
        &self,
        read: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        self.change(read).and_then(Pending::into_outcome)
    }

    fn lock(&self) -> Result<MutexGuard<'_, Core>, BooksError> {
        let core = self.core.try_lock_for(Duration::from_millis(BOOKS_WAIT_MILLIS_MAX));
        core.ok_or_else(|| Unavailable::Stalled.into())
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Stops charging. Logs the first failure only, until the books are back.
    fn fail(&self, core: &mut Core, error: &WriteError) {
        let Core::Up(open) = std::mem::replace(core, Core::Closed) else { return };
        let reason = error.to_string();
        tracing::error!(%reason, "the books cannot be written; charging stops until they can");
        let commits = &open.waiter.commits;
        commits.stop(&reason);
        // Unacknowledged records are cut when the books are reopened.
        let acknowledged = match self.durability {
            ChargeDurability::Process => open.log.last_sequence(),
            ChargeDurability::Power => commits.synced(),
        };
        let next_at_least = open.log.next_sequence().max(open.state.next_sequence()) + 1;
        let options = OpenOptions { keep_until: Some(acknowledged), next_at_least, ..OpenOptions::default() };
        let pause = Duration::from_millis(RECOVERY_RETRY_MILLIS);
        *core = Core::Down(Down {
            live: open.state.live_streams(),
            options,
            latest: open.state.latest(),
            pause,
            next_try: Instant::now() + pause,
        });
        self.status.set_health(Health::Down { reason });
        wake(&self.syncer);
    }
}

impl SyncObserver for Shared {
    fn sync_begins(&self) {
        self.status.begin_sync();
    }

    fn sync_ended(&self, synced: Option<Synced>) {
        synced.inspect(|synced| self.status.count_sync(synced.records, synced.elapsed));
        self.status.end_sync();
    }
}

/// Waits for the syncs of one opening of the log.
struct Waiter {
    commits: Arc<Commits>,
    shared: Arc<Shared>,
}

impl Durability for Waiter {
    fn sync(&self, up_to: u64) -> Result<(), Unavailable> {
        match self.shared.durability {
            ChargeDurability::Process => Ok(()),
            ChargeDurability::Power => self.sync_log(up_to),
        }
    }

    fn is_durable(&self, up_to: u64) -> bool {
        self.shared.durability == ChargeDurability::Process || up_to <= self.commits.synced()
    }

    fn when_durable(self: Arc<Self>, up_to: u64, next: Next) {
        match self.shared.durability {
            ChargeDurability::Process => next(Ok(())),
            ChargeDurability::Power => {
                let waiter = Arc::clone(&self);
                let next = move |synced| next(waiter.judge(synced));
                self.commits.when_synced(up_to, Box::new(next));
            }
        }
    }
}

impl Waiter {
    fn sync_log(&self, up_to: u64) -> Result<(), Unavailable> {
        self.judge(self.commits.sync(up_to))
    }

    /// Handles the outcome of a sync for its waiters. The first one to see a failure stops charging.
    fn judge(&self, synced: Result<(), LogError>) -> Result<(), Unavailable> {
        match synced {
            Ok(()) => Ok(()),
            Err(LogError::Stalled) => Err(Unavailable::Stalled),
            Err(error) => {
                self.note_failure(&error.into());
                Err(Unavailable::Down)
            }
        }
    }

    /// Stops charging, unless the books were opened again since.
    fn note_failure(&self, error: &WriteError) {
        let mut core = self.shared.core.lock();
        if let Core::Up(open) = &*core
            && Arc::ptr_eq(&open.waiter.commits, &self.commits)
        {
            self.shared.fail(&mut core, error);
        }
    }
}

fn refuse<T, E: From<BooksError>>(reason: Unavailable) -> Result<T, E> {
    Err(BooksError::from(reason).into())
}

fn wake(thread: &OnceLock<Thread>) {
    if let Some(thread) = thread.get() {
        thread.unpark();
    }
}

impl LocalBooks {
    /// Opens the books of a folder, which is created when it does not exist, and starts their threads.
    pub fn open(
        path: &Path,
        durability: ChargeDurability,
        directory: Arc<Directory>,
        now: Moment,
    ) -> Result<LocalBooks, OpenError> {
        let lock = lock::lock(path)?;
        let books = LocalBooks::unattended(path, log_folder(path)?, lock, durability, directory, now)?;
        let threads = upkeep::start(&books.shared)?;
        *books.threads.lock().unwrap_or_else(PoisonError::into_inner) = threads;
        Ok(books)
    }

    /// Opens books without background threads; the caller syncs and writes checkpoints.
    fn unattended(
        path: &Path,
        folder: Arc<dyn Folder>,
        lock: Lock,
        durability: ChargeDurability,
        directory: Arc<Directory>,
        now: Moment,
    ) -> Result<LocalBooks, OpenError> {
        let (options, live) = (OpenOptions::default(), LiveStreams::new());
        let (files, shown) = (Arc::clone(&folder), Arc::clone(&directory));
        let opening = Opening { path, folder: files, directory: shown, options, live: &live, now };
        let opened = opening.open()?;
        let shared = Arc::new_cyclic(|itself: &Weak<Shared>| Shared {
            path: path.to_owned(),
            folder,
            directory,
            durability,
            core: Mutex::new(Core::Closed),
            checkpointing: Mutex::new(()),
            segments: RwLock::new(()),
            status: Status::new(),
            is_ending: AtomicBool::new(false),
            syncer: OnceLock::new(),
            checkpointer: OnceLock::new(),
            lock: Mutex::new(Some(lock)),
            itself: itself.clone(),
        });
        let mut open = Open::new(opened, &shared);
        open.begin(&live, now)?;
        shared.status.entries.store(open.state.entries(), Ordering::Relaxed);
        *shared.core.lock() = Core::Up(Box::new(open));
        Ok(LocalBooks { shared, threads: std::sync::Mutex::default() })
    }
}

impl From<WriteError> for OpenError {
    fn from(error: WriteError) -> OpenError {
        match error {
            WriteError::Store(error) => error.into(),
            WriteError::Log(error) => error.into(),
            other => OpenError::Start(other.to_string()),
        }
    }
}
