//! Converts comparisons with literals into sets of column keys.

use mercato_format::order::{float_key, integer_key, wide_key};
use mercato_format::{ColumnData, ColumnKind, ColumnMeta, Dictionary, Texts};

use crate::plan::key_set::KeySet;
use crate::plan::literal::{Decimal, Floor, datetime_nanoseconds, is_datetime_too_fine, nanoseconds_floor};
use crate::plan::predicate::{highest_key, nan_key};
use crate::request::filter::{Operator, Scalar};
use crate::request::validation_error::{Reason, ValidationError};
use mercato_base::words::quoted;

const DAY_NANOSECONDS: i128 = 86_400 * 1_000_000_000;

/// A literal converted to the type of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// The floor of the stored integer.
    Integer(Floor),
    Float(f64),
    Text(String),
}

/// Reads a literal for a column.
///
/// # Errors
/// An error with reason `TYPE_MISMATCH`.
pub fn bound_of(meta: &ColumnMeta, value: &Scalar, pointer: &str) -> Result<Bound, ValidationError> {
    let refuse = |expected: &str, hint: &str| {
        let found = match value {
            Scalar::Text(text) => format!("the string {}", quoted(text)),
            other => other.type_name().to_owned(),
        };
        let message = format!("column {} holds {expected}, found {found}", quoted(&meta.name));
        ValidationError::new(Reason::TypeMismatch, pointer, message, hint)
    };
    match (meta.kind, value) {
        (ColumnKind::Text, Scalar::Text(text)) => Ok(Bound::Text(text.clone())),
        (ColumnKind::Text, _) => Err(refuse("strings", "put the value into quotes")),
        (ColumnKind::Boolean, Scalar::Bool(flag)) => {
            Ok(Bound::Integer(Floor { floor: (*flag).into(), exact: true }))
        }
        (ColumnKind::Boolean, _) => Err(refuse("booleans", "send true or false")),
        (ColumnKind::Integer | ColumnKind::Decimal { .. }, Scalar::Number(text) | Scalar::Text(text)) => {
            let scale = if let ColumnKind::Decimal { scale, .. } = meta.kind { scale } else { 0 };
            let number: Result<Decimal, ()> = text.parse();
            let number = number.map_err(|()| refuse("exact numbers", "send a number such as 12 or 12.50"))?;
            Ok(Bound::Integer(number.scaled_floor(scale)))
        }
        (ColumnKind::Float, Scalar::Number(text)) => {
            let value = meta.float_width().parse(text);
            value.map(Bound::Float).ok_or_else(|| refuse("doubles", "send a number such as 1.5"))
        }
        (ColumnKind::Date | ColumnKind::Timestamp { .. }, Scalar::Text(text)) => {
            let unit = match meta.kind {
                ColumnKind::Timestamp { unit } => 1_000_000_000 / i128::from(unit.per_second()),
                _ => DAY_NANOSECONDS,
            };
            let moment = datetime_nanoseconds(text);
            if is_datetime_too_fine(text) {
                let expected = "datetimes with at most nine digits after the second's point";
                return Err(refuse(expected, "cut the fraction to nine digits, which are nanoseconds"));
            }
            let hint = "send RFC 3339 such as 2024-01-31T08:00:00Z, or a date such as 2024-01-31";
            moment
                .map(|moment| Bound::Integer(nanoseconds_floor(moment, unit)))
                .ok_or_else(|| refuse("datetimes", hint))
        }
        (ColumnKind::Integer | ColumnKind::Decimal { .. }, _) => {
            Err(refuse("exact numbers", "send a number"))
        }
        (ColumnKind::Float, _) => Err(refuse("doubles", "send a number")),
        (ColumnKind::Date | ColumnKind::Timestamp { .. }, _) => {
            Err(refuse("datetimes", "send a string such as \"2024-01-31\""))
        }
    }
}

/// The largest key below a bound, or up to it if `included`. The inner `None` means no such key, the outer one a damaged
/// file.
fn up_to(data: &ColumnData<'_>, bound: &Bound, included: bool) -> Option<Option<u128>> {
    Some(match data {
        ColumnData::Dictionary(column) => code_count(column, bound, included)?.checked_sub(1).map(u128::from),
        ColumnData::Texts(column) => {
            let Bound::Text(text) = bound else { return Some(None) };
            column.lower_bound(text.as_bytes(), included)?.checked_sub(1).map(u128::from)
        }
        ColumnData::Numbers(column) => match bound {
            Bound::Integer(floor) => integer_up_to(*floor, included, column.width),
            Bound::Float(value) => float_up_to(*value, included),
            Bound::Text(_) => None,
        },
    })
}

/// The largest stored integer's key that satisfies `<` or `<=`.
fn integer_up_to(floor: Floor, included: bool, width: u8) -> Option<u128> {
    let last = if included || !floor.exact { floor.floor } else { floor.floor.checked_sub(1)? };
    if width == 16 {
        // A literal below the 128-bit range is below every value.
        return (floor.exact || floor.floor != i128::MIN).then(|| wide_key(last));
    }
    match i64::try_from(last) {
        Ok(last) => Some(integer_key(last).into()),
        Err(_) if last > 0 => Some(u64::MAX.into()),
        Err(_) => None,
    }
}

