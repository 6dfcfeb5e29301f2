//! Exact literals of filters and cursors: numbers as digits and exponent, datetimes as nanoseconds.
//!
//! Does not depend on columns; `bounds` converts literals for a column.

use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;

/// A number as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Digits without leading zeros; empty for zero.
    digits: Vec<u8>,
    /// Power of ten of the last digit.
    exponent: i64,
}

/// The largest integer not above a value, and whether it is the value itself. Clamped to 128 bits, never exact then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    pub floor: i128,
    /// Whether the floor is exact.
    pub exact: bool,
}

/// Fraction digits of a second: nanoseconds.
const FRACTION_DIGITS_MAX: usize = 9;
/// Minimum and maximum digits of an expanded year (ISO 8601): more than any column can hold.
const YEAR_DIGITS: std::ops::RangeInclusive<usize> = 6..=18;
/// Cycle of the calendar in years.
const CYCLE_YEARS: i64 = 400;
const CYCLE_NANOSECONDS: i128 = 146_097 * 86_400 * 1_000_000_000;
/// Limit of digits in a literal. The widest exact column has 76.
const DIGITS_MAX: usize = 400;

impl FromStr for Decimal {
    type Err = ();

    /// Parses a JSON number; refuses a leading `+` and spaces.
    fn from_str(text: &str) -> Result<Decimal, ()> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| ())?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let numeric = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let no_fraction = mantissa.ends_with('.');
        if whole.is_empty()
            || no_fraction
            || !numeric(whole)
            || !numeric(fraction)
            || mantissa.len() > DIGITS_MAX
        {
            return Err(());
        }
        let digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0').collect();
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).map_err(|_| ())?).ok_or(())?;
        Ok(Decimal { negative, digits, exponent })
    }
}

impl Decimal {
    /// The floor of the value times ten to the `scale`.
    #[must_use]
    pub fn scaled_floor(&self, scale: u8) -> Floor {
        if self.digits.is_empty() {
            return Floor { floor: 0, exact: true };
        }
        let point = self.exponent.saturating_add(i64::from(scale));
        let kept =
            if point >= 0 { self.digits.len() } else { self.digits.len().saturating_sub(magnitude(point)) };
        let (whole, cut) = self.digits.split_at_checked(kept).unwrap_or((&self.digits, &[]));
        let exact = cut.iter().all(|digit| *digit == b'0');
        let mut value: Option<i128> = Some(0);
        for digit in whole {
            value = value.and_then(|value| value.checked_mul(10)?.checked_add(i128::from(digit - b'0')));
        }
        let zeros = u32::try_from(point.max(0)).unwrap_or(u32::MAX);
        let value = value.and_then(|value| value.checked_mul(10i128.checked_pow(zeros)?));
        match (value, self.negative) {
            (None, false) => Floor { floor: i128::MAX, exact: false },
            (None, true) => Floor { floor: i128::MIN, exact: false },
            (Some(value), false) => Floor { floor: value, exact },
            (Some(value), true) => Floor { floor: -value - i128::from(!exact), exact },
        }
    }
}

/// The whole number that a JSON number stands for, in whatever form: `100`, `100.0` and `1e2` are the same integer.
#[must_use]
pub fn whole_number(text: &str) -> Option<u64> {
    let Floor { floor, exact } = text.parse::<Decimal>().ok()?.scaled_floor(0);
    u64::try_from(floor).ok().filter(|_| exact)
}

fn magnitude(point: i64) -> usize {
    usize::try_from(point.unsigned_abs()).unwrap_or(usize::MAX)
}

/// Parses RFC 3339, a date, or a date and time without a zone (then UTC) into nanoseconds since 1970-01-01T00:00:00Z.
/// Also accepts the last days of 9999, which `jiff::Timestamp` cannot hold, and expanded years of ISO 8601
/// (`+012345-01-31`), which rows contain outside 0000 to 9999.
#[must_use]
pub fn datetime_nanoseconds(text: &str) -> Option<i128> {
    match text.as_bytes().first()? {
        b'0'..=b'9' => nanoseconds_of_four_digits(text),
        b'+' | b'-' => nanoseconds_of_expanded(text),
        _ => None,
    }
}

/// Parses the date in the equivalent year from 2000 to 2399, and adds the cycles between.
fn nanoseconds_of_expanded(text: &str) -> Option<i128> {
    let (sign, rest) = text.split_at_checked(1)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (year, rest) = rest.split_at_checked(digits).filter(|_| YEAR_DIGITS.contains(&digits))?;
    let year = match (sign, year.parse::<i64>().ok()?) {
        ("+", year) => year,
        // ISO 8601 has no year −0.
        (_, 0) => return None,
        (_, year) => -year,
    };
    let near = 2000 + year.rem_euclid(CYCLE_YEARS);
    let cycles = i128::from((year - near) / CYCLE_YEARS);
    Some(nanoseconds_of_four_digits(&format!("{near}{rest}"))? + cycles * CYCLE_NANOSECONDS)
}

