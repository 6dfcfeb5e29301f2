//! How many requests a key or an address made on a day, as it is kept for the next start.
//!
//! Knows bytes; who counts, and what a limit is, the access control knows.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::KeyId;
use super::key_space::COUNTER;
use crate::clock::UtcDay;

const KEY: u8 = b'k';
const ADDRESS: u8 = b'a';

/// Whose requests are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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
}

/// The requests of a subject on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterNote {
    /// Whose.
    pub subject: CounterSubject,
    /// The UTC day.
    pub day: UtcDay,
    /// How many.
    pub count: u32,
}

impl Record for CounterNote {
    const NAME: &'static str = "day counter";
}
