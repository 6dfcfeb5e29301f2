//! Encodes numbers, dates and timestamps as text. JSON and CSV differ only for numbers that are not finite. Dates use
//! the algorithm of Howard Hinnant ("chrono-compatible low-level date algorithms", `civil_from_days`).

pub mod float_width;
pub mod text;

use crate::schema::TimeUnit;

/// Appends an integer.
#[inline]
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a 128-bit integer.
pub fn push_wide(out: &mut Vec<u8>, value: i128) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a scaled integer with exactly `scale` digits after the point.
#[inline]
pub fn push_decimal(out: &mut Vec<u8>, value: i128, scale: u8) {
    if scale == 0 {
        return push_wide(out, value);
    }
    if value < 0 {
        out.push(b'-');
    }
    if let (Ok(small), true) = (u64::try_from(value.unsigned_abs()), scale <= 18) {
        return push_small_decimal(out, small, scale);
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    if digits.len() <= scale {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
        out.extend_from_slice(digits);
    } else {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

fn push_small_decimal(out: &mut Vec<u8>, value: u64, scale: u8) {
    let unit = 10u64.pow(u32::from(scale));
    out.extend_from_slice(itoa::Buffer::new().format(value / unit).as_bytes());
    out.push(b'.');
    push_padded(out, value % unit, usize::from(scale));
}

/// Bytes of a slot, which fits every 64-bit number with a sign and a point.
pub const SLOT_BYTES: usize = 32;
/// Largest scale of a 64-bit decimal in a slot.
pub const SLOT_SCALE_MAX: u8 = 18;

/// Encodes an integer like [`push_integer`], right-aligned in a slot, and returns its length. An array of slots needs
/// no growing buffer and no copy.
#[inline]
#[must_use]
pub fn integer_at_end(slot: &mut [u8; SLOT_BYTES], value: i64) -> usize {
    let length = digits_at_end(slot, value.unsigned_abs());
    length + sign_before(slot, length, value)
}

/// Encodes a scaled integer like [`push_decimal`], right-aligned in a slot, and returns its length. `scale` is at most
/// [`SLOT_SCALE_MAX`].
#[inline]
#[must_use]
pub fn decimal_at_end(slot: &mut [u8; SLOT_BYTES], value: i64, scale: u8) -> usize {
    if scale == 0 {
        return integer_at_end(slot, value);
    }
    let scale = scale.min(SLOT_SCALE_MAX);
    let unit = 10u64.pow(u32::from(scale));
    let (whole, fraction) = match (value.unsigned_abs(), unit) {
        // Dividing by a constant needs no division instruction.
        (value, 100) => (value / 100, value % 100),
        (value, unit) => (value / unit, value % unit),
    };
    *slot = [b'0'; SLOT_BYTES];
    digits_at_end(slot, fraction);
    let before_point = SLOT_BYTES - 1 - usize::from(scale);
    let (front, rest) = slot.split_at_mut(before_point);
    if let Some(point) = rest.first_mut() {
        *point = b'.';
    }
    let length = digits_at_end(front, whole) + SLOT_BYTES - before_point;
    length + sign_before(slot, length, value)
}

#[inline]
fn sign_before(slot: &mut [u8], length: usize, value: i64) -> usize {
    if value < 0
        && let Some(place) = slot.iter_mut().rev().nth(length)
    {
        *place = b'-';
        return 1;
    }
    0
}

/// Writes two digits at a time from the last one, like `itoa`, and returns the number of digits.
#[inline]
fn digits_at_end(bytes: &mut [u8], mut value: u64) -> usize {
    let mut length = 0;
    for pair in bytes.rchunks_exact_mut(2) {
        let two = (value % 100) as u8;
        pair.copy_from_slice(&[b'0' + two / 10, b'0' + two % 10]);
        if value < 100 {
            return length + 1 + usize::from(two >= 10);
        }
        value /= 100;
        length += 2;
    }
    length
}

/// Appends a finite double as the shortest text that reads back the same. Returns false, and appends nothing, for other
/// doubles.
#[inline]
#[must_use]
pub fn push_finite(out: &mut Vec<u8>, value: f64) -> bool {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    }
    value.is_finite()
}

/// Appends a double in CSV form: `NaN`, `Infinity` and `-Infinity` if it is not finite.
pub fn push_float_csv(out: &mut Vec<u8>, value: f64) {
    if push_finite(out, value) {
        return;
    }
    out.extend_from_slice(match (value.is_nan(), value > 0.0) {
        (true, _) => b"NaN".as_slice(),
        (_, true) => b"Infinity",
        _ => b"-Infinity",
    });
}

/// Appends a date as `YYYY-MM-DD`; a year outside 0 to 9999 gets a sign and at least six digits (ISO 8601, expanded).
pub fn push_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        push_padded(out, year.unsigned_abs(), 4);
    } else {
        out.push(if year < 0 { b'-' } else { b'+' });
        push_padded(out, year.unsigned_abs(), 6);
    }
    out.push(b'-');
    push_padded(out, month, 2);
    out.push(b'-');
    push_padded(out, day, 2);
}

