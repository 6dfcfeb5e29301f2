//! Idempotency keys and other records of payments, until they expire.
//!
//! A key stands for one request of an account on one version. While a response runs, its open reservation holds the
//! key; afterwards a record does, written together with the charge or the settlement. For a stream or a download the
//! record has the paid rows from the beginning of the response. A repeated response pays the rows beyond them, so all
//! responses under one key together cost as much as the longest of them.

use crate::account::Payment;
use crate::claim::{REPEATED, Remembered, WHOLE};
use crate::codec::Record;
use crate::error::{BooksError, ChargeError};
use crate::id::AccountId;
use crate::key_space;
use crate::limits::IDEMPOTENCY_HOURS;
use crate::operation::{Operation, Reads};
use crate::progress::Outcome;
use crate::request::{ChargeRequest, ClaimKind, IdempotencyClaim, Replaced};
use crate::reservation_record::{ReservationRecord, ReservedClaim};
use crate::state::State;
use mercato_base::clock::Moment;

/// Asks for which of these claims of one key the account has paid: of the same body on several versions of a dataset. Refused
/// when the key has paid for another request, or when it is for rows and one of these is being answered.
pub struct PaidAmong<'c> {
    pub account: AccountId,
    pub kind: ClaimKind,
    pub claims: &'c [IdempotencyClaim],
    pub at: Moment,
}

impl Operation for PaidAmong<'_> {
    /// The place of the claim.
    type Outcome = Option<usize>;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        Reads {
            claims: self.claims.iter().map(|claim| claim.key).take(1).collect(),
            ..Reads::account(self.account)
        }
    }

    fn decide(&self, books: &mut State) -> Result<Option<usize>, ChargeError> {
        books.paid_among(self.account, self.kind, self.claims, self.at)
    }
}

/// Whether an idempotency key has paid already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claimed {
    No,
    /// The same request has paid.
    Yes,
}

/// The start of a response: its claim, the payment of its unpaid rest, and whether it was paid before, in full or in
/// part.
pub struct Begun {
    pub claim: Option<ReservedClaim>,
    pub payment: Payment,
    pub is_replayed: bool,
}

impl State {
    /// Whether this idempotency key has paid for this request. Refused if the key stands for another request, or for
    /// one in progress.
    pub fn claimed(
        &mut self,
        account: AccountId,
        claim: &IdempotencyClaim,
        now: Moment,
    ) -> Result<Claimed, ChargeError> {
        let paid = self.paid_among(account, ClaimKind::Rows, std::slice::from_ref(claim), now)?;
        Ok(if paid.is_some() { Claimed::Yes } else { Claimed::No })
    }

    /// The place of the request that the key of these claims has paid for; refused when it has paid for none of them
    /// but for another one, or when its rows are being answered.
    pub fn paid_among(
        &mut self,
        account: AccountId,
        kind: ClaimKind,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        match (self.reserved_among(account, claims)?, kind) {
            (None, _) => self.remembered_among(account, claims, now),
            (Some(_), ClaimKind::Rows) => Err(ChargeError::IdempotencyInUse),
            (held, ClaimKind::File) => Ok(held),
        }
    }

    /// Begins a response: at the full `price`, or, under a key that was used for it, at the price of its unpaid rows, of which
    /// `paid_on_site` are none. A repeated response does not count as a free query.
    pub fn begin_answer(
        &mut self,
        request: &ChargeRequest,
        paid_on_site: u64,
        price: Result<Payment, ChargeError>,
    ) -> Result<Begun, ChargeError> {
        let Some(claim) = &request.claim else {
            return Ok(Begun { claim: None, payment: price?, is_replayed: false });
        };
        let account = request.account.id();
        let paid = match self.claimed(account, claim, request.at)? {
            Claimed::No => None,
            Claimed::Yes => Some(self.paid_rows(account, claim)?),
        };
        let payment = match paid {
            None => price?,
            Some(paid) => {
                let unpaid = request.rows.saturating_sub(paid).saturating_sub(paid_on_site);
                self.account(account)?.record.balance.pay_credits(unpaid)?
            }
        };
        let reserved = ReservedClaim { key: claim.key, body: claim.body, paid_before: paid.unwrap_or(0) };
        Ok(Begun { claim: Some(reserved), payment, is_replayed: paid.is_some() })
    }

    /// Remembers the paid rows of an ended response, for a day from the last payment.
    pub fn keep_claim(
        &mut self,
        record: &ReservationRecord,
        outcome: Outcome,
        sold: u64,
        is_promised: bool,
    ) -> Result<(), ChargeError> {
        let Some(ReservedClaim { key, body, paid_before }) = record.claim else { return Ok(()) };
        if !outcome.is_answered && !is_promised {
            return Ok(());
        }
        let is_free = matches!(record.payment, Payment::FreeQuery(_));
        let is_all = outcome.is_whole || is_promised || is_free;
        let rows = if is_all { WHOLE } else { paid_before.max(outcome.rows) };
        let key = key_space::claim(record.account, &key);
        let until = if paid_before == 0 || sold > 0 {
            a_day_after(outcome.at)
        } else {
            let Some(before) = self.read::<Remembered>(&key)? else { return Ok(()) };
            before.until
        };
        self.keep(&key, Remembered { until, hash: body, paid_rows: Some(rows) });
        Ok(())
    }

