//! Ends a reservation: sells the rows that its stream delivered, and gives the rest back.
//!
//! After a crash, the rows last noted as written are charged. Notes are at most `PROGRESS_NOTE_MILLIS` old, and rows written after
//! the last one are free. Does not depend on connections.

use crate::account::Payment;
use crate::entry::{Entry, EntryKind};
use crate::error::{BooksError, ChargeError, Unavailable};
use crate::id::{AccountId, KeyId, ReservationId};
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::progress::Outcome;
use crate::request::{Receipt, Undo};
use crate::reservation_record::ReservationRecord;
use crate::state::{State, signed};

#[derive(Clone, Copy)]
pub struct Settle {
    pub id: ReservationId,
    pub account: AccountId,
    pub key: Option<KeyId>,
    pub outcome: Outcome,
    pub note: &'static str,
}

impl Operation for Settle {
    type Outcome = Receipt;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        let at = self.outcome.at;
        Reads {
            capped: self.key.map(|key| (key, at)).into_iter().collect(),
            settling: vec![(self.id, at)],
            ..Reads::account(self.account)
        }
    }

    fn decide(&self, books: &mut State) -> Result<Receipt, ChargeError> {
        let settled = books.settle(self.id, self.outcome, self.note)?;
        settled.ok_or_else(|| Unavailable::Down.into())
    }
}

impl State {
    /// Ends a reservation: sells the rows of the outcome and gives the rest back. Nothing when it is settled already.
    pub fn settle(
        &mut self,
        id: ReservationId,
        outcome: Outcome,
        note: &str,
    ) -> Result<Option<Receipt>, ChargeError> {
        let Some(open) = self.reservations.get(&id) else { return Ok(None) };
        let record = open.record.clone();
        let outcome = outcome.of(record.payment);
        self.latest = self.latest.max(outcome.at);
        let view = record.view.filter(|_| outcome.is_view);
        let paid_before = self.paid_before_settling(&record, view, outcome)?;
        let is_promised = !outcome.is_waived && record.file.is_some_and(|file| file.is_promised);
        let (sold, free_month) = match record.payment {
            Payment::Credits(reserved) if is_promised => (reserved, None),
            Payment::Credits(reserved) => (outcome.rows.saturating_sub(paid_before).min(reserved), None),
            Payment::FreeQuery(month) => (0, Some(month)),
        };
        if let Some(file) = record.file {
            self.note_paid(record.account, &file.hash, sold, record.credits() - sold, outcome.at)?;
        }
        self.keep_claim(&record, outcome, sold, is_promised)?;
        if let Some(view) = view {
            self.remember_view(record.account, view, &record.request_id, outcome.at)?;
        }
        if record.sequence > 0 {
            let back = signed(record.credits() - sold);
            self.append(Entry {
                rows: sold,
                related: record.sequence,
                request_id: &record.request_id,
                dataset: &record.dataset,
                note,
                key: record.key,
                ..Entry::new(record.account, EntryKind::Settle, back, outcome.at)
            })?;
        }
        if let Some(month) = free_month
            && !outcome.is_answered
            && let Some(account) = self.accounts.get_mut(&record.account)
        {
            account.record.balance.return_free_query(month);
        }
        self.close_reservation(&record)?;
        let undo = undo_of(record, outcome, sold);
        if outcome.is_answered || is_promised {
            self.count_usage(&undo)?;
        }
        Ok(Some(self.receipt(undo, false)?))
    }

    /// Rows of a response that were paid before: under its key, and, where it has all rows of a view, on the site.
    fn paid_before_settling(
        &mut self,
        record: &ReservationRecord,
        view: Option<[u8; 16]>,
        outcome: Outcome,
    ) -> Result<u64, ChargeError> {
        let on_site = match view {
            Some(view) => self.paid_of_view(record.account, view, outcome.rows, outcome.at)?,
            None => 0,
        };
        Ok(record.paid_before().saturating_add(on_site))
    }

    fn close_reservation(&mut self, record: &ReservationRecord) -> Result<(), BooksError> {
        let closed = self.reservations.remove(&record.id);
        self.closed_reservations.extend(closed.map(|open| (self.next_sequence, open)));
        self.written.changes.remove(key_space::reservation(record.id));
        self.change_account(record.account, |found| {
            found.reserved = found.reserved.checked_sub(record.credits())?;
            found.open.remove(&record.id);
            Some(())
        })
    }
}

fn undo_of(record: ReservationRecord, outcome: Outcome, sold: u64) -> Undo {
    Undo {
        account: record.account,
        key: record.key,
        sequence: record.sequence,
        credits: sold,
        rows: outcome.rows,
        free_month: match record.payment {
            Payment::FreeQuery(month) if outcome.is_answered => Some(month),
            _ => None,
        },
        remembered: Vec::new(),
        dataset: record.dataset,
        request_id: record.request_id,
        at: outcome.at,
    }
}
