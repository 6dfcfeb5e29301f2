//! The progress of a stream, for its reservation. Does not depend on the store or connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::account::Payment;
use mercato_base::clock::Moment;

/// How far a stream has come. The stream writes it, the books read it.
///
/// A stream that ends drops it. So the books notice a reservation that no stream settles.
#[derive(Debug)]
pub struct Progress {
    delivered: AtomicU64,
    at: AtomicI64,
    is_begun: AtomicBool,
    is_answered: AtomicBool,
    is_of_view: AtomicBool,
    is_waived: AtomicBool,
    is_fenced: AtomicBool,
}

impl Progress {
    pub fn new(now: Moment) -> Arc<Progress> {
        let at = AtomicI64::new(now.unix_millis());
        let [is_begun, is_answered, is_of_view, is_waived, is_fenced] = [false; 5].map(AtomicBool::new);
        let delivered = AtomicU64::new(0);
        Arc::new(Progress { delivered, at, is_begun, is_answered, is_of_view, is_waived, is_fenced })
    }

    /// Notes the rows that were written to the connection so far.
    pub fn note(&self, rows: u64, now: Moment) {
        self.delivered.store(rows, Ordering::Relaxed);
        self.at.store(now.unix_millis(), Ordering::Relaxed);
    }

    /// A byte of the response was written.
    pub fn begin(&self) {
        self.is_begun.store(true, Ordering::Relaxed);
    }

    /// The response is complete, even if empty.
    pub fn answer(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// The response has the last row of its view.
    pub fn end_view(&self) {
        self.is_of_view.store(true, Ordering::Relaxed);
    }

    /// The response costs nothing, whatever was delivered.
    pub fn waive(&self, now: Moment) {
        self.note(0, now);
        self.is_waived.store(true, Ordering::Relaxed);
    }

    /// Others may settle the reservation from now on: the stream must end. Says whether it was not told so before.
    pub fn fence(&self) -> bool {
        !self.is_fenced.swap(true, Ordering::Relaxed)
    }

    pub fn is_fenced(&self) -> bool {
        self.is_fenced.load(Ordering::Relaxed)
    }

    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub fn outcome(&self) -> Outcome {
        let rows = self.delivered();
        let is_whole = self.is_answered.load(Ordering::Relaxed);
        let is_waived = self.is_waived.load(Ordering::Relaxed);
        Outcome {
            rows,
            is_begun: self.is_begun.load(Ordering::Relaxed) && !is_waived,
            is_answered: rows > 0 || is_whole,
            is_whole,
            is_view: is_whole && !is_waived && self.is_of_view.load(Ordering::Relaxed),
            is_waived,
            at: Moment::from_unix_millis(self.at.load(Ordering::Relaxed)),
        }
    }
}

impl Outcome {
    /// Of a stream whose process is gone: what it had noted.
    pub fn left(rows: u64, at: Moment) -> Outcome {
        let is_answered = rows > 0;
        Outcome {
            rows,
            is_begun: is_answered,
            is_answered,
            is_whole: false,
            is_view: false,
            is_waived: false,
            at,
        }
    }

    /// A free query is answered with its first byte, a paid one with its first row.
    pub fn of(self, payment: Payment) -> Outcome {
        let is_free = matches!(payment, Payment::FreeQuery(_));
        Outcome { is_answered: self.is_answered || (is_free && self.is_begun), ..self }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Rows that were written, from the beginning of the response.
    pub rows: u64,
    /// Whether a byte of the response was written.
    pub is_begun: bool,
    pub is_answered: bool,
    /// Whether the response ended properly.
    pub is_whole: bool,
    /// Whether it ended properly, and with the last row of its view.
    pub is_view: bool,
    /// Whether it costs nothing, also where it was to be paid in full.
    pub is_waived: bool,
    pub at: Moment,
}
