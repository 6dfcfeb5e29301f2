//! Asks for checkouts, paid or not, newest first. They exclude purchases that the operator entered by hand.

use super::{behind, checkouts_of};
use crate::checkout::Checkout;
use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::ledger::Ledger;
use crate::limits::CHECKOUTS_PER_PAGE_MAX;
use crate::operation::{Operation, Reads};
use crate::state::State;

/// A query for a page of purchases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurchasesQuery {
    /// Only of this account.
    pub account: Option<AccountId>,
    /// Only those with a lower number than this one; nothing for the newest.
    pub before: Option<u64>,
    /// At most so many; `CHECKOUTS_PER_PAGE_MAX` is the most.
    pub limit: usize,
}

impl Operation for PurchasesQuery {
    type Outcome = Vec<Checkout>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::nothing()
    }

    fn decide(&self, books: &mut State) -> Result<Vec<Checkout>, BooksError> {
        let PurchasesQuery { account, before, limit } = *self;
        if let Some(account) = account {
            return checkouts_of(books, account, before, limit);
        }
        let prefix = key_space::CHECKOUT;
        let from = before.map_or_else(|| prefix.to_vec(), |before| behind(&key_space::checkout(before)));
        let records = books.scan(prefix, &from, limit)?;
        books.decoded(records.iter().map(|(_, value)| Checkout::decode(value)).collect())
    }
}

/// Purchases, paid or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Purchases {
    /// Newest first.
    pub purchases: Vec<Checkout>,
    /// The number before which a further page goes on.
    pub before: Option<u64>,
}

impl Ledger {
    /// The checkouts of customers at a payment provider, paid or not, newest first. They exclude purchases that the operator
    /// entered by hand.
    pub fn purchases(&self, query: &PurchasesQuery) -> Result<Purchases, BooksError> {
        let limit = query.limit.clamp(1, CHECKOUTS_PER_PAGE_MAX);
        let more = PurchasesQuery { limit: limit.saturating_add(1), ..*query };
        let mut purchases = self.store.ask(&more)?;
        let has_more = purchases.len() > limit;
        purchases.truncate(limit);
        let last = purchases.last().map(|checkout| checkout.id.number());
        Ok(Purchases { purchases, before: last.filter(|_| has_more) })
    }
}
