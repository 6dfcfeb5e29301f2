//! An entry of an account as the operator reads it: with its number, its reference and its remark.

use crate::ledger::{Entry, EntryKind};
use crate::site::account::entries::kind;
use crate::site::operator::operator_visit::OperatorVisit;

/// An entry as text.
pub struct EntryLine {
    /// Its number in the log.
    pub sequence: String,
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
    /// The request, or the reference of a purchase.
    pub reference: String,
    /// A remark.
    pub note: String,
}

impl EntryLine {
    /// An entry as text.
    pub fn of(operator: &OperatorVisit, entry: &Entry) -> Self {
        let numbers = operator.visit.numbers;
        let is_purchase = entry.kind == EntryKind::Purchase;
        Self {
            sequence: entry.sequence.to_string(),
            at: numbers.minute(entry.at),
            kind: kind(operator.common, entry.kind),
            dataset: entry.dataset.clone(),
            change: numbers.change(entry.amount),
            balance: numbers.integer(entry.balance),
            price: if is_purchase { numbers.cents(entry.cents) } else { String::new() },
            reference: entry.request_id.clone(),
            note: entry.note.clone(),
        }
    }
}
