//! Reads one column of a Parquet file, batch by batch over all row groups, and nothing else of the file. Knows
//! no column builder.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{Encoding, PageType, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::columns::OutputColumn;
use super::limits::{BATCH_ROWS, BATCH_TEXT_BYTES};
use super::pages::CheckedGroup;
use super::plan::{DAMAGED, Plan, Refusal};
use crate::failure::Failure;

/// Rows of one column.
pub struct Batch {
    /// The values, out of the structs above them.
    pub array: ArrayRef,
    /// Nulls of the values and of every struct above them.
    pub nulls: Option<NullBuffer>,
    /// Row of the file at which the batch begins.
    pub first_row: u64,
}

/// Calls `visit` with the batches of a column in order.
///
/// # Errors
/// A refusal that names column and row group, or the visitor's.
pub fn read_column(
    plan: &Plan,
    column: &OutputColumn,
    mut visit: impl FnMut(&Batch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let refuse = Refusal { file: plan.source.path().display().to_string() };
    let mut first_row = 0;
    for (index, group) in plan.metadata().row_groups().iter().enumerate() {
        let section = format!("column `{}`, row group {index}", column.spec.name);
        let end = first_row + group.num_rows().unsigned_abs();
        let mut reader = refuse.decode(&section, || open_group(plan, column, group))?;
        while let Some(batch) = refuse.decode(&section, || reader.next().transpose().map_err(Into::into))? {
            let found = batch.columns().first().and_then(|array| unwrap_structs(array, column.struct_depth));
            let Some((array, nulls)) = found else {
                return Err(refuse.because(&section, "values".into(), "none".into(), DAMAGED));
            };
            let batch = Batch { array, nulls, first_row };
            first_row += batch.array.len() as u64;
            if first_row > end {
                break;
            }
            visit(&batch)?;
        }
        if first_row != end {
            let found =
                if first_row > end { "more".to_owned() } else { format!("{} fewer", end - first_row) };
            return Err(refuse.because(&section, format!("{} rows", group.num_rows()), found, DAMAGED));
        }
    }
    Ok(())
}

fn open_group(
    plan: &Plan,
    column: &OutputColumn,
    group: &RowGroupMetaData,
) -> parquet::errors::Result<ParquetRecordBatchReader> {
    let shape = shape(plan, column, group)?;
    let reading = plan.reading(shape.dictionary);
    let metadata = reading.metadata();
    let description = metadata.file_metadata().schema_descr();
    let mask = ProjectionMask::leaves(description, column.leaves());
    let levels = parquet_to_arrow_field_levels(description, mask, Some(reading.schema().fields()))?;
    let group = CheckedGroup { source: &plan.source, metadata, group };
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &group, shape.rows, None)
}

/// How a row group of a column is read.
struct Shape {
    dictionary: bool,
    rows: usize,
}

/// Texts that all go through a dictionary are read as its keys. Where some do and others do not, the reader
/// writes each text out, so that a short file could unfold into much memory: batches are made so short that
/// the longest entry of the dictionary in every row stays inside the bound.
fn shape(plan: &Plan, column: &OutputColumn, group: &RowGroupMetaData) -> parquet::errors::Result<Shape> {
    let mut shape = Shape { dictionary: false, rows: BATCH_ROWS };
    for leaf in column.leaves() {
        let Some(chunk) = group.columns().get(leaf) else { continue };
        if chunk.column_type() != PhysicalType::BYTE_ARRAY {
            continue;
        }
        if !column.nested && is_all_dictionary(chunk) {
            shape.dictionary = true;
            continue;
        }
        let rows = group.num_rows().unsigned_abs().max(1);
        let per_row = chunk.num_values().unsigned_abs().div_ceil(rows).max(1);
        let worst = |bytes: u64| bytes.saturating_mul(per_row).saturating_mul(shape.rows as u64);
        if worst(chunk.uncompressed_size().unsigned_abs()) <= BATCH_TEXT_BYTES {
            continue;
        }
        let longest = longest_entry(plan, chunk, rows)?;
        if worst(longest) > BATCH_TEXT_BYTES {
            let rows = BATCH_TEXT_BYTES / longest.saturating_mul(per_row).max(1);
            shape.rows = usize::try_from(rows).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS);
        }
    }
    Ok(shape)
}

fn is_all_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let is_dictionary = |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    chunk.page_encoding_stats().is_some_and(|pages| {
        let mut data = pages.iter().filter(|page| page.page_type != PageType::DICTIONARY_PAGE).peekable();
        data.peek().is_some() && data.all(|page| is_dictionary(page.encoding))
    })
}

/// Bytes of the longest entry of a chunk's dictionary; 0 without one.
fn longest_entry(plan: &Plan, chunk: &ColumnChunkMetaData, rows: u64) -> parquet::errors::Result<u64> {
    let is_dictionary = |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    if chunk.dictionary_page_offset().is_none() && !chunk.encodings().any(is_dictionary) {
        return Ok(0);
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut pages = SerializedPageReader::new(Arc::new(plan.source.clone()), chunk, rows, None)?;
    let Some(Page::DictionaryPage { buf, .. }) = pages.get_next_page()? else { return Ok(0) };
    let (mut rest, mut longest) = (buf.as_ref(), 0);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(u64::from(length));
        rest = after.get(length as usize..).unwrap_or_default();
    }
    Ok(longest)
}

/// Takes the only child of each of `depth` structs and gathers the nulls on the way.
fn unwrap_structs(array: &ArrayRef, depth: usize) -> Option<(ArrayRef, Option<NullBuffer>)> {
    let mut array = Arc::clone(array);
    let mut nulls = array.nulls().cloned();
    for _ in 0..depth {
        let child = Arc::clone(array.as_struct_opt()?.columns().first()?);
        nulls = NullBuffer::union(nulls.as_ref(), child.nulls());
        array = child;
    }
    Some((array, nulls))
}
