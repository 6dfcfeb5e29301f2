//! Credits that accounts receive: purchases and grants of the operator.
//!
//! A purchase may carry the id under which a payment provider knows it; it is entered once, for ever. Knows no currency but
//! the cent.

use serde::{Deserialize, Serialize};

use super::super::codec::Record;
use super::super::entry::{Entry, EntryKind};
use super::super::error::ChargeError;
use super::super::id::AccountId;
use super::super::key_space;
use super::super::operator::{PaymentId, Purchase};
use super::State;
use super::charging::signed;
use super::operating::{check_text, invalid};
use crate::clock::Moment;
use crate::limits::ledger::{
    BALANCE_CREDITS_MAX, CENTS_PER_THOUSAND_CREDITS, CREDITS_PER_PURCHASE_MAX, PROVIDER_BYTES_MAX,
};

/// Credits that an account receives.
pub(in super::super) struct Credit {
    pub(in super::super) account: AccountId,
    pub(in super::super) credits: u64,
    /// What they cost, if not the list price.
    pub(in super::super) cents: Option<u64>,
    /// Under which a purchase is entered only once.
    pub(in super::super) payment: Option<PaymentId>,
    pub(in super::super) request_id: String,
    pub(in super::super) note: String,
    pub(in super::super) at: Moment,
}

/// What is kept of a purchase under the id of its payment.
#[derive(Serialize, Deserialize)]
struct Entered {
    account: AccountId,
    credits: u64,
    cents: u64,
    sequence: u64,
}

impl Record for Entered {
    const NAME: &'static str = "purchase";
}

impl State {
    /// Credits that were bought; the account is a prepaid one from now on.
    pub(in super::super) fn purchase(&mut self, order: &Credit) -> Result<Purchase, ChargeError> {
        let cents = order.cents.unwrap_or_else(|| list_price(order.credits));
        let account = order.account;
        if let Some(payment) = &order.payment {
            check_text("provider", &payment.provider, 1)?;
            check_text("reference", &payment.id, 1)?;
            if payment.provider.len() > PROVIDER_BYTES_MAX {
                let rule = format!("at most {PROVIDER_BYTES_MAX} bytes, found {}", payment.provider.len());
                return Err(invalid("provider", rule));
            }
            if let Some(entered) = self.read::<Entered>(&key_space::payment(payment))? {
                if (entered.account, entered.credits, entered.cents) == (account, order.credits, cents) {
                    let balance = self.account(account)?.record.purse.balance;
                    return Ok(Purchase { balance, cents, is_replayed: true });
                }
                let rule = format!(
                    "{} was entered before for {} with {} credits and {} cents",
                    payment.id, entered.account, entered.credits, entered.cents
                );
                return Err(invalid("reference", rule));
            }
        }
        let (sequence, balance) = self.credit(order, EntryKind::Purchase, cents)?;
        if let Some(account) = self.accounts.get_mut(&account) {
            account.record.purse.has_bought = true;
        }
        if let Some(payment) = &order.payment {
            let entered = Entered { account, credits: order.credits, cents, sequence };
            self.written.changes.put(key_space::payment(payment), entered.encode());
        }
        Ok(Purchase { balance, cents, is_replayed: false })
    }

    /// Credits that the operator gives. The plan stays as it is. Returns the balance.
    pub(in super::super) fn grant(&mut self, order: &Credit) -> Result<u64, ChargeError> {
        self.credit(order, EntryKind::Grant, 0).map(|(_, balance)| balance)
    }

    fn credit(&mut self, order: &Credit, kind: EntryKind, cents: u64) -> Result<(u64, u64), ChargeError> {
        check_text("note", &order.note, 0)?;
        if order.credits == 0 || order.credits > CREDITS_PER_PURCHASE_MAX {
            let rule = format!("1 to {CREDITS_PER_PURCHASE_MAX}, found {}", order.credits);
            return Err(invalid("credits", rule));
        }
        let account = self.account(order.account)?;
        let held = account.record.purse.balance.saturating_add(account.reserved);
        if held.saturating_add(order.credits) > BALANCE_CREDITS_MAX {
            return Err(invalid("credits", format!("an account holds at most {BALANCE_CREDITS_MAX}")));
        }
        self.latest = self.latest.max(order.at);
        let entry = Entry::new(order.account, kind, signed(order.credits), order.at);
        let sequence =
            self.append(Entry { cents, request_id: &order.request_id, note: &order.note, ..entry })?;
        Ok((sequence, self.account(order.account)?.record.purse.balance))
    }
}

/// The list price, rounded to the nearest cent.
fn list_price(credits: u64) -> u64 {
    (credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500)) / 1_000
}