fn nanoseconds_of_four_digits(text: &str) -> Option<i128> {
    let pieces = Pieces::parse(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let local = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
    let offset = pieces.to_numeric_offset().map_or(0, |offset| i128::from(offset.seconds()));
    Some(local.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_nanos() - offset * 1_000_000_000)
}

/// Whether a text is a datetime apart from a fraction finer than nanoseconds.
#[must_use]
pub fn is_datetime_too_fine(text: &str) -> bool {
    let Some((whole, rest)) = text.split_once('.') else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let zone = rest.get(digits..).unwrap_or_default();
    digits > FRACTION_DIGITS_MAX && datetime_nanoseconds(&format!("{whole}{zone}")).is_some()
}

/// The floor of a count of nanoseconds in a coarser unit.
#[must_use]
pub fn nanoseconds_floor(nanoseconds: i128, unit_nanoseconds: i128) -> Floor {
    let floor = nanoseconds.div_euclid(unit_nanoseconds);
    Floor { floor, exact: nanoseconds.rem_euclid(unit_nanoseconds) == 0 }
}

#[cfg(test)]
mod tests {
    use mercato_format::TimeUnit;
    use mercato_format::encode::{push_date, push_timestamp};
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, scale: u8, floor: i128, exact: bool) {
        let found = text.parse::<Decimal>().unwrap().scaled_floor(scale);
        assert_eq!(found, Floor { floor, exact }, "{text} at scale {scale}");
    }

    #[test]
    fn floors_are_exact_at_every_scale() {
        check("901.00", 2, 90_100, true);
        check("901.005", 2, 90_100, false);
        check("-901.005", 2, -90_101, false);
        check("1e3", 0, 1_000, true);
        check("12.5e-1", 1, 12, false);
        check("0.000", 3, 0, true);
        check("-0", 0, 0, true);
        check("1e400", 0, i128::MAX, false);
        check("-1e400", 2, i128::MIN, false);
        check("1e-400", 2, 0, false);
        check("-1e-400", 2, -1, false);
        check("170141183460469231731687303715884105727", 0, i128::MAX, true);
        check("9007199254740993", 0, 9_007_199_254_740_993, true);
    }

    proptest! {
        #[test]
        fn round_trips_every_year(
            value in any::<i64>().prop_flat_map(|value| (0u32..63).prop_map(move |bits| value >> bits)),
        ) {
            let mut text = Vec::new();
            push_date(&mut text, value);
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(datetime_nanoseconds(&text), Some(i128::from(value) * 86_400_000_000_000), "{}", text);
            for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
                let mut text = Vec::new();
                push_timestamp(&mut text, value, unit);
                let text = String::from_utf8(text).unwrap();
                let nanoseconds = i128::from(value) * i128::from(1_000_000_000 / unit.per_second());
                prop_assert_eq!(datetime_nanoseconds(&text), Some(nanoseconds), "{}", text);
            }
        }
    }

    #[test]
    fn reads_whole_numbers_in_every_form() {
        for (text, expected) in [
            ("100", Some(100)),
            ("100.0", Some(100)),
            ("1e2", Some(100)),
            ("1E+2", Some(100)),
            ("1000e-1", Some(100)),
            ("-0.0", Some(0)),
            ("18446744073709551615.0", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e400", None),
            ("1.5", None),
            ("1e-1", None),
            ("-1", None),
            ("", None),
            ("ten", None),
        ] {
            assert_eq!(whole_number(text), expected, "{text}");
        }
    }

    #[test]
    fn rejects_invalid_json_numbers() {
        for text in ["", "-", "1.", ".5", "+1", " 1", "1e", "0x10", "NaN", "1_000"] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn recognises_fractions_finer_than_nanoseconds() {
        assert!(is_datetime_too_fine("2024-01-31T08:00:00.1234567891Z"));
        assert!(is_datetime_too_fine("2024-01-31T08:00:00.0000000000+01:00"));
        for other in ["2024-01-31T08:00:00.123456789Z", "2024-01-31", "x.1234567891", "1.1234567891", ".", ""]
        {
            assert!(!is_datetime_too_fine(other), "{other}");
        }
    }

    #[test]
    fn parses_datetimes_with_and_without_zone() {
        let second = 1_000_000_000;
        assert_eq!(datetime_nanoseconds("1970-01-02"), Some(86_400 * second));
        assert_eq!(datetime_nanoseconds("1970-01-01T00:00:01Z"), Some(second));
        assert_eq!(datetime_nanoseconds("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(datetime_nanoseconds("1970-01-01T00:00:00.5"), Some(second / 2));
        assert_eq!(datetime_nanoseconds("9999-12-31"), Some(253_402_214_400 * second));
        assert_eq!(
            datetime_nanoseconds("9999-12-31T23:59:59.999999999Z"),
            Some(253_402_300_800 * second - 1)
        );
        assert_eq!(datetime_nanoseconds("9999-12-31T23:00:00-01:00"), Some(253_402_300_800 * second));
        assert_eq!(datetime_nanoseconds("0001-01-01T00:00:00"), Some(-62_135_596_800 * second));
        assert_eq!(datetime_nanoseconds("+010000-01-01"), Some(253_402_300_800 * second));
        assert_eq!(
            datetime_nanoseconds("-000001-12-31T23:59:59.5Z"),
            Some(-62_167_219_201 * second + second / 2)
        );
        assert_eq!(datetime_nanoseconds("+001970-01-01T01:00:00+01:00"), Some(0));
        for text in [
            "-000000-01-01",
            "+12345-01-01",
            "+012345",
            "+",
            "-",
            "+012345-02-30",
            "+1234567890123456789-01-01",
        ] {
            assert_eq!(datetime_nanoseconds(text), None, "{text}");
        }
        let zoned = "1970-01-01T00:00:00[Europe/Rome]";
        for text in
            ["", "yesterday", "1970-13-01", "1970-01-01T25:00", "12", "1970-01-01T00:00:00+01:xx", zoned]
        {
            assert_eq!(datetime_nanoseconds(text), None, "{text}");
        }
    }
}
