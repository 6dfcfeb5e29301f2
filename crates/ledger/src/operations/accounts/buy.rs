//! Enters a purchase; the account is a prepaid one from now on. One with the payment id of a provider is entered once, for ever.

use serde::{Deserialize, Serialize};

use super::{Credit, check_payment};
use crate::codec::Record;
use crate::entry::EntryKind;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::CENTS_PER_THOUSAND_CREDITS;
use crate::operation::{Operation, Reads};
use crate::operations::invalid;
use crate::request::PaymentId;
use crate::state::State;
use mercato_base::clock::Moment;

pub struct Buy {
    pub account: AccountId,
    pub credits: u64,
    /// Their price, if not the list price.
    pub cents: Option<u64>,
    pub payment: Option<PaymentId>,
    pub request_id: String,
    pub note: String,
    pub at: Moment,
}

/// Credits that were bought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Purchase {
    /// The balance after it.
    pub balance: u64,
    /// Their price, in cents of a euro, VAT excluded.
    pub cents: u64,
    /// The number of the entry that gave them.
    pub sequence: u64,
    /// Whether they were entered before, under the same reference; nothing was added then.
    pub is_replayed: bool,
}

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

impl Operation for Buy {
    type Outcome = Purchase;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::account(self.account)
    }

    fn decide(&self, books: &mut State) -> Result<Purchase, BooksError> {
        let (account, credits, at) = (self.account, self.credits, self.at);
        let cents = self.cents.unwrap_or_else(|| list_price(credits));
        if let Some(payment) = &self.payment {
            check_payment(payment)?;
            if let Some(entered) = books.read::<Entered>(&key_space::payment(payment))? {
                return self.replayed(books, payment, &entered, cents);
            }
        }
        let (request_id, note) = (self.request_id.as_str(), self.note.as_str());
        let credit = Credit { account, kind: EntryKind::Purchase, credits, cents, request_id, note, at };
        let (sequence, balance) = credit.enter(books)?;
        if let Some(account) = books.accounts.get_mut(&account) {
            account.record.balance.has_bought = true;
        }
        if let Some(payment) = &self.payment {
            let entered = Entered { account, credits, cents, sequence };
            books.written.changes.put(key_space::payment(payment), entered.encode());
        }
        Ok(Purchase { balance, cents, sequence, is_replayed: false })
    }
}

impl Buy {
    fn replayed(
        &self,
        books: &State,
        payment: &PaymentId,
        entered: &Entered,
        cents: u64,
    ) -> Result<Purchase, BooksError> {
        if entered.is_of(self.account, self.credits, cents) {
            let balance = books.account(self.account)?.record.balance.credits;
            return Ok(Purchase { balance, cents, sequence: entered.sequence, is_replayed: true });
        }
        let rule = format!(
            "{} was entered before for {} with {} credits and {} cents",
            payment.id, entered.account, entered.credits, entered.cents
        );
        Err(invalid("reference", rule))
    }
}

/// The list price, rounded to the nearest cent.
fn list_price(credits: u64) -> u64 {
    (credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500)) / 1_000
}
