//! Encodes values without a column kind as text: bytes, times of day, intervals and UUIDs. Does not depend on arrays or files;
//! the store format encodes numbers, dates and timestamps.

use std::str::Utf8Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mercato_format::TimeUnit;

use crate::convert::limits::ENCODED_BYTES;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// An arena of texts and nulls: all bytes lie in one allocation.
#[derive(Debug, Default)]
pub struct TextArena {
    bytes: Vec<u8>,
    ends: Vec<(usize, bool)>,
}

impl TextArena {
    /// Removes all texts and keeps the memory, up to a bound.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * ENCODED_BYTES);
        self.ends.clear();
    }

    /// The buffer for the next text, which [`TextArena::end_text`] ends.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub fn byte_length(&self) -> usize {
        self.bytes.len()
    }

    /// Ends a text and returns its length in bytes.
    pub fn end_text(&mut self) -> usize {
        let start = self.ends.last().map_or(0, |(end, _)| *end);
        self.ends.push((self.bytes.len(), true));
        self.bytes.len() - start
    }

    pub fn push_null(&mut self) {
        self.ends.push((self.bytes.len(), false));
    }

    /// The texts, in insertion order.
    pub fn iter(&self) -> Result<impl Iterator<Item = Option<&str>>, Utf8Error> {
        let text = std::str::from_utf8(&self.bytes)?;
        let mut start = 0;
        Ok(self.ends.iter().map(move |(end, valid)| {
            let value = text.get(start..*end).filter(|_| *valid);
            start = *end;
            value
        }))
    }
}

/// Appends standard Base64 with padding.
pub fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    if let Some(room) = out.get_mut(start..) {
        // The buffer has the exact size, so this cannot fail.
        let _ = STANDARD.encode_slice(bytes, room);
    }
}

/// Appends `8-4-4-4-12` lower-case hexadecimal digits.
pub fn push_uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
        out.extend([digit(byte >> 4), digit(byte & 15)]);
    }
}

/// Appends the three little-endian counts of an INTERVAL as an ISO 8601 duration: `P1Y2M3DT4H5M6.007S`, or
/// `PT0S` when all are zero.
pub fn push_interval(out: &mut Vec<u8>, bytes: &[u8]) {
    let part = |from: usize| {
        let four = bytes.get(from..from + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
        u32::from_le_bytes(four.unwrap_or_default())
    };
    let (months, days, milliseconds) = (part(0), part(4), part(8));
    let (seconds, fraction) = (milliseconds / 1_000 % 60, milliseconds % 1_000);
    if (months, days, milliseconds) == (0, 0, 0) {
        return out.extend_from_slice(b"PT0S");
    }
    out.push(b'P');
    push_count(out, months / 12, b'Y');
    push_count(out, months % 12, b'M');
    push_count(out, days, b'D');
    if milliseconds > 0 {
        out.push(b'T');
        push_count(out, milliseconds / 3_600_000, b'H');
        push_count(out, milliseconds / 60_000 % 60, b'M');
    }
    if fraction > 0 {
        out.extend_from_slice(format!("{seconds}.{fraction:03}S").as_bytes());
    } else {
        push_count(out, seconds, b'S');
    }
}

fn push_count(out: &mut Vec<u8>, count: u32, letter: u8) {
    if count > 0 {
        out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
        out.push(letter);
    }
}

/// Wraps a time of day into one day of UTC. A time zone may have moved it past midnight, by less than a day.
#[must_use]
pub fn wrap_at_midnight(units: i64, unit: TimeUnit) -> i64 {
    let day = unit.per_second().saturating_mul(86_400);
    if (-day..day.saturating_mul(2)).contains(&units) { units.rem_euclid(day) } else { units }
}

/// Appends `HH:MM:SS` and the digits of the unit. Returns false, and appends nothing, for a time outside the day.
#[must_use]
pub fn push_time(out: &mut Vec<u8>, units: i64, unit: TimeUnit) -> bool {
    let (second, fraction) = (units.div_euclid(unit.per_second()), units.rem_euclid(unit.per_second()));
    if !(0..86_400).contains(&second) {
        return false;
    }
    for (mark, part) in [(None, second / 3_600), (Some(b':'), second / 60 % 60), (Some(b':'), second % 60)] {
        out.extend(mark);
        push_padded(out, part, 2);
    }
    if unit.digits() > 0 {
        out.push(b'.');
        push_padded(out, fraction, unit.digits());
    }
    true
}

fn push_padded(out: &mut Vec<u8>, value: i64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(b'0', digits.saturating_sub(text.len())));
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn encodes_intervals_as_iso_8601_durations() {
        let interval = |months: u32, days: u32, milliseconds: u32| {
            let bytes = [months, days, milliseconds].map(u32::to_le_bytes).concat();
            text(|out| push_interval(out, &bytes))
        };
        assert_eq!(interval(14, 3, 14_706_007), "P1Y2M3DT4H5M6.007S");
        assert_eq!(interval(0, 0, 0), "PT0S");
        assert_eq!(interval(12, 0, 0), "P1Y");
        assert_eq!(interval(0, 0, 500), "PT0.500S");
        assert_eq!(interval(0, u32::MAX, 60_000), "P4294967295DT1M");
    }

    #[test]
    fn rejects_time_outside_day() {
        assert_eq!(text(|out| assert!(push_time(out, 86_399_999, TimeUnit::Millisecond))), "23:59:59.999");
        assert_eq!(text(|out| assert!(push_time(out, 1, TimeUnit::Nanosecond))), "00:00:00.000000001");
        assert_eq!(text(|out| assert!(!push_time(out, 86_400, TimeUnit::Second))), "");
        assert_eq!(text(|out| assert!(!push_time(out, -1, TimeUnit::Second))), "");
    }

    #[test]
    fn wraps_time_past_midnight() {
        let day = 86_400_000;
        let cases = [(-1, day - 1), (0, 0), (day, 0), (day + 3_600_000, 3_600_000), (-day, 0)];
        for (units, expected) in cases {
            assert_eq!(wrap_at_midnight(units, TimeUnit::Millisecond), expected, "{units}");
        }
        for outside in [-day - 1, day * 2, i64::MIN, i64::MAX] {
            assert_eq!(wrap_at_midnight(outside, TimeUnit::Millisecond), outside);
        }
    }

    #[test]
    fn encodes_canonical_base64_and_uuid() {
        assert_eq!(text(|out| push_base64(out, b"\xff\x00")), "/wA=");
        assert_eq!(text(|out| push_base64(out, b"")), "");
        let bytes: Vec<u8> = (0..16).map(|n| n * 17).collect();
        assert_eq!(text(|out| push_uuid(out, &bytes)), "00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn arena_distinguishes_null_from_empty() {
        let mut arena = TextArena::default();
        arena.buffer().extend_from_slice("è".as_bytes());
        assert_eq!(arena.end_text(), 2);
        arena.push_null();
        assert_eq!(arena.end_text(), 0);
        let texts: Vec<_> = arena.iter().unwrap().collect();
        assert_eq!(texts, [Some("è"), None, Some("")]);
    }
}
