//! Request counters of a key or an address for a day, kept for the next start.
//!
//! The access control counts and applies the limits.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::KeyId;
use crate::clock::UtcDay;

/// The subject of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CounterSubject {
    /// A key.
    Key(KeyId),
    /// A client address, as the access control writes it.
    Address([u8; 16]),
}

/// The requests of a subject on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterNote {
    /// The subject.
    pub subject: CounterSubject,
    /// The UTC day.
    pub day: UtcDay,
    /// How many.
    pub count: u32,
}

impl Record for CounterNote {
    const NAME: &'static str = "day counter";
}
