//! The columns of an open file: a dictionary with codes, packed numbers, or texts, each with its order and zone map.

pub mod array;
pub mod bits;
mod dictionary;
pub(crate) mod entries;
pub mod lanes;
pub(crate) mod narrow_floats;
mod numbers;
pub mod packed_numbers;
pub(crate) mod row_order;
mod texts;
pub(crate) mod view;
mod zones;

use std::borrow::Cow;

use crate::text::json_string_text;

pub use dictionary::{Dictionary, TEXT_PADDING, TextTable};
pub use numbers::{FENCE_RANKS, Numbers};
pub use row_order::{PostingForms, Postings, RowOrder, Runs, partition_point};
pub(crate) use texts::put_packed_json;
pub use texts::{TextReader, Texts};
pub use zones::{ZONE_RECORD_SIZE, ZONE_ROWS, Zone, Zones};

/// The values of a column.
#[derive(Clone, Copy, Debug)]
pub enum ColumnData<'a> {
    /// Few distinct values.
    Dictionary(Dictionary<'a>),
    /// Many distinct numbers.
    Numbers(Numbers<'a>),
    /// Many distinct texts.
    Texts(Texts<'a>),
}

impl<'a> ColumnData<'a> {
    /// The rows, sorted by value.
    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        match self {
            ColumnData::Dictionary(column) => column.order(),
            ColumnData::Numbers(column) => column.order(),
            ColumnData::Texts(column) => column.order(),
        }
    }

    #[must_use]
    pub fn zones(&self) -> Zones<'a> {
        match self {
            ColumnData::Dictionary(column) => column.zones,
            ColumnData::Numbers(column) => column.zones,
            ColumnData::Texts(column) => column.zones,
        }
    }

    /// The integer of a row, of a column of integers, decimals, booleans, dates or timestamps: `Some(None)` for null,
    /// `None` when the file is damaged.
    #[must_use]
    pub fn integer(&self, row: u32) -> Option<Option<i128>> {
        match self {
            ColumnData::Dictionary(column) => {
                let code = column.codes.get(row as usize)?;
                if code == column.entries { Some(None) } else { column.integer(code).map(Some) }
            }
            ColumnData::Numbers(column) if !column.is_valid(row) => Some(None),
            ColumnData::Numbers(column) if column.width == 16 => {
                column.values.get_wide(row as usize).map(Some)
            }
            ColumnData::Numbers(column) => column.values.get(row as usize).map(|value| Some(value.into())),
            ColumnData::Texts(_) => None,
        }
    }

    /// The double of a row, of a column of floats: `Some(None)` for null, `None` when the file is damaged.
    #[must_use]
    pub fn float(&self, row: u32) -> Option<Option<f64>> {
        match self {
            ColumnData::Dictionary(column) => {
                let code = column.codes.get(row as usize)?;
                if code == column.entries { Some(None) } else { column.float(code).map(Some) }
            }
            ColumnData::Numbers(column) if !column.is_valid(row) => Some(None),
            ColumnData::Numbers(column) => {
                column.values.get(row as usize).map(|value| Some(f64::from_bits(value.cast_unsigned())))
            }
            ColumnData::Texts(_) => None,
        }
    }

    /// The text of a row, of a column of texts: `Some(None)` for null, `None` when the file is damaged.
    #[must_use]
    pub fn text(&self, row: u32) -> Option<Option<Cow<'a, [u8]>>> {
        match self {
            ColumnData::Dictionary(column) => {
                let code = column.codes.get(row as usize)?;
                if code == column.entries {
                    return Some(None);
                }
                json_string_text(column.json.get(code)?).map(Some)
            }
            ColumnData::Texts(column) => {
                let text = column.reader().text(row)?.map(Cow::into_owned);
                Some(text.map(Cow::Owned))
            }
            ColumnData::Numbers(_) => None,
        }
    }
}
