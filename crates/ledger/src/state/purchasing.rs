//! Credits that accounts receive: purchases and grants of the operator.
//!
//! A purchase with the payment id of a provider is entered once, for ever. Prices are in cents.

use serde::{Deserialize, Serialize};

use super::charging::signed;
use super::operating::{check_text, invalid};
use super::{Account, State};
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::ChargeError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::{
    BALANCE_CREDITS_MAX, CENTS_PER_THOUSAND_CREDITS, CREDITS_PER_PURCHASE_MAX, PROVIDER_BYTES_MAX,
};
use crate::request::{CreditRequest, PaymentId, Purchase};

/// The record of a purchase under its payment id.
#[derive(Serialize, Deserialize)]
pub struct Entered {
    account: AccountId,
    credits: u64,
    cents: u64,
    sequence: u64,
}

impl Entered {
    pub fn is_of(&self, account: AccountId, credits: u64, cents: u64) -> bool {
        (self.account, self.credits, self.cents) == (account, credits, cents)
    }
}

impl Record for Entered {
    const NAME: &'static str = "purchase";
}

impl State {
    /// Credits that were bought; the account is a prepaid one from now on.
    pub fn purchase(&mut self, request: &CreditRequest) -> Result<Purchase, ChargeError> {
        let cents = request.cents.unwrap_or_else(|| list_price(request.credits));
        let account = request.account;
        if let Some(payment) = &request.payment {
            check_payment(payment)?;
            if let Some(entered) = self.read::<Entered>(&key_space::payment(payment))? {
                if entered.is_of(account, request.credits, cents) {
                    let balance = self.account(account)?.record.balance.credits;
                    let sequence = entered.sequence;
                    return Ok(Purchase { balance, cents, sequence, is_replayed: true });
                }
                let rule = format!(
                    "{} was entered before for {} with {} credits and {} cents",
                    payment.id, entered.account, entered.credits, entered.cents
                );
                return Err(invalid("reference", rule));
            }
        }
        let (sequence, balance) = self.credit(request, EntryKind::Purchase, cents)?;
        if let Some(account) = self.accounts.get_mut(&account) {
            account.record.balance.has_bought = true;
        }
        if let Some(payment) = &request.payment {
            let entered = Entered { account, credits: request.credits, cents, sequence };
            self.written.changes.put(key_space::payment(payment), entered.encode());
        }
        Ok(Purchase { balance, cents, sequence, is_replayed: false })
    }

    /// Credits that the operator gives. The plan stays as it is. Returns the balance.
    pub fn grant(&mut self, request: &CreditRequest) -> Result<u64, ChargeError> {
        self.credit(request, EntryKind::Grant, 0).map(|(_, balance)| balance)
    }

    fn credit(
        &mut self,
        request: &CreditRequest,
        kind: EntryKind,
        cents: u64,
    ) -> Result<(u64, u64), ChargeError> {
        check_text("note", &request.note, 0)?;
        check_credits(self.account(request.account)?, request.credits)?;
        self.latest = self.latest.max(request.at);
        let entry = Entry::new(request.account, kind, signed(request.credits), request.at);
        let sequence =
            self.append(Entry { cents, request_id: &request.request_id, note: &request.note, ..entry })?;
        Ok((sequence, self.account(request.account)?.record.balance.credits))
    }
}

/// The list price, rounded to the nearest cent.
fn list_price(credits: u64) -> u64 {
    (credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500)) / 1_000
}

/// Refuses a number of credits that an account cannot receive.
pub fn check_credits(account: &Account, credits: u64) -> Result<(), ChargeError> {
    if credits == 0 || credits > CREDITS_PER_PURCHASE_MAX {
        return Err(invalid("credits", format!("1 to {CREDITS_PER_PURCHASE_MAX}, found {credits}")));
    }
    let held = account.record.balance.credits.saturating_add(account.reserved);
    if held.saturating_add(credits) > BALANCE_CREDITS_MAX {
        return Err(invalid("credits", format!("an account holds at most {BALANCE_CREDITS_MAX}")));
    }
    Ok(())
}

pub fn check_payment(payment: &PaymentId) -> Result<(), ChargeError> {
    check_provider(&payment.provider)?;
    check_text("reference", &payment.id, 1)
}

pub fn check_provider(provider: &str) -> Result<(), ChargeError> {
    check_text("provider", provider, 1)?;
    if provider.len() > PROVIDER_BYTES_MAX {
        let rule = format!("at most {PROVIDER_BYTES_MAX} bytes, found {}", provider.len());
        return Err(invalid("provider", rule));
    }
    Ok(())
}
