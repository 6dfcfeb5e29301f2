//! Text columns: packed texts, offsets by chunk, and ranks of the sort order.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::array::UintArray;
use crate::checksum::{checksum, section_checksum};
use crate::column::{RowOrder, Zones, partition_point};
use crate::fsst::{ESCAPE, Symbols};
use crate::layout::take;
use crate::packed_numbers::CHUNK_ROWS;
use crate::text::json_string_text;

/// Where rows of a batch lie, start and end.
type Spans = Vec<(usize, usize)>;

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
    pub(crate) bytes: &'a [u8],
    pub(crate) symbols: SymbolsSection<'a>,
    pub(crate) order: RowOrder<'a>,
    pub(crate) zones: Zones<'a>,
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
        TextReader { texts: *self, json: Vec::new() }
    }

    /// The JSON text of a row: a string with its quotes, or `null`.
    #[must_use]
    pub fn json(&self, row: u32) -> Option<Vec<u8>> {
        let mut reader = self.reader();
        reader.json(row)?;
        Some(reader.json)
    }

    /// Replaces `json` by the JSON texts of rows, one behind the other, and `spans` by their places in it.
    #[must_use]
    pub fn unpack_rows(&self, rows: &[u32], json: &mut Vec<u8>, spans: &mut Spans) -> Option<()> {
        json.clear();
        spans.clear();
        let symbols = self.symbols.get()?;
        for row in rows {
            spans.push(self.span(*row)?);
        }
        self.fetch(spans);
        for span in spans {
            let start = json.len();
            push_json(symbols, self.bytes.get(span.0..span.1)?, json)?;
            *span = (start, json.len());
        }
        Some(())
    }

    /// Touches the first byte of each text, so that the cache misses of distant ones overlap.
    pub(crate) fn fetch(&self, spans: &[(usize, usize)]) {
        let touched =
            spans.iter().fold(0u8, |sum, (start, _)| sum ^ self.bytes.get(*start).copied().unwrap_or(0));
        std::hint::black_box(touched);
    }

    /// Start and end of a row's packed text, not yet bounds-checked.
    #[inline]
    pub(crate) fn span(&self, row: u32) -> Option<(usize, usize)> {
        let row = row as usize;
        let base: u64 = take(self.bases, row / CHUNK_ROWS * 8).map(u64::from_le_bytes)?;
        let start = base.checked_add(self.offsets.get(row)?.into())?;
        let next = row + 1;
        let end = if next < self.rows as usize && !next.is_multiple_of(CHUNK_ROWS) {
            base.checked_add(self.offsets.get(next)?.into())?
        } else {
            take(self.bases, (row / CHUNK_ROWS + 1) * 8).map(u64::from_le_bytes)?
        };
        Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
    }

    /// Bytes of all packed texts.
    #[must_use]
    pub fn packed_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Rows of the table.
    #[must_use]
    pub fn row_count(&self) -> u32 {
        self.rows
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
        let mut reader = self.reader();
        partition_point(0..self.valid_ranks(), |rank| {
            let found = reader.text(self.order.row_at(rank)?)??;
            Some(found.as_ref() < text || (or_equal && found.as_ref() == text))
        })
    }

    #[must_use]
    pub fn order(&self) -> RowOrder<'a> {
        self.order
    }
}

/// Reads texts row by row. `None` means a damaged file.
#[derive(Debug)]
pub struct TextReader<'a> {
    texts: Texts<'a>,
    json: Vec<u8>,
}

impl<'a> TextReader<'a> {
    /// The packed text of a row, which is that of its JSON text without quotes, or a lone escape for null.
    #[inline]
    fn packed(&mut self, row: u32) -> Option<&'a [u8]> {
        let (start, end) = self.texts.span(row)?;
        self.texts.bytes.get(start..end)
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
        self.json.clear();
        push_json(self.texts.symbols.get()?, packed, &mut self.json)?;
        Some(&self.json)
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

fn is_null(packed: &[u8]) -> bool {
    packed == [ESCAPE]
}

#[inline]
fn push_json(symbols: &Symbols, packed: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if is_null(packed) {
        out.extend_from_slice(b"null");
        return Some(());
    }
    out.push(b'"');
    symbols.unpack(packed, out)?;
    out.push(b'"');
    Some(())
}
