//! Text columns: their texts lie in the row blocks; here are the ranks of the sort order, and reading by row.

use std::borrow::Cow;

use crate::array::UintArray;
use crate::blocks::{BlockColumn, BlockTexts, Group};
use crate::column::row_order::StoredOrder;
use crate::column::{RowOrder, TEXT_PADDING, Zones, partition_point};
use crate::fsst::{ESCAPE, Symbols, make_room};
use crate::reader::Table;
use crate::text::json_string_text;

#[derive(Clone, Copy)]
pub struct Texts<'a> {
    pub null_count: u32,
    /// With a sort index, the first rank of the run of each row's text. Nulls have the number of rows with a value.
    pub ranks: Option<UintArray<'a>>,
    /// Whether no text needs quotes in CSV.
    pub csv_plain: bool,
    pub(crate) rows: u32,
    pub(crate) table: &'a Table,
    pub(crate) group: &'a Group,
    pub(crate) number: usize,
    pub(crate) order: StoredOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Texts(column {}, {} rows)", self.number, self.rows)
    }
}

impl<'a> Texts<'a> {
    /// Reads texts row by row.
    #[must_use]
    pub fn reader(&self) -> TextReader<'a> {
        let layout = self.table.block_layout(self.group).ok();
        let at = self.number.checked_sub(self.group.columns.start);
        let column = layout.zip(at).and_then(|(layout, at)| layout.columns.get(at)).copied();
        let symbols = self.table.symbols_of(self.number).ok();
        TextReader { texts: *self, column, symbols, block: None, json: Vec::new() }
    }

    /// The JSON text of a row: a string with its quotes, or `null`.
    #[must_use]
    pub fn json(&self, row: u32) -> Option<Vec<u8>> {
        self.reader().json(row).map(<[u8]>::to_vec)
    }

    /// Touches the blocks of distant rows, so that their cache misses overlap.
    pub(crate) fn fetch(&self, rows: &[u32]) {
        self.group.fetch(self.table, rows);
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
        let (mut reader, order) = (self.reader(), self.order());
        partition_point(0..self.valid_ranks(), |rank| {
            let found = reader.text(order.row_at(rank)?)??;
            Some(found.as_ref() < text || (or_equal && found.as_ref() == text))
        })
    }

    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order.of(self.rows, None)
    }
}

/// Reads texts row by row, and finds those of one block together. `None` means a damaged file. Checksums are not
/// compared.
#[derive(Debug)]
pub struct TextReader<'a> {
    texts: Texts<'a>,
    column: Option<BlockColumn>,
    symbols: Option<&'a Symbols>,
    /// The block that was read last: its number and the texts of the column.
    block: Option<(u32, BlockTexts<'a>)>,
    json: Vec<u8>,
}

impl<'a> TextReader<'a> {
    /// The packed text of a row.
    #[inline]
    pub(crate) fn packed(&mut self, row: u32) -> Option<&'a [u8]> {
        let Texts { table, group, rows, .. } = self.texts;
        let number = (row < rows).then(|| group.block_of(row))?;
        if self.block.is_none_or(|(found, _)| found != number) {
            let texts = table.block(group, number)?.texts(self.column.as_ref()?, group.block_rows)?;
            self.block = Some((number, texts));
        }
        let (_, texts) = self.block.as_mut()?;
        texts.get((row & (group.block_rows - 1)) as usize)
    }

    /// Whether a row has no text.
    #[must_use]
    pub fn is_null(&mut self, row: u32) -> Option<bool> {
        self.packed(row).map(is_null)
    }

    /// The JSON text of a row: a string with its quotes, or `null`.
    #[inline]
    #[must_use]
    pub fn json(&mut self, row: u32) -> Option<&[u8]> {
        let packed = self.packed(row)?;
        let end = put_packed_json(self.symbols?, packed, &mut self.json, 0)?;
        self.json.get(..end)
    }

    /// Bytes of the JSON text of a row.
    #[must_use]
    pub fn json_len(&mut self, row: u32) -> Option<usize> {
        let packed = self.packed(row)?;
        if is_null(packed) { Some(4) } else { Some(self.symbols?.unpacked_len(packed)? + 2) }
    }

    /// The text of a row: `Some(None)` for null.
    #[must_use]
    pub fn text(&mut self, row: u32) -> Option<Option<Cow<'_, [u8]>>> {
        let json = self.json(row)?;
        if json == b"null" { Some(None) } else { json_string_text(json).map(Some) }
    }
}

/// Whether a packed text stands for null: a lone escape.
fn is_null(packed: &[u8]) -> bool {
    packed == [ESCAPE]
}

/// Writes the JSON text of a packed one at a position of a buffer, which is not cleared, and returns the position behind
/// it. [`TEXT_PADDING`] bytes follow.
#[inline]
pub(crate) fn put_packed_json(
    symbols: &Symbols,
    packed: &[u8],
    out: &mut Vec<u8>,
    at: usize,
) -> Option<usize> {
    if is_null(packed) {
        make_room(out, at + 4 + TEXT_PADDING);
        *out.get_mut(at..)?.first_chunk_mut()? = *b"null";
        return Some(at + 4);
    }
    make_room(out, at + 2 + TEXT_PADDING);
    *out.get_mut(at)? = b'"';
    let end = symbols.unpack(packed, out, at + 1)?;
    make_room(out, end + 1 + TEXT_PADDING);
    *out.get_mut(end)? = b'"';
    Some(end + 1)
}
