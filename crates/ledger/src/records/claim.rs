//! The record of an `Idempotency-Key`: its request and, for a long response, the paid rows.
//!
//! ```text
//! a page                     whole, once it is charged; whether it was answered again for that
//! a stream, a download       the rows that were paid; whole, once it ended properly
//! ```
//!
//! Does not depend on the store.

use serde::{Deserialize, Serialize};

use super::codec::{DecodeError, Record};
use super::key_space;
use super::paid_view::PaidView;
use mercato_base::clock::Moment;

/// Paid rows of a response that is paid in full. It is the largest number, so sums with it saturate.
pub const WHOLE: u64 = u64::MAX;

/// Stands for the paid rows of a page or a file that was answered again for its payment, which is not taken back any more.
pub const REPEATED: u64 = WHOLE - 1;

/// The record of an idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Remembered {
    /// When it is forgotten.
    pub until: Moment,
    /// The request, or the unpaid rows of a download.
    pub hash: [u8; 16],
    /// Paid rows from the beginning of a long response, or [`WHOLE`]; of a page or a part of a file none, or [`REPEATED`].
    pub paid_rows: Option<u64>,
}

impl Record for Remembered {
    const NAME: &'static str = "remembered payment";
}

/// When a record of a kind that expires does so; nothing for other kinds, and where nothing is left in it.
pub fn expires_at(key: &[u8], value: &[u8]) -> Result<Option<Moment>, DecodeError> {
    match key_space::kind(key) {
        key_space::FREE_USED | key_space::CLAIM | key_space::GRANT => {
            Remembered::decode(value).map(|remembered| Some(remembered.until))
        }
        key_space::PAID_VIEW => PaidView::decode(value).map(|view| view.until()),
        _ => Ok(None),
    }
}
