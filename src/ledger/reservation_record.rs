//! A reservation as it is kept while it is open. Knows no store.

use serde::{Deserialize, Serialize};

use super::account::Payment;
use super::codec::Record;
use super::id::{AccountId, KeyId, ReservationId};
use crate::clock::Moment;

/// The file that a download delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ReservedFile {
    /// What a payment for it is remembered under.
    pub(super) hash: [u8; 16],
    /// Parts of it were handed out while the download ran, because its price is set aside: it is paid in full then,
    /// however the download ends.
    pub(super) is_promised: bool,
}

/// The idempotency key under which an answer is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ReservedClaim {
    /// The hash of the key.
    pub(super) key: [u8; 16],
    /// The hash of the request.
    pub(super) body: [u8; 16],
    /// Rows that were paid before: only those behind them are paid now.
    pub(super) paid_before: u64,
}

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ReservationRecord {
    pub(super) id: ReservationId,
    pub(super) account: AccountId,
    /// With which key it was opened.
    pub(super) key: Option<KeyId>,
    /// What is set aside.
    pub(super) payment: Payment,
    /// The entry that set it aside; zero when nothing was taken from the balance.
    pub(super) sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub(super) delivered: u64,
    pub(super) at: Moment,
    pub(super) request_id: String,
    pub(super) dataset: String,
    /// What is downloaded; nothing for a stream.
    pub(super) file: Option<ReservedFile>,
    pub(super) claim: Option<ReservedClaim>,
}

impl ReservationRecord {
    /// Rows of the answer that were paid before.
    pub(super) fn paid_before(&self) -> u64 {
        self.claim.map_or(0, |claim| claim.paid_before)
    }

    /// Credits that are set aside.
    pub(super) const fn credits(&self) -> u64 {
        self.payment.credits()
    }
}

impl Record for ReservationRecord {
    const NAME: &'static str = "reservation";
}
