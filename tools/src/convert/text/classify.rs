//! The class of a text value: its possible type, by its characters alone. Does not depend on columns.

use crate::convert::text::moments::{self, Moment};

/// Significant digits that every double keeps.
pub const FLOAT_DIGITS: u32 = 15;
/// Digits of an integer or a decimal that fit 128 bits.
pub const EXACT_DIGITS: u32 = 38;
/// Digits of a telephone number behind its plus.
const TELEPHONE_DIGITS_MIN: u32 = 8;
/// The longest number that is looked at, bytes.
const NUMBER_BYTES_MAX: usize = 400;

/// The class of a value by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// An empty text in quotes: the empty string in a column of texts, null in others.
    Empty,
    /// `true` or `false`.
    Boolean,
    /// An integer of at most 38 digits without leading zeros.
    Integer {
        digits: u32,
    },
    /// A number with digits on both sides of a point.
    Decimal {
        whole: u32,
        scale: u32,
    },
    /// Another number: with an exponent, without digits on one side of the point, NaN, infinite.
    Float,
    Date,
    Timestamp {
        /// Digits of the fraction of a second.
        digits: u32,
        /// Whether 64 bits of nanoseconds hold it.
        fits_nanoseconds: bool,
    },
    /// Digits that may be a number and may be a name: with leading zeros, eight and more behind a plus as in a telephone
    /// number, more than 38, or beyond what a double holds.
    Code,
    Text,
    List,
}

/// Classes by their number, for counting.
pub const CLASSES: usize = 10;

impl Class {
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Class::Empty => 0,
            Class::Boolean => 1,
            Class::Integer { .. } => 2,
            Class::Decimal { .. } => 3,
            Class::Float => 4,
            Class::Date => 5,
            Class::Timestamp { .. } => 6,
            Class::Code => 7,
            Class::Text => 8,
            Class::List => 9,
        }
    }

    /// Whether it is a number, a date or a datetime.
    #[must_use]
    pub fn is_value(self) -> bool {
        matches!(
            self,
            Class::Integer { .. }
                | Class::Decimal { .. }
                | Class::Float
                | Class::Date
                | Class::Timestamp { .. }
        )
    }

    /// The name of a class in messages, by its number.
    #[must_use]
    pub fn name(number: usize) -> &'static str {
        const NAMES: [&str; CLASSES] = [
            "an empty text",
            "a boolean",
            "an integer",
            "a decimal number",
            "a number",
            "a date",
            "a datetime",
            "a code of digits",
            "a text",
            "a list",
        ];
        NAMES.get(number).copied().unwrap_or("a value")
    }
}

/// The class of a CSV field that is not null. Blanks around a number, a date or a boolean do not matter.
#[must_use]
pub fn of_field(text: &str) -> Class {
    let class = match text.as_bytes().first() {
        None => Class::Empty,
        Some(b'0'..=b'9' | b'-' | b'+' | b'.') => of_digits(text),
        Some(b't' | b'T' | b'f' | b'F') if boolean(text).is_some() => Class::Boolean,
        Some(b'N') if text == "NaN" => Class::Float,
        Some(b'I') if text == "Infinity" => Class::Float,
        Some(_) => Class::Text,
    };
    if class == Class::Text && is_padded(text) { of_field(text.trim_ascii()) } else { class }
}

#[must_use]
pub fn is_padded(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_whitespace) || bytes.last().is_some_and(u8::is_ascii_whitespace)
}

/// The class of a day or a point in time.
#[must_use]
pub fn of_moment(moment: Moment) -> Class {
    match moment {
        Moment::Day(_) => Class::Date,
        Moment::Instant { seconds, digits, .. } => {
            let range = i64::MIN / 1_000_000_000 + 1..i64::MAX / 1_000_000_000;
            Class::Timestamp { digits, fits_nanoseconds: range.contains(&seconds) }
        }
    }
}

fn of_digits(text: &str) -> Class {
    if text == "-Infinity" {
        return Class::Float;
    }
    if let Some(moment) = moments::parse(text) {
        return of_moment(moment);
    }
    of_number(text).unwrap_or(Class::Text)
}

