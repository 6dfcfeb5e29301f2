//! Makes appended records safe from a loss of power: one sync for all that wait.
//!
//! Who comes first leads: its sync covers everything that was appended before it began. Who comes meanwhile waits, and
//! one of them leads next. A sync that failed is never repeated, because the system may have dropped what it should
//! have written and call the next sync a success. From the first failure on nothing counts as synced that did not
//! before, so that the number which [`Commits::synced`] gives then stays as it is.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::{LogError, io};
use super::files::LogFile;

/// How long a caller waits for the sync of another one.
const SYNC_WAIT: Duration = Duration::from_secs(10);

/// What one sync did.
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
    /// Those that the sync under way covers wait at one, those that came later at the other; each sync swaps them.
    queues: [Condvar; 2],
}

struct State {
    /// The last segment. What is appended and not synced lies in it.
    file: Arc<dyn LogFile>,
    path: PathBuf,
    appended: u64,
    synced: u64,
    /// Up to where the sync under way reaches.
    syncing: Option<u64>,
    /// The queue of those that the sync under way covers.
    covered: usize,
    failure: Option<String>,
}

impl Commits {
    /// Of a log whose records are synced up to a number.
    pub(super) fn new(file: Arc<dyn LogFile>, path: PathBuf, synced: u64) -> Commits {
        let state = State { file, path, appended: synced, synced, syncing: None, covered: 0, failure: None };
        Commits { state: Mutex::new(state), queues: [Condvar::new(), Condvar::new()] }
    }

    /// Returns when the record `up_to` and all before it are safe, or, where another one leads, after `SYNC_WAIT`.
    /// Tells what this caller synced; nothing when another one did it.
    pub fn sync(&self, up_to: u64) -> Result<Option<Synced>, LogError> {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if up_to <= state.synced {
                return Ok(None);
            }
            state.refuse_poisoned()?;
            if up_to > state.appended {
                return Err(LogError::NotAppended { asked: up_to, appended: state.appended });
            }
            let Some(reach) = state.syncing else { return self.lead(state).map(Some) };
            let Some(left) = SYNC_WAIT.checked_sub(began.elapsed()) else { return Err(LogError::Stalled) };
            let queue = self.queue(if up_to <= reach { state.covered } else { 1 - state.covered });
            state = queue.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns when all records that were appended are safe.
    pub fn sync_all(&self) -> Result<Option<Synced>, LogError> {
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

    fn lead(&self, mut state: MutexGuard<'_, State>) -> Result<Synced, LogError> {
        let (file, appended) = (Arc::clone(&state.file), state.appended);
        state.syncing = Some(appended);
        // Whoever waits until this sync begins is covered by it.
        state.covered = 1 - state.covered;
        let records = appended.saturating_sub(state.synced);
        drop(state);
        let began = Instant::now();
        let result = file.sync();
        let synced = Synced { records, elapsed: began.elapsed() };
        let mut state = self.lock();
        state.syncing = None;
        let answer = match result {
            Err(error) => {
                let error = io(&state.path, "syncing the segment", &error);
                state.failure.get_or_insert_with(|| error.to_string());
                Err(error)
            }
            Ok(()) => state.refuse_poisoned(),
        };
        if answer.is_ok() {
            state.synced = state.synced.max(appended);
        }
        let (covered, next) = (self.queue(state.covered), self.queue(1 - state.covered));
        drop(state);
        covered.notify_all();
        // One of those that came later leads; after a failure nobody does, and all are told.
        if answer.is_ok() {
            next.notify_one();
        } else {
            next.notify_all();
        }
        answer.map(|()| synced)
    }

    fn queue(&self, place: usize) -> &Condvar {
        let [even, odd] = &self.queues;
        if place == 0 { even } else { odd }
    }

    /// Refuses after a failure.
    pub(super) fn refuse_poisoned(&self) -> Result<(), LogError> {
        self.lock().refuse_poisoned()
    }

    /// From now on nothing more counts as synced.
    pub fn stop(&self, cause: &str) {
        self.lock().failure.get_or_insert_with(|| cause.to_owned());
    }

    /// Takes a failure of the writer, and gives it back.
    pub(super) fn poison(&self, error: LogError) -> LogError {
        self.stop(&error.to_string());
        error
    }

    /// Notes the newest record.
    pub(super) fn note_appended(&self, last: u64) {
        self.lock().appended = last;
    }

    /// Goes on in the next segment. The caller has synced all records.
    pub(super) fn switch(&self, file: Arc<dyn LogFile>, path: PathBuf, last: u64) {
        let mut state = self.lock();
        (state.file, state.path, state.appended, state.synced) = (file, path, last, last);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn refuse_poisoned(&self) -> Result<(), LogError> {
        match &self.failure {
            Some(cause) => Err(LogError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }
}
