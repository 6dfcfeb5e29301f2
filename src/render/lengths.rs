//! How many bytes the whole table has in a format, counted without printing it: the sum of the lengths of its cells,
//! column by column, and of what stands around them. Its twin in the tests is the encoder itself.

use mercato_format::rendered_lengths::{ExportFormat, RenderedLengths};
use mercato_format::{ColumnMeta, FormatError, Table, TableWriter};
use rayon::prelude::*;

use crate::render::Format;
use crate::render::cell_lengths::ColumnLengths;
use crate::render::row_writer::{CellText, Layout};

/// The first way of printing. Tables without narrow floats have not changed since.
const FIRST_VERSION: u32 = 1;
/// Before it, narrow floats were encoded as doubles.
const NARROW_FLOATS_VERSION: u32 = 2;

/// The version in which the bytes of this table last changed. Lengths that a store file keeps for another one are not
/// used, and the tags of downloads carry it. It grows for a table whenever any byte that this folder prints for it changes.
#[must_use]
pub fn renderer_version(table: &Table) -> u32 {
    let narrow = table.columns().iter().any(ColumnMeta::is_narrow_float);
    if narrow { NARROW_FLOATS_VERSION } else { FIRST_VERSION }
}

/// Rows whose bytes are counted together: about 400 KB of JSON for sixteen columns.
pub const RENDER_CHUNK_ROWS: u32 = 1_024;
/// Chunks that one task counts.
const CHUNKS_PER_TASK: u32 = 64;

/// The lengths that the store file keeps, if they are those of this encoder.
#[must_use]
pub fn stored_lengths(table: &Table, format: Format) -> Option<RenderedLengths<'_>> {
    let lengths = table.rendered_lengths(export_format(format)?)?;
    (lengths.renderer_version() == renderer_version(table)).then_some(lengths)
}

/// Counts the lengths of the table in a format, on all cores.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn count_lengths(table: &Table, format: Format) -> Result<RenderedLengths<'static>, FormatError> {
    let cells = cell_bytes(table, Layout::of(format, std::iter::empty()).text)?;
    assemble(table, format, &cells)
}

/// Counts the lengths in every export format and adds them to a store file whose columns are written.
///
/// # Errors
/// As [`count_lengths`], and when the file cannot be written.
pub fn append_lengths(writer: &mut TableWriter) -> Result<(), FormatError> {
    let lengths = writer.read_back(|table| {
        let (csv, json) = (cell_bytes(table, CellText::Csv)?, cell_bytes(table, CellText::Json)?);
        Ok([
            assemble(table, Format::Csv, &csv)?,
            assemble(table, Format::Json, &json)?,
            assemble(table, Format::Ndjson, &json)?,
        ])
    })?;
    writer.append_rendered_lengths(&lengths)
}

fn export_format(format: Format) -> Option<ExportFormat> {
    match format {
        Format::Csv => Some(ExportFormat::Csv),
        Format::Json => Some(ExportFormat::Json),
        Format::Ndjson => Some(ExportFormat::Ndjson),
        Format::Sse => None,
    }
}

/// Bytes of the cells of each chunk, without what stands around them.
fn cell_bytes(table: &Table, text: CellText) -> Result<Vec<u64>, FormatError> {
    let columns: Vec<ColumnLengths<'_>> = (0..table.columns().len())
        .into_par_iter()
        .map(|column| ColumnLengths::new(table, column, text))
        .collect::<Result<_, _>>()?;
    let chunks = table.row_count().div_ceil(RENDER_CHUNK_ROWS);
    let tasks = chunks.div_ceil(CHUNKS_PER_TASK);
    let counted: Vec<Vec<u64>> = (0..tasks)
        .into_par_iter()
        .map(|task| {
            let first = task * CHUNKS_PER_TASK;
            count_task(table, &columns, first..chunks.min(first + CHUNKS_PER_TASK))
        })
        .collect::<Result<_, _>>()?;
    Ok(counted.into_iter().flatten().collect())
}

fn count_task(
    table: &Table,
    columns: &[ColumnLengths<'_>],
    chunks: std::ops::Range<u32>,
) -> Result<Vec<u64>, FormatError> {
    let mut sums = vec![0u64; chunks.len()];
    for column in columns {
        let mut scratch = column.scratch();
        for (chunk, sum) in chunks.clone().zip(&mut sums) {
            let start = chunk.saturating_mul(RENDER_CHUNK_ROWS);
            let end = start.saturating_add(RENDER_CHUNK_ROWS).min(table.row_count());
            *sum = sum.saturating_add(column.bytes_of(start..end, &mut scratch)?);
        }
    }
    Ok(sums)
}

/// Adds what stands around the cells.
fn assemble(table: &Table, format: Format, cells: &[u64]) -> Result<RenderedLengths<'static>, FormatError> {
    let layout = Layout::of(format, table.columns().iter().map(|meta| meta.name.as_str()));
    let rows = table.row_count();
    let around: usize = layout.before_cell.iter().map(Vec::len).sum::<usize>() + layout.row_end.len();
    let between = layout.between_rows.len() as u64;
    let mut offsets = Vec::with_capacity(cells.len() + 1);
    let mut offset = layout.begin.len() as u64;
    offsets.push(offset);
    for (chunk, cells) in (0u32..).zip(cells) {
        let start = chunk.saturating_mul(RENDER_CHUNK_ROWS);
        let count = u64::from(RENDER_CHUNK_ROWS.min(rows - start));
        // Nothing stands between the first row and what is before it.
        let separators = if chunk == 0 { count - 1 } else { count };
        offset = offset.saturating_add(*cells + count * around as u64 + separators * between);
        offsets.push(offset);
    }
    let total = offset.saturating_add(layout.end.len() as u64);
    RenderedLengths::new(renderer_version(table), RENDER_CHUNK_ROWS, rows, &offsets, total)
        .ok_or_else(|| table.damaged(0))
}
