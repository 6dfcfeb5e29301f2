//! Accounts, and the credits that they receive. Prices are in cents.

mod buy;
mod create_account;
mod grant;

pub use buy::{Buy, Entered, Purchase};
pub use create_account::{CreateAccount, open_account};
pub use grant::Grant;

use super::{check_text, invalid};
use crate::entry::{Entry, EntryKind};
use crate::error::BooksError;
use crate::id::AccountId;
use crate::limits::{BALANCE_CREDITS_MAX, CREDITS_PER_PURCHASE_MAX, PROVIDER_BYTES_MAX};
use crate::request::PaymentId;
use crate::state::{Account, State, signed};
use mercato_base::clock::Moment;

/// Credits that an account receives.
struct Credit<'c> {
    account: AccountId,
    kind: EntryKind,
    credits: u64,
    cents: u64,
    request_id: &'c str,
    note: &'c str,
    at: Moment,
}

impl Credit<'_> {
    /// Enters them. Returns the number of the entry, and the balance.
    fn enter(&self, books: &mut State) -> Result<(u64, u64), BooksError> {
        let Credit { account, kind, credits, cents, request_id, note, at } = *self;
        check_text("note", note, 0)?;
        check_credits(books.account(account)?, credits)?;
        books.hear(at);
        let entry = Entry::new(account, kind, signed(credits), at);
        let sequence = books.append(Entry { cents, request_id, note, ..entry })?;
        Ok((sequence, books.account(account)?.record.balance.credits))
    }
}

/// Refuses a number of credits that an account cannot receive.
pub fn check_credits(account: &Account, credits: u64) -> Result<(), BooksError> {
    if credits == 0 || credits > CREDITS_PER_PURCHASE_MAX {
        return Err(invalid("credits", format!("1 to {CREDITS_PER_PURCHASE_MAX}, found {credits}")));
    }
    let held = account.record.balance.credits.saturating_add(account.reserved);
    if held.saturating_add(credits) > BALANCE_CREDITS_MAX {
        return Err(invalid("credits", format!("an account holds at most {BALANCE_CREDITS_MAX}")));
    }
    Ok(())
}

pub fn check_payment(payment: &PaymentId) -> Result<(), BooksError> {
    check_provider(&payment.provider)?;
    check_text("reference", &payment.id, 1)
}

pub fn check_provider(provider: &str) -> Result<(), BooksError> {
    check_text("provider", provider, 1)?;
    if provider.len() > PROVIDER_BYTES_MAX {
        let rule = format!("at most {PROVIDER_BYTES_MAX} bytes, found {}", provider.len());
        return Err(invalid("provider", rule));
    }
    Ok(())
}
