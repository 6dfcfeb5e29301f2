//! Selling rows of pages, and taking a charge back.
//!
//! Decides first and changes afterwards: an operation that is refused leaves no trace. Knows nothing of streams and files.

use super::super::account::Payment;
use super::super::entry::{Entry, EntryKind};
use super::super::error::ChargeError;
use super::super::id::{AccountId, KeyId};
use super::super::key_space;
use super::super::order::{ChargeOrder, Receipt, Undo};
use super::super::usage::Usage;
use super::State;
use super::claiming::{Claimed, a_day_after};
use super::spending::UsageOf;
use crate::clock::Moment;

/// An answer that is counted and, unless it was paid earlier, paid.
pub(super) struct Sale<'t> {
    pub(super) account: AccountId,
    pub(super) key: Option<KeyId>,
    pub(super) rows: u64,
    pub(super) dataset: &'t str,
    pub(super) request_id: &'t str,
    pub(super) at: Moment,
}

impl Sale<'_> {
    fn usage_of(&self) -> UsageOf {
        UsageOf { account: self.account, key: self.key, dataset: self.dataset.to_owned() }
    }
}

impl State {
    /// Sells the rows of a page.
    pub(in super::super) fn charge(&mut self, order: &ChargeOrder) -> Result<Receipt, ChargeError> {
        let account = order.account.id();
        let sale = Sale {
            account,
            key: order.key,
            rows: order.rows,
            dataset: &order.dataset,
            request_id: &order.request_id,
            at: order.at,
        };
        if let Some(claim) = &order.claim
            && self.claimed(account, claim, order.at)? == Claimed::Yes
        {
            return self.sell(&sale, None);
        }
        let payment = self.account(account)?.record.purse.pay_query(order.rows, order.at)?;
        self.check_caps(account, order.key, payment.credits(), order.at)?;
        let mut receipt = self.sell(&sale, Some(payment))?;
        if let Some(claim) = &order.claim {
            let key = key_space::claim(account, &claim.key);
            self.remember(&key, &claim.body, a_day_after(order.at));
            receipt.undo.remembered.push((key, None));
        }
        Ok(receipt)
    }

    /// Gives back what a receipt took, and forgets that it was paid.
    pub(in super::super) fn refund(
        &mut self,
        receipt: &Receipt,
        at: Moment,
        note: &str,
    ) -> Result<(), ChargeError> {
        let undo = &receipt.undo;
        let used = Usage { requests: 1, rows: undo.rows, credits: undo.credits };
        self.account(undo.account)?;
        let of = UsageOf { account: undo.account, key: undo.key, dataset: undo.dataset.clone() };
        self.discount_usage(of, undo.at.day(), used)?;
        for (key, previous) in &undo.remembered {
            match previous {
                Some(previous) => self.put_back(key, previous)?,
                None => self.written.changes.remove(key.clone()),
            }
        }
        if undo.credits > 0 {
            self.append(Entry {
                related: undo.sequence,
                request_id: &undo.request_id,
                dataset: &undo.dataset,
                note,
                key: undo.key,
                ..Entry::new(undo.account, EntryKind::Refund, signed(undo.credits), at)
            })?;
        }
        if let Some(month) = undo.free_month
            && let Some(account) = self.accounts.get_mut(&undo.account)
        {
            account.record.purse.return_free_query(month);
            self.changed_accounts.insert(undo.account);
        }
        Ok(())
    }

    /// Takes the payment, or nothing when it was made earlier, and counts the answer.
    pub(super) fn sell(&mut self, sale: &Sale<'_>, payment: Option<Payment>) -> Result<Receipt, ChargeError> {
        self.latest = self.latest.max(sale.at);
        let (mut sequence, mut credits, mut free_month) = (0, 0, None);
        match payment {
            None | Some(Payment::Credits(0)) => {}
            Some(Payment::Credits(cost)) => {
                sequence = self.append(Entry {
                    rows: sale.rows,
                    request_id: sale.request_id,
                    dataset: sale.dataset,
                    key: sale.key,
                    ..Entry::new(sale.account, EntryKind::Charge, -signed(cost), sale.at)
                })?;
                credits = cost;
            }
            Some(Payment::FreeQuery(month)) => {
                self.use_free_query(sale.account, month)?;
                free_month = Some(month);
            }
        }
        self.count_usage(sale.usage_of(), sale.at.day(), Usage { requests: 1, rows: sale.rows, credits })?;
        let undo = Undo {
            account: sale.account,
            key: sale.key,
            sequence,
            credits,
            rows: sale.rows,
            free_month,
            remembered: Vec::new(),
            dataset: sale.dataset.to_owned(),
            request_id: sale.request_id.to_owned(),
            at: sale.at,
        };
        self.receipt(undo, payment.is_none())
    }

    /// The receipt for what was just done.
    pub(super) fn receipt(&mut self, undo: Undo, replayed: bool) -> Result<Receipt, ChargeError> {
        let caps = self.caps(undo.account, undo.key, undo.at)?;
        let purse = self.account(undo.account)?.record.purse;
        let free_queries_remaining = (!purse.has_bought).then(|| purse.free_remaining(undo.at));
        Ok(Receipt {
            charged: undo.credits,
            remaining: purse.balance,
            free_queries_remaining,
            replayed,
            caps,
            undo,
        })
    }

    pub(super) fn use_free_query(
        &mut self,
        account: AccountId,
        month: crate::clock::UtcMonth,
    ) -> Result<(), ChargeError> {
        let found = self.accounts.get_mut(&account).ok_or(ChargeError::UnknownAccount { account })?;
        found.record.purse.use_free_query(month);
        self.changed_accounts.insert(account);
        Ok(())
    }
}

/// Credits as an amount. No account holds more than `BALANCE_CREDITS_MAX`, so nothing is cut off.
pub(super) fn signed(credits: u64) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX)
}
