//! The pages of a column chunk, validated and measured before the Parquet library decodes them.
//!
//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY texts claim their own count, and the library allocates memory for that
//! count at once; so a page of 30 bytes could claim any amount of memory. Every data page is measured, so that a batch
//! that is too large is found before it is decoded. Does not depend on values.

pub mod batch_budget;
pub mod column_chunk;
mod decoded_size;
mod delta_binary_packed;
pub mod headers;
mod repetition_levels;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::convert::footer::chunk_offsets;
use crate::convert::pages::batch_budget::BatchBudget;
use crate::convert::pages::column_chunk::ColumnChunk;
use crate::convert::pages::decoded_size::LeafProperties;
use crate::convert::source::Source;

/// One row group of a file.
pub struct CheckedGroup<'f> {
    /// The file.
    pub source: &'f Source,
    /// The metadata of its footer.
    pub metadata: &'f ParquetMetaData,
    /// The row group.
    pub group: &'f RowGroupMetaData,
    /// The numbers of the leaves to read.
    pub leaves: Range<usize>,
    /// Whether texts are read as dictionary keys.
    pub as_keys: bool,
    /// The budget that pages count against.
    pub budget: BatchBudget,
}

impl CheckedGroup<'_> {
    /// The pages of one leaf.
    ///
    /// # Errors
    /// When the row group has no such leaf, or its codec is unknown.
    pub fn pages(&self, column: usize) -> Result<CheckedPages> {
        let chunk = self.group.columns().get(column);
        let chunk = chunk.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let range = chunk_offsets::range(chunk);
        let uncounted = chunk_offsets::uncounted_bytes(self.metadata);
        let uncounted = uncounted.min(self.source.byte_length().saturating_sub(range.end));
        let longer = chunk.compressed_size().saturating_add_unsigned(uncounted);
        let values_left = (uncounted > 0).then_some(chunk.num_values().unsigned_abs());
        let chunk = chunk.clone().into_builder().set_total_compressed_size(longer).build()?;
        let bytes = Arc::new(ColumnChunk::new(self.source, range.start..range.end + uncounted));
        let pages = SerializedPageReader::new(bytes, &chunk, self.num_rows(), None)?;
        let metadata = LeafProperties::of(chunk.column_descr(), self.as_keys);
        let leaf = column.saturating_sub(self.leaves.start);
        Ok(CheckedPages { pages, metadata, values_left, budget: self.budget.clone(), leaf })
    }
}

