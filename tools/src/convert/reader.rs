//! Reads one column of a Parquet file in record batches, over all row groups. A batch is bounded by the decoded size of
//! its rows: pages are measured first, and when a batch would be too large, the read restarts at its first row with
//! fewer rows a batch. Does not depend on column builders.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, Encoding, LogicalType, PageType, Type as PhysicalType};
use parquet::column::page::PageReader;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::schema::types::ColumnDescriptor;

use crate::convert::limits::{BATCH_BYTES_MAX, BATCH_ROWS, BATCH_SHARE};
use crate::convert::pages::GroupPages;
use crate::convert::pages::batch_budget::{BatchBudget, LeafCost};
use crate::convert::plan::{DAMAGED, ErrorContext, Plan};
use crate::convert::schema::flatten::OutputColumn;
use crate::convert::schema::projection::Projection;
use crate::failure::Failure;

/// Bytes of a batch of texts, where the memory limit allows them. The footer may understate the sizes of texts.
const TEXT_BATCH_BYTES: u64 = 48 * 1024 * 1024;

pub struct Batch {
    /// The values, without the structs above them.
    pub array: ArrayRef,
    /// Nulls of the values and of every struct above them.
    pub nulls: Option<NullBuffer>,
    /// The first row of the batch, counted in the file.
    pub first_row: u64,
}

/// Calls `visit` with the batches of a column in order, each of at most `batch_bytes` bytes once decoded.
///
/// # Errors
/// A refusal that names column and row group, or the visitor's.
pub fn read_column(
    plan: &Plan,
    column: &OutputColumn,
    batch_bytes: u64,
    mut visit: impl FnMut(&Batch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let context = ErrorContext::of(&plan.source);
    let mut first_row = 0;
    for (index, group) in plan.metadata().row_groups().iter().enumerate() {
        let section = format!("column `{}`, row group {index}", column.spec.name);
        let expected = group.num_rows().unsigned_abs();
        let reading =
            GroupReading { plan, column, group, first_row, batch_bytes, section, context: &context };
        let rows = reading.read(&mut visit)?;
        if rows != expected {
            let found =
                if rows > expected { "more".to_owned() } else { format!("{} fewer", expected - rows) };
            return Err(context.refusal(&reading.section, format!("{expected} rows"), found, DAMAGED));
        }
        first_row += rows;
    }
    Ok(())
}

struct GroupReading<'a> {
    plan: &'a Plan,
    column: &'a OutputColumn,
    group: &'a RowGroupMetaData,
    first_row: u64,
    batch_bytes: u64,
    section: String,
    context: &'a ErrorContext,
}

/// How far the read got with one batch length.
enum Progress {
    /// To the end of the row group.
    Whole,
    /// Up to a batch that would be too large.
    TooMuch,
}

impl GroupReading<'_> {
    /// Returns the number of rows read, at most one more than the footer announces.
    fn read(&self, visit: &mut impl FnMut(&Batch) -> Result<(), Failure>) -> Result<u64, Failure> {
        let (mut done, mut rows) = (0, self.first_batch_rows());
        loop {
            match self.read_on(&mut done, rows, visit)? {
                Progress::Whole => return Ok(done),
                Progress::TooMuch if rows == 1 => return Err(self.refuse_row(done)?),
                Progress::TooMuch => rows = (rows / 4).max(1),
            }
        }
    }

    fn read_on(
        &self,
        done: &mut u64,
        rows: usize,
        visit: &mut impl FnMut(&Batch) -> Result<(), Failure>,
    ) -> Result<Progress, Failure> {
        let budget = BatchBudget::new(&self.costs(), self.batch_bytes, rows as u64, *done);
        let mut reader = self.context.decode(&self.section, || self.open(rows, *done, &budget))?;
        while *done <= self.group.num_rows().unsigned_abs() {
            if !budget.begin() {
                return Ok(Progress::TooMuch);
            }
            let next = self.context.decode(&self.section, || reader.next().transpose().map_err(Into::into));
            if budget.is_over() {
                return Ok(Progress::TooMuch);
            }
            let Some(batch) = next? else { break };
            let found =
                batch.columns().first().and_then(|array| unwrap_structs(array, self.column.struct_depth()));
            let Some((array, nulls)) = found else {
                return Err(self.context.refusal(&self.section, "values".into(), "none".into(), DAMAGED));
            };
            let batch = Batch { array, nulls, first_row: self.first_row + *done };
            *done += batch.array.len() as u64;
            if *done <= self.group.num_rows().unsigned_abs() {
                visit(&batch)?;
            }
        }
        Ok(Progress::Whole)
    }

    fn open(
        &self,
        rows: usize,
        done: u64,
        budget: &BatchBudget,
    ) -> parquet::errors::Result<ParquetRecordBatchReader> {
        let checked = self.checked(budget);
        let reading = self.plan.reading(checked.as_keys);
        let root = reading.metadata().file_metadata().schema_descr().root_schema();
        let branch = Projection::of_path(&self.column.path, root, reading.schema().fields())?;
        let levels =
            parquet_to_arrow_field_levels(&branch.schema, ProjectionMask::all(), Some(&branch.fields))?;
        let selection = (done > 0).then(|| {
            // One row more than announced, so that surplus rows are found.
            let rest = (self.group.num_rows().unsigned_abs() - done).saturating_add(1);
            let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
            RowSelection::from(vec![RowSelector::skip(count(done)), RowSelector::select(count(rest))])
        });
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, &checked, rows, selection)
    }

    fn checked(&self, budget: &BatchBudget) -> GroupPages<'_> {
        let as_keys = self.chunks().all(|(_, chunk)| {
            !self.column.nested && is_text(chunk.column_descr()) && is_all_dictionary(chunk)
        });
        GroupPages {
            source: &self.plan.source,
            metadata: self.plan.reading(as_keys).metadata(),
            group: self.group,
            leaves: self.column.leaves(),
            as_keys,
            budget: budget.clone(),
        }
    }

    fn chunks(&self) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
        self.column.leaves().filter_map(|leaf| Some((leaf, self.group.columns().get(leaf)?)))
    }

    fn costs(&self) -> Vec<LeafCost> {
        self.chunks().map(|(_, chunk)| leaf_cost(chunk.column_descr())).collect()
    }

    /// The rows that fill half a batch if all are equal in size.
    fn first_batch_rows(&self) -> usize {
        let about = |chunk: &ColumnChunkMetaData| {
            let levels = chunk.num_values().unsigned_abs();
            let fixed = levels.saturating_mul(leaf_cost(chunk.column_descr()).level_bytes);
            fixed.saturating_add(chunk.uncompressed_size().unsigned_abs().saturating_mul(2))
        };
        let bytes = self.chunks().map(|(_, chunk)| about(chunk)).fold(0, u64::saturating_add);
        let rows = self.group.num_rows().unsigned_abs();
        let fitting = u128::from(self.batch_bytes / 2) * u128::from(rows) / u128::from(bytes.max(1));
        usize::try_from(fitting).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
    }

    /// The error for a row that is larger than a batch may be.
    fn refuse_row(&self, row: u64) -> Result<Failure, Failure> {
        let budget = BatchBudget::new(&self.costs(), u64::MAX, 1, row);
        let checked = self.checked(&budget);
        for (number, (leaf, _)) in self.chunks().enumerate() {
            self.context.decode(&self.section, || {
                let mut pages = checked.pages(leaf)?;
                while !budget.is_complete(number) && pages.get_next_page()?.is_some() {}
                Ok(())
            })?;
        }
        let (bytes, name) = (budget.used(), &self.column.spec.name);
        let section = format!("column `{name}`, row {}", self.first_row + row);
        let bound = self.batch_bytes;
        let expected = format!("a value of at most {bound} bytes in memory under this --memory-limit");
        let most = most_batch_bytes(self.plan, self.column);
        let remedy = if bytes <= most {
            let limit = bytes.saturating_mul(BATCH_SHARE).div_ceil(1 << 20);
            format!("pass --memory-limit {limit}MiB, or leave the column out with --drop {name}")
        } else {
            format!("no value may take more than {most}: leave the column out with --drop {name}")
        };
        Ok(self.context.refusal(&section, expected, bytes.to_string(), &remedy))
    }
}

