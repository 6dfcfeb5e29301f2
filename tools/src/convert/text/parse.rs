//! Parses a text as a value of a column kind, exactly: no digit is lost. Does not depend on columns.

use mercato_format::ColumnKind;

use crate::convert::text::classify::{self, Class};
use crate::convert::text::moments::{self, Moment};

/// A parsed value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parsed {
    /// An integer, a scaled decimal, days, or time units.
    Integer(i128),
    /// A double.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// The text itself.
    Text,
}

/// The value of a text in a column of `kind`; `None` if it is none.
#[must_use]
pub fn parse(kind: ColumnKind, text: &str) -> Option<Parsed> {
    match kind {
        ColumnKind::Text => Some(Parsed::Text),
        ColumnKind::Integer => integer(text).map(Parsed::Integer),
        ColumnKind::Decimal { precision, scale } => decimal(text, precision, scale).map(Parsed::Integer),
        ColumnKind::Float => float(text).map(Parsed::Float),
        ColumnKind::Boolean => classify::boolean(text).map(Parsed::Boolean),
        ColumnKind::Date => match moments::parse(text)? {
            Moment::Day(days) => Some(Parsed::Integer(days.into())),
            Moment::Instant { .. } => None,
        },
        ColumnKind::Timestamp { unit } => {
            moments::parse(text)?.units(unit).map(|units| Parsed::Integer(units.into()))
        }
    }
}

/// An integer without leading zeros.
fn integer(text: &str) -> Option<i128> {
    matches!(classify::of_number(text)?, Class::Integer { .. }).then(|| text.parse().ok())?
}

/// A decimal of at most `precision` digits, scaled.
fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let digits = match classify::of_number(text)? {
        Class::Integer { .. } => 0,
        Class::Decimal { scale, .. } => scale,
        _ => return None,
    };
    let missing = u32::from(scale).checked_sub(digits)?;
    let number: String = text.chars().filter(|c| *c != '.').collect();
    let scaled = number.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(missing)?)?;
    let fits = 10_u128.checked_pow(u32::from(precision)).is_none_or(|bound| scaled.unsigned_abs() < bound);
    fits.then_some(scaled)
}

fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let class = classify::of_number(text)?;
    matches!(class, Class::Integer { .. } | Class::Decimal { .. } | Class::Float)
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use mercato_format::TimeUnit;

    use super::*;

    #[test]
    fn parses_exactly_or_not_at_all() {
        let whole = |value| Some(Parsed::Integer(value));
        let money = ColumnKind::Decimal { precision: 5, scale: 2 };
        let micro = ColumnKind::Timestamp { unit: TimeUnit::Microsecond };
        assert_eq!(parse(ColumnKind::Integer, "-170141183460469231731"), whole(-170141183460469231731));
        assert_eq!(parse(money, "1.5"), whole(150));
        assert_eq!(parse(money, "-0.05"), whole(-5));
        assert_eq!(parse(money, "999"), whole(99_900));
        assert_eq!(parse(ColumnKind::Date, "1970-01-02"), whole(1));
        assert_eq!(parse(micro, "1970-01-01T00:00:00.000001Z"), whole(1));
        assert_eq!(parse(micro, "1970-01-02"), whole(86_400_000_000));
        assert_eq!(parse(ColumnKind::Float, "1e-3"), Some(Parsed::Float(0.001)));
        assert_eq!(parse(ColumnKind::Boolean, "True"), Some(Parsed::Boolean(true)));
        assert_eq!(parse(ColumnKind::Text, "x"), Some(Parsed::Text));
        for (kind, text) in [
            (ColumnKind::Integer, "1.0"),
            (ColumnKind::Integer, "01"),
            (money, "1.234"),
            (money, "1000"),
            (money, "1e2"),
            (ColumnKind::Date, "1970-01-02T00:00:00"),
            (micro, "1970-01-01T00:00:00.0000001Z"),
            (ColumnKind::Float, "x"),
            (ColumnKind::Float, "inf"),
            (ColumnKind::Boolean, "1"),
        ] {
            assert_eq!(parse(kind, text), None, "{text}");
        }
    }
}
