//! The way to the books: a bounded queue, and who carries out what waits in it.
//!
//! Whoever awaits an outcome and finds nobody at it carries out everything that waits, its own operation and those of
//! others, and writes them in one piece; the others find their outcome there. So a charge in quiet costs no hand-over to
//! another thread and back, and charges under load still share a write. (Flat combining: Hendler, Incze, Shavit, Tzafrir,
//! "Flat Combining and the Synchronization-Parallelism Tradeoff", SPAA 2010.) The ledger thread does what nobody awaits
//! and what is due. Knows no operation in particular.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::books::Books;
use super::error::{ChargeError, Unavailable};
use super::letterbox::Letterbox;
use super::ticket::{Operation, Ticket};
use super::writer::{ChargeDurability, Writer};
use crate::histogram::{Histogram, MICROS, NUMBERS};
use crate::limits::ledger::{COMBINED_BATCHES_MAX, QUEUE_OPERATIONS_MAX, STALL_MILLIS_MAX};

/// Where operations are handed in. Cheap to clone.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

/// What the ledger thread listens to.
pub(super) type Bell = Letterbox<()>;

struct Shared {
    entrance: Sender<Operation>,
    waiting: Receiver<Operation>,
    /// Whoever holds it is the one that writes.
    writer: Mutex<Writer>,
    /// Wakes the ledger thread.
    bell: Arc<Bell>,
    is_ending: AtomicBool,
    status: Arc<Status>,
    durability: ChargeDurability,
}

impl Queue {
    /// The queue before a writer, and the bell that the ledger thread listens to.
    pub(super) fn new(writer: Writer) -> (Queue, Arc<Bell>) {
        let (entrance, waiting) = bounded(QUEUE_OPERATIONS_MAX);
        let bell = Arc::<Bell>::default();
        let listener = Arc::clone(&bell);
        let (status, durability) = (Arc::clone(&writer.status), writer.durability);
        let (writer, is_ending) = (Mutex::new(writer), AtomicBool::new(false));
        let shared = Shared { entrance, waiting, writer, bell, is_ending, status, durability };
        (Queue { shared: Arc::new(shared) }, listener)
    }

