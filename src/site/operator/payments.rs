//! `/operator/payments`: purchases of all accounts, newest first.

use askama::Template;

use super::operator_visit::{self, OperatorVisit, Head, Page};
use super::words::OperatorWords;
use crate::clock::Moment;
use crate::http::App;
use crate::http::errors::ApiError;
use crate::http::incoming::Incoming;
use crate::http::response::Response;
use crate::ledger::{Entry, EntryKind, History, HistoryQuery};
use crate::limits::site::OPERATOR_LINES_PER_PAGE;
use crate::site::account::entries::kind;
use crate::site::cache::Cache;
use crate::site::frame::Frame;

/// Name of the parameter that says where a page begins.
const BEFORE: &str = "before";

#[derive(Template)]
#[template(path = "operator/payments.html")]
struct PaymentsPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    entries: Vec<EntryLine>,
    nothing: &'static str,
    newest: Option<String>,
    older: Option<String>,
}

/// An entry of the books, as the operator reads it.
pub struct EntryLine {
    /// Its number in the log.
    pub sequence: String,
    /// When.
    pub at: String,
    /// Whose.
    pub account: String,
    /// The page of the account.
    pub account_url: String,
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
    /// The request, or the reference of a purchase.
    pub reference: String,
    /// A remark.
    pub note: String,
}

/// An entry as text.
pub fn entry_line(operator: &OperatorVisit, entry: &Entry) -> EntryLine {
    let numbers = operator.visit.numbers;
    let is_purchase = entry.kind == EntryKind::Purchase;
    EntryLine {
        sequence: entry.sequence.to_string(),
        at: numbers.minute(entry.at),
        account: entry.account.to_string(),
        account_url: operator.visit.link(&format!("/operator/accounts/{}", entry.account)).to_string(),
        kind: kind(operator.common, entry.kind),
        dataset: entry.dataset.clone(),
        change: numbers.change(entry.amount),
        balance: numbers.integer(entry.balance),
        price: if is_purchase { numbers.cents(entry.cents) } else { String::new() },
        reference: entry.request_id.clone(),
        note: entry.note.clone(),
    }
}

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[BEFORE], |app, request, operator| {
        let words = operator.words;
        let before = operator.visit.value(BEFORE).and_then(|text| text.parse().ok());
        let History { entries, before: older } = purchases(app, before, OPERATOR_LINES_PER_PAGE)?;
        let all = operator.visit.link("/operator/payments");
        let page = PaymentsPage {
            frame: operator.frame(Page::Payments, words.payments),
            head: operator.head(words.payments),
            words,
            entries: entries.iter().map(|entry| entry_line(&operator, entry)).collect(),
            nothing: if older.is_some() { operator.common.no_entries_yet } else { words.no_payments },
            newest: before.map(|_| all.to_string()),
            older: older.map(|before| all.with(BEFORE, before).to_string()),
        };
        operator.visit.answer(request, &page, Cache::NoStore)
    })
}

/// Purchases before an entry, newest first, out of the entries that brought credits: a page has fewer than `limit` where
/// grants stand between them.
fn purchases(app: &App, before: Option<u64>, limit: usize) -> Result<History, ApiError> {
    let query = HistoryQuery {
        account: None,
        created_at: Moment::from_unix_millis(0),
        only_credited: true,
        before,
        limit,
    };
    let mut found = app.ledger.history(&query)?;
    found.entries.retain(|entry| entry.kind == EntryKind::Purchase);
    Ok(found)
}
