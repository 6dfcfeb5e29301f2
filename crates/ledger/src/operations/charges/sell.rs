//! What every sale shares: the price, the entry, the usage, the receipt.

use crate::account::Payment;
use crate::entry::{Entry, EntryKind};
use crate::error::{BooksError, ChargeError};
use crate::id::AccountId;
use crate::key_space;
use crate::operation::{Reads, UsageKey};
use crate::request::{ChargeRequest, Receipt, Undo};
use crate::state::{State, signed};
use mercato_base::clock::UtcMonth;

/// What a request for rows reads: its account, its key's caps, its claim, and its view.
pub fn reads(request: &ChargeRequest) -> Reads {
    let account = request.account.id();
    let claim = request.claim.map(|claim| key_space::claim(account, &claim.key));
    let view = request.view.as_ref().map(|viewed| key_space::paid_view(account, &viewed.view));
    Reads {
        capped: request.key.map(|key| (key, request.at)).into_iter().collect(),
        claims: request.claim.map(|claim| claim.key).into_iter().collect(),
        records: claim.into_iter().chain(view).collect(),
        ..Reads::account(account)
    }
}

/// The line of usage that counts a request.
pub fn usage_line(request: &ChargeRequest) -> UsageKey {
    (request.account.id(), request.at.day(), request.key, request.dataset.clone())
}

impl State {
    /// The payment of the rows of an answer beyond those that were paid on the site. One that has no others costs nothing, and
    /// no free query.
    pub fn price(&mut self, request: &ChargeRequest, paid_before: u64) -> Result<Payment, ChargeError> {
        if paid_before > 0 && paid_before >= request.rows {
            return Ok(Payment::Credits(0));
        }
        let balance = self.account(request.account.id())?.record.balance;
        balance.pay_query(request.rows.saturating_sub(paid_before), request.free_queries, request.at)
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
        Ok(self.receipt(undo, payment.is_none())?)
    }

    /// The receipt of the charge.
    pub fn receipt(&mut self, undo: Undo, replayed: bool) -> Result<Receipt, BooksError> {
        let caps = self.caps(undo.account, undo.key, undo.at)?;
        let remaining = self.account(undo.account)?.record.balance.credits;
        Ok(Receipt { charged: undo.credits, remaining, replayed, paid_before: 0, caps, undo })
    }

    pub fn use_free_query(&mut self, account: AccountId, month: UtcMonth) -> Result<(), BooksError> {
        let found = self.accounts.get_mut(&account).ok_or(BooksError::UnknownAccount { account })?;
        found.record.balance.use_free_query(month);
        self.changed_accounts.insert(account);
        Ok(())
    }
}
