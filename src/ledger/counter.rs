//! How many requests a key or an address made on a day, as it is kept for the next start.
//!
//! Knows bytes; who counts, and what a limit is, the access control knows.

use super::codec::{DecodeError, RecordReader, RecordWriter};
use super::id::KeyId;
use super::key_space::COUNTER;
use crate::clock::UtcDay;

const RECORD: &str = "day counter";
const VERSION: u8 = 1;
const KEY: u8 = b'k';
const ADDRESS: u8 = b'a';

/// Whose requests are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CounterSubject {
    /// A key.
    Key(KeyId),
    /// A client address, as the access control writes it.
    Address([u8; 16]),
}

impl CounterSubject {
    pub(super) fn store_key(self) -> Vec<u8> {
        match self {
            CounterSubject::Key(id) => [COUNTER, &[KEY], &id.number().to_be_bytes()].concat(),
            CounterSubject::Address(address) => [COUNTER, &[ADDRESS], &address].concat(),
        }
    }

    fn from_store_key(key: &[u8]) -> Option<CounterSubject> {
        let (kind, rest) = key.strip_prefix(COUNTER)?.split_first()?;
        match *kind {
            KEY => Some(CounterSubject::Key(KeyId::from_number(u64::from_be_bytes(rest.try_into().ok()?)))),
            ADDRESS => Some(CounterSubject::Address(rest.try_into().ok()?)),
            _ => None,
        }
    }
}

/// The requests of a subject on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterNote {
    /// Whose.
    pub subject: CounterSubject,
    /// The UTC day.
    pub day: UtcDay,
    /// How many.
    pub count: u32,
}

impl CounterNote {
    pub(super) fn encode(&self) -> Vec<u8> {
        RecordWriter::new(VERSION).i64(i64::from(self.day.unix_days())).u64(u64::from(self.count)).finish()
    }

    pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Result<CounterNote, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        let subject = CounterSubject::from_store_key(key).ok_or_else(|| reader.meaningless("key", 0))?;
        let (days, count) = (reader.i64("day")?, reader.u64("count")?);
        let days = i32::try_from(days).map_err(|_| reader.meaningless("day", days.cast_unsigned()))?;
        let count = u32::try_from(count).map_err(|_| reader.meaningless("count", count))?;
        Ok(CounterNote { subject, day: UtcDay::from_unix_days(days), count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_reads_back_as_it_was_written() {
        for subject in [CounterSubject::Key(KeyId::from_number(9)), CounterSubject::Address([7; 16])] {
            let note = CounterNote { subject, day: UtcDay::from_unix_days(20_000), count: 4_999 };
            assert_eq!(CounterNote::decode(&subject.store_key(), &note.encode()), Ok(note));
        }
    }
}
