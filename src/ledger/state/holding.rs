//! Holding credits back for answers whose size is not known yet, and settling them.
//!
//! The rule for what a crash leaves open: the rows that were last noted as delivered are sold, the rest comes back.
//! Notes are at most `PROGRESS_NOTE_MILLIS` old, and the customer gains what was delivered after the last one.
//! Knows no connection.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::super::account::Payment;
use super::super::codec::Record;
use super::super::entry::{Entry, EntryKind};
use super::super::error::{ChargeError, Unavailable};
use super::super::hold::{HeldFile, HoldRecord, Outcome, Progress};
use super::super::id::{AccountId, ReservationId};
use super::super::key_limits::CapStanding;
use super::super::key_space;
use super::super::order::{Receipt, ReserveOrder, Undo};
use super::super::usage::Usage;
use super::charging::signed;
use super::claiming::Begun;
use super::loading::LiveStreams;
use super::spending::UsageOf;
use super::{Account, Hold, State};
use crate::limits::ledger::{OPEN_RESERVATIONS_MAX, PROGRESS_NOTES_PER_BATCH_MAX, SETTLEMENTS_PER_BATCH_MAX};

/// What a stream needs to know of the reservation that was made for it.
pub(in super::super) struct Reserved {
    pub(in super::super) id: ReservationId,
    pub(in super::super) progress: Arc<Progress>,
    pub(in super::super) credits: u64,
    pub(in super::super) remaining: u64,
    /// Whether the answer was paid before, in full or in part, and how many rows of it.
    pub(in super::super) is_replayed: bool,
    pub(in super::super) paid_before: u64,
    /// How the key stands to its caps on credits.
    pub(in super::super) caps: Vec<CapStanding>,
}

impl State {
    /// Holds back what the order can cost.
    pub(in super::super) fn reserve(&mut self, order: &ReserveOrder) -> Result<Reserved, ChargeError> {
        let price = self.account(order.account.id())?.record.purse.pay_query(order.rows, order.at);
        let begun = self.begin_answer(order, price)?;
        self.hold(order, &begun, None)
    }

    /// Takes the payment and opens a reservation for it.
    pub(super) fn hold(
        &mut self,
        order: &ReserveOrder,
        begun: &Begun,
        file: Option<HeldFile>,
    ) -> Result<Reserved, ChargeError> {
        if self.holds.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        let Begun { claim, payment, is_replayed } = *begun;
        let account = order.account.id();
        self.check_caps(account, order.key, payment.credits(), order.at)?;
        self.latest = self.latest.max(order.at);
        let sequence = match payment {
            Payment::Credits(0) => 0,
            Payment::Credits(cost) => self.append(Entry {
                request_id: &order.request_id,
                dataset: &order.dataset,
                key: order.key,
                ..Entry::new(account, EntryKind::Reserve, -signed(cost), order.at)
            })?,
            Payment::FreeQuery(month) => {
                self.use_free_query(account, month)?;
                0
            }
        };
        let record = HoldRecord {
            id: ReservationId::from_number(self.next_reservation),
            account,
            key: order.key,
            payment,
            sequence,
            delivered: 0,
            at: order.at,
            request_id: order.request_id.clone(),
            dataset: order.dataset.clone(),
            file,
            claim,
        };
        self.next_reservation += 1;
        let reserved = self.open_hold(record, Progress::new(order.at));
        let caps = self.caps(account, order.key, order.at)?;
        Ok(Reserved { is_replayed, caps, ..reserved })
    }

    fn open_hold(&mut self, record: HoldRecord, progress: Arc<Progress>) -> Reserved {
        let (id, credits, account) = (record.id, record.credits(), record.account);
        let paid_before = record.paid_before();
        self.written.changes.put(key_space::reservation(id), record.encode());
        self.holds.insert(id, Hold { record, progress: Arc::clone(&progress) });
        self.change_account(account, |found| {
            found.reserved = found.reserved.saturating_add(credits);
            found.open.insert(id);
        });
        let remaining = self.accounts.get(&account).map_or(0, |account| account.record.purse.balance);
        Reserved { id, progress, credits, remaining, is_replayed: false, paid_before, caps: Vec::new() }
    }

    /// Ends a reservation: sells the rows of the outcome and gives the rest back. Nothing when it is settled already.
    pub(in super::super) fn settle(
        &mut self,
        id: ReservationId,
        outcome: Outcome,
        note: &str,
    ) -> Result<Option<Receipt>, ChargeError> {
        let Some(hold) = self.holds.get(&id) else { return Ok(None) };
        let record = hold.record.clone();
        self.latest = self.latest.max(outcome.at);
        let is_promised = !outcome.is_waived && record.file.is_some_and(|file| file.is_promised);
        let (sold, free_month) = match record.payment {
            Payment::Credits(held) if is_promised => (held, None),
            Payment::Credits(held) => (outcome.rows.saturating_sub(record.paid_before()).min(held), None),
            Payment::FreeQuery(month) => (0, Some(month)),
        };
        if let Some(file) = record.file {
            self.note_paid(record.account, &file.hash, sold, record.credits() - sold, outcome.at)?;
        }
        self.keep_claim(&record, outcome, sold, is_promised)?;
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
            account.record.purse.return_free_query(month);
        }
        if outcome.is_answered || is_promised {
            let of = UsageOf { account: record.account, key: record.key, dataset: record.dataset.clone() };
            self.count_usage(of, outcome.at.day(), Usage { requests: 1, rows: outcome.rows, credits: sold })?;
        }
        self.close_hold(&record);
        self.receipt(settled(record, outcome, sold), false).map(Some)
    }

    fn close_hold(&mut self, record: &HoldRecord) {
        let closed = self.holds.remove(&record.id);
        self.closed_holds.extend(closed.map(|hold| (self.next_sequence, hold)));
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

    /// Settles what no stream stands behind any more, and notes how far the other streams have come.
    pub(in super::super) fn note_progress(&mut self) -> Result<(), ChargeError> {
        let mut abandoned = Vec::new();
        for (id, hold) in &mut self.holds {
            let delivered = hold.progress.delivered();
            if Arc::strong_count(&hold.progress) == 1 {
                // The last word of the stream came before it let go.
                fence(Ordering::Acquire);
                if abandoned.len() < SETTLEMENTS_PER_BATCH_MAX {
                    abandoned.push((*id, hold.progress.outcome()));
                }
            } else if delivered != hold.record.delivered
                && self.written.changes.len() < PROGRESS_NOTES_PER_BATCH_MAX
            {
                hold.record.delivered = delivered;
                self.written.changes.put(key_space::reservation(*id), hold.record.encode());
            }
        }
        for (id, outcome) in abandoned {
            self.settle(id, outcome, "")?;
        }
        Ok(())
    }

    /// What was written up to this sequence number is safe: what it settled need not be settled again.
    pub(in super::super) fn synced(&mut self, sequence: u64) {
        self.closed_holds.retain(|(closed, _)| *closed > sequence);
    }

    /// The streams that stand behind reservations which are open on the disk or in memory.
    pub(in super::super) fn live_streams(&self) -> LiveStreams {
        let all = self.holds.values().chain(self.closed_holds.iter().map(|(_, hold)| hold));
        all.map(|hold| (hold.record.id, Arc::clone(&hold.progress))).collect()
    }
}

fn settled(record: HoldRecord, outcome: Outcome, sold: u64) -> Undo {
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
