//! Background work of the books: syncs, progress of streams, expiry, checkpoints, and reopening after a failure.
//!
//! ```text
//! syncer         every 50 ms: sync appended records        every 200 ms: progress of streams       down: reopen
//! checkpointer   every 5 s, or when much has changed: a checkpoint
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use super::opening::Opening;
use super::{Core, Down, LocalBooks, Open, Shared, WriteError, wake};
use crate::checkpoint::{Mark, StoreError};
use crate::error::{ChargeError, OpenError};
use crate::health::Health;
use crate::limits::{PROCESS_SYNC_MILLIS_MAX, PROGRESS_NOTE_MILLIS};
use crate::log::{Commits, LogError};

/// Interval of checkpoints while few records change.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
/// Longest pause between two attempts to reopen failed books.
const RECOVERY_PAUSE_MAX: Duration = Duration::from_secs(30);

// The sync itself takes time, so it begins before the promise ends.
const SYNC_DELAY: Duration = Duration::from_millis(PROCESS_SYNC_MILLIS_MAX / 2);
const PROGRESS_PAUSE: Duration = Duration::from_millis(PROGRESS_NOTE_MILLIS);
const EXPIRY_PAUSE: Duration = Duration::from_secs(1);

/// Starts the threads of the books.
pub fn start(shared: &Arc<Shared>) -> Result<Vec<JoinHandle<()>>, OpenError> {
    let syncer = spawn(shared, "books-sync", Shared::keep_synced, |shared| &shared.syncer)?;
    let checkpointer =
        spawn(shared, "books-checkpoint", Shared::keep_checkpoints, |shared| &shared.checkpointer)?;
    Ok(vec![syncer, checkpointer])
}

fn spawn(
    shared: &Arc<Shared>,
    name: &str,
    work: fn(&Shared),
    place: fn(&Shared) -> &OnceLock<Thread>,
) -> Result<JoinHandle<()>, OpenError> {
    let attended = Arc::clone(shared);
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || work(&attended));
    let handle = spawned.map_err(|error| OpenError::Start(error.to_string()))?;
    place(shared).get_or_init(|| handle.thread().clone());
    Ok(handle)
}

impl Shared {
    fn keep_synced(&self) {
        let (mut noted, mut expired) = (Instant::now(), Instant::now());
        while !self.is_ending() {
            thread::park_timeout(SYNC_DELAY);
            self.try_to_recover();
            self.sync_now();
            if noted.elapsed() >= PROGRESS_PAUSE {
                noted = Instant::now();
                let expires = expired.elapsed() >= EXPIRY_PAUSE;
                if expires {
                    expired = noted;
                }
                self.note(expires);
            }
        }
    }

    fn sync_now(&self) {
        let waiter = match &*self.core.lock() {
            Core::Up(open) => Arc::clone(&open.waiter),
            Core::Down(_) | Core::Closed => return,
        };
        // Failures are noted inside.
        let _ = waiter.sync_log(waiter.commits.appended());
    }

    /// Notes the progress of streams and settles reservations without one. Does nothing while the books are down.
    fn note(&self, expires: bool) {
        let Some(commits) = self.commits() else { return };
        commits.lead();
        let synced = commits.synced();
        let noted = self.change::<_, ChargeError>(|state| {
            state.synced(synced);
            state.note_progress()?;
            if expires {
                state.expire()?;
            }
            Ok(())
        });
        if let Err(error) = noted {
            tracing::debug!(%error, "the progress of streams is not noted");
        }
    }

    /// The syncs of the log; nothing while the books are down.
    fn commits(&self) -> Option<Arc<Commits>> {
        match &*self.core.lock() {
            Core::Up(open) => Some(Arc::clone(&open.waiter.commits)),
            Core::Down(_) | Core::Closed => None,
        }
    }

    fn keep_checkpoints(&self) {
        while !self.is_ending() {
            thread::park_timeout(CHECKPOINT_INTERVAL);
            if !self.is_ending() {
                // The other thread may be in a sync that hangs.
                self.commits().inspect(|commits| commits.lead());
                self.write_checkpoint();
            }
        }
    }

