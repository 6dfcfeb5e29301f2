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
    pub fn add(&mut self, other: Usage) {
        self.requests = self.requests.saturating_add(other.requests);
        self.rows = self.rows.saturating_add(other.rows);
        self.credits = self.credits.saturating_add(other.credits);
    }

    pub fn subtract(&mut self, other: Usage) {
        self.requests = self.requests.saturating_sub(other.requests);
        self.rows = self.rows.saturating_sub(other.rows);
        self.credits = self.credits.saturating_sub(other.credits);
    }
}

impl Record for Usage {
    const NAME: &'static str = "usage";
}
