//! Text columns: their texts lie in the row blocks; here are the ranks of the sort order, and reading by row.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::array::UintArray;
use crate::blocks::{BLOCK_ROWS_MAX, Block, BlockColumn, Group};
use crate::checksum::{checksum, section_checksum};
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
    pub(crate) symbols: SymbolsSection<'a>,
    pub(crate) order: StoredOrder<'a>,
    pub(crate) zones: Zones<'a>,
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Texts(column {}, {} rows)", self.number, self.rows)
    }
}

/// Symbols that are decoded, and compared with their checksum, at the first access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolsSection<'a> {
    pub(crate) decoded: &'a OnceLock<Option<Box<Symbols>>>,
    pub(crate) bytes: &'a [u8],
    pub(crate) checksum: u64,
}

impl<'a> SymbolsSection<'a> {
    /// The symbols; `None` when the file is damaged.
    #[inline]
    pub(crate) fn get(&self) -> Option<&'a Symbols> {
        let decode = || {
            let sound = section_checksum(&[checksum(self.bytes)]) == self.checksum;
            Symbols::decode(self.bytes).filter(|_| sound).map(Box::new)
        };
        self.decoded.get_or_init(decode).as_deref()
    }
}

impl<'a> Texts<'a> {
    /// Reads texts row by row.
    #[must_use]
    pub fn reader(&self) -> TextReader<'a> {
        let layout = self.table.block_layout(self.group);
        let at = self.number.checked_sub(self.group.columns.start);
        let column = layout.zip(at).and_then(|(layout, at)| layout.columns.get(at)).copied();
        let places = [0; TextReader::PLACES];
        TextReader { texts: *self, column, number: None, block: &[], places, json: Vec::new() }
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
    /// The block that was read last.
    number: Option<u32>,
    block: &'a [u8],
    places: [usize; TextReader::PLACES],
    json: Vec<u8>,
}

impl<'a> TextReader<'a> {
    /// Places of the packed texts of a block: the start of each, then the end.
    pub(crate) const PLACES: usize = BLOCK_ROWS_MAX as usize + 1;

    /// The packed text of a row.
    #[inline]
    pub(crate) fn packed(&mut self, row: u32) -> Option<&'a [u8]> {
        let block_rows = self.texts.group.block_rows;
        let number = (row < self.texts.rows).then(|| self.texts.group.block_of(row))?;
        if self.number != Some(number) {
            self.go_to(number)?;
        }
        let pair = self.places.get((row & (block_rows - 1)) as usize..)?.first_chunk::<2>()?;
        let [from, to] = *pair;
        self.block.get(from..to)
    }

    fn go_to(&mut self, number: u32) -> Option<()> {
        self.number = None;
        let Texts { table, group, .. } = self.texts;
        let block: Block<'a> = table.block(group, number)?;
        let part = block.texts(self.column.as_ref()?, group.block_rows)?;
        part.places(group.block_rows as usize, &mut self.places)?;
        (self.number, self.block) = (Some(number), block.bytes());
        Some(())
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
        let end = put_packed_json(self.texts.symbols.get()?, packed, &mut self.json, 0)?;
        self.json.get(..end)
    }

    /// Bytes of the JSON text of a row.
    #[must_use]
    pub fn json_len(&mut self, row: u32) -> Option<usize> {
        let packed = self.packed(row)?;
        if is_null(packed) { Some(4) } else { Some(self.texts.symbols.get()?.unpacked_len(packed)? + 2) }
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
