//! Whether the books can be written, and numbers about them, readable at any moment.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercato_base::sample::DURATION_SECONDS;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Time without progress, while operations wait, after which the books count as stuck.
const STALL_MILLIS_MAX: u64 = 30_000;

/// Whether the books can be written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Health {
    /// They can.
    #[default]
    Serving,
    /// The disk failed. The books are opened again and again until that works.
    Down {
        /// The failure, for the operator.
        reason: String,
    },
    /// The disk contradicts acknowledged records after a failure, or is stuck.
    NeedsRestart {
        /// The finding, for the operator.
        reason: String,
    },
}

/// The published state of the books.
pub struct Status {
    health: Mutex<Health>,
    operating: Activity,
    syncing: Activity,
    pub entries: AtomicU64,
    pub operations: AtomicU64,
    pub open_reservations: AtomicU64,
    /// Operations that one sync made durable.
    pub group_sizes: Histogram,
    pub sync_seconds: Histogram,
}

impl Status {
    pub fn new() -> Status {
        Status {
            health: Mutex::default(),
            operating: Activity::new(),
            syncing: Activity::new(),
            entries: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            open_reservations: AtomicU64::new(0),
            group_sizes: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            sync_seconds: Histogram::new(DURATION_SECONDS),
        }
    }

    /// A caller begins an operation, which lasts until the guard is dropped.
    pub fn operate(&self) -> Busy<'_> {
        self.operating.begin();
        Busy(&self.operating)
    }

    pub fn begin_sync(&self) {
        self.syncing.begin();
    }

    /// Counts a sync and its records.
    pub fn count_sync(&self, records: u64, elapsed: Duration) {
        self.group_sizes.observe(records as f64);
        self.sync_seconds.observe(elapsed.as_secs_f64());
    }

    pub fn end_sync(&self) {
        self.syncing.end();
    }

    pub fn count_operation(&self) {
        self.operating.advance();
    }

    /// Callers that wait while nothing gets on for long mean that the disk is stuck.
    pub fn health(&self) -> Health {
        let silence = self.operating.silence_millis().max(self.syncing.silence_millis());
        if silence > STALL_MILLIS_MAX {
            return Health::NeedsRestart { reason: format!("the disk has not answered for {silence} ms") };
        }
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_health(&self, health: Health) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }
}

/// Whether callers that wait get on.
struct Activity {
    started: Instant,
    waiting: AtomicUsize,
    /// Milliseconds from the start to the last time that something got on.
    last_advance: AtomicU64,
}

impl Activity {
    fn new() -> Activity {
        Activity { started: Instant::now(), waiting: AtomicUsize::new(0), last_advance: AtomicU64::new(0) }
    }

    fn begin(&self) {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            self.advance();
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.last_advance.store(self.elapsed_millis(), Ordering::Relaxed);
    }

    fn elapsed_millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Time without progress while operations wait.
    fn silence_millis(&self) -> u64 {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.elapsed_millis().saturating_sub(self.last_advance.load(Ordering::Relaxed))
    }
}

/// A caller that waits.
pub struct Busy<'s>(&'s Activity);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