    /// Writes the changes since the last checkpoint. A failure stops charging, because other writes would soon fail
    /// too.
    pub fn write_checkpoint(&self) {
        let _checkpointing = self.checkpointing.lock();
        self.write_checkpoint_alone();
    }

    /// The caller keeps other checkpoints away.
    pub fn write_checkpoint_alone(&self) {
        let (changes, checkpoint, waiter, mark) = {
            let mut core = self.core.lock();
            let Core::Up(open) = &mut *core else { return };
            if open.state.unwritten() == 0 {
                return;
            }
            let Some(changes) = open.state.seal() else { return };
            let checkpoint = Arc::clone(&open.checkpoint);
            let mark = Mark { sequence: open.log.last_sequence(), entries: open.state.entries() };
            (changes, checkpoint, Arc::clone(&open.waiter), mark)
        };
        // The log first, because the checkpoint must not hold a part of an operation that the log may lose.
        if waiter.sync_log(mark.sequence).is_err() {
            return;
        }
        // Some damage is met by an assertion inside sled.
        let written = catch_unwind(AssertUnwindSafe(|| checkpoint.write(&changes, mark)));
        let written = written.map_or(Err(WriteError::Panicked), |written| Ok(written?));
        drop((changes, checkpoint));
        match written {
            Err(error) => waiter.note_failure(&error),
            Ok(()) => {
                if let Core::Up(open) = &mut *self.core.lock()
                    && Arc::ptr_eq(&open.waiter, &waiter)
                {
                    open.state.release();
                }
            }
        }
    }

    pub fn try_to_recover(&self) {
        let mut core = self.core.lock();
        let Core::Down(down) = &mut *core else { return };
        if Instant::now() < down.next_try {
            return;
        }
        match self.open_again(down) {
            Ok(open) => {
                *core = Core::Up(Box::new(open));
                self.status.set_health(Health::Serving);
                tracing::info!("the books can be written again");
            }
            Err(error) => {
                let reason = error.to_string();
                self.status.set_health(match error {
                    OpenError::Store(StoreError::Io { .. } | StoreError::Locked { .. })
                    | OpenError::Log(LogError::Io { .. }) => Health::Down { reason },
                    _ => Health::NeedsRestart { reason },
                });
                down.pause = (down.pause * 2).min(RECOVERY_PAUSE_MAX);
                down.next_try = Instant::now() + down.pause;
            }
        }
    }

    /// Reopens the books from the disk and proves that it is writable.
    fn open_again(&self, down: &Down) -> Result<Open, OpenError> {
        let opening = Opening {
            path: &self.path,
            folder: Arc::clone(&self.folder),
            directory: Arc::clone(&self.directory),
            options: down.options,
            live: &down.live,
            now: down.latest,
        };
        let Some(shared) = self.itself.upgrade() else { return Err(OpenError::Start("ending".to_owned())) };
        let mut open = Open::new(opening.open()?, &shared);
        open.state.prove_writable();
        open.begin(&down.live, down.latest)?;
        Ok(open)
    }

    /// Notes the final progress of streams and syncs.
    fn close(&self) {
        self.note(false);
        self.write_checkpoint();
        let mut core = self.core.lock();
        if let Core::Up(open) = &mut *core
            && let Err(error) = open.write().map(drop).and_then(|()| Ok(open.log.close()?))
        {
            let error: WriteError = error;
            tracing::error!(%error, "the books could not be synced at the end");
        }
        *core = Core::Closed;
    }
}

impl LocalBooks {
    /// Syncs and closes the files.
    pub fn end(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.is_ending.store(true, Ordering::SeqCst);
        wake(&self.shared.syncer);
        wake(&self.shared.checkpointer);
        for thread in threads {
            drop(thread.join());
        }
        self.shared.close();
        drop(self.shared.lock.lock().take());
    }
}
