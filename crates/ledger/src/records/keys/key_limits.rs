//! Limits of a key: caps on credits, readable datasets and expiry.
//!
//! Plain values.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use mercato_base::clock::Moment;

/// The limits of a key. An absent limit does not restrict.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyLimits {
    /// Credits a UTC day.
    pub credits_per_day: Option<u64>,
    /// Credits a UTC calendar month.
    pub credits_per_month: Option<u64>,
    /// When it ends.
    pub expires_at: Option<Moment>,
    /// The slugs of the datasets that it is for; none means all. At most `DATASETS_PER_KEY_MAX`.
    pub datasets: Arc<[String]>,
}

/// The change of one limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Change<T> {
    /// It stays as it is.
    #[default]
    Keep,
    Lift,
    /// It is this from now on.
    Set(T),
}

impl<T> Change<T> {
    /// Whether nothing changes.
    pub const fn is_keep(&self) -> bool {
        matches!(self, Change::Keep)
    }

    fn over(&self, before: Option<T>) -> Option<T>
    where
        T: Clone,
    {
        match self {
            Change::Keep => before,
            Change::Lift => None,
            Change::Set(value) => Some(value.clone()),
        }
    }
}

/// Changes of the limits of a key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LimitsChange {
    /// Of credits a UTC day.
    pub credits_per_day: Change<u64>,
    /// Of credits a UTC calendar month.
    pub credits_per_month: Change<u64>,
    /// Of its end.
    pub expires_at: Change<Moment>,
    /// Of its datasets: all of them are replaced.
    pub datasets: Change<Arc<[String]>>,
}

/// Over which time a cap counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapPeriod {
    /// A UTC day.
    Day,
    /// A UTC calendar month.
    Month,
}

impl CapPeriod {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            CapPeriod::Day => "day",
            CapPeriod::Month => "month",
        }
    }

    /// When the period of this moment ends.
    pub fn end(self, at: Moment) -> Moment {
        match self {
            CapPeriod::Day => at.day().plus_days(1).start(),
            CapPeriod::Month => at.month().end(),
        }
    }
}

/// How a key stands to one of its caps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapStanding {
    /// Over which time the cap counts.
    pub period: CapPeriod,
    /// Credits that may be spent in it.
    pub cap: u64,
    /// Credits that were spent in it, and those that open reservations hold.
    pub spent: u64,
    /// When it begins anew.
    pub resets_at: Moment,
}

impl KeyLimits {
    /// Whether the key is for this dataset.
    pub fn allow(&self, dataset: &str) -> bool {
        self.datasets.is_empty() || self.datasets.iter().any(|allowed| allowed == dataset)
    }

    /// These limits after a change.
    pub fn changed(&self, change: &LimitsChange) -> KeyLimits {
        KeyLimits {
            credits_per_day: change.credits_per_day.over(self.credits_per_day),
            credits_per_month: change.credits_per_month.over(self.credits_per_month),
            expires_at: change.expires_at.over(self.expires_at),
            datasets: change.datasets.over(Some(Arc::clone(&self.datasets))).unwrap_or_default(),
        }
    }

    /// Whether credits are capped.
    pub const fn has_caps(&self) -> bool {
        self.credits_per_day.is_some() || self.credits_per_month.is_some()
    }
}
