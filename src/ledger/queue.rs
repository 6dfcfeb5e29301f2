//! The way to the ledger thread: a bounded queue, and what the thread lets others know about itself.
//!
//! Knows no operation in particular.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::books::Books;
use super::error::{ChargeError, Unavailable};
use super::ticket::{Operation, Ticket};
use crate::histogram::{Histogram, MICROS, NUMBERS};
use crate::limits::ledger::{QUEUE_OPERATIONS_MAX, STALL_MILLIS_MAX};

/// What is sent to the ledger thread.
pub(super) enum Message {
    /// Work.
    Work(Operation),
    /// Finish what was sent before this, and end.
    Stop,
}

/// Where operations are handed in. Cheap to clone.
#[derive(Clone)]
pub(super) struct Queue {
    sender: Sender<Message>,
    pub(super) status: Arc<Status>,
}

impl Queue {
    pub(super) fn new() -> (Queue, Receiver<Message>) {
        let (sender, receiver) = bounded(QUEUE_OPERATIONS_MAX);
        (Queue { sender, status: Arc::default() }, receiver)
    }

    /// Hands in work whose outcome is awaited.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Books) -> Result<T, ChargeError> + Send + 'static,
    ) -> Result<Ticket<T>, ChargeError> {
        let (operation, ticket) = Operation::awaited(work);
        self.send(operation)?;
        Ok(ticket)
    }

    /// Hands in work that nobody awaits.
    pub(super) fn submit_lazy(
        &self,
        work: impl FnOnce(&mut Books) + Send + 'static,
    ) -> Result<(), ChargeError> {
        self.send(Operation::lazy(work))
    }

    /// Asks the thread to end, after what was handed in before.
    pub(super) fn stop(&self) {
        drop(self.sender.send(Message::Stop));
    }

    /// Whether the books can be written. A thread that lets work wait without a sign of life is taken for stuck.
    pub(super) fn health(&self) -> Health {
        let silence = self.status.silence_millis();
        if self.depth() > 0 && silence > STALL_MILLIS_MAX {
            return Health::NeedsRestart {
                reason: format!("the ledger thread has been silent for {silence} ms"),
            };
        }
        self.status.health()
    }

    pub(super) fn depth(&self) -> usize {
        self.sender.len()
    }

    fn send(&self, operation: Operation) -> Result<(), ChargeError> {
        if self.status.health() != Health::Serving {
            return Err(Unavailable::Down.into());
        }
        match self.sender.try_send(Message::Work(operation)) {
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

/// What the ledger thread lets others know.
pub(super) struct Status {
    health: Mutex<Health>,
    started: Instant,
    // Milliseconds from the start to the last sign of life of the thread.
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
    /// The thread is alive: called between any two things that it does.
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
