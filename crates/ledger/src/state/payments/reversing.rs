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

use crate::checkout::Checkout;
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::ChargeError;
use crate::key_space;
use crate::limits::DISPUTES_PER_PAYMENT_MAX;
use crate::payments::{ReportedReversal, Reversed};
use crate::reversal::{Reversal, ReversalEvent};
use crate::state::State;
use crate::state::charging::signed;
use crate::state::operating::{check_text, invalid};
use crate::state::purchasing::check_payment;
use mercato_base::clock::Moment;

impl State {
    /// Records that a payment was refunded or disputed. A report that precedes its payment waits for it.
    pub fn reverse_payment(&mut self, reported: &ReportedReversal) -> Result<Reversed, ChargeError> {
        check_payment(&reported.payment)?;
        if let ReversalEvent::Disputed { dispute, .. } | ReversalEvent::DisputeClosed { dispute, .. } =
            &reported.event
        {
            check_text("dispute", dispute, 1)?;
        }
        let key = key_space::reversal(&reported.payment);
        let mut reversal: Reversal = self.read(&key)?.unwrap_or_default();
        match reversal.apply(&reported.event) {
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
                let Some(mut checkout) = self.read::<Checkout>(&key_space::checkout(number))? else {
                    return Err(
                        self.fail_damaged(format!("the checkout of {} is missing", reported.payment.id))
                    );
                };
                let change = self.settle_reversal(&mut checkout, &reversal, reported.at)?;
                self.put_checkout(&checkout);
                Reversed::Settled { account: checkout.account, change }
            }
        };
        self.latest = self.latest.max(reported.at);
        self.written.changes.put(key, reversal.encode());
        Ok(outcome)
    }

    /// Takes credits back from a paid checkout, or gives them again, until it agrees with the record of its payment. Returns the
    /// change of the balance.
    pub fn settle_reversal(
        &mut self,
        checkout: &mut Checkout,
        reversal: &Reversal,
        at: Moment,
    ) -> Result<i64, ChargeError> {
        (checkout.refunded, checkout.disputed) = (reversal.refunded, reversal.disputed());
        let (owed, settled) = (checkout.owed(), checkout.taken.saturating_add(checkout.forgone));
        if owed == settled {
            return Ok(0);
        }
        let (kind, change, note) = if owed > settled {
            let wanted = owed - settled;
            let taken = wanted.min(self.account(checkout.account)?.record.balance.credits);
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
        self.append(Entry { related, request_id, note: &note, ..entry })?;
        Ok(change)
    }
}
