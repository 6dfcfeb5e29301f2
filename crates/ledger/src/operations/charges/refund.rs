//! Gives back what a receipt took, and forgets its payment, unless a repetition under its key has given the rows for it: the
//! first answer may fail, or its charge become known, after that.

use crate::entry::{Entry, EntryKind};
use crate::error::ChargeError;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::request::Receipt;
use crate::state::{State, signed};
use mercato_base::clock::Moment;

/// Why a charge is taken back.
pub const ANSWER_FAILED: &str = "answer failed";

pub struct Refund<'r> {
    pub receipt: &'r Receipt,
    pub at: Moment,
    pub note: &'static str,
}

impl Operation for Refund<'_> {
    type Outcome = ();
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        let undo = &self.receipt.undo;
        Reads {
            capped: undo.key.map(|key| (key, undo.at)).into_iter().collect(),
            records: undo.remembered.iter().map(|(key, _)| key.clone()).collect(),
            usage: [(undo.account, undo.at.day(), undo.key, undo.dataset.clone())].into(),
            ..Reads::account(undo.account)
        }
    }

    fn decide(&self, books: &mut State) -> Result<(), ChargeError> {
        let Refund { receipt, at, note } = *self;
        let undo = &receipt.undo;
        books.account(undo.account)?;
        let is_view = |key: &[u8]| key_space::kind(key) == key_space::PAID_VIEW;
        for (key, _) in undo.remembered.iter().filter(|(key, _)| !is_view(key)) {
            if books.is_repeated(key)? {
                return Ok(());
            }
        }
        books.discount_usage(undo)?;
        for (key, previous) in &undo.remembered {
            match previous {
                _ if is_view(key) => books.forget_rows(key, &undo.request_id)?,
                Some(previous) => books.put_back(key, previous)?,
                None => books.written.changes.remove(key.clone()),
            }
        }
        if undo.credits > 0 {
            books.append(Entry {
                related: undo.sequence,
                request_id: &undo.request_id,
                dataset: &undo.dataset,
                note,
                key: undo.key,
                ..Entry::new(undo.account, EntryKind::Refund, signed(undo.credits), at)
            })?;
        }
        if let Some(month) = undo.free_month
            && let Some(account) = books.accounts.get_mut(&undo.account)
        {
            account.record.balance.return_free_query(month);
            books.changed_accounts.insert(undo.account);
        }
        Ok(())
    }
}
