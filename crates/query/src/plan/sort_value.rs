//! The value of a row as a literal, for cursors.

use mercato_format::encode::{push_date, push_decimal, push_timestamp};
use mercato_format::text::json_string_text;
use mercato_format::{ColumnData, ColumnKind, FloatWidth, FormatError, Table};

use crate::request::cursor::SORT_VALUE_BYTES_MAX;
use crate::request::filter::Scalar;

/// The value of a row in a column.
///
/// # Errors
/// [`FormatError::Corrupt`] when it points outside its section.
pub(crate) fn sort_value(table: &Table, column: usize, row: u32) -> Result<Scalar, FormatError> {
    let damaged = || table.damaged(column);
    let meta = table.columns().get(column).ok_or_else(damaged)?;
    let (kind, width) = (meta.kind, meta.float_width());
    let scalar = match table.column(column)? {
        ColumnData::Texts(texts) => texts.json(row).map(|json| text_scalar(&json)),
        ColumnData::Dictionary(dictionary) => dictionary.codes.get(row as usize).and_then(|code| {
            if code == dictionary.entries {
                return Some(Scalar::Null);
            }
            match kind {
                ColumnKind::Text => dictionary.json.get(code).map(text_scalar),
                ColumnKind::Float => dictionary.float(code).map(|value| float_scalar(width, value)),
                _ => dictionary.integer(code).map(|value| integer_scalar(kind, value)),
            }
        }),
        ColumnData::Numbers(numbers) if !numbers.is_valid(row) => Some(Scalar::Null),
        ColumnData::Numbers(numbers) if numbers.is_float() => numbers
            .values
            .get(row as usize)
            .map(|stored| float_scalar(width, f64::from_bits(stored.cast_unsigned()))),
        ColumnData::Numbers(numbers) if numbers.width == 16 => {
            numbers.values.get_wide(row as usize).map(|value| integer_scalar(kind, value))
        }
        ColumnData::Numbers(numbers) => {
            numbers.values.get(row as usize).map(|value| integer_scalar(kind, value.into()))
        }
    };
    scalar.ok_or_else(damaged)
}

/// Truncates a long text: the row number alone gives the position.
fn text_scalar(json: &[u8]) -> Scalar {
    let Some(text) = json_string_text(json) else { return Scalar::Null };
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if text.len() > SORT_VALUE_BYTES_MAX {
        let cut = (0..=SORT_VALUE_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
    }
    while serde_json::to_string(&text).is_ok_and(|json| json.len() > SORT_VALUE_BYTES_MAX + 2) {
        let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(half);
    }
    Scalar::Text(text)
}

fn float_scalar(width: FloatWidth, value: f64) -> Scalar {
    let mut out = Vec::new();
    width.push_csv(&mut out, value);
    let text = String::from_utf8_lossy(&out).into_owned();
    if value.is_finite() { Scalar::Number(text) } else { Scalar::Text(text) }
}

fn integer_scalar(kind: ColumnKind, value: i128) -> Scalar {
    let mut out = Vec::new();
    let narrow = i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
    match kind {
        ColumnKind::Boolean => return Scalar::Bool(value != 0),
        ColumnKind::Decimal { scale, .. } => push_decimal(&mut out, value, scale),
        ColumnKind::Date => push_date(&mut out, narrow),
        ColumnKind::Timestamp { unit } => push_timestamp(&mut out, narrow, unit),
        _ => return Scalar::Number(value.to_string()),
    }
    let text = String::from_utf8_lossy(&out).into_owned();
    if matches!(kind, ColumnKind::Decimal { .. }) { Scalar::Number(text) } else { Scalar::Text(text) }
}
