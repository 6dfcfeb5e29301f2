//! The usage of an account, by day, key and dataset.
//!
//! The record of one line.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::id::{AccountId, KeyId};
use mercato_base::clock::UtcDay;

/// Requests, rows and credits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Responses.
    pub requests: u64,
    pub rows: u64,
    /// Credits that they cost.
    pub credits: u64,
}

/// A request for the usage of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageQuery {
    pub account: AccountId,
    /// UTC days, today included; at most `USAGE_DAYS_MAX`.
    pub days: u32,
    /// Only the usage of this key.
    pub key: Option<KeyId>,
    /// Whether each key has lines of its own.
    pub by_key: bool,
}

/// The usage of a dataset on a day, with one key or with all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageLine {
    pub day: UtcDay,
    /// The key that was used; nothing in the sum of all keys.
    pub key: Option<KeyId>,
    /// The slug of the dataset.
    pub dataset: String,
    /// Responses.
    pub requests: u64,
    pub rows: u64,
    /// Credits that they cost.
    pub credits: u64,
}

impl Usage {
    /// The sum; `None` where a number has no room.
    pub fn plus(self, other: Usage) -> Option<Usage> {
        Some(Usage {
            requests: self.requests.checked_add(other.requests)?,
            rows: self.rows.checked_add(other.rows)?,
            credits: self.credits.checked_add(other.credits)?,
        })
    }

    /// The difference; `None` where more is taken away than was counted.
    pub fn minus(self, other: Usage) -> Option<Usage> {
        Some(Usage {
            requests: self.requests.checked_sub(other.requests)?,
            rows: self.rows.checked_sub(other.rows)?,
            credits: self.credits.checked_sub(other.credits)?,
        })
    }
}

impl Record for Usage {
    const NAME: &'static str = "usage";
}
