//! Dictionary columns: sorted entries, codes of rows, and the text tables of the entries.

use std::ops::Range;

use crate::array::UintArray;
use crate::column::row_order::StoredOrder;
use crate::column::{RowOrder, Runs, Zones};
use crate::layout::take;
use crate::order::{float_key, integer_key, wide_key};
use crate::schema::ColumnKind;

/// A table of texts with 32-bit offsets.
#[derive(Clone, Copy, Debug)]
pub struct TextTable<'a> {
    offsets: &'a [u8],
    padded: &'a [u8],
}

/// Readable bytes behind the texts, so that short texts are copied in one step.
pub const TEXT_PADDING: usize = 16;

/// The texts without their padding.
pub(super) fn without_padding(padded: &[u8]) -> &[u8] {
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
    pub(crate) runs: Runs<'a>,
    pub(crate) order: StoredOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

impl<'a> Dictionary<'a> {
    /// The first rank of a code. For `entries`, the first rank of the nulls; for `entries + 1`, the row count.
    #[inline]
    #[must_use]
    pub fn first_rank(&self, code: u32) -> Option<u32> {
        self.runs.first_rank(code)
    }

    /// The ranks of a range of codes.
    #[must_use]
    pub fn ranks(&self, codes: Range<u32>) -> Option<Range<u32>> {
        Some(self.first_rank(codes.start)?..self.first_rank(codes.end)?)
    }

    /// The code of the row at a rank. Without lists, a row and its code are closer at hand than the runs.
    #[must_use]
    pub fn code_at(&self, rank: u32) -> Option<u32> {
        match self.order() {
            RowOrder::Unknown | RowOrder::Postings(_) => self.runs.code_at(rank),
            order => self.codes.get(order.row_at(rank)? as usize),
        }
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

    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        let rows = u32::try_from(self.codes.len()).unwrap_or(u32::MAX);
        self.order.of(rows, Some((self.codes, self.runs)))
    }
}
