//! The pages of a column chunk, measured before the Parquet library decodes them, so that a batch that would be too large
//! is found before it is decoded. Does not depend on values.

pub mod batch_budget;
mod decoded_size;
mod delta_binary_packed;
pub mod headers;
mod repetition_levels;

use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::convert::chunk_offsets;
use crate::convert::pages::batch_budget::BatchBudget;
use crate::convert::pages::decoded_size::LeafProperties;
use crate::convert::source::Source;

pub struct GroupPages<'f> {
    pub source: &'f Source,
    pub metadata: &'f ParquetMetaData,
    pub group: &'f RowGroupMetaData,
    /// The numbers of the leaves to read.
    pub leaves: Range<usize>,
    /// Whether texts are read as dictionary keys.
    pub as_keys: bool,
    pub budget: BatchBudget,
}

impl GroupPages<'_> {
    pub fn pages(&self, column: usize) -> Result<MeasuredPages> {
        let chunk = self.group.columns().get(column);
        let chunk = chunk.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let range = chunk_offsets::range(chunk);
        let uncounted = chunk_offsets::uncounted_bytes(self.metadata);
        let uncounted = uncounted.min(self.source.byte_length().saturating_sub(range.end));
        let longer = chunk.compressed_size().saturating_add_unsigned(uncounted);
        let values_left = (uncounted > 0).then_some(chunk.num_values().unsigned_abs());
        let chunk = chunk.clone().into_builder().set_total_compressed_size(longer).build()?;
        let pages = SerializedPageReader::new(Arc::new(self.source.clone()), &chunk, self.num_rows(), None)?;
        let metadata = LeafProperties::of(chunk.column_descr(), self.as_keys);
        let leaf = column.saturating_sub(self.leaves.start);
        Ok(MeasuredPages { pages, metadata, values_left, budget: self.budget.clone(), leaf })
    }
}

impl RowGroups for GroupPages<'_> {
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
pub struct MeasuredPages {
    pages: SerializedPageReader<Source>,
    metadata: LeafProperties,
    /// Remaining values, where the footer does not give the end of the pages.
    values_left: Option<u64>,
    budget: BatchBudget,
    /// Number of the leaf in its column.
    leaf: usize,
}

impl MeasuredPages {
    fn is_at_end(&self) -> bool {
        self.values_left == Some(0)
    }

    fn pass(&mut self, values: u64) {
        self.values_left = self.values_left.map(|left| left.saturating_sub(values));
    }
}

impl Iterator for MeasuredPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for MeasuredPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if self.is_at_end() {
            return Ok(None);
        }
        let page = self.pages.get_next_page()?;
        let Some(found) = &page else { return Ok(None) };
        if found.is_data_page() {
            self.pass(found.num_values().into());
        }
        let weight = self.metadata.measure(found)?;
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
