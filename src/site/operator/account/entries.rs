//! An entry of an account as the operator reads it: with its number, its reference and its remark.

use crate::site::account::entries::EntryLine;
use crate::site::operator::operator_visit::OperatorVisit;
use mercato_ledger::Entry;

/// An entry as text.
pub struct OperatorLine {
    /// The part that its owner reads.
    pub line: EntryLine,
    /// Its number in the log.
    pub sequence: String,
    /// The request, or the reference of a purchase.
    pub reference: String,
    /// A remark.
    pub note: String,
}

impl OperatorLine {
    pub fn of(operator: &OperatorVisit, entry: &Entry) -> Self {
        Self {
            line: EntryLine::of(&operator.visit, operator.common, entry),
            sequence: entry.sequence.to_string(),
            reference: entry.request_id.clone(),
            note: entry.note.clone(),
        }
    }
}