/// Appends a timestamp as RFC 3339 in UTC with the digits of its unit.
pub fn push_timestamp(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    let seconds = value.div_euclid(unit.per_second());
    let fraction = value.rem_euclid(unit.per_second());
    push_date(out, seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400).unsigned_abs();
    for (mark, part) in [(b'T', of_day / 3600), (b':', of_day / 60 % 60), (b':', of_day % 60)] {
        out.push(mark);
        push_padded(out, part, 2);
    }
    if unit.digits() > 0 {
        out.push(b'.');
        push_padded(out, fraction.unsigned_abs(), unit.digits());
    }
    out.push(b'Z');
}

/// Bytes that [`push_integer`] appends.
#[inline]
#[must_use]
pub fn integer_len(value: i64) -> u64 {
    u64::from(value < 0) + digits(value.unsigned_abs())
}

/// Bytes that [`push_wide`] appends.
#[must_use]
pub fn wide_len(value: i128) -> u64 {
    u64::from(value < 0) + wide_digits(value.unsigned_abs())
}

/// Bytes that [`push_decimal`] appends.
#[inline]
#[must_use]
pub fn decimal_len(value: i128, scale: u8) -> u64 {
    if scale == 0 {
        return wide_len(value);
    }
    let digits =
        u64::try_from(value.unsigned_abs()).map_or_else(|_| wide_digits(value.unsigned_abs()), digits);
    u64::from(value < 0) + digits.max(u64::from(scale) + 1) + 1
}

/// Bytes that [`push_date`] appends.
#[inline]
#[must_use]
pub fn date_len(days: i64) -> u64 {
    if is_four_digit_year(days) {
        return 10;
    }
    let mut out = Vec::new();
    push_date(&mut out, days);
    out.len() as u64
}

/// Whether the year of a day has four digits, as RFC 3339 requires: 0000 to 9999.
#[inline]
#[must_use]
pub fn is_four_digit_year(days: i64) -> bool {
    DAYS_OF_FOUR_DIGIT_YEARS.contains(&days)
}

/// Bytes that [`push_timestamp`] appends.
#[inline]
#[must_use]
pub fn timestamp_len(value: i64, unit: TimeUnit) -> u64 {
    let after_point = if unit.digits() > 0 { unit.digits() as u64 + 1 } else { 0 };
    date_len(value.div_euclid(unit.per_second()).div_euclid(86_400)) + 10 + after_point
}

/// 0000-01-01 to 9999-12-31.
const DAYS_OF_FOUR_DIGIT_YEARS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;

#[inline]
fn digits(value: u64) -> u64 {
    u64::from(value.checked_ilog10().unwrap_or(0)) + 1
}

fn wide_digits(value: u128) -> u64 {
    u64::from(value.checked_ilog10().unwrap_or(0)) + 1
}

/// Appends a number with leading zeros, to `digits` digits (at most 20).
#[inline]
fn push_padded(out: &mut Vec<u8>, value: u64, digits: usize) {
    let mut buffer = [b'0'; 20];
    let mut rest = value;
    for digit in buffer.iter_mut().rev().take(digits) {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if rest > 0 || digits > buffer.len() {
        return push_long(out, value, digits);
    }
    out.extend_from_slice(buffer.get(buffer.len() - digits..).unwrap_or_default());
}

/// Appends a number that has more than `digits` digits.
#[cold]
fn push_long(out: &mut Vec<u8>, value: u64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(b'0', digits.saturating_sub(text.len())));
    out.extend_from_slice(text);
}

/// Days of the 400 years after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;

