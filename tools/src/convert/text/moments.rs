//! Reads dates and timestamps: `2024-02-29`, `2024-02-29T12:30:00.5+01:00`, also with a space for the `T`, without
//! seconds, and without a zone, which then is UTC. Does not depend on columns.

use mercato_format::TimeUnit;

/// Digits of the fraction of a second.
const FRACTION_DIGITS_MAX: usize = 9;
/// Digits of a year with a sign, as the store prints years outside 0 to 9999.
const SIGNED_YEAR_DIGITS: usize = 6;

/// A day or a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Days since 1970-01-01.
    Day(i64),
    /// A point in time in UTC.
    Instant {
        /// Whole seconds since 1970-01-01T00:00:00Z.
        seconds: i64,
        /// Nanoseconds above them.
        nanoseconds: u32,
        /// Digits of the fraction, as written.
        digits: u32,
    },
}

impl Moment {
    /// The moment in units since 1970-01-01T00:00:00Z; `None` when 64 bits do not hold it or digits would be lost.
    #[must_use]
    pub fn units(self, unit: TimeUnit) -> Option<i64> {
        let (seconds, nanoseconds) = match self {
            Moment::Day(days) => (days.checked_mul(86_400)?, 0),
            Moment::Instant { seconds, nanoseconds, .. } => (seconds, i64::from(nanoseconds)),
        };
        let step = 1_000_000_000 / unit.per_second();
        if nanoseconds % step != 0 {
            return None;
        }
        let units = i128::from(seconds) * i128::from(unit.per_second()) + i128::from(nanoseconds / step);
        i64::try_from(units).ok()
    }
}

#[must_use]
pub fn parse(text: &str) -> Option<Moment> {
    let mut rest = Rest(text.as_bytes());
    let (year, month, day) = rest.date()?;
    if rest.0.is_empty() {
        return Civil { year, month, day, ..Civil::default() }.days().map(Moment::Day);
    }
    rest.one_of(b"Tt ")?;
    let (hour, minute) = (rest.number(2)?, rest.after(b':')?.number(2)?);
    let mut second = 0;
    let (mut nanoseconds, mut digits) = (0, 0);
    if rest.0.first() == Some(&b':') {
        second = rest.after(b':')?.number(2)?;
        if rest.0.first() == Some(&b'.') {
            (nanoseconds, digits) = rest.after(b'.')?.fraction()?;
        }
    }
    let offset = rest.zone()?;
    if !rest.0.is_empty() {
        return None;
    }
    Civil { year, month, day, hour, minute, second, nanoseconds, digits, offset }.instant()
}

/// A date and a time of day, as written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanoseconds: u32,
    pub(super) digits: u32,
    /// Seconds east of UTC.
    pub(super) offset: i64,
}

impl Civil {
    /// Days since 1970-01-01, if there is such a day.
    pub(super) fn days(&self) -> Option<i64> {
        let Civil { year, month, day, .. } = *self;
        let exists = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
        exists.then(|| days_since_epoch(year, month, day))
    }

    /// The point in time, if there is such a one.
    pub(super) fn instant(&self) -> Option<Moment> {
        let Civil { hour, minute, second, nanoseconds, digits, offset, .. } = *self;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let of_day = hour * 3_600 + minute * 60 + second;
        let seconds = self.days()?.checked_mul(86_400)?.checked_add(of_day - offset)?;
        Some(Moment::Instant { seconds, nanoseconds, digits })
    }
}

