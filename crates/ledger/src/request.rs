//! Requests to the books, and their outcomes.
//!
//! Plain values. Does not depend on stores or threads.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::directory::AccountHandle;
use super::id::{AccountId, KeyId, ReservationId};
use super::key_limits::CapStanding;
use super::progress::Progress;
use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use mercato_base::clock::{Moment, UtcMonth};

/// Rows of an answer: those of a page, to be paid, or the most that a stream can return, to be set aside.
#[derive(Clone)]
pub struct ChargeRequest {
    /// The account that pays.
    pub account: AccountHandle,
    pub key: Option<KeyId>,
    /// Rows of the answer.
    pub rows: u64,
    /// The free queries of a month that may answer it before credits do; zero for a request that is too large for them.
    pub free_queries: u32,
    /// The slug of the dataset.
    pub dataset: String,
    pub request_id: String,
    /// The claim of the client's `Idempotency-Key`.
    pub claim: Option<IdempotencyClaim>,
    /// The view that the rows are of, where rows that were paid on the site may be among them.
    pub view: Option<Viewed>,
    pub at: Moment,
}

/// Rows of a view: those of one version of a dataset that match the same filters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Viewed {
    /// Under which payments for the view are remembered.
    pub view: [u8; 16],
    pub rows: ViewRows,
    /// Whether their payment is remembered: they are sold on the site.
    pub is_remembered: bool,
}

/// Which rows of a view an answer has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ViewRows {
    All,
    /// These, by their numbers in the version.
    These(Arc<[u32]>),
    /// Some of which the numbers are not known.
    Some,
}

impl Viewed {
    /// Rows of the view of a dataset whose version has this content, with these filters in a canonical form.
    pub fn new(dataset: &str, content: &str, filters: &str, rows: ViewRows) -> Viewed {
        let view = short_hash(&[dataset.as_bytes(), content.as_bytes(), filters.as_bytes()]);
        Viewed { view, rows, is_remembered: false }
    }

    /// The same where they are sold on the site: their payment is remembered.
    #[must_use]
    pub fn on_site(self) -> Viewed {
        Viewed { is_remembered: true, ..self }
    }
}

/// A file to be downloaded, whole or in parts.
#[derive(Clone)]
pub struct DownloadRequest {
    /// The rows of the whole file.
    pub charge: ChargeRequest,
    /// The version of the dataset.
    pub version: String,
    /// The format of the file.
    pub format: String,
}

impl DownloadRequest {
    /// The hash under which a payment for the file is remembered: of dataset, version and format.
    pub fn file(&self) -> [u8; 16] {
        let parts = [&self.charge.dataset, &self.version, &self.format];
        short_hash(&parts.map(String::as_bytes))
    }
}

/// How a payment provider knows a payment: no two are alike. The provider of the operator's own payments is `operator`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaymentId {
    /// The provider that took the payment.
    pub provider: String,
    /// The provider's identifier, like the number of an invoice.
    pub id: String,
}

/// The reservation of a stream, as the stream needs it.
pub struct Reserved {
    pub id: ReservationId,
    pub account: AccountId,
    pub key: Option<KeyId>,
    pub progress: Arc<Progress>,
    pub credits: u64,
    pub remaining: u64,
    /// Whether the answer was paid before, in full or in part, and how many rows of it.
    pub is_replayed: bool,
    pub paid_before: u64,
    /// How the key stands to its caps on credits.
    pub caps: Vec<CapStanding>,
}

/// The receipt of a paid response.
///
/// It can be given back once, by handing it to `Ledger::refund`.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Credits that were taken.
    pub charged: u64,
    /// Credits that are left.
    pub remaining: u64,
    /// Whether this was paid by an earlier request: the same idempotency key, or a part of a download.
    pub replayed: bool,
    /// Rows of it that were paid on the site before.
    pub paid_before: u64,
    /// How the key stands to its caps on credits.
    pub caps: Vec<CapStanding>,
    pub undo: Undo,
}

impl Receipt {
    /// Whether it was paid with a free query.
    pub const fn is_free_query(&self) -> bool {
        self.undo.free_month.is_some()
    }

    /// The same for books that give it back later, on another thread.
    pub fn copy(&self) -> Receipt {
        let Receipt { charged, remaining, replayed, paid_before, .. } = *self;
        Receipt {
            charged,
            remaining,
            replayed,
            paid_before,
            caps: self.caps.clone(),
            undo: self.undo.clone(),
        }
    }
}

/// The key of a record, and what it held before.
pub type Replaced = (Vec<u8>, Option<Vec<u8>>);

/// The data for a refund of a charge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    pub account: AccountId,
    pub key: Option<KeyId>,
    /// The entry that charged, or zero.
    pub sequence: u64,
    pub credits: u64,
    pub rows: u64,
    pub free_month: Option<UtcMonth>,
    /// The keys of the claim and the grant that the charge wrote, and the records that it replaced.
    pub remembered: Vec<Replaced>,
    pub dataset: String,
    pub request_id: String,
    pub at: Moment,
}

/// An `Idempotency-Key` together with the request that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdempotencyClaim {
    pub key: [u8; 16],
    pub body: [u8; 16],
}

/// The kind of request that an `Idempotency-Key` belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimKind {
    /// A page or a stream, which is answered once at a time.
    Rows,
    /// A file, whose parts may be read while the whole of it is on its way.
    File,
}

/// An `Idempotency-Key` that cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an idempotency key has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters, found {found} bytes"
)]
pub struct ClaimError {
    /// Length of what was found.
    pub found: usize,
}

impl IdempotencyClaim {
    /// The claim of a client's key on a request: its route and dataset (`scope`) and its body.
    pub fn new(key: &str, scope: &str, body: &[u8]) -> Result<IdempotencyClaim, ClaimError> {
        let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if key.is_empty() || key.len() > IDEMPOTENCY_KEY_BYTES_MAX || !is_visible {
            return Err(ClaimError { found: key.len() });
        }
        Ok(IdempotencyClaim {
            key: short_hash(&[key.as_bytes()]),
            body: short_hash(&[scope.as_bytes(), body]),
        })
    }
}

/// Half a SHA-256 of the parts, each preceded by its length: enough that no client finds two alike.
pub fn short_hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut half = [0; 16];
    for (target, source) in half.iter_mut().zip(hasher.finalize()) {
        *target = source;
    }
    half
}

/// The estimated cost of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Credits that would be taken.
    pub credits_required: u64,
    /// Credits that the account has.
    pub credits_available: u64,
    /// Whether the account could pay.
    pub affordable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_claim_to_key_scope_and_body() {
        let claim = IdempotencyClaim::new("k", "query/orders", b"{}").unwrap();
        assert_eq!(IdempotencyClaim::new("k", "query/orders", b"{}"), Ok(claim));
        assert_ne!(IdempotencyClaim::new("k", "query/orders", b"{ }").unwrap().body, claim.body);
        assert_ne!(IdempotencyClaim::new("k", "query/order", b"s{}").unwrap().body, claim.body);
        for wrong in ["", "ü", "a\n", &"x".repeat(256)] {
            assert_eq!(IdempotencyClaim::new(wrong, "", b""), Err(ClaimError { found: wrong.len() }));
        }
    }
}