/// The cost of a level, of the encoded value and of the Arrow value.
fn leaf_cost(leaf: &ColumnDescriptor) -> LeafCost {
    const LEVEL_BYTES: u64 = 5;
    let width = match leaf.physical_type() {
        PhysicalType::BOOLEAN => 1,
        PhysicalType::INT32 | PhysicalType::FLOAT => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE | PhysicalType::BYTE_ARRAY => 8,
        PhysicalType::INT96 => 12,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => u64::try_from(leaf.type_length()).unwrap_or(0),
    };
    // A decimal takes up to 32 bytes, whatever its physical type is.
    let decimal = if leaf.type_precision() > 0 { 32 } else { 0 };
    LeafCost { level_bytes: LEVEL_BYTES + width * 2 + decimal }
}

/// The largest batch that the column can need, under any memory limit.
pub fn most_batch_bytes(plan: &Plan, column: &OutputColumn) -> u64 {
    let groups = plan.metadata().row_groups().iter().map(|group| {
        let chunks = column.leaves().filter_map(|leaf| group.columns().get(leaf));
        chunks.map(|chunk| chunk_bytes(chunk, column.nested)).fold(0, u64::saturating_add)
    });
    groups.max().unwrap_or(0).min(BATCH_BYTES_MAX)
}

/// Dictionary texts expand, so the size of the chunk is not an upper bound.
fn chunk_bytes(chunk: &ColumnChunkMetaData, nested: bool) -> u64 {
    let level_bytes = leaf_cost(chunk.column_descr()).level_bytes;
    let levels = chunk.num_values().unsigned_abs();
    match chunk.column_type() {
        PhysicalType::BYTE_ARRAY => {
            let texts = chunk.uncompressed_size().unsigned_abs().saturating_mul(2);
            texts.saturating_add(levels.saturating_mul(level_bytes)).max(TEXT_BATCH_BYTES)
        }
        _ if nested => levels.saturating_mul(level_bytes),
        _ => levels.min(BATCH_ROWS as u64).saturating_mul(level_bytes),
    }
}

/// Whether the values are encoded as text.
pub fn is_encoded_as_text(plan: &Plan, column: &OutputColumn) -> bool {
    let schema = plan.metadata().file_metadata().schema_descr();
    column.nested || !column.leaves().all(|leaf| is_text(&schema.column(leaf)))
}

/// Whether a leaf holds texts that may be read as dictionary keys.
fn is_text(leaf: &ColumnDescriptor) -> bool {
    let logical = leaf.logical_type_ref();
    let by_logical = matches!(logical, Some(LogicalType::String | LogicalType::Json | LogicalType::Enum));
    let by_converted =
        matches!(leaf.converted_type(), ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM);
    leaf.physical_type() == PhysicalType::BYTE_ARRAY && (by_logical || by_converted)
}

fn is_all_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let is_dictionary = |encoding| matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    chunk.page_encoding_stats().is_some_and(|pages| {
        let mut data = pages.iter().filter(|page| page.page_type != PageType::DICTIONARY_PAGE).peekable();
        data.peek().is_some() && data.all(|page| is_dictionary(page.encoding))
    })
}

/// Unwraps `depth` structs with one child each, and combines their nulls.
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
