//! A reservation as it is kept while it is open, and the progress of the stream that it pays for.
//!
//! Knows its bytes, and no store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::account::Payment;
use super::codec::{DecodeError, RecordReader, RecordWriter};
use super::id::{AccountId, ReservationId};
use crate::clock::{Moment, UtcMonth};

const RECORD: &str = "reservation";
const VERSION: u8 = 1;
const CREDITS: u8 = 1;
const FREE_QUERY: u8 = 2;

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HoldRecord {
    pub(super) id: ReservationId,
    pub(super) account: AccountId,
    /// What is held back.
    pub(super) payment: Payment,
    /// The entry that holds it back; zero when nothing was taken from the balance.
    pub(super) sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub(super) delivered: u64,
    pub(super) at: Moment,
    pub(super) request_id: String,
    pub(super) dataset: String,
}

impl HoldRecord {
    /// Credits that are held back.
    pub(super) const fn credits(&self) -> u64 {
        match self.payment {
            Payment::Credits(credits) => credits,
            Payment::FreeQuery(_) => 0,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, number) = match self.payment {
            Payment::Credits(credits) => (CREDITS, credits),
            Payment::FreeQuery(month) => (FREE_QUERY, u64::from(month.number().cast_unsigned())),
        };
        RecordWriter::new(VERSION)
            .u64(self.account.number())
            .byte(kind)
            .u64(number)
            .u64(self.sequence)
            .u64(self.delivered)
            .i64(self.at.unix_millis())
            .text(&self.request_id)
            .text(&self.dataset)
            .finish()
    }

    pub(super) fn decode(id: ReservationId, bytes: &[u8]) -> Result<HoldRecord, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        let account = AccountId::from_number(reader.u64("account")?);
        let kind = reader.byte("kind")?;
        let number = reader.u64("number")?;
        let payment = match kind {
            CREDITS => Payment::Credits(number),
            FREE_QUERY => Payment::FreeQuery(UtcMonth::from_number((number as u32).cast_signed())),
            _ => return Err(reader.meaningless("kind", u64::from(kind))),
        };
        Ok(HoldRecord {
            id,
            account,
            payment,
            sequence: reader.u64("sequence")?,
            delivered: reader.u64("delivered")?,
            at: Moment::from_unix_millis(reader.i64("at")?),
            request_id: reader.text("request_id")?,
            dataset: reader.text("dataset")?,
        })
    }
}

/// How far a stream has come. The stream writes it, the ledger thread reads it.
///
/// A stream that is gone holds it no more; by that the ledger thread notices a reservation that nobody settles.
#[derive(Debug)]
pub(super) struct Progress {
    delivered: AtomicU64,
    at: AtomicI64,
    is_answered: AtomicBool,
}

impl Progress {
    pub(super) fn new(now: Moment) -> Arc<Progress> {
        let at = AtomicI64::new(now.unix_millis());
        Arc::new(Progress { delivered: AtomicU64::new(0), at, is_answered: AtomicBool::new(false) })
    }

    /// Notes the rows that were written to the connection so far.
    pub(super) fn note(&self, rows: u64, now: Moment) {
        self.delivered.store(rows, Ordering::Relaxed);
        self.at.store(now.unix_millis(), Ordering::Relaxed);
    }

    /// The client got its answer, if only an empty one.
    pub(super) fn answer(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub(super) fn outcome(&self) -> Outcome {
        let rows = self.delivered();
        let is_answered = rows > 0 || self.is_answered.load(Ordering::Relaxed);
        Outcome { rows, is_answered, at: Moment::from_unix_millis(self.at.load(Ordering::Relaxed)) }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) rows: u64,
    pub(super) is_answered: bool,
    pub(super) at: Moment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_reads_back_as_it_was_written() {
        let at = Moment::from_unix_millis(1_795_228_297_123);
        for payment in [Payment::Credits(900), Payment::FreeQuery(at.month())] {
            let hold = HoldRecord {
                id: ReservationId::from_number(8),
                account: AccountId::from_number(2),
                payment,
                sequence: 44,
                delivered: 17,
                at,
                request_id: "r".to_owned(),
                dataset: "orders".to_owned(),
            };
            assert_eq!(HoldRecord::decode(hold.id, &hold.encode()), Ok(hold));
        }
    }
}
