//! The width of a column's floats in the source. All floats are stored as doubles; encoding and literals follow the
//! width of the source. FORMAT.md chapter "Width of floats" is normative.

use crate::encode::push_finite;

/// The floats of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatWidth {
    /// IEEE 754 binary16.
    Half,
    /// IEEE 754 binary32.
    Single,
    /// IEEE 754 binary64.
    Double,
}

/// Digits after the first one that distinguish all halves.
const HALF_DIGITS_MAX: usize = 4;
/// From here on a number is nearer to infinity than to the largest half.
const HALF_OVERFLOW: f64 = 65_520.0;
const HALF_EXPONENT_MIN: i32 = -14;
const HALF_FRACTION_BITS: i32 = 10;

impl FloatWidth {
    /// The width named in the text of a source type; doubles for unknown types.
    #[must_use]
    pub fn of_source(source_type: &str) -> FloatWidth {
        match source_type {
            "FLOAT" => FloatWidth::Single,
            "FIXED_LEN_BYTE_ARRAY(2) (Float16)" => FloatWidth::Half,
            _ => FloatWidth::Double,
        }
    }

    /// Appends a finite value as the shortest text that reads back the same at this width. Returns false, and appends
    /// nothing, if it is not finite. A value that this width cannot represent is encoded as a double, so no digit is
    /// lost.
    #[inline]
    #[must_use]
    pub fn push_finite(self, out: &mut Vec<u8>, value: f64) -> bool {
        match self {
            FloatWidth::Double => push_finite(out, value),
            _ if !value.is_finite() || self.nearest(value) != value => push_finite(out, value),
            FloatWidth::Single => {
                out.extend_from_slice(zmij::Buffer::new().format_finite(single(value)).as_bytes());
                true
            }
            FloatWidth::Half => {
                let shortest = shortest_half(value);
                out.extend_from_slice(zmij::Buffer::new().format_finite(shortest).as_bytes());
                true
            }
        }
    }

    /// Appends a value in CSV form: `NaN`, `Infinity` and `-Infinity` if it is not finite.
    pub fn push_csv(self, out: &mut Vec<u8>, value: f64) {
        if !self.push_finite(out, value) {
            crate::encode::push_float_csv(out, value);
        }
    }

    /// The value of this width nearest to a JSON number; infinite beyond the range.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<f64> {
        match self {
            FloatWidth::Single => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse().ok().map(|value| self.nearest(value)),
        }
    }

    /// The smallest value of this width that is not below `value`. Both are equivalent as lower bounds for values of
    /// this width.
    #[must_use]
    pub fn at_least(self, value: f64) -> f64 {
        match self {
            FloatWidth::Single if f64::from(single(value)) < value => f64::from(single(value).next_up()),
            FloatWidth::Single => f64::from(single(value)),
            FloatWidth::Half if value.abs() < HALF_OVERFLOW => {
                let step = half_step(value);
                (value / step).ceil() * step
            }
            _ => value,
        }
    }

    /// The value of this width nearest to a double; ties go to even.
    fn nearest(self, value: f64) -> f64 {
        match self {
            FloatWidth::Single => f64::from(single(value)),
            FloatWidth::Half if value.is_finite() && value.abs() >= HALF_OVERFLOW => {
                f64::INFINITY.copysign(value)
            }
            FloatWidth::Half if value.is_finite() => {
                let step = half_step(value);
                (value / step).round_ties_even() * step
            }
            _ => value,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "this is the rounding to the nearest single")]
fn single(value: f64) -> f32 {
    value as f32
}

/// The distance of neighbouring halves near a value. It is a power of two, so dividing by it is exact.
fn half_step(value: f64) -> f64 {
    let exponent = i32::try_from(value.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023;
    2f64.powi(exponent.max(HALF_EXPONENT_MIN) - HALF_FRACTION_BITS)
}

/// The shortest decimal number that is nearest to this half, as a single.
fn shortest_half(value: f64) -> f32 {
    let rounded = (0..HALF_DIGITS_MAX).map(|digits| format!("{value:.digits$e}"));
    let mut exact = rounded.filter(|text| FloatWidth::Half.parse(text) == Some(value));
    let text = exact.next().unwrap_or_else(|| format!("{value:.HALF_DIGITS_MAX$e}"));
    text.parse().unwrap_or_else(|_| single(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(width: FloatWidth, value: f64) -> String {
        let mut out = Vec::new();
        width.push_csv(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn encodes_shortest_text_of_width() {
        for (width, value, text) in [
            (FloatWidth::Single, f64::from(0.1f32), "0.1"),
            (FloatWidth::Single, f64::from(f32::MAX), "3.4028235e+38"),
            (FloatWidth::Single, f64::from(1e-45f32), "1e-45"),
            (FloatWidth::Single, -0.0, "-0.0"),
            (FloatWidth::Single, f64::from(16_777_216f32), "16777216.0"),
            (FloatWidth::Single, f64::NEG_INFINITY, "-Infinity"),
            (FloatWidth::Single, f64::NAN, "NaN"),
            (FloatWidth::Single, 0.1, "0.1"),
            (FloatWidth::Single, 0.300_000_000_000_000_04, "0.30000000000000004"),
            (FloatWidth::Half, 0.099_975_585_937_5, "0.1"),
            (FloatWidth::Half, 65_504.0, "65500.0"),
            (FloatWidth::Half, 5.960_464_477_539_063e-8, "6e-8"),
            (FloatWidth::Half, 1.0, "1.0"),
            (FloatWidth::Half, 65_520.0, "65520.0"),
            (FloatWidth::Double, f64::from(0.1f32), "0.10000000149011612"),
        ] {
            assert_eq!(printed(width, value), text, "{width:?} {value:e}");
        }
    }

    #[test]
    fn round_trips_every_half() {
        for exponent in -24..=15 {
            for fraction in 0..1024 {
                let value =
                    FloatWidth::Half.nearest((1.0 + f64::from(fraction) / 1024.0) * 2f64.powi(exponent));
                let text = printed(FloatWidth::Half, value);
                assert_eq!(FloatWidth::Half.parse(&text), Some(value), "{text}");
                let digits = text.bytes().filter(u8::is_ascii_digit).count();
                assert!(digits <= 9, "{text}");
            }
        }
        assert_eq!(FloatWidth::Half.parse("65519.99"), Some(65_504.0));
        assert_eq!(FloatWidth::Half.parse("65520"), Some(f64::INFINITY));
        assert_eq!(FloatWidth::Half.parse("-1e9"), Some(f64::NEG_INFINITY));
    }

    proptest! {
        #[test]
        fn round_trips_singles(value in any::<f32>()) {
            prop_assume!(value.is_finite());
            let text = printed(FloatWidth::Single, value.into());
            prop_assert_eq!(FloatWidth::Single.parse(&text).unwrap().to_bits(), f64::from(value).to_bits());
            prop_assert!(text.len() <= printed(FloatWidth::Double, value.into()).len());
        }

        #[test]
        fn at_least_keeps_meaning_of_bound(value in -1e5..1e5f64, near in -3i32..4) {
            for width in [FloatWidth::Half, FloatWidth::Single, FloatWidth::Double] {
                let (bound, nearest) = (width.at_least(value), width.nearest(value));
                prop_assert!(bound >= value);
                prop_assert!(width.nearest(bound) == bound || !width.nearest(bound).is_finite());
                prop_assert!(!(nearest >= value && nearest < bound), "{value} {nearest} {bound}");
                let other = width.nearest(value + f64::from(near) * value.abs() * 1e-4);
                prop_assert_eq!(other >= value, other >= bound);
            }
        }
    }
}
