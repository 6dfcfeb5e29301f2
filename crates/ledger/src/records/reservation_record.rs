//! The record of an open reservation.

use serde::{Deserialize, Serialize};

use super::account::Payment;
use super::codec::Record;
use super::id::{AccountId, KeyId, ReservationId};
use mercato_base::clock::Moment;

/// The file that a download delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReservedFile {
    /// The idempotency key and the file under which its payment is remembered.
    pub hash: [u8; 16],
    /// Parts of it were handed out while the download ran, because its price is set aside: it is paid in full then,
    /// however the download ends.
    pub is_promised: bool,
}

/// The idempotency key of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReservedClaim {
    /// The hash of the key.
    pub key: [u8; 16],
    /// The hash of the request.
    pub body: [u8; 16],
    /// Rows that were paid before: only those behind them are paid now.
    pub paid_before: u64,
}

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReservationRecord {
    pub id: ReservationId,
    pub account: AccountId,
    /// With which key it was opened.
    pub key: Option<KeyId>,
    /// The reserved payment.
    pub payment: Payment,
    /// The entry that set it aside; zero when nothing was taken from the balance.
    pub sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub delivered: u64,
    pub at: Moment,
    pub request_id: String,
    pub dataset: String,
    /// The downloaded file; `None` for a stream.
    pub file: Option<ReservedFile>,
    pub claim: Option<ReservedClaim>,
    /// The view that is paid once all of the response was written.
    pub view: Option<[u8; 16]>,
}

impl ReservationRecord {
    /// Rows of the response that were paid before.
    pub fn paid_before(&self) -> u64 {
        self.claim.map_or(0, |claim| claim.paid_before)
    }

    /// Credits that are set aside.
    pub const fn credits(&self) -> u64 {
        self.payment.credits()
    }
}

impl Record for ReservationRecord {
    const NAME: &'static str = "reservation";
}
