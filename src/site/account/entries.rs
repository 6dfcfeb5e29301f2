//! Entries of an account page by page, and in the form that their owner reads. Remarks of the operator are not shown.

use super::area::Area;
use super::words::AccountWords;
use crate::api::{App, from_books};
use crate::site::frame::NavLink;
use crate::site::url::Url;
use crate::site::visit::Visit;
use mercato_base::clock::Moment;
use mercato_ledger::{AccountId, Entry, EntryKind, History, HistoryQuery};
use mercato_web::ApiError;

/// Name of the parameter that selects the kind of entries.
pub const KIND: &str = "kind";
/// Its only value: purchases, grants and their reversals.
const PURCHASES: &str = "purchases";
/// Name of the parameter with the entry before which a page begins.
pub const BEFORE: &str = "before";

/// A page of entries, and the links to the other pages.
pub struct EntryPage {
    /// The words of its links.
    pub words: &'static AccountWords,
    /// Newest first.
    pub entries: Vec<Entry>,
    /// The links to all entries and to purchases alone.
    pub kinds: [NavLink; 2],
    /// The text of a page without entries.
    pub nothing: &'static str,
    /// The first page, unless this is the first.
    pub newest: Option<String>,
    /// The next page.
    pub older: Option<String>,
}

impl EntryPage {
    /// The query of the books for the page that a visit selects.
    pub fn query(visit: &Visit, account: AccountId, created_at: Moment, limit: usize) -> HistoryQuery {
        HistoryQuery { account, created_at, only_credited: is_credited(visit), before: before(visit), limit }
    }

    /// The page that a visit selects, out of the answer to its query. `all` is the first page of all entries.
    pub fn of(visit: &Visit, words: &'static AccountWords, all: &Url, history: History) -> Self {
        let is_credited = is_credited(visit);
        let credited = all.with(KIND, PURCHASES);
        let here = if is_credited { &credited } else { all };
        let kind = |text, url: &Url, is_current| NavLink { text, url: url.to_string(), is_current };
        Self {
            words,
            kinds: [kind(words.everything, all, !is_credited), kind(words.purchases, &credited, is_credited)],
            nothing: if history.before.is_some() { words.no_entries_yet } else { words.no_entries },
            newest: before(visit).map(|_| here.to_string()),
            older: history.before.map(|before| here.with(BEFORE, before).to_string()),
            entries: history.entries,
        }
    }
}

fn is_credited(visit: &Visit) -> bool {
    visit.value(KIND) == Some(PURCHASES)
}

fn before(visit: &Visit) -> Option<u64> {
    visit.value(BEFORE).and_then(|text| text.parse().ok())
}

pub struct EntryLine {
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
    pub fn of(visit: &Visit, words: &AccountWords, entry: &Entry) -> Self {
        let numbers = visit.numbers;
        let is_purchase = entry.kind == EntryKind::Purchase;
        Self {
            at: numbers.minute(entry.at),
            kind: kind(words, entry.kind),
            dataset: entry.dataset.clone(),
            change: numbers.change(entry.amount),
            balance: numbers.integer(entry.balance),
            price: if is_purchase { numbers.cents(entry.cents) } else { String::new() },
        }
    }
}

/// The newest entries of the signed-in customer.
pub fn newest(app: &App, area: &Area, limit: usize) -> Result<Vec<Entry>, ApiError> {
    let (account, created_at) = (area.account.id(), area.account.created_at());
    let query = HistoryQuery { account, created_at, only_credited: false, before: None, limit };
    Ok(app.ledger.history(&query).map_err(from_books)?.entries)
}

/// The kind of an entry in words.
const fn kind(words: &AccountWords, kind: EntryKind) -> &'static str {
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
