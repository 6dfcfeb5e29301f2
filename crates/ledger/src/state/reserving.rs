//! Reserves credits for responses of unknown size, and settles them.
//!
//! After a crash, the rows last noted as written are charged and the rest is returned. Notes are at most
//! `PROGRESS_NOTE_MILLIS` old, and rows written after the last one are free. Does not depend on connections.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::charging::signed;
use super::claiming::Begun;
use super::loading::LiveStreams;
use super::{Account, OpenReservation, State};
use crate::account::Payment;
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::{ChargeError, Unavailable};
use crate::id::{AccountId, ReservationId};
use crate::key_space;
use crate::limits::{OPEN_RESERVATIONS_MAX, SETTLEMENTS_PER_BATCH_MAX};
use crate::progress::{Outcome, Progress};
use crate::request::{ChargeRequest, Receipt, Reserved, Undo};
use crate::reservation_record::{ReservationRecord, ReservedFile};

/// Progress notes in one batch of the log.
const PROGRESS_NOTES_PER_BATCH_MAX: usize = 16_384;

impl State {
    /// Reserves the highest price of a stream.
    pub fn reserve(&mut self, request: &ChargeRequest) -> Result<Reserved, ChargeError> {
        self.open(request.account.id())?;
        let paid_before = self.paid_rows_of(request)?;
        let price = self.price(request, paid_before);
        let begun = self.begin_answer(request, paid_before, price)?;
        self.set_aside(request, &begun, None)
    }

    /// Takes the payment and opens a reservation for it.
    pub fn set_aside(
        &mut self,
        request: &ChargeRequest,
        begun: &Begun,
        file: Option<ReservedFile>,
    ) -> Result<Reserved, ChargeError> {
        if self.reservations.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        let Begun { claim, payment, is_replayed } = *begun;
        // What costs nothing prolongs no payment.
        let view =
            request.view.as_ref().filter(|viewed| viewed.is_remembered && payment != Payment::Credits(0));
        let (account, key, at) = (request.account.id(), request.key, request.at);
        self.check_caps(account, key, payment.credits(), at)?;
        self.latest = self.latest.max(at);
        let sequence = match payment {
            Payment::Credits(0) => 0,
            Payment::Credits(cost) => self.append(Entry {
                request_id: &request.request_id,
                dataset: &request.dataset,
                key,
                ..Entry::new(account, EntryKind::Reserve, -signed(cost), at)
            })?,
            Payment::FreeQuery(month) => {
                self.use_free_query(account, month)?;
                0
            }
        };
        let id = ReservationId::from_number(self.next_reservation);
        self.next_reservation += 1;
        let (request_id, dataset) = (request.request_id.clone(), request.dataset.clone());
        let record = ReservationRecord {
            id,
            account,
            key,
            payment,
            sequence,
            delivered: 0,
            at,
            request_id,
            dataset,
            file,
            claim,
            view: view.map(|viewed| viewed.view),
        };
        let (credits, paid_before) = (record.credits(), record.paid_before());
        let progress = Progress::new(at);
        self.written.changes.put(key_space::reservation(id), record.encode());
        self.reservations.insert(id, OpenReservation { record, progress: Arc::clone(&progress) });
        self.change_account(account, |found| {
            found.reserved = found.reserved.saturating_add(credits);
            found.open.insert(id);
        });
        let remaining = self.account(account)?.record.balance.credits;
        let caps = self.caps(account, key, at)?;
        Ok(Reserved { id, progress, credits, remaining, is_replayed, paid_before, caps })
    }

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
        self.close_reservation(&record);
        let undo = undo_of(record, outcome, sold);
        if outcome.is_answered || is_promised {
            self.count_usage(&undo)?;
        }
        self.receipt(undo, false).map(Some)
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

    fn close_reservation(&mut self, record: &ReservationRecord) {
        let closed = self.reservations.remove(&record.id);
        self.closed_reservations.extend(closed.map(|open| (self.next_sequence, open)));
        self.written.changes.remove(key_space::reservation(record.id));
        self.change_account(record.account, |found| {
            found.reserved = found.reserved.saturating_sub(record.credits());
            found.open.remove(&record.id);
        });
    }

    fn change_account(&mut self, account: AccountId, change: impl FnOnce(&mut Account)) {
        if let Some(found) = self.accounts.get_mut(&account) {
            change(found);
            self.changed_accounts.insert(account);
        }
    }

    /// Settles reservations without a live stream, and notes the progress of the others.
    pub fn note_progress(&mut self) -> Result<(), ChargeError> {
        let mut abandoned = Vec::new();
        for (id, open) in &mut self.reservations {
            let delivered = open.progress.delivered();
            if Arc::strong_count(&open.progress) == 1 {
                // The stream noted its final progress before it was dropped.
                fence(Ordering::Acquire);
                if abandoned.len() < SETTLEMENTS_PER_BATCH_MAX {
                    abandoned.push((*id, open.progress.outcome()));
                }
            } else if delivered != open.record.delivered
                && self.written.changes.len() < PROGRESS_NOTES_PER_BATCH_MAX
            {
                open.record.delivered = delivered;
                self.written.changes.put(key_space::reservation(*id), open.record.encode());
            }
        }
        for (id, outcome) in abandoned {
            self.settle(id, outcome, "")?;
        }
        Ok(())
    }

    /// Everything up to this sequence number is safe, so its settlements are final.
    pub fn synced(&mut self, sequence: u64) {
        self.closed_reservations.retain(|(closed, _)| *closed > sequence);
    }

    /// The streams that stand behind reservations which are open on the disk or in memory.
    pub fn live_streams(&self) -> LiveStreams {
        let all = self.reservations.values().chain(self.closed_reservations.iter().map(|(_, open)| open));
        all.map(|open| (open.record.id, Arc::clone(&open.progress))).collect()
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