    /// Makes sure that the key of a part of a file stands for that file.
    pub fn check_part(&mut self, request: &ChargeRequest) -> Result<(), ChargeError> {
        let Some(claim) = &request.claim else { return Ok(()) };
        let claims = std::slice::from_ref(claim);
        self.paid_among(request.account.id(), ClaimKind::File, claims, request.at).map(drop)
    }

    /// Remembers that so many rows of a file were paid with a part of it. Returns the record before, to undo that.
    pub fn keep_part(&mut self, request: &ChargeRequest, cost: u64) -> Result<Option<Replaced>, ChargeError> {
        let Some(claim) = &request.claim else { return Ok(None) };
        let account = request.account.id();
        let is_known = self.remembered_among(account, std::slice::from_ref(claim), request.at)?.is_some();
        let before = if is_known { self.paid_rows(account, claim)? } else { 0 };
        let paid = before.saturating_add(cost);
        let key = key_space::claim(account, &claim.key);
        let previous = self.get(&key)?;
        let paid_rows = Some(if paid >= request.rows { WHOLE } else { paid });
        self.keep(&key, Remembered { until: a_day_after(request.at), hash: claim.body, paid_rows });
        Ok(Some((key, previous)))
    }

    /// The index of the claim that is in progress under this key. Refused if another request is in progress.
    fn reserved_among(
        &self,
        account: AccountId,
        claims: &[IdempotencyClaim],
    ) -> Result<Option<usize>, ChargeError> {
        let Some(first) = claims.first() else { return Ok(None) };
        let mut held = self.reservations_of(account).filter_map(|record| record.claim);
        match held.find(|held| held.key == first.key) {
            None => Ok(None),
            Some(held) => place_of(claims, &held.key, &held.body).map(Some),
        }
    }

    fn remembered_among(
        &mut self,
        account: AccountId,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        let Some(first) = claims.first() else { return Ok(None) };
        match self.remembered(&key_space::claim(account, &first.key), now)? {
            None => Ok(None),
            Some(body) => place_of(claims, &first.key, &body).map(Some),
        }
    }

    /// Rows that are paid under a key that is remembered.
    fn paid_rows(&mut self, account: AccountId, claim: &IdempotencyClaim) -> Result<u64, BooksError> {
        let remembered = self.read::<Remembered>(&key_space::claim(account, &claim.key))?;
        Ok(remembered.and_then(|remembered| remembered.paid_rows).unwrap_or(WHOLE))
    }

    /// Notes that what the payment under this key was for is answered again.
    pub fn note_repetition(&mut self, key: &[u8]) -> Result<(), BooksError> {
        if let Some(first) = self.read::<Remembered>(key)?.filter(|first| first.paid_rows.is_none()) {
            self.keep(key, Remembered { paid_rows: Some(REPEATED), ..first });
        }
        Ok(())
    }

    /// Whether a page or a part of a file was answered again after it had been paid.
    pub fn is_repeated(&mut self, key: &[u8]) -> Result<bool, BooksError> {
        Ok(self.read::<Remembered>(key)?.is_some_and(|found| found.paid_rows == Some(REPEATED)))
    }

    /// Remembers a hash under a key.
    pub fn remember(&mut self, key: &[u8], hash: &[u8; 16], until: Moment) {
        self.keep(key, Remembered { until, hash: *hash, paid_rows: None });
    }

    /// Remembers something under a key until it expires.
    pub fn keep(&mut self, key: &[u8], remembered: Remembered) {
        self.written.changes.put(key.to_vec(), remembered.encode());
        self.written.changes.put(key_space::expiry(remembered.until, key), Vec::new());
    }

    /// Restores the former record of a key.
    pub fn put_back(&mut self, key: &[u8], previous: &[u8]) -> Result<(), BooksError> {
        let remembered = self.decoded(Remembered::decode(previous))?;
        self.keep(key, remembered);
        Ok(())
    }

    /// The hash that is remembered under a key, unless it has expired.
    pub fn remembered(&mut self, key: &[u8], now: Moment) -> Result<Option<[u8; 16]>, BooksError> {
        let remembered = self.read::<Remembered>(key)?.filter(|remembered| now < remembered.until);
        Ok(remembered.map(|remembered| remembered.hash))
    }
}

/// How long a key is remembered that paid at this moment.
pub fn a_day_after(payment: Moment) -> Moment {
    payment.plus_seconds(IDEMPOTENCY_HOURS * 3_600)
}

/// Which of the claims a key stands for.
fn place_of(claims: &[IdempotencyClaim], key: &[u8; 16], body: &[u8; 16]) -> Result<usize, ChargeError> {
    let place = claims.iter().position(|claim| claim.key == *key && claim.body == *body);
    place.ok_or(ChargeError::IdempotencyMismatch)
}
