//! The columns of an open file: a dictionary with codes, packed numbers, or texts, each with its order and zone map.

pub mod array;
pub(crate) mod narrow_floats;
pub mod packed_numbers;
pub(crate) mod view;

use std::ops::Range;

use crate::array::UintArray;
use crate::layout::{take, u32_at};
use crate::order::{float_key, integer_key, wide_key};
use crate::packed_numbers::{CHUNK_ROWS, PackedNumbers};
use crate::schema::ColumnKind;

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

    /// The zone map.
    #[must_use]
    pub fn zones(&self) -> Zones<'a> {
        match self {
            ColumnData::Dictionary(column) => column.zones,
            ColumnData::Numbers(column) => column.zones,
            ColumnData::Texts(column) => column.zones,
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

/// A table of texts with 32-bit offsets.
#[derive(Clone, Copy, Debug)]
pub struct TextTable<'a> {
    offsets: &'a [u8],
    padded: &'a [u8],
}

/// Readable bytes behind the texts, so that short texts are copied in one step.
pub const TEXT_PADDING: usize = 16;

/// The texts without their padding.
fn without_padding(padded: &[u8]) -> &[u8] {
    padded.get(..padded.len().saturating_sub(TEXT_PADDING)).unwrap_or_default()
}

impl<'a> TextTable<'a> {
    /// `padded` has [`TEXT_PADDING`] bytes more than the texts.
    pub(crate) fn new(offsets: &'a [u8], padded: &'a [u8]) -> TextTable<'a> {
        TextTable { offsets, padded }
    }

    /// The text of an entry; `None` beyond the end, or when the file is damaged.
    #[inline]
    #[must_use]
    pub fn get(&self, entry: u32) -> Option<&'a [u8]> {
        let (start, end) = self.span(entry)?;
        self.bytes().get(start as usize..end as usize)
    }

    /// Start and end of an entry's text in [`TextTable::bytes`], not yet bounds-checked.
    #[inline]
    #[must_use]
    pub fn span(&self, entry: u32) -> Option<(u32, u32)> {
        let pair: [u8; 8] = take(self.offsets, entry as usize * 4)?;
        let [a, b, c, d, e, f, g, h] = pair;
        Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }

    /// All texts, concatenated.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        without_padding(self.padded)
    }

    /// All texts and [`TEXT_PADDING`] bytes of padding.
    #[must_use]
    pub fn padded_bytes(&self) -> &'a [u8] {
        self.padded
    }
}

/// A column with a sorted dictionary. Code `entries` is null; its JSON text is `null`, its CSV text is empty.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    /// Code of every row.
    pub codes: UintArray<'a>,
    /// Number of distinct values; also the code of null.
    pub entries: u32,
    /// JSON text of every code.
    pub json: TextTable<'a>,
    /// CSV text of every code; `None` where it is the JSON text without quotes.
    pub csv: Option<TextTable<'a>>,
    pub(crate) values: &'a [u8],
    pub(crate) value_width: u8,
    pub(crate) kind: ColumnKind,
    pub(crate) runs: &'a [u8],
    pub(crate) order: RowOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

impl<'a> Dictionary<'a> {
    /// The first rank of a code. For `entries`, the first rank of the nulls; for `entries + 1`, the row count.
    #[inline]
    #[must_use]
    pub fn first_rank(&self, code: u32) -> Option<u32> {
        take(self.runs, code as usize * 4).map(u32::from_le_bytes)
    }

    /// The ranks of a range of codes.
    #[must_use]
    pub fn ranks(&self, codes: Range<u32>) -> Option<Range<u32>> {
        Some(self.first_rank(codes.start)?..self.first_rank(codes.end)?)
    }

    /// The entry as a 128-bit integer (integers, decimals, dates, timestamps, booleans).
    #[must_use]
    pub fn integer(&self, code: u32) -> Option<i128> {
        let at = code as usize * usize::from(self.value_width);
        match self.value_width {
            16 => take(self.values, at).map(i128::from_le_bytes),
            8 => take(self.values, at).map(|bytes| i64::from_le_bytes(bytes).into()),
            _ => None,
        }
    }

    /// The entry as a double.
    #[must_use]
    pub fn float(&self, code: u32) -> Option<f64> {
        take(self.values, code as usize * 8).map(f64::from_le_bytes)
    }

    /// Whether the entry is NaN. Only the last entry can be.
    #[must_use]
    pub fn value_is_nan(&self, code: u32) -> bool {
        self.kind == ColumnKind::Float && self.float(code).is_some_and(f64::is_nan)
    }

