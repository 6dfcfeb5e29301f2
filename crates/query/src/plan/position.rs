//! Positions in a sort order, from rows and cursors.

use mercato_format::{ColumnData, Table};

use crate::plan::bounds::{Bound, bound_of, keys_of};
use crate::plan::predicate::{highest_key, nan_key};
use crate::request::cursor::{Cursor, invalid};
use crate::request::filter::{Operator, Scalar};
use crate::request::validation_error::ValidationError;

/// The position of a row in the order of the sort column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) row: u32,
    /// The place of its value.
    pub(crate) place: Place<KeyPlace>,
}

/// A place in a sort order. NaN and nulls follow the values in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<K> {
    /// Among the values.
    Value(K),
    /// After all other values.
    Nan,
    /// After everything.
    Null,
}

impl Place<u128> {
    /// The place of a key. `nan` is the key of NaN in its column, where there is one.
    #[inline]
    pub(crate) fn of_key(key: Option<u128>, nan: Option<u128>) -> Place<u128> {
        match key {
            None => Place::Null,
            Some(_) if key == nan => Place::Nan,
            Some(key) => Place::Value(key),
        }
    }
}

/// A value's place among the keys of a column; no row needs to have the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyPlace {
    /// Keys below this are smaller than the value.
    pub(crate) smaller_before: u128,
    /// Keys from this on are larger; one above all keys where there is none.
    pub(crate) larger_from: Option<u128>,
}

impl KeyPlace {
    pub(crate) fn of_key(key: u128) -> KeyPlace {
        KeyPlace { smaller_before: key, larger_from: key.checked_add(1) }
    }

    /// How a key compares with the value.
    #[inline]
    pub(crate) fn compare(&self, key: u128) -> std::cmp::Ordering {
        if key < self.smaller_before {
            std::cmp::Ordering::Less
        } else if self.larger_from.is_some_and(|from| key >= from) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    }
}

impl Position {
    /// The position of a row; `None` when the file is damaged.
    pub(crate) fn of_row(data: &ColumnData<'_>, row: u32) -> Option<Position> {
        let place = match Place::of_key(row_key(data, row)?, nan_key(data)) {
            Place::Value(key) => Place::Value(KeyPlace::of_key(key)),
            Place::Nan => Place::Nan,
            Place::Null => Place::Null,
        };
        Some(Position { row, place })
    }

    /// The position of a cursor. Cursors of this service name a row; cursors with a bare row number also contain the
    /// value.
    pub(crate) fn of_cursor(
        table: &Table,
        column: usize,
        cursor: &Cursor,
    ) -> Result<Position, ValidationError> {
        let damaged = || invalid("the store file is damaged");
        let data = table.column(column).map_err(|_| damaged())?;
        if cursor.binding().is_some() {
            return Position::of_row(&data, cursor.row).ok_or_else(damaged);
        }
        let Some(meta) = table.columns().get(column) else { return Err(damaged()) };
        let place = match &cursor.value {
            Scalar::Null => Place::Null,
            Scalar::Text(text) if text == "NaN" && meta.nan_count > 0 => Place::Nan,
            value => {
                let value = infinite(value);
                let bound = bound_of(meta, value.as_ref().unwrap_or(&cursor.value), "/cursor");
                let bound = bound.map_err(|error| invalid(error.message))?;
                Place::Value(place_of(&data, bound).ok_or_else(damaged)?)
            }
        };
        Ok(Position { row: cursor.row, place })
    }
}

/// Infinities are texts in cursors, because JSON has no number for them.
fn infinite(value: &Scalar) -> Option<Scalar> {
    match value {
        Scalar::Text(text) if text == "Infinity" => Some(Scalar::Number("1e999".into())),
        Scalar::Text(text) if text == "-Infinity" => Some(Scalar::Number("-1e999".into())),
        _ => None,
    }
}

fn place_of(data: &ColumnData<'_>, bound: Bound) -> Option<KeyPlace> {
    let infinite = if let Bound::Float(value) = bound { value.is_infinite().then_some(value) } else { None };
    let bounds = [bound];
    let end = |operator| -> Option<u128> {
        Some(keys_of(data, operator, &bounds)?.ranges().last().map_or(0, |(_, high)| high + 1))
    };
    let (below, up_to) = (end(Operator::Lt)?, end(Operator::Lte)?);
    Some(match infinite {
        // `< Infinity` includes all finite values, and the next key is infinity itself.
        Some(value) if value > 0.0 => {
            KeyPlace { smaller_before: below, larger_from: highest_key(data)?.checked_add(1) }
        }
        Some(_) => KeyPlace { smaller_before: 0, larger_from: Some(up_to) },
        None => KeyPlace { smaller_before: below, larger_from: Some(up_to) },
    })
}

/// The key of a row. The inner `None` means null, the outer one a damaged file. Never called for a text column without
/// sort index, which has no keys.
#[expect(clippy::option_option, reason = "damage and absence of a value are different things")]
#[inline]
pub(crate) fn row_key(data: &ColumnData<'_>, row: u32) -> Option<Option<u128>> {
    match data {
        ColumnData::Dictionary(column) => {
            let code = column.codes.get(row as usize)?;
            Some((code < column.entries).then_some(code.into()))
        }
        ColumnData::Texts(column) => {
            let rank = column.ranks?.get(row as usize)?;
            Some((rank < column.valid_ranks()).then_some(rank.into()))
        }
        ColumnData::Numbers(column) => {
            let key = column.wide_order_key(row)?;
            Some(column.is_valid(row).then_some(key))
        }
    }
}