/// The class of a number; `None` for other texts. JSON numbers are a part of these.
#[must_use]
pub fn of_number(text: &str) -> Option<Class> {
    let has_plus = text.starts_with('+');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let rest = unsigned.get(whole..)?;
    let has_leading_zero = whole > 1 && unsigned.starts_with('0');
    if rest.is_empty() {
        let digits = u32::try_from(whole).ok()?;
        let is_code =
            has_leading_zero || digits > EXACT_DIGITS || (has_plus && digits >= TELEPHONE_DIGITS_MIN);
        return match whole {
            0 => None,
            _ if is_code => Some(Class::Code),
            _ => Some(Class::Integer { digits }),
        };
    }
    if let Some(scale) = rest.strip_prefix('.').filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let (whole, scale) = (u32::try_from(whole).ok()?, u32::try_from(scale.len()).ok()?);
        return match (whole, scale) {
            (0, 0) => None,
            _ if has_leading_zero => Some(Class::Code),
            (0, _) | (_, 0) => Some(Class::Float),
            _ => Some(Class::Decimal { whole, scale }),
        };
    }
    of_exponent(text, has_leading_zero)
}

fn of_exponent(text: &str, has_leading_zero: bool) -> Option<Class> {
    let value = double(text)?;
    // A double turns numbers that are too small for it into zero.
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let vanishes = value == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let is_code = has_leading_zero || !value.is_finite() || vanishes;
    Some(if is_code { Class::Code } else { Class::Float })
}

/// The double of a number in digits, also one that overflows.
#[must_use]
pub fn double(text: &str) -> Option<f64> {
    // Rust also reads `inf` and `nan`, which have no digit before their letters.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if is_plain && text.len() <= NUMBER_BYTES_MAX { text.parse().ok() } else { None }
}

/// The boolean that a text names: `true` or `false`, small, large, or with a large first letter.
#[must_use]
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_fields() {
        let whole = |digits| Class::Integer { digits };
        let decimal = |whole, scale| Class::Decimal { whole, scale };
        let instant = |digits| Class::Timestamp { digits, fits_nanoseconds: true };
        let cases = [
            ("", Class::Empty),
            ("true", Class::Boolean),
            ("FALSE", Class::Boolean),
            ("tRue", Class::Text),
            ("t", Class::Text),
            ("0", whole(1)),
            ("-12", whole(2)),
            ("99999999999999999999999999999999999999", whole(38)),
            ("999999999999999999999999999999999999999", Class::Code),
            ("007", Class::Code),
            ("-01", Class::Code),
            ("+39055", whole(5)),
            ("+5.5", decimal(1, 1)),
            ("+1e5", Class::Float),
            ("+390551234567", Class::Code),
            ("1e-999", Class::Code),
            ("0e-999", Class::Float),
            ("-+1", Class::Text),
            ("+", Class::Text),
            ("+-1", Class::Text),
            ("00.5", Class::Code),
            ("0.50", decimal(1, 2)),
            ("-12.5", decimal(2, 1)),
            (".5", Class::Float),
            ("5.", Class::Float),
            ("1e3", Class::Float),
            ("-1.5E-3", Class::Float),
            ("1e999", Class::Code),
            ("NaN", Class::Float),
            ("-Infinity", Class::Float),
            ("nan", Class::Text),
            ("inf", Class::Text),
            ("-", Class::Text),
            (".", Class::Text),
            ("1,000", Class::Text),
            ("1_000", Class::Text),
            (" 1", whole(1)),
            ("true ", Class::Boolean),
            (" 2024-02-29 ", Class::Date),
            (" x ", Class::Text),
            ("  ", Class::Empty),
            ("12A", Class::Text),
            ("2024-02-29", Class::Date),
            ("2023-02-29", Class::Text),
            ("2024-02-29T12:00:00Z", instant(0)),
            ("2024-02-29 12:00:00.123456", instant(6)),
            ("1.2.3", Class::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(of_field(text), expected, "{text}");
        }
    }
}
