//! The encoded length of a table in a format, computed without encoding it: cell lengths, column by column, and
//! separators. The tests compare it with the encoder.

mod columns;

use mercato_format::rendered_lengths::{ExportFormat, RenderedLengths};
use mercato_format::{ColumnMeta, FormatError, Table, TableWriter};
use rayon::prelude::*;

use crate::render::Format;
use crate::render::cell_copy::Piece;
use crate::render::csv::has_lone_nulls;
use crate::render::row_writer::{CellText, Layout};
use columns::ColumnLengths;

/// The first encoding. The bytes of tables without narrow floats have not changed since.
const FIRST_VERSION: u32 = 1;
/// Narrow floats are encoded at their own width since this version.
const NARROW_FLOATS_VERSION: u32 = 2;
/// The nulls of a column that stands alone are quotes in CSV since this version.
const LONE_NULLS_VERSION: u32 = 3;

/// The encoding version of this table. Lengths stored for another version are not used, and download tags contain it.
/// Raise it for a table whenever a byte of its encoding changes.
#[must_use]
pub fn renderer_version(table: &Table) -> u32 {
    let columns: Vec<&ColumnMeta> = table.columns().iter().collect();
    match columns.iter().any(|column| column.is_narrow_float()) {
        _ if has_lone_nulls(&columns) => LONE_NULLS_VERSION,
        true => NARROW_FLOATS_VERSION,
        false => FIRST_VERSION,
    }
}

/// Rows of one chunk: about 400 KB of JSON for sixteen columns.
pub const RENDER_CHUNK_ROWS: u32 = 1_024;
const CHUNKS_PER_TASK: u32 = 64;

/// The lengths stored in the file, if this encoding version wrote them.
#[must_use]
pub fn stored_lengths(table: &Table, format: Format) -> Option<RenderedLengths<'_>> {
    let lengths = table.rendered_lengths(export_format(format)?)?;
    (lengths.renderer_version() == renderer_version(table)).then_some(lengths)
}

/// Computes the lengths of the table in a format, on all cores.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn count_lengths(table: &Table, format: Format) -> Result<RenderedLengths<'static>, FormatError> {
    let cells = cell_bytes(table, Layout::of(format, &[]).text)?;
    assemble(table, format, &cells)
}

/// Computes the lengths in every export format and appends them to a store file whose columns are written.
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

/// The cell bytes of each chunk, without separators.
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

/// Adds the separators.
fn assemble(table: &Table, format: Format, cells: &[u64]) -> Result<RenderedLengths<'static>, FormatError> {
    let layout = Layout::of(format, &table.columns().iter().collect::<Vec<_>>());
    let rows = table.row_count();
    let around: usize = layout.before_cell.iter().map(Piece::len).sum::<usize>() + layout.row_end.len();
    let between = layout.between_rows.len() as u64;
    let mut offsets = Vec::with_capacity(cells.len() + 1);
    let mut offset = layout.begin.len() as u64;
    offsets.push(offset);
    for (chunk, cells) in (0u32..).zip(cells) {
        let start = chunk.saturating_mul(RENDER_CHUNK_ROWS);
        let count = u64::from(RENDER_CHUNK_ROWS.min(rows - start));
        // The first row has no separator before it.
        let separators = if chunk == 0 { count - 1 } else { count };
        offset = offset.saturating_add(*cells + count * around as u64 + separators * between);
        offsets.push(offset);
    }
    let total = offset.saturating_add(layout.end.len() as u64);
    RenderedLengths::new(renderer_version(table), RENDER_CHUNK_ROWS, rows, &offsets, total)
        .ok_or_else(|| table.damaged(0))
}
