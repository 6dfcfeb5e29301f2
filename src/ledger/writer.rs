//! The writer of the books: there is one, and one thread at a time has it.
//!
//! Whoever has it takes what waits, at most a batch, carries it out in memory, writes it in one piece, and then tells
//! everybody.
//!
//! ```text
//! power:    write, sync, acknowledge
//! process:  write, acknowledge;   sync at most 100 ms later
//! ```
//!
//! A write that fails ends all charging until the store is open again and agrees with what was acknowledged. Knows
//! no kind of operation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::books::{Books, LiveStreams, LoadError};
use super::directory::Directory;
use super::error::OpenError;
use super::queue::{Health, Status};
use super::store::{Store, StoreError};
use super::ticket::{Acknowledgement, Operation};
use super::watermark::Watermark;
use crate::clock::Moment;
use crate::limits::ledger::{
    BATCH_OPERATIONS_MAX, PROCESS_SYNC_MILLIS_MAX, PROGRESS_NOTE_MILLIS, RECOVERY_RETRY_MILLIS,
};

const PANIC_REASON: &str = "the store stopped in the middle of an operation";
const CLEANING_INTERVAL: Duration = Duration::from_secs(1);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);
// The sync itself takes time, so it begins before the promise ends.
const SYNC_DELAY: Duration = Duration::from_millis(PROCESS_SYNC_MILLIS_MAX / 2);
// While the disk is still at the sync before.
const SYNC_PAUSE: Duration = Duration::from_millis(2);

/// When an acknowledged charge is safe from what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChargeDurability {
    /// From a loss of power, before it is acknowledged.
    #[default]
    Power,
    /// From the death of the process, before it is acknowledged; from a loss of power 100 ms later.
    Process,
}

impl std::str::FromStr for ChargeDurability {
    type Err = String;

    fn from_str(text: &str) -> Result<ChargeDurability, String> {
        match text {
            "power" => Ok(ChargeDurability::Power),
            "process" => Ok(ChargeDurability::Process),
            _ => Err(format!("expected `power` or `process`, found `{text}`")),
        }
    }
}

/// What is needed to write the books.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) directory: Arc<Directory>,
    pub(super) status: Arc<Status>,
    pub(super) durability: ChargeDurability,
    pub(super) watermark: Arc<Watermark>,
    pub(super) state: State,
    /// Since when something is written and not synced.
    pub(super) unsynced_since: Option<Instant>,
    pub(super) acknowledged: u64,
    pub(super) progress_noted: Instant,
    pub(super) cleaned: Instant,
    /// Room for a batch.
    pub(super) batch: Vec<Operation>,
}

/// Whether the books can be written.
pub(super) enum State {
    /// They can.
    Up(Box<Books>),
    /// They cannot, and this is what is needed to take them up again.
    Down(Box<dyn Store>, Down),
    /// The state is being changed.
    Changing,
}

/// What survives the failure of a store.
pub(super) struct Down {
    live: LiveStreams,
    claims: Vec<Vec<u8>>,
    latest: Moment,
    pause: Duration,
    next_try: Instant,
}

