//! The two limits and what they say: so many requests in any 60 seconds, so many in a UTC day.
//!
//! Pure arithmetic over a meter. Knows no table and no clock.

use super::meter::Meter;
use crate::clock::Moment;
use crate::limits::access::{REQUESTS_PER_DAY, REQUESTS_PER_MINUTE};

/// How many requests a key or an address may make. Zero lifts a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimits {
    /// In any 60 seconds.
    pub per_minute: u32,
    /// In a UTC day.
    pub per_day: u32,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { per_minute: REQUESTS_PER_MINUTE, per_day: REQUESTS_PER_DAY }
    }
}

/// What is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The key.
    Key,
    /// The client address.
    Address,
}

impl Scope {
    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Key => "key",
            Scope::Address => "address",
        }
    }
}

/// How a subject stands with one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitStatus {
    /// The limit.
    pub limit: u32,
    /// Requests that are left.
    pub remaining: u32,
    /// Seconds until there is at least one more, rounded up.
    pub reset_seconds: u64,
}

/// How a subject stands. A limit that is lifted is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admission {
    /// What is counted by.
    pub scope: Scope,
    /// The limit of the minute.
    pub minute: Option<LimitStatus>,
    /// The limit of the day.
    pub day: Option<LimitStatus>,
}

/// Which limit is exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateReason {
    /// The one of the minute.
    Minute,
    /// The one of the day.
    Day,
}

impl RateReason {
    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            RateReason::Minute => "MINUTE_RATE_EXCEEDED",
            RateReason::Day => "DAILY_QUOTA_EXCEEDED",
        }
    }
}

/// A request that is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateRefusal {
    /// Which limit is exceeded. When both are, the day.
    pub reason: RateReason,
    /// That limit.
    pub limit: u32,
    /// Whole seconds after which a request will be let in.
    pub retry_after_seconds: u64,
    /// The moment from which on one will be.
    pub reset_at: Moment,
    /// What is counted by.
    pub scope: Scope,
    /// How the subject stands.
    pub admission: Admission,
}

impl RateLimits {
    /// Counts a request or refuses it.
    pub(super) fn admit(
        &self,
        meter: &mut Meter,
        scope: Scope,
        now: Moment,
    ) -> Result<Admission, RateRefusal> {
        let in_window = meter.window.count(now);
        let today = meter.count_today(now);
        let refused = if self.per_day > 0 && today >= self.per_day {
            Some((RateReason::Day, self.per_day, meter.day.plus_days(1).start()))
        } else if self.per_minute > 0 && in_window >= self.per_minute {
            Some((RateReason::Minute, self.per_minute, meter.window.next_free(now).unwrap_or(now)))
        } else {
            None
        };
        if let Some((reason, limit, reset_at)) = refused {
            return Err(RateRefusal {
                reason,
                limit,
                retry_after_seconds: now.seconds_until(reset_at).max(1),
                reset_at,
                scope,
                admission: self.status(meter, scope, now),
            });
        }
        if self.per_minute > 0 {
            meter.window.add(now);
        }
        if self.per_day > 0 {
            meter.day_count = today.saturating_add(1);
            meter.is_flushed = false;
        }
        Ok(self.status(meter, scope, now))
    }

    /// How a subject stands.
    pub(super) fn status(&self, meter: &mut Meter, scope: Scope, now: Moment) -> Admission {
        let in_window = meter.window.count(now);
        let today = meter.count_today(now);
        let window_end = meter.window.next_free(now).unwrap_or(now);
        let minute = (self.per_minute > 0).then(|| LimitStatus {
            limit: self.per_minute,
            remaining: self.per_minute.saturating_sub(in_window),
            reset_seconds: now.seconds_until(window_end),
        });
        let day = (self.per_day > 0).then(|| LimitStatus {
            limit: self.per_day,
            remaining: self.per_day.saturating_sub(today),
            reset_seconds: now.seconds_until(meter.day.plus_days(1).start()),
        });
        Admission { scope, minute, day }
    }

    /// How somebody stands who has made no request.
    pub(super) fn unused(&self, scope: Scope, now: Moment) -> Admission {
        let standing = |limit: u32, reset_seconds| {
            (limit > 0).then_some(LimitStatus { limit, remaining: limit, reset_seconds })
        };
        let midnight = now.day().plus_days(1).start();
        Admission {
            scope,
            minute: standing(self.per_minute, 0),
            day: standing(self.per_day, now.seconds_until(midnight)),
        }
    }
}
