//! The progress of a stream, for its reservation. Does not depend on the store or connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crate::clock::Moment;

/// How far a stream has come. The stream writes it, the books read it.
///
/// A stream that ends drops it. So the books notice a reservation that no stream settles.
#[derive(Debug)]
pub(super) struct Progress {
    delivered: AtomicU64,
    at: AtomicI64,
    is_answered: AtomicBool,
    is_waived: AtomicBool,
    is_fenced: AtomicBool,
}

impl Progress {
    pub(super) fn new(now: Moment) -> Arc<Progress> {
        let at = AtomicI64::new(now.unix_millis());
        let [is_answered, is_waived, is_fenced] = [false; 3].map(AtomicBool::new);
        Arc::new(Progress { delivered: AtomicU64::new(0), at, is_answered, is_waived, is_fenced })
    }

    /// Notes the rows that were written to the connection so far.
    pub(super) fn note(&self, rows: u64, now: Moment) {
        self.delivered.store(rows, Ordering::Relaxed);
        self.at.store(now.unix_millis(), Ordering::Relaxed);
    }

    /// The response is complete, even if empty.
    pub(super) fn answer(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// The response costs nothing, whatever was delivered.
    pub(super) fn waive(&self, now: Moment) {
        self.note(0, now);
        self.is_waived.store(true, Ordering::Relaxed);
    }

    /// Others may settle the reservation from now on: the stream must end. Says whether it was not told so before.
    pub(super) fn fence(&self) -> bool {
        !self.is_fenced.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.is_fenced.load(Ordering::Relaxed)
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub(super) fn outcome(&self) -> Outcome {
        let rows = self.delivered();
        let is_whole = self.is_answered.load(Ordering::Relaxed);
        Outcome {
            rows,
            is_answered: rows > 0 || is_whole,
            is_whole,
            is_waived: self.is_waived.load(Ordering::Relaxed),
            at: Moment::from_unix_millis(self.at.load(Ordering::Relaxed)),
        }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Delivered rows from the beginning of the response.
    pub(super) rows: u64,
    pub(super) is_answered: bool,
    /// Whether the response ended properly.
    pub(super) is_whole: bool,
    /// Whether it costs nothing, also where it was to be paid in full.
    pub(super) is_waived: bool,
    pub(super) at: Moment,
}
