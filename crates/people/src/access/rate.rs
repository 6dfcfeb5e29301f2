//! Rate limits: requests in any 60 seconds and in a UTC day.
//!
//! Pure functions over a meter. Does not depend on the table or the clock.

use super::meter::Meter;
use super::sharing::ASKS_PER_REQUEST;
use crate::limits::{REQUESTS_PER_DAY, REQUESTS_PER_MINUTE};
use mercato_base::clock::Moment;

/// Rate limits of a key or an address. Zero lifts a limit.
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

/// The scope of the counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Key,
    /// The client address.
    Address,
}

impl Scope {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Key => "key",
            Scope::Address => "address",
        }
    }
}

/// The status of one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitStatus {
    pub limit: u32,
    /// Requests left.
    pub remaining: u32,
    /// Seconds until another request is admitted, rounded up.
    pub reset_seconds: u64,
}

/// The status of both limits. A lifted limit is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The scope of the counter.
    pub scope: Scope,
    pub minute: Option<LimitStatus>,
    pub day: Option<LimitStatus>,
}

/// The exceeded limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateReason {
    /// The minute limit.
    Minute,
    /// The day limit.
    Day,
}

impl RateReason {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            RateReason::Minute => "MINUTE_RATE_EXCEEDED",
            RateReason::Day => "DAILY_QUOTA_EXCEEDED",
        }
    }
}

/// A refused request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateRefusal {
    /// The exceeded limit; the day limit when both are exceeded.
    pub reason: RateReason,
    pub limit: u32,
    /// Whole seconds until a request is admitted.
    pub retry_after_seconds: u64,
    /// The moment from which a request is admitted.
    pub reset_at: Moment,
    /// The scope of the counter.
    pub scope: Scope,
    /// The status of both limits.
    pub admission: Admission,
}

impl RateLimits {
    /// Counts and admits a request, or refuses it.
    pub(super) fn admit(
        &self,
        meter: &mut Meter,
        scope: Scope,
        now: Moment,
    ) -> Result<Admission, RateRefusal> {
        let in_window = meter.count_minute(now);
        let today = meter.count_today(now);
        let refused = if self.per_day > 0 && today >= self.per_day {
            Some((RateReason::Day, self.per_day, meter.day.plus_days(1).start()))
        } else if self.per_minute > 0 && in_window >= self.per_minute {
            Some((RateReason::Minute, self.per_minute, self.window_end(meter, in_window, now)))
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
            meter.day_count = meter.day_count.saturating_add(1);
            meter.is_flushed = false;
        }
        meter.was_counted = true;
        Ok(self.status(meter, scope, now))
    }

    /// The status of both limits.
    pub(super) fn status(&self, meter: &mut Meter, scope: Scope, now: Moment) -> Admission {
        meter.asks_left = ASKS_PER_REQUEST;
        let in_window = meter.count_minute(now);
        let today = meter.count_today(now);
        let minute = (self.per_minute > 0).then(|| LimitStatus {
            limit: self.per_minute,
            remaining: self.per_minute.saturating_sub(in_window),
            reset_seconds: now.seconds_until(self.window_end(meter, in_window, now)),
        });
        let day = (self.per_day > 0).then(|| LimitStatus {
            limit: self.per_day,
            remaining: self.per_day.saturating_sub(today),
            reset_seconds: now.seconds_until(meter.day.plus_days(1).start()),
        });
        Admission { scope, minute, day }
    }

    /// When another request is admitted, or, while one is, when the oldest leaves the minute. Several servers may have let
    /// pass more than the limit.
    fn window_end(&self, meter: &Meter, in_window: u32, now: Moment) -> Moment {
        let too_many = in_window.saturating_add(1).saturating_sub(self.per_minute);
        meter.minute_without(too_many.max(1), now).unwrap_or(now)
    }

    /// The status of a subject without requests.
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
