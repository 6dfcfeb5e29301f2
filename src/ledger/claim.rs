//! What is remembered of an `Idempotency-Key`: the request that it stands for and, of a long answer, how much of it is paid.
//!
//! ```text
//! a page                     whole, once it is charged
//! a stream, a download       the rows that were paid; whole, once it ended properly
//! ```
//!
//! Knows its bytes, and no store.

use super::codec::{DecodeError, RecordReader, RecordWriter};
use crate::clock::Moment;

const RECORD: &str = "remembered payment";
/// The first version knows an end and a hash; the second adds what a long answer needs.
const VERSION: u8 = 2;

/// Paid rows of an answer of which nothing is left to pay.
pub(super) const WHOLE: u64 = u64::MAX;

/// What is remembered under a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Remembered {
    /// When it is forgotten.
    pub(super) until: Moment,
    /// The request, or, of a download, what is unpaid of it.
    pub(super) hash: [u8; 16],
    /// Of a long answer: the rows from its beginning that are paid, or [`WHOLE`].
    pub(super) paid_rows: Option<u64>,
}

impl Remembered {
    pub(super) fn encode(&self) -> Vec<u8> {
        let writer = RecordWriter::new(if self.paid_rows.is_some() { VERSION } else { 1 });
        let writer = writer.i64(self.until.unix_millis()).raw(&self.hash);
        match self.paid_rows {
            None => writer.finish(),
            Some(rows) => writer.u64(rows).finish(),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Remembered, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        let until = Moment::from_unix_millis(reader.i64("until")?);
        let hash = reader.array("hash")?;
        let is_long = bytes.first().is_some_and(|version| *version > 1);
        let paid_rows = if is_long { Some(reader.u64("rows")?) } else { None };
        Ok(Remembered { until, hash, paid_rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_reads_back_as_it_was_written() {
        let until = Moment::from_unix_millis(1_795_228_297_123);
        for paid_rows in [None, Some(700), Some(WHOLE)] {
            let remembered = Remembered { until, hash: [7; 16], paid_rows };
            let bytes = remembered.encode();
            assert_eq!(bytes.first(), Some(&if paid_rows.is_some() { 2 } else { 1 }));
            assert_eq!(Remembered::decode(&bytes), Ok(remembered));
        }
    }
}
