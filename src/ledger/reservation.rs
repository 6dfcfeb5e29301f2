//! What a stream holds while it runs: credits that are set aside for it.
//!
//! However the stream ends, the reservation is settled: by `settle`, by being dropped, or, when the process dies, at
//! the next start. Knows no connection.

use std::sync::Arc;

use super::books::Books;
use super::error::{ChargeError, Unavailable};
use super::hold::Progress;
use super::id::ReservationId;
use super::key_limits::CapStanding;
use super::order::Receipt;
use super::pending::Pending;
use super::state::Reserved;
use crate::clock::Moment;

/// Credits that are set aside for a stream.
pub struct Reservation {
    books: Arc<dyn Books>,
    id: ReservationId,
    // Gone once the reservation is settled.
    progress: Option<Arc<Progress>>,
    credits: u64,
    remaining: u64,
    is_replayed: bool,
    paid_before: u64,
    caps: Vec<CapStanding>,
}

impl Reservation {
    pub(super) fn new(books: Arc<dyn Books>, reserved: Reserved) -> Reservation {
        let Reserved { id, progress, credits, remaining, is_replayed, paid_before, caps } = reserved;
        Reservation {
            books,
            id,
            progress: Some(progress),
            credits,
            remaining,
            is_replayed,
            paid_before,
            caps,
        }
    }

    /// How the key stands to its caps on credits, with this reservation.
    pub fn caps(&self) -> &[CapStanding] {
        &self.caps
    }

    /// Credits that are set aside; zero on a free query.
    pub const fn reserved(&self) -> u64 {
        self.credits
    }

    /// Credits that the account has beside them.
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Whether the same request was paid before under its idempotency key, in full or in part.
    pub const fn is_replayed(&self) -> bool {
        self.is_replayed
    }

    /// What so many rows, from the beginning of the answer, cost beyond what was paid before.
    pub fn price(&self, rows: u64) -> u64 {
        rows.saturating_sub(self.paid_before).min(self.credits)
    }

    /// Notes how many rows of the answer, from its beginning, the client has so far. Cheap: call it with every write.
    pub fn delivered(&self, rows: u64, now: Moment) {
        if let Some(progress) = &self.progress {
            progress.note(rows, now);
        }
    }

    /// The answer broke off by our own fault: nothing of it is paid, and everything comes back.
    pub fn waive(self, now: Moment) {
        if let Some(progress) = &self.progress {
            progress.waive(now);
        }
    }

    /// The stream ended as it should after so many rows, from the beginning of the answer: they are paid, the rest comes
    /// back.
    pub fn settle(mut self, rows: u64, now: Moment) -> Result<Pending<Receipt>, ChargeError> {
        let Some(progress) = self.progress.take() else { return Err(Unavailable::Stopped.into()) };
        progress.note(rows, now);
        progress.answer();
        self.books.settle(self.id, &progress)
    }
}

impl Drop for Reservation {
    /// The stream broke off: what was delivered is paid. If the books are down, they find out later that nobody holds the
    /// reservation, and settle it.
    fn drop(&mut self) {
        if let Some(progress) = self.progress.take() {
            drop(self.books.settle(self.id, &progress));
        }
    }
}
