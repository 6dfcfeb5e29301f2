//! Whether the books can be written, and numbers about them, readable at any moment.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::{Histogram, MICROS, NUMBERS};
use crate::limits::ledger::STALL_MILLIS_MAX;

/// Whether the books can be written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Health {
    /// They can.
    #[default]
    Serving,
    /// The disk failed. The books are opened again and again until that works.
    Down {
        /// What failed, for the operator.
        reason: String,
    },
    /// The disk failed and what it holds now contradicts what was acknowledged, or it has not answered for long.
    NeedsRestart {
        /// What was found, for the operator.
        reason: String,
    },
}

/// What the books let others know.
pub(super) struct Status {
    health: Mutex<Health>,
    started: Instant,
    /// Callers that are inside, and milliseconds from the start to the last one that came out.
    inside: AtomicUsize,
    last_beat: AtomicU64,
    pub(super) entries: AtomicU64,
    pub(super) operations: AtomicU64,
    pub(super) open_reservations: AtomicU64,
    /// Operations that one sync made durable.
    pub(super) group_sizes: Histogram<{ NUMBERS.len() }>,
    pub(super) sync_micros: Histogram<{ MICROS.len() }>,
}

impl Status {
    pub(super) fn new() -> Status {
        Status {
            health: Mutex::default(),
            started: Instant::now(),
            inside: AtomicUsize::new(0),
            last_beat: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            open_reservations: AtomicU64::new(0),
            group_sizes: Histogram::new(&NUMBERS),
            sync_micros: Histogram::new(&MICROS),
        }
    }

    /// A caller goes in; it comes out when the guard is dropped.
    pub(super) fn enter(&self) -> Inside<'_> {
        if self.inside.fetch_add(1, Ordering::Relaxed) == 0 {
            self.beat();
        }
        Inside(self)
    }

    pub(super) fn count_sync(&self, records: u64, elapsed: Duration) {
        self.group_sizes.count(records);
        self.sync_micros.count(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
    }

    fn beat(&self) {
        self.last_beat.store(self.elapsed_millis(), Ordering::Relaxed);
    }

    fn elapsed_millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Callers that are inside while none comes out for long mean that the disk is stuck.
    pub(super) fn health(&self) -> Health {
        let silence = self.elapsed_millis().saturating_sub(self.last_beat.load(Ordering::Relaxed));
        if self.inside.load(Ordering::Relaxed) > 0 && silence > STALL_MILLIS_MAX {
            return Health::NeedsRestart { reason: format!("the books have been silent for {silence} ms") };
        }
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_health(&self, health: Health) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }
}

/// A caller that is inside.
pub(super) struct Inside<'s>(&'s Status);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::Relaxed);
        self.0.beat();
    }
}
