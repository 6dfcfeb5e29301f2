//! Sells a part of a file. It pays what the account has not paid of the file within `DOWNLOAD_GRANT_HOURS`: all of it, what a
//! download that broke off left, or nothing.

use super::files::unpaid_mark;
use super::sell::{reads, usage_line};
use crate::error::ChargeError;
use crate::key_space;
use crate::limits::DOWNLOAD_GRANT_HOURS;
use crate::operation::{Operation, Reads};
use crate::request::{DownloadRequest, Receipt};
use crate::state::State;

pub struct SellPart<'r>(pub &'r DownloadRequest);

impl Operation for SellPart<'_> {
    type Outcome = Receipt;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        let (charge, file) = (&self.0.charge, self.0.file());
        let mut reads = Reads { files: vec![file], usage: [usage_line(charge)].into(), ..reads(charge) };
        reads.records.insert(key_space::grant(charge.account.id(), &file));
        reads
    }

    fn decide(&self, books: &mut State) -> Result<Receipt, ChargeError> {
        let request = self.0;
        let charge = &request.charge;
        let (account, at, hash) = (charge.account.id(), charge.at, request.file());
        books.open(account)?;
        books.check_part(charge)?;
        let key = key_space::grant(account, &hash);
        let known = books.unpaid(&key, at)?;
        if known == Some(0) {
            books.note_repetition(&key)?;
            return books.sell(charge, 0, None);
        }
        if books.promise(account, &hash) {
            return books.sell(charge, 0, None);
        }
        let unpaid = charge.rows.saturating_sub(books.paid_rows_of(charge)?);
        let cost = known.map_or(unpaid, |known| known.min(unpaid));
        let payment = books.account(account)?.record.balance.pay_credits(cost)?;
        books.check_caps(account, charge.key, cost, at)?;
        let mut receipt = books.sell(charge, cost, Some(payment))?;
        let previous = if known.is_some() { books.get(&key)? } else { None };
        books.remember(&key, &unpaid_mark(0), at.plus_seconds(DOWNLOAD_GRANT_HOURS * 3_600));
        receipt.undo.remembered.push((key, previous));
        receipt.undo.remembered.extend(books.keep_part(charge, cost)?);
        Ok(receipt)
    }
}