/// The bytes that are still to be read.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl Rest<'_> {
    fn date(&mut self) -> Option<(i64, i64, i64)> {
        let year = match self.0.first()? {
            b'+' | b'-' => {
                let sign = if self.one_of(b"+-")? == b'-' { -1 } else { 1 };
                sign * self.number(SIGNED_YEAR_DIGITS)?
            }
            _ => self.number(4)?,
        };
        Some((year, self.after(b'-')?.number(2)?, self.after(b'-')?.number(2)?))
    }

    pub(super) fn one_or_two_digits(&mut self) -> Option<i64> {
        let is_long = self.0.get(1).is_some_and(u8::is_ascii_digit);
        self.number(if is_long { 2 } else { 1 })
    }

    pub(super) fn letter(&mut self, letter: char) -> Option<()> {
        self.0 = self.0.strip_prefix(letter.encode_utf8(&mut [0; 4]).as_bytes())?;
        Some(())
    }

    /// `Z`, an offset such as `+01:00`, `+0100` or `+01`, or nothing, which is UTC. In seconds east of UTC.
    pub(super) fn zone(&mut self) -> Option<i64> {
        if self.0.is_empty() {
            return Some(0);
        }
        let mark = self.one_of(b"Zz+-")?;
        if matches!(mark, b'Z' | b'z') {
            return Some(0);
        }
        let hours = self.number(2)?;
        if self.0.first() == Some(&b':') {
            self.one_of(b":")?;
        }
        let minutes = if self.0.is_empty() { 0 } else { self.number(2)? };
        if hours > 23 || minutes > 59 {
            return None;
        }
        let offset = hours * 3_600 + minutes * 60;
        Some(if mark == b'-' { -offset } else { offset })
    }

    /// Nanoseconds and digits of a fraction.
    pub(super) fn fraction(&mut self) -> Option<(u32, u32)> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=FRACTION_DIGITS_MAX).contains(&digits) {
            return None;
        }
        let written = u32::try_from(self.number(digits)?).ok()?;
        let digits = u32::try_from(digits).ok()?;
        Some((written * 10_u32.pow(9 - digits), digits))
    }

    /// Exactly `digits` digits.
    pub(super) fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let mut value = 0;
        for byte in number {
            value = value * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        }
        self.0 = rest;
        Some(value)
    }

    fn after(&mut self, mark: u8) -> Option<&mut Self> {
        self.one_of(&[mark])?;
        Some(self)
    }

    pub(super) fn one_of(&mut self, marks: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        marks.contains(first).then_some(*first)
    }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. The year begins in March, so that a leap day ends it.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use mercato_format::encode;
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<i64> {
        parse(text)?.units(TimeUnit::Second)
    }

    #[test]
    fn reads_zones_and_short_forms() {
        let noon = Some(1_709_208_000);
        for text in [
            "2024-02-29T12:00:00Z",
            "2024-02-29 12:00:00",
            "2024-02-29T12:00",
            "2024-02-29t12:00:00z",
            "2024-02-29T13:00:00+01:00",
            "2024-02-29T07:30:00-0430",
            "2024-02-29 13:00:00+01",
            "2024-02-29T12:00:00.000",
        ] {
            assert_eq!(seconds(text), noon, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_moment() {
        for text in [
            "",
            "2024",
            "2024-2-29",
            "2024-02-30",
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "2024-02-29T",
            "2024-02-29T24:00:00",
            "2024-02-29T12",
            "2024-02-29T12:60",
            "2024-02-29T12:00:60",
            "2024-02-29T12:00:00.",
            "2024-02-29T12:00:00.1234567890",
            "2024-02-29T12:00:00 Z",
            "2024-02-29T12:00:00+1",
            "2024-02-29x",
            "29/02/2024",
            "20240229",
            "+2024-02-29",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn keeps_digits_of_fraction() {
        let moment = parse("1969-12-31T23:59:59.5").unwrap();
        assert_eq!(moment, Moment::Instant { seconds: -1, nanoseconds: 500_000_000, digits: 1 });
        assert_eq!(moment.units(TimeUnit::Millisecond), Some(-500));
        assert_eq!(moment.units(TimeUnit::Second), None);
        assert_eq!(parse("9999-12-31T00:00:00Z").unwrap().units(TimeUnit::Nanosecond), None);
    }

    proptest! {
        #[test]
        fn reads_what_store_prints(days in -4_000_000_i64..4_000_000, of_day in 0_i64..86_400_000_000) {
            let mut text = Vec::new();
            encode::push_date(&mut text, days);
            prop_assert_eq!(parse(std::str::from_utf8(&text).unwrap()), Some(Moment::Day(days)));
            text.clear();
            let units = days * 86_400_000_000 + of_day;
            encode::push_timestamp(&mut text, units, TimeUnit::Microsecond);
            let moment = parse(std::str::from_utf8(&text).unwrap()).unwrap();
            prop_assert_eq!(moment.units(TimeUnit::Microsecond), Some(units));
        }
    }
}