impl Writer {
    /// Carries out and writes what waits, at most a batch, and returns whom to tell. That is done without the writer:
    /// whoever is woken may take the processor, and others would wait for the writer meanwhile.
    #[must_use = "callers wait for their acknowledgements"]
    pub(super) fn write_waiting(&mut self, waiting: &Receiver<Operation>) -> Vec<Acknowledgement> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.extend(waiting.try_iter().take(BATCH_OPERATIONS_MAX));
        let mut acknowledgements = Vec::with_capacity(batch.len());
        self.guard(|writer| writer.write_batch(&mut batch, &mut acknowledgements));
        self.batch = batch;
        // Where callers are always at it, the ledger thread may not come to it in time.
        self.guard(Writer::keep_house);
        acknowledgements
    }

    /// Whether nothing is due before the next note of what streams have delivered.
    pub(super) fn idles(&self) -> bool {
        matches!(self.state, State::Up(_)) && self.unsynced_since.is_none()
    }

    /// A panic inside the store counts as its failure.
    fn guard(&mut self, step: impl FnOnce(&mut Writer)) {
        self.status.beat();
        if catch_unwind(AssertUnwindSafe(|| step(self))).is_ok() {
            return;
        }
        let reason = PANIC_REASON.to_owned();
        match self.state {
            State::Up(_) => self.fail(reason),
            State::Down(..) | State::Changing => self.status.set_health(Health::NeedsRestart { reason }),
        }
    }

    /// How long nothing is due, unless work comes.
    pub(super) fn idle_time(&self) -> Duration {
        if let State::Down(_, down) = &self.state {
            return down.next_try.saturating_duration_since(Instant::now());
        }
        let note = Duration::from_millis(PROGRESS_NOTE_MILLIS).saturating_sub(self.progress_noted.elapsed());
        let sync =
            self.unsynced_since.map(|since| SYNC_DELAY.saturating_sub(since.elapsed()).max(SYNC_PAUSE));
        note.min(sync.unwrap_or(note))
    }

    fn write_batch(&mut self, batch: &mut Vec<Operation>, acknowledgements: &mut Vec<Acknowledgement>) {
        let operations = batch.len();
        if !matches!(self.state, State::Up(_)) {
            batch.clear();
        }
        if batch.is_empty() {
            return;
        }
        let is_awaited = batch.iter().any(|operation| operation.is_awaited);
        batch.reverse();
        let written = catch_unwind(AssertUnwindSafe(|| {
            while let State::Up(books) = &mut self.state
                && let Some(operation) = batch.pop()
            {
                acknowledgements.push(operation.carry_out(books));
            }
            self.commit(is_awaited)
        }));
        let failure = match written {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(PANIC_REASON.to_owned()),
        };
        let Some(reason) = failure else {
            if let State::Up(books) = &self.state {
                self.status.count(books, operations);
            }
            return;
        };
        // First the state, then the word: who hears of the failure finds the books down.
        let unwritten = std::mem::take(acknowledgements);
        self.fail(reason);
        batch.clear();
        drop(unwritten);
    }

    /// Writes what was carried out and shows it to everybody.
    fn commit(&mut self, is_awaited: bool) -> Result<(), StoreError> {
        let began = Instant::now();
        let State::Up(books) = &mut self.state else { return Ok(()) };
        if books.commit()? {
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
        if is_awaited && self.durability == ChargeDurability::Power && self.unsynced_since.is_some() {
            self.sync()?;
        }
        if is_awaited {
            let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.status.flush_micros.count(micros);
        }
        if let State::Up(books) = &mut self.state {
            self.acknowledged = books.last_sequence();
            books.publish();
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let State::Up(books) = &mut self.state else { return Ok(()) };
        books.sync()?;
        self.unsynced_since = None;
        self.watermark.raise(books.last_sequence()).map_err(|error| StoreError::Io {
            path: Watermark::path(&self.path),
            action: "writing",
            detail: error.to_string(),
        })
    }

    /// Syncs, notes, cleans and recovers, each when it is time for it.
    pub(super) fn do_what_is_due(&mut self) {
        match &self.state {
            State::Down(_, down) if Instant::now() >= down.next_try => self.guard(Writer::try_to_recover),
            _ => self.guard(Writer::keep_house),
        }
    }

    /// Writes and syncs what is left, and lets go of the store.
    pub(super) fn finish(&mut self) {
        self.guard(Writer::close);
        self.state = State::Changing;
    }

    fn keep_house(&mut self) {
        if let Err(error) = self.note_and_sync() {
            self.fail(error.to_string());
        }
    }

    fn note_and_sync(&mut self) -> Result<(), StoreError> {
        let State::Up(books) = &mut self.state else { return Ok(()) };
        if self.progress_noted.elapsed() >= Duration::from_millis(PROGRESS_NOTE_MILLIS) {
            self.progress_noted = Instant::now();
            // What goes wrong here spoils the commit below, which reports it.
            drop(books.note_progress());
            if self.cleaned.elapsed() >= CLEANING_INTERVAL {
                self.cleaned = Instant::now();
                drop(books.clean());
            }
            self.commit(false)?;
        }
        if self.unsynced_since.is_some_and(|since| since.elapsed() >= SYNC_DELAY) {
            self.sync_later()?;
        }
        Ok(())
    }

    /// Charging goes on meanwhile.
    fn sync_later(&mut self) -> Result<(), StoreError> {
        let State::Up(books) = &mut self.state else { return Ok(()) };
        let (watermark, sequence) = (Arc::clone(&self.watermark), books.last_sequence());
        if books.sync_later(Box::new(move || watermark.raise(sequence)))? {
            self.unsynced_since = None;
        }
        Ok(())
    }

    fn close(&mut self) {
        let State::Up(books) = &mut self.state else { return };
        drop(books.note_progress());
        if let Err(error) = self.commit(false).and_then(|()| self.sync()) {
            tracing::error!(%error, "the books could not be synced at the end");
        }
    }

    /// Stops charging. Said once; what follows is silent until the books are back.
    fn fail(&mut self, reason: String) {
        let State::Up(books) = std::mem::replace(&mut self.state, State::Changing) else { return };
        tracing::error!(%reason, "the books cannot be written; charging stops until they can");
        self.status.set_health(Health::Down { reason });
        self.unsynced_since = None;
        let pause = Duration::from_millis(RECOVERY_RETRY_MILLIS);
        let down = Down {
            live: books.live_streams(),
            claims: books.pending_claims(),
            latest: books.latest(),
            pause,
            next_try: Instant::now() + pause,
        };
        self.state = State::Down(books.into_store(), down);
    }

    fn try_to_recover(&mut self) {
        let State::Down(mut store, down) = std::mem::replace(&mut self.state, State::Changing) else {
            return;
        };
        if let Err(error) = store.reopen() {
            return self.stay_down(store, down, &error.into());
        }
        match Books::load(&self.path, store, Arc::clone(&self.directory), &down.live, down.latest) {
            Err(LoadError { error, store }) => self.stay_down(store, down, &error),
            Ok(mut books) => match self.prove(&mut books, &down) {
                Ok(taken_back) => {
                    self.state = State::Up(Box::new(books));
                    self.status.set_health(Health::Serving);
                    tracing::info!(taken_back, "the books can be written again");
                }
                Err(error) => self.stay_down(books.into_store(), down, &error),
            },
        }
    }

    /// Whether the books hold all that was acknowledged and can be written.
    fn prove(&mut self, books: &mut Books, down: &Down) -> Result<usize, OpenError> {
        if books.last_sequence() < self.acknowledged {
            let (expected, found) = (self.acknowledged, books.last_sequence());
            return Err(OpenError::Behind { directory: self.path.clone(), expected, found });
        }
        let taken_back = books.take_back(self.acknowledged, &down.claims, down.latest);
        // An error here spoils the commit, which reports it.
        let _ = books.note_progress();
        books.prove_writable();
        books.commit()?;
        books.sync()?;
        books.publish();
        self.acknowledged = books.last_sequence();
        Ok(taken_back.unwrap_or(0))
    }

    fn stay_down(&mut self, store: Box<dyn Store>, mut down: Down, error: &OpenError) {
        let reason = error.to_string();
        self.status.set_health(match error {
            OpenError::Store(StoreError::Io { .. } | StoreError::Locked { .. }) => Health::Down { reason },
            _ => Health::NeedsRestart { reason },
        });
        down.pause = (down.pause * 2).min(RETRY_PAUSE_MAX);
        down.next_try = Instant::now() + down.pause;
        self.state = State::Down(store, down);
    }
}
