//! Values of columns as pages write them, out of the JSON in which the API gives them.

use std::cmp::Ordering;

use serde_json::value::RawValue;

use crate::site::numbers::Numbers;
use mercato_catalog::{ColumnKind, LogicalType};

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// None.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, with the digits of the API.
    Number(String),
    Text(String),
    /// A day or a moment, as the API writes it.
    Moment(String),
}

impl Value {
    /// Reads a value of a column as rows of the API have it. An invalid one becomes [`Value::Null`].
    pub(super) fn of(raw: &RawValue, kind: ColumnKind) -> Self {
        let is_moment = kind.logical() == LogicalType::Datetime;
        match raw.get() {
            "null" => Self::Null,
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            text if text.starts_with('"') => match serde_json::from_str(text) {
                Ok(text) if is_moment => Self::Moment(text),
                Ok(text) => Self::Text(text),
                Err(_) => Self::Null,
            },
            number => Self::Number(number.to_owned()),
        }
    }

    /// As the data have it: the digits of a number are those of the API.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(text) | Self::Text(text) | Self::Moment(text) => text.clone(),
        }
    }

    /// As a figure in a sentence: digits are grouped where there are five or more of them, so that a year stays a year.
    pub(super) fn figure(&self, numbers: Numbers, characters_max: usize) -> String {
        match self {
            Self::Number(json) => {
                let whole = json.split(['.', 'e', 'E']).next().unwrap_or_default().trim_start_matches('-');
                if whole.len() > 4 { numbers.decimal(json) } else { numbers.ungrouped(json) }
            }
            other => shortened(&other.plain(), characters_max),
        }
    }

    /// The order of rows sorted by a column: as the API has it, but for nulls, which [`in_order`] puts last.
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => compare_numbers(a, b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Moment(a), Self::Moment(b)) => year_and_rest(a).cmp(&year_and_rest(b)),
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// The numbers of rows sorted by these values: nulls last in both directions, ties by the number of the row.
pub(super) fn in_order(values: &[Value], descending: bool) -> Vec<usize> {
    let mut rows: Vec<(usize, &Value)> = values.iter().enumerate().collect();
    rows.sort_by(|(_, a), (_, b)| {
        let nulls = (**a == Value::Null).cmp(&(**b == Value::Null));
        let order = a.compare(b);
        nulls.then(if descending { order.reverse() } else { order })
    });
    rows.into_iter().map(|(row, _)| row).collect()
}

/// Compares JSON numbers by value: exactly where neither has an exponent, else as doubles.
fn compare_numbers(a: &str, b: &str) -> Ordering {
    if [a, b].iter().any(|text| text.contains(['e', 'E'])) {
        let double = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        return double(a).total_cmp(&double(b));
    }
    match (a.strip_prefix('-'), b.strip_prefix('-')) {
        (None, None) => compare_digits(a, b),
        (Some(a), Some(b)) => compare_digits(b, a),
        (Some(a), None) if is_zero(a) && is_zero(b) => Ordering::Equal,
        (None, Some(b)) if is_zero(a) && is_zero(b) => Ordering::Equal,
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

/// The year of a day or moment, which may have a sign and more than four digits, and the rest of the text. A moment
/// without a fraction is before one with it, so the `Z` at the end does not count.
fn year_and_rest(text: &str) -> (i64, &str) {
    let after_sign =
        text.get(1..).and_then(|rest| rest.find('-')).map_or(text.len(), |at| at.saturating_add(1));
    let (year, rest) = text.split_at_checked(after_sign).unwrap_or((text, ""));
    (year.parse().unwrap_or(0), rest.trim_end_matches('Z'))
}

fn is_zero(digits: &str) -> bool {
    digits.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// Compares numbers without a sign. A number of JSON has no needless zero in front.
fn compare_digits(a: &str, b: &str) -> Ordering {
    let split = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        (whole.to_owned(), fraction.trim_end_matches('0').to_owned())
    };
    let ((whole_a, fraction_a), (whole_b, fraction_b)) = (split(a), split(b));
    whole_a
        .len()
        .cmp(&whole_b.len())
        .then_with(|| whole_a.cmp(&whole_b))
        .then_with(|| fraction_a.cmp(&fraction_b))
}

/// The first characters of a text, with an ellipsis where there are more.
pub(super) fn shortened(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_kind(json: &str, kind: ColumnKind) -> Value {
        Value::of(&RawValue::from_string(json.to_owned()).unwrap(), kind)
    }

    fn value(json: &str) -> Value {
        of_kind(json, ColumnKind::Text)
    }

    #[test]
    fn sorts_dates_by_time() {
        let days = ["\"2024-01-31\"", "\"+10000-01-01\"", "\"-0044-03-15\"", "null", "\"0999-12-31\""];
        let days: Vec<Value> = days.map(|json| of_kind(json, ColumnKind::Date)).to_vec();
        assert_eq!(in_order(&days, false), [2, 4, 0, 1, 3]);
        let moments = ["\"2024-01-01T00:00:00.5Z\"", "\"2024-01-01T00:00:00Z\"", "\"2023-12-31T23:59:59Z\""];
        let moments: Vec<Value> = moments.map(|json| of_kind(json, ColumnKind::Date)).to_vec();
        assert_eq!(in_order(&moments, false), [2, 1, 0]);
    }

    #[test]
    fn sorts_values_like_api() {
        let values: Vec<Value> = ["2", "null", "-1.5", "10", "2.0", "-0.0", "0"].map(value).to_vec();
        assert_eq!(in_order(&values, false), [2, 5, 6, 0, 4, 3, 1]);
        assert_eq!(in_order(&values, true), [3, 0, 4, 5, 6, 2, 1]);
        let texts: Vec<Value> = ["\"b\"", "\"B\"", "null", "\"a\""].map(value).to_vec();
        assert_eq!(in_order(&texts, false), [1, 3, 0, 2]);
    }

    proptest! {
        #[test]
        fn compares_decimals_like_scaled_integers(a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000) {
            let hundredths = |number: i64| {
                let sign = if number < 0 { "-" } else { "" };
                format!("{sign}{}.{:02}", number.abs() / 100, number.abs() % 100)
            };
            prop_assert_eq!(compare_numbers(&hundredths(a), &hundredths(b)), a.cmp(&b));
            prop_assert_eq!(compare_numbers(&a.to_string(), &b.to_string()), a.cmp(&b));
        }
    }

    #[test]
    fn groups_digits_of_long_figures_only() {
        use mercato_catalog::Language;
        let numbers = Numbers::of(Language::Italian);
        for (json, expected) in
            [("2024", "2024"), ("12345.5", "12.345,5"), ("0.25", "0,25"), ("\"abcdef\"", "abc…")]
        {
            assert_eq!(value(json).figure(numbers, 3), expected);
        }
        assert_eq!(value("null"), Value::Null);
        assert_eq!(value("true").plain(), "true");
    }
}
