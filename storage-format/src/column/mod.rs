//! The columns of an open file: a dictionary with codes, packed numbers, or texts, each with its order and zone map.

pub mod array;
mod dictionary;
pub(crate) mod narrow_floats;
mod numbers;
pub mod packed_numbers;
mod texts;
pub(crate) mod view;
mod zones;

use std::borrow::Cow;
use std::ops::Range;

use crate::array::UintArray;
use crate::text::json_string_text;

pub use dictionary::{Dictionary, TEXT_PADDING, TextTable};
pub use numbers::{FENCE_RANKS, Numbers};
pub(crate) use texts::push_packed_json;
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
            ColumnData::Dictionary(column) => column.order,
            ColumnData::Numbers(column) => column.order,
            ColumnData::Texts(column) => column.order,
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

/// The sort order of a column: ascending values, equal values by row, nulls last.
#[derive(Clone, Copy, Debug)]
pub enum RowOrder<'a> {
    /// The column has no sort index.
    Unknown,
    /// The rows are sorted in file order.
    FileOrder {
        /// Rows of the table.
        rows: u32,
    },
    /// Rank to row.
    Permutation(UintArray<'a>),
}

impl RowOrder<'_> {
    /// Whether the order is available.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, RowOrder::Unknown)
    }

    /// The row at a rank; `None` beyond the end, or when the file is damaged.
    #[inline]
    #[must_use]
    pub fn row_at(&self, rank: u32) -> Option<u32> {
        match self {
            RowOrder::Unknown => None,
            RowOrder::FileOrder { rows } => (rank < *rows).then_some(rank),
            RowOrder::Permutation(ranks) => ranks.get(rank as usize),
        }
    }

    /// Appends the rows at `ranks`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_rows(&self, ranks: Range<u32>, out: &mut Vec<u32>) -> bool {
        let count = ranks.end.saturating_sub(ranks.start) as usize;
        match self {
            RowOrder::Unknown => false,
            RowOrder::FileOrder { rows } => {
                let inside = ranks.end <= *rows;
                if inside {
                    out.extend(ranks);
                }
                inside
            }
            RowOrder::Permutation(array) => array.copy_range(ranks.start as usize, count, out),
        }
    }
}

/// The first number of the range for which `before` is false; `None` when `before` fails.
pub fn partition_point(range: Range<u32>, mut before: impl FnMut(u32) -> Option<bool>) -> Option<u32> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
