//! The extremes of a column in a file without statistics, from the dictionary, the sort order or the zone map.

use super::frequent::stored_of;
use super::{ColumnStatistics, NumberSummary, Stored, float_of, stored_float};
use crate::column::{ColumnData, Dictionary, Numbers};
use crate::error::FormatError;
use crate::reader::Table;
use crate::schema::ColumnKind;

impl ColumnStatistics {
    /// The extremes of a column, without other statistics. Costs at most one read for each 8,192 rows.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when a value points outside its section.
    pub fn extremes_of(table: &Table, column: usize) -> Result<ColumnStatistics, FormatError> {
        let kind = table.columns().get(column).map_or(ColumnKind::Text, |meta| meta.kind);
        let mut known = ColumnStatistics::default();
        match table.column(column)? {
            ColumnData::Dictionary(data) if kind == ColumnKind::Text => {
                known.texts = data.entries.checked_sub(1).map(|last| (0, last));
            }
            ColumnData::Dictionary(data) => known.numbers = of_dictionary(&data, kind).map(summary),
            ColumnData::Numbers(data) => known.numbers = of_zones(&data).map(summary),
            ColumnData::Texts(data) => {
                known.texts = super::collect::sorted_extremes(&data).ok_or_else(|| table.damaged(column))?;
            }
        }
        Ok(known)
    }
}

fn summary((smallest, largest): (Stored, Stored)) -> NumberSummary {
    NumberSummary { smallest, largest, ..NumberSummary::EMPTY }
}

/// Finite entries are contiguous, after −∞ and before +∞ and NaN.
fn of_dictionary(data: &Dictionary<'_>, kind: ColumnKind) -> Option<(Stored, Stored)> {
    let finite = |code: &u32| kind != ColumnKind::Float || data.float(*code).is_some_and(f64::is_finite);
    let (first, last) = ((0..data.entries).find(finite)?, (0..data.entries).rev().find(finite)?);
    let number = |code: u32| {
        if kind == ColumnKind::Float { data.float(code).map(stored_float) } else { data.integer(code) }
    };
    Some((number(first)?, number(last)?))
}

/// The extremes of the zones; `None` when an infinity hides the largest or smallest number.
fn of_zones(data: &Numbers<'_>) -> Option<(Stored, Stored)> {
    let (smallest, largest) = data.zones.extremes()?;
    let pair = (stored_of(data, smallest)?, stored_of(data, largest)?);
    (!data.is_float() || float_of(pair.0) <= float_of(pair.1)).then_some(pair)
}
