//! Time as a value that callers pass down.
//!
//! Everything below the server takes a [`Moment`] as an argument; only the server and the tools own a [`Clock`].
//! Supports UTC only, and no timers.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

const MILLIS_PER_SECOND: i64 = 1_000;
const MILLIS_PER_DAY: i64 = 86_400 * MILLIS_PER_SECOND;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Moment(i64);

impl Moment {
    /// The moment so many milliseconds after the epoch.
    pub const fn from_unix_millis(millis: i64) -> Moment {
        Moment(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MILLIS_PER_SECOND)
    }

    /// This moment moved by so many milliseconds.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Moment {
        Moment(self.0.saturating_add(millis))
    }

    /// This moment moved by so many seconds.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Moment {
        self.plus_millis(seconds.saturating_mul(MILLIS_PER_SECOND))
    }

    /// Milliseconds from `earlier` to this moment; negative when it is later.
    pub const fn millis_since(self, earlier: Moment) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole seconds until `later`, rounded up, never negative: what `Retry-After` wants.
    pub const fn seconds_until(self, later: Moment) -> u64 {
        let millis = later.0.saturating_sub(self.0);
        if millis <= 0 { 0 } else { (millis as u64).div_ceil(MILLIS_PER_SECOND as u64) }
    }

    /// The UTC day that holds this moment.
    pub const fn day(self) -> UtcDay {
        let days = self.0.div_euclid(MILLIS_PER_DAY);
        UtcDay(if days > i32::MAX as i64 { i32::MAX } else { days as i32 })
    }

    /// The UTC calendar month that holds this moment.
    pub const fn month(self) -> UtcMonth {
        let (year, month, _) = self.day().civil();
        UtcMonth(year * 12 + month as i32 - 1)
    }

    /// `2026-11-21T02:31:37.123Z`.
    pub fn rfc3339(self) -> String {
        let millis = self.0.rem_euclid(MILLIS_PER_DAY);
        let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
        let (seconds, fraction) = (millis / 1_000 % 60, millis % 1_000);
        format!("{}T{hours:02}:{minutes:02}:{seconds:02}.{fraction:03}Z", self.day())
    }
}

/// A UTC calendar day: days since 1970-01-01. Displays as `2026-11-21`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct UtcDay(i32);

impl UtcDay {
    /// The day so many days after 1970-01-01.
    pub const fn from_unix_days(days: i32) -> UtcDay {
        UtcDay(days)
    }

    /// Days since 1970-01-01.
    pub const fn unix_days(self) -> i32 {
        self.0
    }

    /// The day so many days later.
    #[must_use]
    pub const fn plus_days(self, days: i32) -> UtcDay {
        UtcDay(self.0.saturating_add(days))
    }

    /// Midnight at which the day begins.
    pub const fn start(self) -> Moment {
        Moment(self.0 as i64 * MILLIS_PER_DAY)
    }

    /// Year, month 1–12 and day 1–31 in the proleptic Gregorian calendar.
    ///
    /// Counts in eras of 400 years that begin on a first of March, so that the leap day ends a year.
    pub const fn civil(self) -> (i32, u32, u32) {
        let shifted = self.0 as i64 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as i64;
        (year as i32, month as u32, day as u32)
    }

    /// The day with these calendar numbers.
    pub const fn from_civil(year: i32, month: u32, day: u32) -> UtcDay {
        let march_year = year as i64 - (month <= 2) as i64;
        let era = march_year.div_euclid(400);
        let year_of_era = march_year.rem_euclid(400);
        let march_month = (month as i64 + 9) % 12;
        let day_of_year = (153 * march_month + 2) / 5 + day as i64 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        UtcDay((era * 146_097 + day_of_era - 719_468) as i32)
    }
}

impl fmt::Display for UtcDay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}

/// A UTC calendar month, numbered `year * 12 + month - 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct UtcMonth(i32);

impl UtcMonth {
    /// The month with this number.
    pub const fn from_number(number: i32) -> UtcMonth {
        UtcMonth(number)
    }

    /// `year * 12 + month - 1`.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// The moment at which the month begins.
    pub const fn start(self) -> Moment {
        UtcDay::from_civil(self.0.div_euclid(12), self.0.rem_euclid(12) as u32 + 1, 1).start()
    }

    /// The moment at which the next month begins.
    pub const fn end(self) -> Moment {
        UtcMonth(self.0 + 1).start()
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Moment;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is moved: tests decide what day it is.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// A clock that shows `moment`.
    pub fn at(moment: Moment) -> TestClock {
        TestClock(AtomicI64::new(moment.0))
    }

    /// Moves the clock to `moment`.
    pub fn set(&self, moment: Moment) {
        self.0.store(moment.0, Ordering::SeqCst);
    }

    /// Moves the clock on by so many milliseconds.
    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_days_to_calendar_dates_and_back() {
        for days in (-800_000..800_000).step_by(37) {
            let day = UtcDay::from_unix_days(days);
            let (year, month, date) = day.civil();
            assert_eq!(UtcDay::from_civil(year, month, date), day);
        }
        assert_eq!(UtcDay::from_unix_days(0).to_string(), "1970-01-01");
        assert_eq!(UtcDay::from_civil(2024, 2, 29).plus_days(1).to_string(), "2024-03-01");
    }

    #[test]
    fn prints_moment_as_rfc_3339() {
        let leap = UtcDay::from_civil(2024, 2, 29).start().plus_millis(3_723_004);
        assert_eq!(leap.rfc3339(), "2024-02-29T01:02:03.004Z");
        assert_eq!(Moment::from_unix_millis(-1).rfc3339(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn ends_month_where_next_begins() {
        let december = UtcDay::from_civil(2026, 12, 31).start().month();
        assert_eq!(december.end().rfc3339(), "2027-01-01T00:00:00.000Z");
        assert_eq!(december.end().month().number(), december.number() + 1);
        assert_eq!(december.end().plus_millis(-1).month(), december);
    }

    #[test]
    fn rounds_waits_up_to_whole_seconds() {
        let now = Moment::from_unix_millis(1_000);
        assert_eq!(now.seconds_until(Moment::from_unix_millis(1_001)), 1);
        assert_eq!(now.seconds_until(Moment::from_unix_millis(3_000)), 2);
        assert_eq!(now.seconds_until(Moment::from_unix_millis(500)), 0);
    }
}