    /// Hands in work whose outcome is awaited.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Books) -> Result<T, ChargeError> + Send + 'static,
    ) -> Result<Ticket<T>, ChargeError> {
        let (operation, outcome) = Operation::awaited(work);
        self.send(operation)?;
        if self.waits_for_the_disk() {
            // It can be at it while the caller does something else.
            self.ring();
        }
        Ok(Ticket::new(outcome, self.clone()))
    }

    pub(super) fn waits_for_the_disk(&self) -> bool {
        self.shared.durability == ChargeDurability::Power
    }

    /// Hands in work that nobody awaits.
    pub(super) fn submit_lazy(
        &self,
        work: impl FnOnce(&mut Books) + Send + 'static,
    ) -> Result<(), ChargeError> {
        self.send(Operation::lazy(work))
    }

    /// Wakes the ledger thread.
    pub(super) fn ring(&self) {
        // A bell that rings already rings for this as well.
        self.shared.bell.put(());
    }

    /// Asks the ledger thread to end, after what was handed in before.
    pub(super) fn end(&self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.ring();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.shared.is_ending.load(Ordering::SeqCst)
    }

    /// Whether the books can be written. Work that waits while nobody gives a sign of life means that the writer is stuck.
    pub(super) fn health(&self) -> Health {
        let silence = self.shared.status.silence_millis();
        if self.depth() > 0 && silence > STALL_MILLIS_MAX {
            return Health::NeedsRestart { reason: format!("the books have been silent for {silence} ms") };
        }
        self.shared.status.health()
    }

    pub(super) fn depth(&self) -> usize {
        self.shared.waiting.len()
    }

    pub(super) fn status(&self) -> &Status {
        &self.shared.status
    }

    /// Carries out what waits, unless somebody is at it: then that one, once done, sees what came meanwhile.
    pub(super) fn help(&self) {
        for _ in 0..COMBINED_BATCHES_MAX {
            // With the fence of `has_work`: either this finds the writer free, or its holder finds what waits.
            fence(Ordering::SeqCst);
            let mut writer = match self.shared.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            let had_nothing_due = writer.idles();
            let acknowledgements = writer.write_waiting(&self.shared.waiting);
            let has_something_due = had_nothing_due && !writer.idles();
            drop(writer);
            acknowledgements.into_iter().for_each(|acknowledge| acknowledge());
            if has_something_due {
                self.ring();
            }
            if !self.has_work() {
                return;
            }
        }
        self.ring();
    }

    /// What the ledger thread does, until it is asked to end.
    pub(super) fn attend(&self, bell: &Bell) {
        loop {
            let is_last = self.is_ending();
            self.carry_out_all();
            let mut writer = self.writer();
            writer.do_what_is_due();
            if is_last {
                writer.finish();
                drop(writer);
                // Whoever was too late is told.
                return self.carry_out_all();
            }
            let idle_time = writer.idle_time();
            drop(writer);
            if !self.has_work() {
                // When nobody rings, something is due.
                let _ = bell.wait(idle_time);
            }
        }
    }

    /// Carries out everything that waits; waits for the writer where somebody has it.
    pub(super) fn carry_out_all(&self) {
        while self.has_work() {
            // The writer is let go at the end of the statement.
            let acknowledgements = self.writer().write_waiting(&self.shared.waiting);
            acknowledgements.into_iter().for_each(|acknowledge| acknowledge());
        }
    }

    /// Whether something waits. Whoever lets go of the writer asks, because those that came meanwhile count on it.
    fn has_work(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.shared.waiting.is_empty()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, operation: Operation) -> Result<(), ChargeError> {
        if self.is_ending() {
            return Err(Unavailable::Stopped.into());
        }
        if self.shared.status.health() != Health::Serving {
            return Err(Unavailable::Down.into());
        }
        match self.shared.entrance.try_send(operation) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(Unavailable::Busy.into()),
            Err(TrySendError::Disconnected(_)) => Err(Unavailable::Stopped.into()),
        }
    }
}

/// Whether the books can be written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Health {
    /// They can.
    #[default]
    Serving,
    /// The store failed. It is opened again and again until it works.
    Down {
        /// What failed, for the operator.
        reason: String,
    },
    /// The store failed and what it holds now contradicts what was acknowledged.
    NeedsRestart {
        /// What was found, for the operator.
        reason: String,
    },
}

/// What whoever writes lets others know.
pub(super) struct Status {
    health: Mutex<Health>,
    started: Instant,
    // Milliseconds from the start to the last sign of life of the writer.
    last_beat: AtomicU64,
    pub(super) entries: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) operations: AtomicU64,
    pub(super) open_reservations: AtomicU64,
    pub(super) batch_sizes: Histogram<{ NUMBERS.len() }>,
    pub(super) flush_micros: Histogram<{ MICROS.len() }>,
}

impl Default for Status {
    fn default() -> Status {
        Status {
            health: Mutex::default(),
            started: Instant::now(),
            last_beat: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            open_reservations: AtomicU64::new(0),
            batch_sizes: Histogram::new(&NUMBERS),
            flush_micros: Histogram::new(&MICROS),
        }
    }
}

impl Status {
    /// The writer is alive: called between any two things that it does.
    pub(super) fn beat(&self) {
        self.last_beat.store(self.elapsed_millis(), Ordering::Relaxed);
    }

    fn elapsed_millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn silence_millis(&self) -> u64 {
        self.elapsed_millis().saturating_sub(self.last_beat.load(Ordering::Relaxed))
    }

    pub(super) fn health(&self) -> Health {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_health(&self, health: Health) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }

    pub(super) fn count(&self, books: &Books, operations: usize) {
        self.entries.store(books.last_sequence(), Ordering::Relaxed);
        self.open_reservations.store(books.open_reservations() as u64, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.batch_sizes.count(operations as u64);
    }
}
