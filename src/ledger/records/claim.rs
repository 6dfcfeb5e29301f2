//! What is remembered of an `Idempotency-Key`: the request that it stands for and, of a long answer, how much of it is paid.
//!
//! ```text
//! a page                     whole, once it is charged
//! a stream, a download       the rows that were paid; whole, once it ended properly
//! ```
//!
//! Knows its bytes, and no store.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use crate::clock::Moment;

/// Paid rows of an answer of which nothing is left to pay.
pub(in crate::ledger) const WHOLE: u64 = u64::MAX;

/// What is remembered under a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::ledger) struct Remembered {
    /// When it is forgotten.
    pub(in crate::ledger) until: Moment,
    /// The request, or, of a download, what is unpaid of it.
    pub(in crate::ledger) hash: [u8; 16],
    /// Of a long answer: the rows from its beginning that are paid, or [`WHOLE`].
    pub(in crate::ledger) paid_rows: Option<u64>,
}

impl Record for Remembered {
    const NAME: &'static str = "remembered payment";
}