/// The key of the largest float that satisfies `<` or `<=`. A literal beyond all finite floats lies between them and
/// infinity.
fn float_up_to(value: f64, included: bool) -> Option<u128> {
    if value == f64::INFINITY {
        return Some(float_key(f64::MAX).into());
    }
    if value == f64::NEG_INFINITY {
        return Some(float_key(f64::NEG_INFINITY).into());
    }
    Some(u128::from(float_key(value)) - u128::from(!included))
}

/// Entries that satisfy `<` or `<=`; `None` when the file is damaged.
fn code_count(column: &Dictionary<'_>, bound: &Bound, included: bool) -> Option<u32> {
    mercato_format::column::partition_point(0..column.entries, |code| {
        Some(match bound {
            Bound::Text(text) => {
                let entry = mercato_format::text::json_string_text(column.json.get(code)?)?;
                entry.as_ref() < text.as_bytes() || (included && entry.as_ref() == text.as_bytes())
            }
            Bound::Integer(floor) => {
                let entry = column.integer(code)?;
                let beyond = !floor.exact && floor.floor == i128::MIN;
                !beyond && (entry < floor.floor || (entry == floor.floor && (included || !floor.exact)))
            }
            Bound::Float(value) => {
                u128::from(float_key(column.float(code)?)) <= float_up_to(*value, included)?
            }
        })
    })
}

/// The keys that satisfy a comparison; `None` when the file is damaged.
#[must_use]
pub fn keys_of(data: &ColumnData<'_>, operator: Operator, bounds: &[Bound]) -> Option<KeySet> {
    let Some(highest) = highest_key(data) else { return Some(KeySet::empty()) };
    let below = |bound: &Bound, included: bool| -> Option<KeySet> {
        Some(
            up_to(data, bound, included)?.map_or(KeySet::empty(), |high| KeySet::range(0, high.min(highest))),
        )
    };
    let point = |bound: &Bound| -> Option<KeySet> {
        if is_between_values(bound) {
            return Some(KeySet::empty());
        }
        Some(below(bound, true)?.intersection(&below(bound, false)?.complement(highest)))
    };
    let first = bounds.first()?;
    Some(match operator {
        Operator::Lt => below(first, false)?,
        Operator::Lte => below(first, true)?,
        Operator::Gt => below(first, true)?.complement(highest),
        Operator::Gte => below(first, false)?.complement(highest),
        Operator::Between => {
            below(bounds.get(1)?, true)?.intersection(&below(first, false)?.complement(highest))
        }
        Operator::Eq => point(first)?,
        Operator::Ne => point(first)?.complement(highest),
        Operator::In | Operator::Nin => {
            let points: Option<Vec<KeySet>> = bounds.iter().map(point).collect();
            let union = KeySet::of_ranges(points?.iter().flat_map(|set| set.ranges().to_vec()).collect());
            if operator == Operator::In { union } else { union.complement(highest) }
        }
        _ => KeySet::empty(),
    })
}

/// The keys of NaN or of finite floats; with `holds` false, the keys of all other values. `None` when the file is
/// damaged.
#[must_use]
pub fn class_keys(data: &ColumnData<'_>, operator: Operator, holds: bool) -> Option<KeySet> {
    let nan = nan_key(data).map_or(KeySet::empty(), |key| KeySet::range(key, key));
    let numbers = highest_key(data).map_or(KeySet::empty(), |highest| KeySet::range(0, highest));
    if operator == Operator::IsNan {
        return Some(if holds { nan } else { numbers });
    }
    let below_infinity = keys_of(data, Operator::Lt, &[Bound::Float(f64::INFINITY)])?;
    let above_infinity = keys_of(data, Operator::Gt, &[Bound::Float(f64::NEG_INFINITY)])?;
    let finite = below_infinity.intersection(&above_infinity);
    let highest = highest_key(data).unwrap_or(0);
    Some(if holds { finite } else { finite.complement(highest).intersection(&numbers).union(&nan) })
}

/// A literal that no stored value can equal.
fn is_between_values(bound: &Bound) -> bool {
    match bound {
        Bound::Integer(floor) => !floor.exact,
        Bound::Float(value) => value.is_infinite(),
        Bound::Text(_) => false,
    }
}

/// The keys of texts that begin with `prefix`; `None` when the file is damaged or the column has no sort index.
#[must_use]
pub fn prefix_keys(texts: &Texts<'_>, prefix: &[u8]) -> Option<KeySet> {
    let low = texts.lower_bound(prefix, false)?;
    let mut after = prefix.to_vec();
    // The successor of the prefix: its last byte below 0xFF, incremented.
    while after.last() == Some(&0xFF) {
        after.pop();
    }
    let high = match after.last_mut() {
        Some(last) => {
            *last += 1;
            texts.lower_bound(&after, false)?
        }
        None => texts.valid_ranks(),
    };
    Some(high.checked_sub(1).map_or(KeySet::empty(), |high| KeySet::range(low.into(), high.into())))
}
