//! Detects date and timestamp columns with years of more than four digits, from their extremes alone.

use mercato_format::encode::is_four_digit_year;
use mercato_format::order::integer_of;
use mercato_format::{ColumnData, ColumnKind, FormatError, Table};

const SECONDS_OF_DAY: i64 = 86_400;

/// Whether a column of dates or timestamps has a year outside 0000 to 9999. Such a year is encoded in the expanded form
/// of ISO 8601 (`+012345-01-31`), which is not RFC 3339. False for other kinds.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn has_expanded_years(table: &Table, column: usize) -> Result<bool, FormatError> {
    let units_of_day = match table.columns().get(column).map(|meta| meta.kind) {
        Some(ColumnKind::Date) => 1,
        Some(ColumnKind::Timestamp { unit }) => unit.per_second() * SECONDS_OF_DAY,
        _ => return Ok(false),
    };
    let (low, high) = extremes(&table.column(column)?).ok_or_else(|| table.damaged(column))?;
    Ok([low, high].iter().any(|value| !is_four_digit_year(value.div_euclid(units_of_day))))
}

/// The smallest and largest number of a 64-bit column, 0 and 0 without values; `None` when the file is damaged.
fn extremes(data: &ColumnData<'_>) -> Option<(i64, i64)> {
    match data {
        ColumnData::Dictionary(column) => {
            let Some(last) = column.entries.checked_sub(1) else { return Some((0, 0)) };
            Some((column.integer(0)?.try_into().ok()?, column.integer(last)?.try_into().ok()?))
        }
        ColumnData::Numbers(_) => {
            let Some((low, high)) = data.zones().extremes() else { return Some((0, 0)) };
            let value = |key: u128| Some(integer_of(u64::try_from(key).ok()?));
            value(low).zip(value(high))
        }
        ColumnData::Texts(_) => None,
    }
}
