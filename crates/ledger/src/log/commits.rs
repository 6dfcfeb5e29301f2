//! Group commit: one sync of the log for every operation that waits for one.
//!
//! An operation that must be safe leaves a continuation ([`Next`]) and goes on with other work. The first one that
//! finds no running sync leads: its sync covers every record appended before it began, and the leader then runs the
//! continuations of the covered operations. It leads again while uncovered operations wait.
//!
//! A failed sync is never repeated, because the system may have dropped the data and report success the next time.
//! After the first failure [`Commits::synced`] does not change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::error::{LogError, io};
use super::files::LogFile;

/// Longest wait for a sync.
pub const SYNC_WAIT: Duration = Duration::from_secs(10);

/// A continuation: runs when a record is safe, or is known not to become safe, on any thread that syncs and outside
/// all locks of the log.
pub type Next = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// The effect of one sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Synced {
    /// Records that it made safe.
    pub records: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// How far a log was appended and synced.
pub struct Commits {
    state: Mutex<State>,
    /// A sync has ended.
    ended: Condvar,
    observer: OnceLock<Arc<dyn Observer>>,
}

/// Watches syncs.
pub trait Observer: Send + Sync {
    fn sync_begins(&self);
    /// It has ended; with nothing if it failed.
    fn sync_ended(&self, synced: Option<Synced>);
}

struct State {
    /// The last segment. Records that are appended and not synced lie in it.
    file: Arc<dyn LogFile>,
    path: PathBuf,
    appended: u64,
    synced: u64,
    is_syncing: bool,
    waiting: Vec<Waiting>,
    failure: Option<String>,
}

struct Waiting {
    up_to: u64,
    since: Instant,
    next: Next,
}

impl Commits {
    /// For a log whose records are synced up to a number.
    pub fn new(file: Arc<dyn LogFile>, path: PathBuf, synced: u64) -> Commits {
        let waiting = Vec::new();
        let state = State { file, path, appended: synced, synced, is_syncing: false, waiting, failure: None };
        Commits { state: Mutex::new(state), ended: Condvar::new(), observer: OnceLock::new() }
    }

    /// Sets the observer of all syncs, once.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observer.get_or_init(|| observer);
    }

    /// Runs `next` when the record `up_to` and all before it are safe, or when it is known that they are not: at once, or
    /// after a sync, which this thread carries out where no other one does.
    pub fn when_synced(&self, up_to: u64, next: Next) {
        let mut state = self.lock();
        if let Some(outcome) = state.outcome(up_to) {
            drop(state);
            next(outcome);
        } else {
            state.waiting.push(Waiting { up_to, since: Instant::now(), next });
            drop(state);
        }
        self.lead();
    }

    /// Returns when the record `up_to` and all before it are safe, after `SYNC_WAIT` at most.
    pub fn sync(&self, up_to: u64) -> Result<(), LogError> {
        let outcome = self.sync_alone(up_to);
        self.lead();
        outcome
    }

    /// The same for a caller with locks: runs nothing that others left.
    pub fn sync_alone(&self, up_to: u64) -> Result<(), LogError> {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.outcome(up_to) {
                return outcome;
            }
            if !state.is_syncing {
                state = self.sync_once(state);
                continue;
            }
            let Some(left) = SYNC_WAIT.checked_sub(began.elapsed()) else { return Err(LogError::Stalled) };
            state = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns when all records that were appended are safe.
    pub fn sync_all(&self) -> Result<(), LogError> {
        self.sync(self.appended())
    }

    /// The newest record that is safe.
    pub fn synced(&self) -> u64 {
        self.lock().synced
    }

    /// The newest record.
    pub fn appended(&self) -> u64 {
        self.lock().appended
    }

    /// Runs settled continuations, and syncs while operations wait and no other thread syncs. Several threads must
    /// call this periodically, because one of them may hang in a sync.
    pub fn lead(&self) {
        let mut state = self.lock();
        loop {
            let settled = state.take_settled();
            if !settled.is_empty() {
                drop(state);
                settled.into_iter().for_each(|(outcome, waiting)| (waiting.next)(outcome));
                state = self.lock();
            } else if state.is_syncing || state.waiting.is_empty() {
                return;
            } else {
                state = self.sync_once(state);
            }
        }
    }

    /// One sync, outside the lock.
    fn sync_once<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let (file, appended) = (Arc::clone(&state.file), state.appended);
        let records = appended.saturating_sub(state.synced);
        state.is_syncing = true;
        drop(state);
        let observer = self.observer.get();
        observer.inspect(|observer| observer.sync_begins());
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| file.sync()));
        let result = result.unwrap_or_else(|_| Err(std::io::Error::other("the sync panicked")));
        let synced = result.is_ok().then(|| Synced { records, elapsed: began.elapsed() });
        observer.inspect(|observer| observer.sync_ended(synced));
        let mut state = self.lock();
        state.is_syncing = false;
        self.ended.notify_all();
        match result {
            Ok(()) if state.failure.is_none() => state.synced = state.synced.max(appended),
            Ok(()) => {}
            Err(error) => {
                let error = io(&state.path, "syncing the segment", &error);
                state.failure.get_or_insert_with(|| error.to_string());
            }
        }
        state
    }

    /// Refuses after a failure.
    pub fn refuse_poisoned(&self) -> Result<(), LogError> {
        self.lock().refuse_poisoned()
    }

    /// From now on nothing more counts as synced.
    pub fn stop(&self, cause: &str) {
        self.lock().failure.get_or_insert_with(|| cause.to_owned());
    }

    /// Takes a failure of the writer, and gives it back.
    pub fn poison(&self, error: LogError) -> LogError {
        self.stop(&error.to_string());
        error
    }

    /// Notes the newest record.
    pub fn note_appended(&self, last: u64) {
        self.lock().appended = last;
    }

    /// Goes on in the next segment. The caller has synced all records.
    pub fn switch(&self, file: Arc<dyn LogFile>, path: PathBuf, last: u64) {
        let mut state = self.lock();
        (state.file, state.path, state.appended, state.synced) = (file, path, last, last);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn is_late(&self) -> bool {
        self.since.elapsed() >= SYNC_WAIT
    }
}

impl State {
    fn refuse_poisoned(&self) -> Result<(), LogError> {
        match &self.failure {
            Some(cause) => Err(LogError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// The outcome of a record; `None` while a sync may still make it safe.
    fn outcome(&self, up_to: u64) -> Option<Result<(), LogError>> {
        if up_to <= self.synced {
            return Some(Ok(()));
        }
        if self.failure.is_some() {
            return Some(self.refuse_poisoned());
        }
        let appended = self.appended;
        (up_to > appended).then_some(Err(LogError::NotAppended { asked: up_to, appended }))
    }

    /// Continuations with a known outcome, and those that have waited for `SYNC_WAIT`, whose records may still become
    /// safe.
    fn take_settled(&mut self) -> Vec<(Result<(), LogError>, Waiting)> {
        let mut settled = Vec::new();
        for waiting in std::mem::take(&mut self.waiting) {
            let late = || waiting.is_late().then_some(Err(LogError::Stalled));
            match self.outcome(waiting.up_to).or_else(late) {
                Some(outcome) => settled.push((outcome, waiting)),
                None => self.waiting.push(waiting),
            }
        }
        settled
    }
}
