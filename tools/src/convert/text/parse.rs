//! Parses a text as a number or a boolean, exactly: no digit is lost. Does not depend on columns.

use mercato_format::ColumnKind;

use crate::convert::text::classify::{self, EXACT_DIGITS};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parsed {
    /// An integer, a scaled decimal, days, or time units.
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Text,
}

/// The number or boolean of a text without blanks around it; `None` if it is none. A plus and leading zeros count as
/// in arithmetic, because only a declared type brings codes here.
#[must_use]
pub fn parse_plain(kind: ColumnKind, text: &str) -> Option<Parsed> {
    match kind {
        ColumnKind::Integer => integer(text).map(Parsed::Integer),
        ColumnKind::Decimal { precision, scale } => decimal(text, precision, scale).map(Parsed::Integer),
        ColumnKind::Float => float(text).map(Parsed::Float),
        ColumnKind::Boolean => classify::boolean(text).map(Parsed::Boolean),
        ColumnKind::Text | ColumnKind::Date | ColumnKind::Timestamp { .. } => None,
    }
}

fn integer(text: &str) -> Option<i128> {
    text.parse().ok().filter(|value: &i128| value.unsigned_abs() < 10_u128.pow(EXACT_DIGITS))
}

/// A decimal of at most `precision` digits, scaled.
fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = u32::try_from(fraction.len()).ok()?;
    let missing = u32::from(scale).checked_sub(digits)?;
    let number = format!("{whole}{fraction}");
    let scaled = number.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(missing)?)?;
    let fits = 10_u128.checked_pow(u32::from(precision)).is_none_or(|bound| scaled.unsigned_abs() < bound);
    (fits && fraction.bytes().all(|byte| byte.is_ascii_digit())).then_some(scaled)
}

/// A double. A number beyond the largest one is infinite.
fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => classify::double(text),
    }
}

#[cfg(test)]
mod tests {
    use mercato_format::TimeUnit;

    use super::*;
    use crate::convert::text::forms::ValueForms;

    fn parse(kind: ColumnKind, text: &str) -> Option<Parsed> {
        ValueForms::default().parse(kind, text)
    }

    #[test]
    fn parses_exactly_or_not_at_all() {
        let whole = |value| Some(Parsed::Integer(value));
        let money = ColumnKind::Decimal { precision: 5, scale: 2 };
        let micro = ColumnKind::Timestamp { unit: TimeUnit::Microsecond };
        assert_eq!(parse(ColumnKind::Integer, "-170141183460469231731"), whole(-170141183460469231731));
        assert_eq!(parse(ColumnKind::Integer, "007"), whole(7));
        assert_eq!(parse(ColumnKind::Integer, "+5"), whole(5));
        assert_eq!(parse(money, "1.5"), whole(150));
        assert_eq!(parse(money, "+001.5"), whole(150));
        assert_eq!(parse(money, "-0.05"), whole(-5));
        assert_eq!(parse(money, "999"), whole(99_900));
        assert_eq!(parse(ColumnKind::Date, "1970-01-02"), whole(1));
        assert_eq!(parse(micro, "1970-01-01T00:00:00.000001Z"), whole(1));
        assert_eq!(parse(micro, "1970-01-02"), whole(86_400_000_000));
        assert_eq!(parse(ColumnKind::Float, "1e-3"), Some(Parsed::Float(0.001)));
        assert_eq!(parse(ColumnKind::Float, "+5.5"), Some(Parsed::Float(5.5)));
        assert_eq!(parse(ColumnKind::Float, "007"), Some(Parsed::Float(7.0)));
        assert_eq!(parse(ColumnKind::Float, "-1e999"), Some(Parsed::Float(f64::NEG_INFINITY)));
        assert_eq!(parse(ColumnKind::Boolean, " True"), Some(Parsed::Boolean(true)));
        assert_eq!(parse(ColumnKind::Text, "x"), Some(Parsed::Text));
        for (kind, text) in [
            (ColumnKind::Integer, "1.0"),
            (ColumnKind::Integer, "999999999999999999999999999999999999999"),
            (money, "1.234"),
            (money, "1000"),
            (money, "1e2"),
            (money, "1.2.3"),
            (money, "."),
            (money, "1.-5"),
            (ColumnKind::Date, "1970-01-02T00:00:00"),
            (micro, "1970-01-01T00:00:00.0000001Z"),
            (ColumnKind::Float, "x"),
            (ColumnKind::Float, "inf"),
            (ColumnKind::Float, "infinity"),
            (ColumnKind::Boolean, "1"),
        ] {
            assert_eq!(parse(kind, text), None, "{text}");
        }
    }
}
