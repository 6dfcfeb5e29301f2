//! A reservation as it is kept while it is open, and the progress of the stream that it pays for.
//!
//! Knows its bytes, and no store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use super::account::Payment;
use super::codec::{DecodeError, RecordReader, RecordWriter};
use super::id::{AccountId, KeyId, ReservationId};
use crate::clock::{Moment, UtcMonth};

const RECORD: &str = "reservation";
const VERSION: u8 = 1;
const CREDITS: u8 = 1;
const FREE_QUERY: u8 = 2;
const NO_FILE: u8 = 0;
const FILE: u8 = 1;
const PROMISED_FILE: u8 = 2;
const NO_CLAIM: u8 = 0;
const CLAIM: u8 = 1;

/// The file that a download delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HeldFile {
    /// What a payment for it is remembered under.
    pub(super) hash: [u8; 16],
    /// Parts of it were handed out while the download ran, on the strength of what is held back: it is paid in full
    /// then, however the download ends.
    pub(super) is_promised: bool,
}

/// The idempotency key under which an answer is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HeldClaim {
    /// The hash of the key.
    pub(super) key: [u8; 16],
    /// The hash of the request.
    pub(super) body: [u8; 16],
    /// Rows that were paid before: only those behind them are paid now.
    pub(super) paid_before: u64,
}

/// An open reservation as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HoldRecord {
    pub(super) id: ReservationId,
    pub(super) account: AccountId,
    /// With which key it was opened.
    pub(super) key: Option<KeyId>,
    /// What is held back.
    pub(super) payment: Payment,
    /// The entry that holds it back; zero when nothing was taken from the balance.
    pub(super) sequence: u64,
    /// Rows that were written to the connection when this was last noted.
    pub(super) delivered: u64,
    pub(super) at: Moment,
    pub(super) request_id: String,
    pub(super) dataset: String,
    /// What is downloaded; nothing for a stream.
    pub(super) file: Option<HeldFile>,
    pub(super) claim: Option<HeldClaim>,
}

impl HoldRecord {
    /// Rows of the answer that were paid before.
    pub(super) fn paid_before(&self) -> u64 {
        self.claim.map_or(0, |claim| claim.paid_before)
    }

    /// Credits that are held back.
    pub(super) const fn credits(&self) -> u64 {
        self.payment.credits()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, number) = match self.payment {
            Payment::Credits(credits) => (CREDITS, credits),
            Payment::FreeQuery(month) => (FREE_QUERY, u64::from(month.number().cast_unsigned())),
        };
        let (file, hash) = match self.file {
            None => (NO_FILE, [0; 16]),
            Some(HeldFile { hash, is_promised: false }) => (FILE, hash),
            Some(HeldFile { hash, is_promised: true }) => (PROMISED_FILE, hash),
        };
        let record = RecordWriter::new(VERSION)
            .u64(self.account.number())
            .u64(self.key.map_or(0, KeyId::number))
            .byte(kind)
            .u64(number)
            .u64(self.sequence)
            .u64(self.delivered)
            .i64(self.at.unix_millis())
            .text(&self.request_id)
            .text(&self.dataset)
            .byte(file)
            .raw(&hash);
        match &self.claim {
            None => record.byte(NO_CLAIM).finish(),
            Some(HeldClaim { key, body, paid_before }) => {
                record.byte(CLAIM).raw(key).raw(body).u64(*paid_before).finish()
            }
        }
    }

    pub(super) fn decode(id: ReservationId, bytes: &[u8]) -> Result<HoldRecord, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        let account = AccountId::from_number(reader.u64("account")?);
        let key = KeyId::optional(reader.u64("key")?);
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
            key,
            payment,
            sequence: reader.u64("sequence")?,
            delivered: reader.u64("delivered")?,
            at: Moment::from_unix_millis(reader.i64("at")?),
            request_id: reader.text("request_id")?,
            dataset: reader.text("dataset")?,
            file: decode_file(&mut reader)?,
            claim: decode_claim(&mut reader)?,
        })
    }
}

fn decode_file(reader: &mut RecordReader<'_>) -> Result<Option<HeldFile>, DecodeError> {
    let kind = reader.byte("file")?;
    let hash = reader.array("file hash")?;
    match kind {
        NO_FILE => Ok(None),
        FILE | PROMISED_FILE => Ok(Some(HeldFile { hash, is_promised: kind == PROMISED_FILE })),
        _ => Err(reader.meaningless("file", u64::from(kind))),
    }
}

fn decode_claim(reader: &mut RecordReader<'_>) -> Result<Option<HeldClaim>, DecodeError> {
    match reader.byte("claim")? {
        NO_CLAIM => Ok(None),
        CLAIM => {
            let (key, body) = (reader.array("claim key")?, reader.array("claim body")?);
            Ok(Some(HeldClaim { key, body, paid_before: reader.u64("paid rows")? }))
        }
        kind => Err(reader.meaningless("claim", u64::from(kind))),
    }
}

/// How far a stream has come. The stream writes it, the books read it.
///
/// A stream that is gone holds it no more; by that the books notice a reservation that nobody settles.
#[derive(Debug)]
pub(super) struct Progress {
    delivered: AtomicU64,
    at: AtomicI64,
    is_answered: AtomicBool,
    is_waived: AtomicBool,
}

impl Progress {
    pub(super) fn new(now: Moment) -> Arc<Progress> {
        let at = AtomicI64::new(now.unix_millis());
        let (is_answered, is_waived) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Progress { delivered: AtomicU64::new(0), at, is_answered, is_waived })
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

    /// The answer costs nothing, whatever was delivered of it.
    pub(super) fn waive(&self, now: Moment) {
        self.note(0, now);
        self.is_waived.store(true, Ordering::Relaxed);
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    pub(super) fn outcome(&self) -> Outcome {
        let rows = self.delivered();
        let is_whole = self.is_answered.load(Ordering::Relaxed);
        Outcome {
            rows,
            is_answered: rows > 0 || is_whole,
            is_whole,
            is_waived: self.is_waived.load(Ordering::Relaxed),
            at: Moment::from_unix_millis(self.at.load(Ordering::Relaxed)),
        }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Rows from the beginning of the answer that the client has.
    pub(super) rows: u64,
    pub(super) is_answered: bool,
    /// Whether the answer ended properly.
    pub(super) is_whole: bool,
    /// Whether it costs nothing, also where it was to be paid in full.
    pub(super) is_waived: bool,
    pub(super) at: Moment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_reads_back_as_it_was_written() {
        let at = Moment::from_unix_millis(1_795_228_297_123);
        let file = |is_promised| Some(HeldFile { hash: [7; 16], is_promised });
        let claim = Some(HeldClaim { key: [1; 16], body: [2; 16], paid_before: 5 });
        for (payment, file, claim) in [
            (Payment::Credits(900), file(true), claim),
            (Payment::Credits(9), file(false), None),
            (Payment::FreeQuery(at.month()), None, claim),
        ] {
            let hold = HoldRecord {
                id: ReservationId::from_number(8),
                account: AccountId::from_number(2),
                key: Some(KeyId::from_number(3)),
                payment,
                sequence: 44,
                delivered: 17,
                at,
                request_id: "r".to_owned(),
                dataset: "orders".to_owned(),
                file,
                claim,
            };
            assert_eq!(HoldRecord::decode(hold.id, &hold.encode()), Ok(hold));
        }
    }
}
