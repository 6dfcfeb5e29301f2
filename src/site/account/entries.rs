//! Entries of the books in the form that their owner reads. Remarks of the operator are not shown.

use super::area::Area;
use super::words::AccountWords;
use crate::http::App;
use crate::http::errors::ApiError;
use crate::ledger::{Entry, EntryKind, History, HistoryQuery};

/// One entry.
pub struct EntryLine {
    /// When.
    pub at: String,
    /// Why.
    pub kind: &'static str,
    /// The dataset that was sold, or empty.
    pub dataset: String,
    /// By how much the balance changed.
    pub change: String,
    /// The balance after it.
    pub balance: String,
    /// The price of a purchase, or empty.
    pub price: String,
}

impl EntryLine {
    /// An entry as text.
    pub fn of(area: &Area, entry: &Entry) -> Self {
        let numbers = area.visit.numbers;
        let is_purchase = entry.kind == EntryKind::Purchase;
        Self {
            at: numbers.minute(entry.at),
            kind: kind(area.words, entry.kind),
            dataset: entry.dataset.clone(),
            change: numbers.change(entry.amount),
            balance: numbers.integer(entry.balance),
            price: if is_purchase { numbers.cents(entry.cents) } else { String::new() },
        }
    }
}

/// The newest entries of the signed-in customer.
pub fn newest(
    app: &App,
    area: &Area,
    only_credited: bool,
    before: Option<u64>,
    limit: usize,
) -> Result<History, ApiError> {
    let (account, created_at) = (Some(area.account.id()), area.account.created_at());
    Ok(app.ledger.history(&HistoryQuery { account, created_at, only_credited, before, limit })?)
}

/// The kind of an entry in words.
pub const fn kind(words: &AccountWords, kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Purchase => words.purchase,
        EntryKind::Charge => words.charge,
        EntryKind::Reserve => words.reserve,
        EntryKind::Settle => words.settle,
        EntryKind::Refund => words.refund,
        EntryKind::Grant => words.grant,
        EntryKind::TakeBack => words.take_back,
        EntryKind::GiveBack => words.give_back,
    }
}
