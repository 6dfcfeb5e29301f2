//! The types that a publisher declares for columns of text files: `string`, `decimal(12,2)`, `datetime(ms)`.
//!
//! Does not depend on the files.

use std::str::FromStr;

use mercato_format::{ColumnKind, TimeUnit};

/// Most digits of a declared decimal.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// The type of a column, as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    Kind(ColumnKind),
    /// A datetime in the finest unit that the values need.
    Datetime,
}

impl ColumnType {
    /// The forms that are understood, for messages.
    pub const FORMS: &'static str =
        "string, integer, number, decimal(P,S), boolean, date, datetime or datetime(s|ms|us|ns)";
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, inside) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, rest.strip_suffix(')')),
        };
        let kind = match (name, inside) {
            ("datetime", None) if name == text => return Ok(Self::Datetime),
            ("string", None) if name == text => Some(ColumnKind::Text),
            ("integer", None) if name == text => Some(ColumnKind::Integer),
            ("number", None) if name == text => Some(ColumnKind::Float),
            ("boolean", None) if name == text => Some(ColumnKind::Boolean),
            ("date", None) if name == text => Some(ColumnKind::Date),
            ("datetime", Some(unit)) => time_unit(unit).map(|unit| ColumnKind::Timestamp { unit }),
            ("decimal", Some(digits)) => decimal(digits),
            _ => None,
        };
        kind.map(Self::Kind).ok_or_else(|| format!("`{text}` is no type; expected {}", Self::FORMS))
    }
}

fn time_unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn decimal(digits: &str) -> Option<ColumnKind> {
    let (precision, scale) = digits.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let is_valid = (1..=DECIMAL_DIGITS_MAX).contains(&precision) && scale <= precision;
    is_valid.then_some(ColumnKind::Decimal { precision, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_declared_types() {
        let parse = |text: &str| text.parse::<ColumnType>();
        assert_eq!(parse("string"), Ok(ColumnType::Kind(ColumnKind::Text)));
        assert_eq!(parse("number"), Ok(ColumnType::Kind(ColumnKind::Float)));
        let money = ColumnKind::Decimal { precision: 12, scale: 2 };
        assert_eq!(parse("decimal(12, 2)"), Ok(ColumnType::Kind(money)));
        assert_eq!(parse("datetime"), Ok(ColumnType::Datetime));
        let unit = TimeUnit::Millisecond;
        assert_eq!(parse("datetime(ms)"), Ok(ColumnType::Kind(ColumnKind::Timestamp { unit })));
        for wrong in [
            "",
            "text",
            "String",
            "decimal",
            "decimal(2,3)",
            "decimal(39,0)",
            "decimal(0,0)",
            "datetime(x)",
            "date(",
        ] {
            assert!(parse(wrong).unwrap_err().contains("decimal(P,S)"), "{wrong}");
        }
    }
}
