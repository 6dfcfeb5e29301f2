//! Sets aside the price of a whole file.

use super::sell::reads;
use crate::error::ChargeError;
use crate::operation::{Makes, Operation, Reads};
use crate::request::{DownloadRequest, Reserved};
use crate::reservation_record::ReservedFile;
use crate::state::State;

pub struct ReserveFile<'r>(pub &'r DownloadRequest);

impl Operation for ReserveFile<'_> {
    type Outcome = Reserved;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        reads(&self.0.charge).making(Makes::Reservation)
    }

    fn decide(&self, books: &mut State) -> Result<Reserved, ChargeError> {
        let request = self.0;
        let charge = &request.charge;
        let balance = books.open(charge.account.id())?.record.balance;
        let paid_before = books.paid_rows_of(charge)?;
        let price = balance.pay_credits(charge.rows.saturating_sub(paid_before));
        let begun = books.begin_answer(charge, paid_before, price)?;
        books.set_aside(charge, &begun, Some(ReservedFile { hash: request.file(), is_promised: false }))
    }
}
