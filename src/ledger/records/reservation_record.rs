//! The record of an open reservation.

use serde::{Deserialize, Serialize};

use super::account::Payment;
use super::codec::Record;
use super::id::{AccountId, KeyId, ReservationId};
use crate::clock::Moment;

/// The file that a download delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::ledger) struct ReservedFile {
    /// The idempotency key and the file under which its payment is remembered.
    pub(in crate::ledger) hash: [u8; 16],
    /// Parts of it were handed out while the download ran, because its price is set aside: it is paid in full then,
    /// however the download ends.
    pub(in crate::ledger) is_promised: bool,
}

/// The idempotency key of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::ledger) struct ReservedClaim {
    /// The hash of the key.
    pub(in crate::ledger) key: [u8; 16],
    /// The hash of the request.
    pub(in crate::ledger) body: [u8; 16],
    /// Rows that were paid before: only those behind them are paid now.
    pub(in crate::ledger) paid_before: u64,
}

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::ledger) struct ReservationRecord {
    pub(in crate::ledger) id: ReservationId,
    pub(in crate::ledger) account: AccountId,
    /// With which key it was opened.
    pub(in crate::ledger) key: Option<KeyId>,
    /// The reserved payment.
    pub(in crate::ledger) payment: Payment,
    /// The entry that set it aside; zero when nothing was taken from the balance.
    pub(in crate::ledger) sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub(in crate::ledger) delivered: u64,
    pub(in crate::ledger) at: Moment,
    pub(in crate::ledger) request_id: String,
    pub(in crate::ledger) dataset: String,
    /// The downloaded file; `None` for a stream.
    pub(in crate::ledger) file: Option<ReservedFile>,
    pub(in crate::ledger) claim: Option<ReservedClaim>,
    /// The view that is paid once all of the response was written.
    pub(in crate::ledger) view: Option<[u8; 16]>,
}

impl ReservationRecord {
    /// Rows of the response that were paid before.
    pub(in crate::ledger) fn paid_before(&self) -> u64 {
        self.claim.map_or(0, |claim| claim.paid_before)
    }

    /// Credits that are set aside.
    pub(in crate::ledger) const fn credits(&self) -> u64 {
        self.payment.credits()
    }
}

impl Record for ReservationRecord {
    const NAME: &'static str = "reservation";
}