impl RowGroups for CheckedGroup<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group.num_rows()).unwrap_or(0)
    }

    /// The reader has a schema of these leaves only, so it counts them from 0.
    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let leaf = self.leaves.start.saturating_add(column);
        Ok(Box::new(OneChunk { pages: Some(Box::new(self.pages(leaf)?)) }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

struct OneChunk {
    pages: Option<Box<dyn PageReader>>,
}

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pages.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// The pages of one leaf in order.
pub struct CheckedPages {
    pages: SerializedPageReader<ColumnChunk>,
    metadata: LeafProperties,
    /// Remaining values, where the footer does not give the end of the pages.
    values_left: Option<u64>,
    budget: BatchBudget,
    /// Number of the leaf in its column.
    leaf: usize,
}

impl CheckedPages {
    fn is_at_end(&self) -> bool {
        self.values_left == Some(0)
    }

    fn pass(&mut self, values: u64) {
        self.values_left = self.values_left.map(|left| left.saturating_sub(values));
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if self.is_at_end() {
            return Ok(None);
        }
        let page = self.pages.get_next_page()?;
        let Some(found) = &page else { return Ok(None) };
        if found.is_data_page() {
            self.pass(found.num_values().into());
        }
        check(found, self.metadata.has_levels())
            .map_err(|message| ParquetError::General(message.to_owned()))?;
        if !self.metadata.has_expected_encoding(found) {
            let message = "a page in another encoding than the footer announces";
            return Err(ParquetError::General(message.to_owned()));
        }
        if !self.metadata.has_room_for_entries(found) {
            return Err(ParquetError::General(
                "a dictionary with more entries than its bytes hold".to_owned(),
            ));
        }
        let weight = self.metadata.measure(found);
        if weight.is_some_and(|weight| !self.budget.page(self.leaf, weight)) {
            return Err(ParquetError::General("more in one batch than its memory holds".to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.is_at_end() { Ok(None) } else { self.pages.peek_next_page() }
    }

    fn skip_next_page(&mut self) -> Result<()> {
        let rows = self.pages.peek_next_page()?.filter(|page| !page.is_dict);
        self.pass(rows.as_ref().and_then(|page| page.num_levels).unwrap_or(0) as u64);
        let rows = rows.and_then(|page| page.num_rows.or(page.num_levels));
        self.pages.skip_next_page()?;
        self.budget.skip(self.leaf, rows.unwrap_or(0) as u64);
        Ok(())
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        if self.is_at_end() { Ok(true) } else { self.pages.at_record_boundary() }
    }
}

type Checked<T> = std::result::Result<T, &'static str>;

fn check(page: &Page, has_levels: [bool; 2]) -> Checked<()> {
    let is_packed =
        |encoding| matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY);
    let most = u64::from(page.num_values());
    match page {
        Page::DataPage { buf, encoding, def_level_encoding, rep_level_encoding, .. }
            if is_packed(*encoding) =>
        {
            let levels = [(has_levels[0], *rep_level_encoding), (has_levels[1], *def_level_encoding)];
            let values = levels.into_iter().try_fold(buf.as_ref(), |rest, (present, encoding)| {
                if present { behind_levels(rest, encoding) } else { Ok(rest) }
            })?;
            check_lengths(values, *encoding, most)
        }
        Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. }
            if is_packed(*encoding) =>
        {
            check_lengths(behind_both(buf, *rep_levels_byte_len, *def_levels_byte_len)?, *encoding, most)
        }
        _ => Ok(()),
    }
}

fn behind_both(page: &Bytes, repetition: u32, definition: u32) -> Checked<&[u8]> {
    let levels = usize::try_from(u64::from(repetition) + u64::from(definition)).ok();
    levels.and_then(|levels| page.get(levels..)).ok_or("the levels of a page are longer than the page")
}

/// The bytes behind levels that begin with their length.
fn behind_levels(bytes: &[u8], encoding: Encoding) -> Checked<&[u8]> {
    if encoding != Encoding::RLE {
        return Err("levels without their length before packed texts are not supported");
    }
    let found = bytes.split_first_chunk::<4>();
    let found = found.and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
    found.ok_or("the levels of a page are longer than the page")
}

/// Checks the lengths before packed texts: one list of lengths, or one of shared prefixes and one of suffixes.
fn check_lengths(values: &[u8], encoding: Encoding, most: u64) -> Checked<()> {
    let rest = delta_binary_packed::visit(values, most, drop)?;
    if encoding == Encoding::DELTA_BYTE_ARRAY {
        delta_binary_packed::visit(rest, most, drop)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_too_many_lengths_in_both_page_versions() {
        let claim = [0x80, 0x01, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0];
        let encoding = Encoding::DELTA_LENGTH_BYTE_ARRAY;
        let page = Page::DataPage {
            buf: [[2, 0, 0, 0, 7, 7].as_slice(), &claim].concat().into(),
            num_values: 9,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        assert_eq!(check(&page, [false, true]), Err("a page has more lengths than values"));
        let page = Page::DataPageV2 {
            buf: [[7, 7].as_slice(), &claim].concat().into(),
            num_values: 9,
            encoding,
            num_nulls: 0,
            num_rows: 9,
            def_levels_byte_len: 2,
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        };
        assert_eq!(check(&page, [false, true]), Err("a page has more lengths than values"));
    }
}
