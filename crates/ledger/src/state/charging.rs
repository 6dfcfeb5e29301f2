//! Charges pages of rows, and refunds charges.
//!
//! Decides first and changes afterwards, so a refused operation leaves no trace.

use super::State;
use super::claiming::{Claimed, a_day_after};
use crate::account::Payment;
use crate::entry::{Entry, EntryKind};
use crate::error::ChargeError;
use crate::id::AccountId;
use crate::key_space;
use crate::request::{ChargeRequest, Receipt, Undo};
use mercato_base::clock::Moment;

impl State {
    /// Sells the rows of a page.
    pub fn charge(&mut self, request: &ChargeRequest) -> Result<Receipt, ChargeError> {
        let account = request.account.id();
        self.open(account)?;
        if let Some(claim) = &request.claim
            && self.claimed(account, claim, request.at)? == Claimed::Yes
        {
            self.note_repetition(&key_space::claim(account, &claim.key))?;
            return self.sell(request, request.rows, None);
        }
        let paid_before = self.paid_rows_of(request)?;
        let payment = self.price(request, paid_before)?;
        self.check_caps(account, request.key, payment.credits(), request.at)?;
        let mut receipt = self.sell(request, request.rows, Some(payment))?;
        receipt.paid_before = paid_before;
        if paid_before < request.rows {
            receipt.undo.remembered.extend(self.remember_rows(request)?);
        }
        if let Some(claim) = &request.claim {
            let key = key_space::claim(account, &claim.key);
            self.remember(&key, &claim.body, a_day_after(request.at));
            receipt.undo.remembered.push((key, None));
        }
        Ok(receipt)
    }

    /// The payment of the rows of an answer beyond those that were paid on the site. One that has no others costs nothing, and
    /// no free query.
    pub fn price(&mut self, request: &ChargeRequest, paid_before: u64) -> Result<Payment, ChargeError> {
        if paid_before > 0 && paid_before >= request.rows {
            return Ok(Payment::Credits(0));
        }
        let balance = self.account(request.account.id())?.record.balance;
        balance.pay_query(request.rows.saturating_sub(paid_before), request.free_queries, request.at)
    }

    /// Refunds a receipt and forgets its payment, unless a repetition under its key has given the rows for it: the first
    /// answer may fail, or its charge become known, after that.
    pub fn refund(&mut self, receipt: &Receipt, at: Moment, note: &str) -> Result<(), ChargeError> {
        let undo = &receipt.undo;
        self.account(undo.account)?;
        let is_view = |key: &[u8]| key_space::kind(key) == key_space::PAID_VIEW;
        for (key, _) in undo.remembered.iter().filter(|(key, _)| !is_view(key)) {
            if self.is_repeated(key)? {
                return Ok(());
            }
        }
        self.discount_usage(undo)?;
        for (key, previous) in &undo.remembered {
            match previous {
                _ if is_view(key) => self.forget_rows(key, &undo.request_id)?,
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
            account.record.balance.return_free_query(month);
            self.changed_accounts.insert(undo.account);
        }
        Ok(())
    }

    /// Takes the payment of so many rows, unless it was paid before, and counts the response.
    pub fn sell(
        &mut self,
        request: &ChargeRequest,
        rows: u64,
        payment: Option<Payment>,
    ) -> Result<Receipt, ChargeError> {
        let (account, key, at) = (request.account.id(), request.key, request.at);
        self.latest = self.latest.max(at);
        let (mut sequence, mut credits, mut free_month) = (0, 0, None);
        match payment {
            None | Some(Payment::Credits(0)) => {}
            Some(Payment::Credits(cost)) => {
                sequence = self.append(Entry {
                    rows,
                    request_id: &request.request_id,
                    dataset: &request.dataset,
                    key,
                    ..Entry::new(account, EntryKind::Charge, -signed(cost), at)
                })?;
                credits = cost;
            }
            Some(Payment::FreeQuery(month)) => {
                self.use_free_query(account, month)?;
                free_month = Some(month);
            }
        }
        let (dataset, request_id) = (request.dataset.clone(), request.request_id.clone());
        let remembered = Vec::new();
        let undo =
            Undo { account, key, sequence, credits, rows, free_month, remembered, dataset, request_id, at };
        self.count_usage(&undo)?;
        self.receipt(undo, payment.is_none())
    }

    /// The receipt of the charge.
    pub fn receipt(&mut self, undo: Undo, replayed: bool) -> Result<Receipt, ChargeError> {
        let caps = self.caps(undo.account, undo.key, undo.at)?;
        let remaining = self.account(undo.account)?.record.balance.credits;
        Ok(Receipt { charged: undo.credits, remaining, replayed, paid_before: 0, caps, undo })
    }

    pub fn use_free_query(
        &mut self,
        account: AccountId,
        month: mercato_base::clock::UtcMonth,
    ) -> Result<(), ChargeError> {
        let found = self.accounts.get_mut(&account).ok_or(ChargeError::UnknownAccount { account })?;
        found.record.balance.use_free_query(month);
        self.changed_accounts.insert(account);
        Ok(())
    }
}

/// Credits as an amount. No account holds more than `BALANCE_CREDITS_MAX`, so nothing is cut off.
pub fn signed(credits: u64) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX)
}