/// Year, month and day of a day number. Cycles are split off first, so that no sum overflows.
#[inline]
#[must_use]
pub fn civil(days: i64) -> (i64, u64, u64) {
    let shifted = days.rem_euclid(CYCLE_DAYS) + 719_468;
    let era = days.div_euclid(CYCLE_DAYS) + shifted / CYCLE_DAYS;
    let day_of_era = shifted % CYCLE_DAYS;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month.cast_unsigned(), day.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        print(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_keep_their_scale() {
        for (value, scale, text) in [
            (90_100, 2, "901.00"),
            (-5, 2, "-0.05"),
            (0, 3, "0.000"),
            (7, 0, "7"),
            (-12_345, 4, "-1.2345"),
            (i128::MAX, 38, "1.70141183460469231731687303715884105727"),
            (1, 20, "0.00000000000000000001"),
        ] {
            assert_eq!(printed(|out| push_decimal(out, value, scale)), text);
        }
    }

    #[test]
    fn dates_and_timestamps_are_rfc_3339() {
        assert_eq!(printed(|out| push_date(out, 0)), "1970-01-01");
        assert_eq!(printed(|out| push_date(out, -1)), "1969-12-31");
        assert_eq!(printed(|out| push_date(out, 11_016)), "2000-02-29");
        assert_eq!(printed(|out| push_date(out, 2_932_897)), "+010000-01-01");
        assert_eq!(printed(|out| push_timestamp(out, -1, TimeUnit::Millisecond)), "1969-12-31T23:59:59.999Z");
        assert_eq!(printed(|out| push_timestamp(out, 951_827_696, TimeUnit::Second)), "2000-02-29T12:34:56Z");
        assert_eq!(
            printed(|out| push_timestamp(out, i64::MAX, TimeUnit::Nanosecond)),
            "2262-04-11T23:47:16.854775807Z"
        );
    }

    #[test]
    fn lengths_hold_for_extreme_values() {
        for days in [-719_529, -719_528, 2_932_896, 2_932_897, 0, i64::MIN, i64::MAX] {
            assert_eq!(date_len(days), printed(|out| push_date(out, days)).len() as u64, "{days}");
        }
        for value in [0, 9, 10, -1, -10, i64::MIN, i64::MAX] {
            assert_eq!(integer_len(value), printed(|out| push_integer(out, value)).len() as u64, "{value}");
            assert_eq!(
                decimal_len(value.into(), 1),
                printed(|out| push_decimal(out, value.into(), 1)).len() as u64
            );
        }
    }

    #[test]
    fn encodes_extreme_timestamps() {
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            for value in [i64::MIN, i64::MAX] {
                assert!(printed(|out| push_timestamp(out, value, unit)).ends_with('Z'));
            }
        }
        assert!(printed(|out| push_date(out, i64::MIN)).starts_with('-'));
    }

    proptest! {
        #[test]
        fn dates_match_jiff(days in -700_000i64..2_900_000) {
            let date = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(days));
            prop_assume!(date.as_ref().is_ok_and(|date| date.year() >= 0));
            prop_assert_eq!(printed(|out| push_date(out, days)), date.unwrap().to_string());
        }

        #[test]
        fn lengths_match_encoded_text(value in any::<i64>(), shift in 0u32..64, wide in any::<i128>(), scale in 0u8..40) {
            let value = value >> shift;
            let len = |print: &dyn Fn(&mut Vec<u8>)| printed(print).len() as u64;
            prop_assert_eq!(integer_len(value), len(&|out| push_integer(out, value)));
            prop_assert_eq!(wide_len(wide), len(&|out| push_wide(out, wide)));
            prop_assert_eq!(decimal_len(wide, scale), len(&|out| push_decimal(out, wide, scale)));
            prop_assert_eq!(decimal_len(value.into(), scale), len(&|out| push_decimal(out, value.into(), scale)));
            prop_assert_eq!(date_len(value), len(&|out| push_date(out, value)));
            for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
                prop_assert_eq!(timestamp_len(value, unit), len(&|out| push_timestamp(out, value, unit)));
            }
        }

        #[test]
        fn slots_match_appended_text(value in any::<i64>(), shift in 0u32..64, scale in 0u8..=SLOT_SCALE_MAX) {
            for value in [value >> shift, i64::MIN, i64::MAX, 0] {
                let mut slot = [b'x'; SLOT_BYTES];
                let length = integer_at_end(&mut slot, value);
                let expected = printed(|out| push_integer(out, value));
                prop_assert_eq!(&slot[SLOT_BYTES - length..], expected.as_bytes());
                let length = decimal_at_end(&mut slot, value, scale);
                let expected = printed(|out| push_decimal(out, value.into(), scale));
                prop_assert_eq!(&slot[SLOT_BYTES - length..], expected.as_bytes());
            }
        }

        #[test]
        fn round_trips_doubles(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            let text = printed(|out| assert!(push_finite(out, value)));
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