    /// The order key of a number entry, as a 128-bit key.
    #[must_use]
    pub fn number_key(&self, code: u32) -> Option<u128> {
        if self.kind == ColumnKind::Float {
            return self.float(code).map(|value| float_key(value).into());
        }
        let value = self.integer(code)?;
        Some(if self.value_width == 16 {
            wide_key(value)
        } else {
            integer_key(i64::try_from(value).ok()?).into()
        })
    }

    /// The rows in order.
    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order
    }
}

/// A column of packed numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// The values. A value behind a null is arbitrary.
    pub values: PackedNumbers<'a>,
    /// Bytes of a number: 8 or 16.
    pub width: u8,
    /// Number of nulls.
    pub null_count: u32,
    pub(crate) kind: ColumnKind,
    pub(crate) validity: Option<&'a [u8]>,
    pub(crate) fences: &'a [u8],
    pub(crate) order: RowOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

/// Distance of fence keys, in ranks.
pub const FENCE_RANKS: u32 = 1024;

impl<'a> Numbers<'a> {
    /// Whether the row has a value.
    #[inline]
    #[must_use]
    pub fn is_valid(&self, row: u32) -> bool {
        let Some(bits) = self.validity else { return true };
        bits.get(row as usize / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// The validity bitmap, one bit a row from the lowest; `None` when every row has a value.
    #[must_use]
    pub fn validity(&self) -> Option<&'a [u8]> {
        self.validity
    }

    /// Whether the numbers are doubles.
    #[must_use]
    pub fn is_float(&self) -> bool {
        self.kind == ColumnKind::Float
    }

    /// The order key of a row's 64-bit number, valid or not.
    #[inline]
    #[must_use]
    pub fn key(&self, row: u32) -> Option<u64> {
        self.values.get(row as usize).map(|value| self.key_of(value))
    }

    /// The order key of a stored 64-bit number.
    #[inline]
    #[must_use]
    pub fn key_of(&self, stored: i64) -> u64 {
        if self.is_float() { float_key(f64::from_bits(stored.cast_unsigned())) } else { integer_key(stored) }
    }

    /// The order key of a row's number, as a 128-bit key.
    #[must_use]
    pub fn wide_order_key(&self, row: u32) -> Option<u128> {
        if self.width == 16 {
            self.values.get_wide(row as usize).map(wide_key)
        } else {
            self.key(row).map(u128::from)
        }
    }

    /// The key at rank `number` × 1,024.
    #[must_use]
    pub fn fence(&self, number: u32) -> Option<u128> {
        let at = number as usize * usize::from(self.width);
        match self.width {
            16 => take(self.fences, at).map(u128::from_le_bytes),
            _ => take(self.fences, at).map(|bytes| u64::from_le_bytes(bytes).into()),
        }
    }

    /// Number of ranks with a value.
    #[must_use]
    pub fn valid_ranks(&self) -> u32 {
        u32::try_from(self.values.len()).unwrap_or(u32::MAX).saturating_sub(self.null_count)
    }

    /// The first rank whose (key, row) is not below `(key, row)`. Searches the fences, then the ranks between two
    /// fences. `None` without a sort index, or when the file is damaged.
    #[must_use]
    pub fn lower_bound(&self, key: u128, row: u32) -> Option<u32> {
        let ranks = self.valid_ranks();
        let fences = ranks.div_ceil(FENCE_RANKS);
        let after = partition_point(0..fences, |fence| Some(self.fence(fence)? < key))?;
        let from = after.saturating_sub(1) * FENCE_RANKS;
        partition_point(from..ranks, |rank| {
            let at = self.order.row_at(rank)?;
            Some((self.wide_order_key(at)?, at) < (key, row))
        })
    }

    /// The rows in order.
    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order
    }
}

/// A column of texts.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// Number of nulls.
    pub null_count: u32,
    /// With a sort index, the first rank of the run of each row's text. Nulls have the number of rows with a value.
    pub ranks: Option<UintArray<'a>>,
    /// Whether no text needs quotes in CSV.
    pub csv_plain: bool,
    pub(crate) rows: u32,
    pub(crate) offsets: UintArray<'a>,
    pub(crate) bases: &'a [u8],
    pub(crate) padded: &'a [u8],
    pub(crate) order: RowOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

