//! A reservation as it is kept while it is open, and the progress of the stream that it pays for.
//!
//! Knows its bytes, and no store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::account::Payment;
use super::codec::Record;
use super::id::{AccountId, KeyId, ReservationId};
use crate::clock::Moment;

/// The file that a download delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct HeldFile {
    /// What a payment for it is remembered under.
    pub(super) hash: [u8; 16],
    /// Parts of it were handed out while the download ran, on the strength of what is held back: it is paid in full
    /// then, however the download ends.
    pub(super) is_promised: bool,
}

/// The idempotency key under which an answer is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct HeldClaim {
    /// The hash of the key.
    pub(super) key: [u8; 16],
    /// The hash of the request.
    pub(super) body: [u8; 16],
    /// Rows that were paid before: only those behind them are paid now.
    pub(super) paid_before: u64,
}

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct HoldRecord {
    pub(super) id: ReservationId,
    pub(super) account: AccountId,
    /// With which key it was opened.
    pub(super) key: Option<KeyId>,
    /// What is held back.
    pub(super) payment: Payment,
    /// The entry that holds it back; zero when nothing was taken from the balance.
    pub(super) sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub(super) delivered: u64,
    pub(super) at: Moment,
    pub(super) request_id: String,
    pub(super) dataset: String,
    /// What is downloaded; nothing for a stream.
    pub(super) file: Option<HeldFile>,
    pub(super) claim: Option<HeldClaim>,
}

impl HoldRecord {
    /// Rows of the answer that were paid before.
    pub(super) fn paid_before(&self) -> u64 {
        self.claim.map_or(0, |claim| claim.paid_before)
    }

    /// Credits that are held back.
    pub(super) const fn credits(&self) -> u64 {
        self.payment.credits()
    }
}

impl Record for HoldRecord {
    const NAME: &'static str = "reservation";
}

/// How far a stream has come. The stream writes it, the books read it.
///
/// A stream that is gone holds it no more; by that the books notice a reservation that nobody settles.
#[derive(Debug)]
pub(super) struct Progress {
    delivered: AtomicU64,
    at: AtomicI64,
    is_answered: AtomicBool,
    is_waived: AtomicBool,
}

impl Progress {
    pub(super) fn new(now: Moment) -> Arc<Progress> {
        let at = AtomicI64::new(now.unix_millis());
        let (is_answered, is_waived) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Progress { delivered: AtomicU64::new(0), at, is_answered, is_waived })
    }

    /// Notes the rows that were written to the connection so far.
    pub(super) fn note(&self, rows: u64, now: Moment) {
        self.delivered.store(rows, Ordering::Relaxed);
        self.at.store(now.unix_millis(), Ordering::Relaxed);
    }

    /// The client got its answer, if only an empty one.
    pub(super) fn answer(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// The answer costs nothing, whatever was delivered of it.
    pub(super) fn waive(&self, now: Moment) {
        self.note(0, now);
        self.is_waived.store(true, Ordering::Relaxed);
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
    /// Rows from the beginning of the answer that the client has.
    pub(super) rows: u64,
    pub(super) is_answered: bool,
    /// Whether the answer ended properly.
    pub(super) is_whole: bool,
    /// Whether it costs nothing, also where it was to be paid in full.
    pub(super) is_waived: bool,
    pub(super) at: Moment,
}
