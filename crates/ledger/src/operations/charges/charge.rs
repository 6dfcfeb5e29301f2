//! Sells the rows of a page.

use super::claims::{Claimed, a_day_after};
use super::sell::{reads, usage_line};
use crate::error::ChargeError;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::request::{ChargeRequest, Receipt};
use crate::state::State;

pub struct Charge<'r>(pub &'r ChargeRequest);

impl Operation for Charge<'_> {
    type Outcome = Receipt;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        Reads { usage: [usage_line(self.0)].into(), ..reads(self.0) }
    }

    fn decide(&self, books: &mut State) -> Result<Receipt, ChargeError> {
        let request = self.0;
        let account = request.account.id();
        books.open(account)?;
        if let Some(claim) = &request.claim
            && books.claimed(account, claim, request.at)? == Claimed::Yes
        {
            books.note_repetition(&key_space::claim(account, &claim.key))?;
            return books.sell(request, request.rows, None);
        }
        let paid_before = books.paid_rows_of(request)?;
        let payment = books.price(request, paid_before)?;
        books.check_caps(account, request.key, payment.credits(), request.at)?;
        let mut receipt = books.sell(request, request.rows, Some(payment))?;
        receipt.paid_before = paid_before;
        if paid_before < request.rows {
            receipt.undo.remembered.extend(books.remember_rows(request)?);
        }
        if let Some(claim) = &request.claim {
            let key = key_space::claim(account, &claim.key);
            books.remember(&key, &claim.body, a_day_after(request.at));
            receipt.undo.remembered.push((key, None));
        }
        Ok(receipt)
    }
}