impl<'a> Texts<'a> {
    /// The JSON text of a row: a string with its quotes, or `null`.
    #[inline]
    #[must_use]
    pub fn json(&self, row: u32) -> Option<&'a [u8]> {
        let (start, end) = self.span(row)?;
        self.bytes().get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Start and end of a row's JSON text in [`Texts::bytes`], not yet bounds-checked.
    #[inline]
    #[must_use]
    pub fn span(&self, row: u32) -> Option<(u64, u64)> {
        let row = row as usize;
        let base: u64 = take(self.bases, row / CHUNK_ROWS * 8).map(u64::from_le_bytes)?;
        let start = base.checked_add(self.offsets.get(row)?.into())?;
        let next = row + 1;
        let end = if next < self.rows as usize && !next.is_multiple_of(CHUNK_ROWS) {
            base.checked_add(self.offsets.get(next)?.into())?
        } else {
            take(self.bases, (row / CHUNK_ROWS + 1) * 8).map(u64::from_le_bytes)?
        };
        Some((start, end))
    }

    /// Appends [`Texts::span`] of `count` rows from `first` on; `None` when there are fewer or the file is damaged.
    #[must_use]
    pub fn spans(&self, first: usize, count: usize, out: &mut Vec<(usize, usize)>) -> Option<()> {
        let end = first.checked_add(count).filter(|end| *end <= self.rows as usize)?;
        let mut from = first;
        while from < end {
            let chunk = from / CHUNK_ROWS;
            let until = end.min((chunk + 1) * CHUNK_ROWS);
            let base = usize::try_from(take(self.bases, chunk * 8).map(u64::from_le_bytes)?).ok()?;
            let start_of = |row: usize| base.checked_add(self.offsets.get(row)? as usize);
            let mut start = start_of(from)?;
            for row in from + 1..until {
                let next = start_of(row)?;
                out.push((start, next));
                start = next;
            }
            let (_, last_end) = self.span(u32::try_from(until - 1).ok()?)?;
            out.push((start, usize::try_from(last_end).ok()?));
            from = until;
        }
        Some(())
    }

    /// All texts, concatenated.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        without_padding(self.padded)
    }

    /// All texts and [`TEXT_PADDING`] bytes of padding.
    #[must_use]
    pub fn padded_bytes(&self) -> &'a [u8] {
        self.padded
    }

    /// Number of ranks with a value.
    #[must_use]
    pub fn valid_ranks(&self) -> u32 {
        self.rows.saturating_sub(self.null_count)
    }

    /// The first rank whose text is not before `text` (`or_equal`: is after it). `None` without a sort index, or when
    /// the file is damaged.
    #[must_use]
    pub fn lower_bound(&self, text: &[u8], or_equal: bool) -> Option<u32> {
        partition_point(0..self.valid_ranks(), |rank| {
            let json = self.json(self.order.row_at(rank)?)?;
            let found = crate::text::json_string_text(json)?;
            Some(found.as_ref() < text || (or_equal && found.as_ref() == text))
        })
    }

    /// The rows in order.
    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order
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

/// Rows of a zone.
pub const ZONE_ROWS: usize = 8192;
/// Bytes of a zone record: smallest key (16), largest key (16), nulls (4), NaNs (4).
pub const ZONE_RECORD_SIZE: usize = 40;

/// The zone map entry of 8,192 rows. Keys are codes, ranks or order keys, depending on the storage of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Smallest key of a value that is not NaN; above `largest` when there is none.
    pub smallest: u128,
    /// Largest such key.
    pub largest: u128,
    /// Number of nulls.
    pub null_count: u32,
    /// Rows with NaN.
    pub nan_count: u32,
}

impl Zone {
    pub(crate) const EMPTY: Zone = Zone { smallest: u128::MAX, largest: 0, null_count: 0, nan_count: 0 };

    pub(crate) fn include(&mut self, key: u128) {
        self.smallest = self.smallest.min(key);
        self.largest = self.largest.max(key);
    }

    pub(crate) fn encode(&self) -> [u8; ZONE_RECORD_SIZE] {
        let mut out = [0u8; ZONE_RECORD_SIZE];
        crate::layout::put(&mut out, 0, &self.smallest.to_le_bytes());
        crate::layout::put(&mut out, 16, &self.largest.to_le_bytes());
        crate::layout::put(&mut out, 32, &self.null_count.to_le_bytes());
        crate::layout::put(&mut out, 36, &self.nan_count.to_le_bytes());
        out
    }
}

/// The zone map of a column.
#[derive(Clone, Copy, Debug)]
pub struct Zones<'a> {
    bytes: &'a [u8],
}

impl<'a> Zones<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Zones<'a> {
        Zones { bytes }
    }

    /// Zone number `index`; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Zone> {
        let record = self.bytes.get(index * ZONE_RECORD_SIZE..(index + 1) * ZONE_RECORD_SIZE)?;
        Some(Zone {
            smallest: u128::from_le_bytes(take(record, 0)?),
            largest: u128::from_le_bytes(take(record, 16)?),
            null_count: u32_at(record, 32),
            nan_count: u32_at(record, 36),
        })
    }
}
