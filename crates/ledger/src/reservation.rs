//! A reservation: credits set aside for a running stream or download.
//!
//! However the stream ends, the reservation is settled: by `settle`, on drop, or, after the death of the process, at
//! the next start. Does not depend on connections.

use super::error::ChargeError;
use super::key_limits::CapStanding;
use super::operations::charges::Settle;
use super::pending::Pending;
use super::request::{Receipt, Reserved};
use super::store::Store;
use mercato_base::clock::Moment;

/// Credits that are set aside for a stream.
pub struct Reservation {
    store: Store,
    reserved: Reserved,
    is_settled: bool,
}

impl Reservation {
    pub fn new(store: Store, reserved: Reserved) -> Reservation {
        Reservation { store, reserved, is_settled: false }
    }

    /// How the key stands to its caps on credits, with this reservation.
    pub fn caps(&self) -> &[CapStanding] {
        &self.reserved.caps
    }

    /// Credits that are set aside; zero on a free query.
    pub const fn reserved(&self) -> u64 {
        self.reserved.credits
    }

    /// Credits that the account has beside them.
    pub const fn remaining(&self) -> u64 {
        self.reserved.remaining
    }

    /// Whether the same request was paid before under its idempotency key, in full or in part.
    pub const fn is_replayed(&self) -> bool {
        self.reserved.is_replayed
    }

    /// The price of so many rows, from the beginning of the response, beyond those paid before.
    pub fn price(&self, rows: u64) -> u64 {
        rows.saturating_sub(self.reserved.paid_before).min(self.reserved.credits)
    }

    /// Whether the response must end, because this server may not charge for further rows any more.
    pub fn is_over(&self) -> bool {
        self.reserved.progress.is_fenced()
    }

    /// The client has a byte of the response: it uses up a free query, however it ends.
    pub fn begin(&self) {
        self.reserved.progress.begin();
    }

    /// The response goes to the last row of its view.
    pub fn end_view(&self) {
        self.reserved.progress.end_view();
    }

    /// Notes the rows that were written to the connection, from the beginning of the response. Cheap enough for every
    /// write.
    pub fn delivered(&self, rows: u64, now: Moment) {
        self.reserved.progress.note(rows, now);
    }

    /// The server broke the response off: it costs nothing, and all credits are returned.
    pub fn waive(self, now: Moment) {
        self.reserved.progress.waive(now);
    }

    /// The stream ended properly after so many rows, from the beginning of the response: they are charged, and the
    /// rest is returned.
    pub fn settle(mut self, rows: u64, now: Moment) -> Result<Pending<Receipt>, ChargeError> {
        self.is_settled = true;
        self.reserved.progress.note(rows, now);
        self.reserved.progress.answer();
        self.store.settle(&self.settlement())
    }

    fn settlement(&self) -> Settle {
        let Reserved { id, account, key, progress, .. } = &self.reserved;
        Settle { id: *id, account: *account, key: *key, outcome: progress.outcome(), note: "" }
    }
}

impl Drop for Reservation {
    /// The stream broke off: the rows that were written are charged. Books that are down settle it later, because no stream holds
    /// its progress any more.
    fn drop(&mut self) {
        if !self.is_settled {
            drop(self.store.settle(&self.settlement()));
        }
    }
}
