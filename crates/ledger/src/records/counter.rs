//! Request counters of a key or an address: of a day, kept for the next start, and of the last minute, for other servers with
//! the same books.
//!
//! The access control counts and applies the limits.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::KeyId;
use mercato_base::clock::UtcDay;

/// The subject of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CounterSubject {
    Key(KeyId),
    /// A client address, as the access control writes it.
    Address([u8; 16]),
}

/// The requests of a subject on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterNote {
    pub subject: CounterSubject,
    pub day: UtcDay,
    /// How many.
    pub count: u32,
}

impl Record for CounterNote {
    const NAME: &'static str = "day counter";
}

/// Seconds that a count of the last minute speaks of, the one under way included.
pub const SECONDS_COUNTED_MAX: usize = 61;

/// The requests of a subject that one server, or all others together, have counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedCount {
    pub subject: CounterSubject,
    /// The UTC day that `today` is of.
    pub day: UtcDay,
    /// How many on that day.
    pub today: u32,
    /// How many in each second of the last minute that had some, oldest first: seconds since 1970 and requests.
    pub seconds: Vec<(i64, u32)>,
}
