//! Takes back what a payment gave, in proportion to what of it was refunded or disputed, and gives it again when a dispute
//! was won.
//!
//! ```text
//! owed                credits × (refunded + disputed) ÷ gross price, rounded down
//! taken + forgone     what was owed so far: taken from the balance, or spent before it could be taken
//! owed rises          take what the balance has of the difference, forgo the rest
//! owed falls          forget what was forgone last, give back the rest of the difference
//! ```
//!
//! The same report twice changes nothing, whatever the balance is by then. Does not depend on providers.

use super::put;
use crate::checkout::Checkout;
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::DISPUTES_PER_PAYMENT_MAX;
use crate::operation::{Operation, Reads};
use crate::operations::accounts::check_payment;
use crate::operations::{check_text, invalid};
use crate::request::PaymentId;
use crate::reversal::{Reversal, ReversalEvent};
use crate::state::{State, signed};
use mercato_base::clock::Moment;

/// A provider's report that a payment was refunded or disputed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReversePayment {
    pub payment: PaymentId,
    /// The change of the payment.
    pub event: ReversalEvent,
    pub at: Moment,
}

/// The outcome of such a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reversed {
    /// It was known. Nothing was changed.
    Unchanged,
    /// The payment is not known; the report waits for it.
    Kept,
    /// The credits of the payment are as they should be.
    Settled {
        account: AccountId,
        /// By how much its balance changed; zero when everything was spent.
        change: i64,
    },
}

impl Operation for ReversePayment {
    type Outcome = Reversed;
    type Refusal = BooksError;

    /// Only the record of the payment says which account it is about.
    fn reads(&self) -> Reads {
        Reads::nothing()
    }

    fn decide(&self, books: &mut State) -> Result<Reversed, BooksError> {
        check_payment(&self.payment)?;
        if let ReversalEvent::Disputed { dispute, .. } | ReversalEvent::DisputeClosed { dispute, .. } =
            &self.event
        {
            check_text("dispute", dispute, 1)?;
        }
        let key = key_space::reversal(&self.payment);
        let mut reversal: Reversal = books.read(&key)?.unwrap_or_default();
        match reversal.apply(&self.event) {
            Some(true) => {}
            Some(false) => return Ok(Reversed::Unchanged),
            None => {
                let rule = format!("a payment has at most {DISPUTES_PER_PAYMENT_MAX}");
                return Err(invalid("dispute", rule));
            }
        }
        let outcome = match reversal.checkout {
            None => Reversed::Kept,
            Some(number) => {
                let Some(mut checkout) = books.read::<Checkout>(&key_space::checkout(number))? else {
                    let detail = format!("the checkout of {} is missing", self.payment.id);
                    return Err(books.fail_damaged(detail));
                };
                let change = settle(books, &mut checkout, &reversal, self.at)?;
                put(books, &checkout);
                Reversed::Settled { account: checkout.account, change }
            }
        };
        books.hear(self.at);
        books.written.changes.put(key, reversal.encode());
        Ok(outcome)
    }
}

/// Takes credits back from a paid checkout, or gives them again, until it agrees with the record of its payment. Returns the
/// change of the balance.
pub fn settle(
    books: &mut State,
    checkout: &mut Checkout,
    reversal: &Reversal,
    at: Moment,
) -> Result<i64, BooksError> {
    (checkout.refunded, checkout.disputed) = (reversal.refunded, reversal.disputed());
    let (owed, settled) = (checkout.owed(), checkout.taken.saturating_add(checkout.forgone));
    if owed == settled {
        return Ok(0);
    }
    let (kind, change, note) = if owed > settled {
        let wanted = owed - settled;
        let taken = wanted.min(books.account(checkout.account)?.record.balance.credits);
        checkout.taken = checkout.taken.saturating_add(taken);
        checkout.forgone = checkout.forgone.saturating_add(wanted - taken);
        (EntryKind::TakeBack, -signed(taken), format!("{taken} of {wanted} credits were there"))
    } else {
        let falls = settled - owed;
        let forgotten = falls.min(checkout.forgone);
        let given = (falls - forgotten).min(checkout.taken);
        checkout.forgone -= forgotten;
        checkout.taken -= given;
        (EntryKind::GiveBack, signed(given), format!("{given} of {falls} credits had been there"))
    };
    let payment = checkout.paid.as_ref();
    let request_id = payment.map_or("", |paid| paid.payment.as_str());
    let related = payment.map_or(0, |paid| paid.sequence);
    let entry = Entry::new(checkout.account, kind, change, at);
    books.append(Entry { related, request_id, note: &note, ..entry })?;
    Ok(change)
}
