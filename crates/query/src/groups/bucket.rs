//! Buckets of values: periods of the calendar in UTC, and widths of numbers. A bucket has a number, and numbers ascend as
//! values do.

use mercato_format::encode::civil;

use crate::request::groups::Period;

/// Days of the 400 years after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;
/// Days from 0000-03-01, where the cycles of the calendar begin, to 1970-01-01.
const CYCLE_OFFSET_DAYS: i64 = 719_468;
const MONTHS: i64 = 12;
/// 1970-01-01 was a Thursday.
const DAYS_SINCE_MONDAY: i64 = 3;

/// How values are put into buckets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bucket {
    /// A period of values that count so many units a day.
    Period(Period, i64),
    /// Exact numbers, in units of the column.
    Width(i128),
    FloatWidth(f64),
}

impl Bucket {
    /// The number of the bucket of an integer.
    #[inline]
    pub(super) fn number(self, value: i128) -> i128 {
        match self {
            Bucket::Period(period, day) => {
                i64::try_from(value).map_or(value, |value| number(period, value, day).into())
            }
            Bucket::Width(width) => value.div_euclid(width),
            Bucket::FloatWidth(_) => value,
        }
    }

    /// The number of the bucket of a 64-bit integer.
    #[inline]
    pub(super) fn narrow_number(self, value: i64) -> i64 {
        match self {
            Bucket::Period(period, day) => number(period, value, day),
            Bucket::Width(width) => {
                i64::try_from(width).map_or(-i64::from(value < 0), |width| value.div_euclid(width))
            }
            Bucket::FloatWidth(_) => value,
        }
    }

    /// The smallest value of a bucket.
    pub(super) fn start(self, number: i128) -> i128 {
        let of_days = |days: i128, day: i64| days.saturating_mul(day.into());
        match self {
            Bucket::Width(width) => number.saturating_mul(width),
            Bucket::FloatWidth(_) => number,
            Bucket::Period(Period::Hour, day) => number * i128::from(day / 24),
            Bucket::Period(Period::Day, day) => of_days(number, day),
            Bucket::Period(Period::Week, day) => of_days(number * 7 - i128::from(DAYS_SINCE_MONDAY), day),
            Bucket::Period(Period::Month, day) => of_days(days_of_month(number), day),
            Bucket::Period(Period::Quarter, day) => of_days(days_of_month(number * 3), day),
            Bucket::Period(Period::Year, day) => of_days(days_of_month(number * i128::from(MONTHS)), day),
        }
    }

    /// The start of the bucket of a double.
    #[inline]
    pub(super) fn float_start(self, value: f64) -> f64 {
        match self {
            Bucket::FloatWidth(width) => (value / width).floor() * width,
            _ => value,
        }
    }
}

#[inline]
fn number(period: Period, value: i64, units_of_day: i64) -> i64 {
    let day = || value.div_euclid(units_of_day);
    match period {
        Period::Hour => value.div_euclid((units_of_day / 24).max(1)),
        Period::Day => day(),
        Period::Week => day().div_euclid(7) + i64::from(day().rem_euclid(7) + DAYS_SINCE_MONDAY >= 7),
        Period::Month => month_of_day(day()),
        Period::Quarter => month_of_day(day()).div_euclid(3),
        Period::Year => month_of_day(day()).div_euclid(MONTHS),
    }
}

/// Months from January of the year 0 to that of a day since 1970-01-01.
#[inline]
fn month_of_day(day: i64) -> i64 {
    let (year, month, _) = civil(day);
    year * MONTHS + month.cast_signed() - 1
}

/// Days from 1970-01-01 to the first of a month.
fn days_of_month(month: i128) -> i128 {
    let march_based = month - 2;
    let (year, month) = (march_based.div_euclid(MONTHS.into()), march_based.rem_euclid(MONTHS.into()));
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_cycle = year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5;
    cycle * i128::from(CYCLE_DAYS) + day_of_cycle - i128::from(CYCLE_OFFSET_DAYS)
}

#[cfg(test)]
mod tests {
    use jiff::civil::{Date, Weekday, date};
    use proptest::prelude::*;

    use super::*;

    fn day_number(day: Date) -> i64 {
        day.duration_since(date(1970, 1, 1)).as_hours() / 24
    }

    fn check(period: Period, day: Date, expected: Date) {
        for units in [1, 86_400, 86_400_000_000_000] {
            let value = day_number(day).saturating_mul(units);
            let bucket = Bucket::Period(period, units);
            let number = bucket.narrow_number(value);
            assert_eq!(bucket.number(value.into()), number.into());
            let expected = i128::from(day_number(expected)) * i128::from(units);
            assert_eq!(bucket.start(number.into()), expected, "{period:?} of {day}");
        }
    }

    proptest! {
        #[test]
        fn periods_agree_with_a_calendar(day in -100_000i64..100_000) {
            let day = date(1970, 1, 1) + jiff::Span::new().days(day);
            check(Period::Day, day, day);
            check(Period::Month, day, day.first_of_month());
            check(Period::Year, day, day.first_of_year());
            check(Period::Quarter, day, date(day.year(), (day.month() - 1) / 3 * 3 + 1, 1));
            let since_monday = day.weekday().since(Weekday::Monday);
            check(Period::Week, day, day - jiff::Span::new().days(since_monday));
        }
    }

    #[test]
    fn far_periods_do_not_overflow() {
        for period in [Period::Year, Period::Quarter, Period::Month, Period::Week, Period::Day] {
            for value in [i64::MIN, -1, 0, i64::MAX] {
                let bucket = Bucket::Period(period, 1);
                assert!(
                    bucket.start(bucket.narrow_number(value).into()) <= value.into(),
                    "{period:?} {value}"
                );
            }
        }
    }

    #[test]
    fn widths_round_towards_smaller_numbers() {
        let bucket = Bucket::Width(10);
        let starts = [-11, -10, -1, 0, 9, 10].map(|value| bucket.start(bucket.number(value)));
        assert_eq!(starts, [-20, -10, -10, 0, 0, 10]);
        assert_eq!(Bucket::Width(i128::MAX).narrow_number(-5), -1);
        assert_eq!(Bucket::FloatWidth(0.5).float_start(-0.1), -0.5);
    }
}
