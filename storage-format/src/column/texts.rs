//! Text columns: concatenated JSON texts, offsets by chunk, and ranks of the sort order.

use crate::array::UintArray;
use crate::column::dictionary::without_padding;
use crate::column::row_order::StoredOrder;
use crate::column::{RowOrder, Zones, partition_point};
use crate::layout::take;
use crate::packed_numbers::CHUNK_ROWS;

#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    pub null_count: u32,
    /// With a sort index, the first rank of the run of each row's text. Nulls have the number of rows with a value.
    pub ranks: Option<UintArray<'a>>,
    /// Whether no text needs quotes in CSV.
    pub csv_plain: bool,
    pub(crate) rows: u32,
    pub(crate) offsets: UintArray<'a>,
    pub(crate) bases: &'a [u8],
    pub(crate) padded: &'a [u8],
    pub(crate) order: StoredOrder<'a>,
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

    /// All texts and `TEXT_PADDING` bytes of padding.
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
        let order = self.order();
        partition_point(0..self.valid_ranks(), |rank| {
            let json = self.json(order.row_at(rank)?)?;
            let found = crate::text::json_string_text(json)?;
            Some(found.as_ref() < text || (or_equal && found.as_ref() == text))
        })
    }

    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order.of(self.rows, None)
    }
}
