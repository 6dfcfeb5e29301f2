//! Encodes rows as JSON, CSV, NDJSON and server-sent events behind one row writer. A batch of rows is gathered column
//! by column and written row by row. `arrow/` encodes them as Arrow, without text, `xlsx/` as an Excel workbook. Does not
//! depend on status codes or sockets.

mod arrow;
mod batch_encoder;
mod cell_copy;
mod cells;
mod csv;
mod document;
mod joined;
mod json;
mod lengths;
pub mod limits;
mod ndjson;
mod numbers;
mod parallel_encoder;
mod row_writer;
mod sse;
mod statistics;
mod xlsx;
mod years;

use mercato_format::{FormatError, Table};

pub use arrow::{ARROW_VERSION, ArrowEncoder, Labels, render_arrow};
pub use batch_encoder::BatchEncoder;
pub use document::{Document, DocumentUnit, Units, encode_some};
pub use joined::Combinations;
pub use lengths::{RENDER_CHUNK_ROWS, append_lengths, count_lengths, renderer_version, stored_lengths};
pub use mercato_base::marks::RowMark;
/// The lengths of a table in a format, stored or computed.
pub use mercato_format::RenderedLengths;
pub use parallel_encoder::{Next, ParallelEncoder, Pipeline, Progress, Unit};
pub use row_writer::{RenderNotes, RowWriter};
pub(crate) use statistics::write_statistics_value;
pub use statistics::{write_column_statistics, write_statistics};
pub use xlsx::{XLSX_ROWS_MAX, XLSX_VERSION, XlsxEncoder, render_xlsx};
pub use years::has_expanded_years;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON array of objects.
    Json,
    /// RFC 4180 with a header row.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// One JSON object per `data:` event.
    Sse,
}

/// The form of rendered rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    Text(Format),
    Arrow,
    Xlsx,
}

/// Appends rows as a complete document.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn render_rows(
    format: Format,
    table: &Table,
    columns: &[usize],
    rows: &[u32],
    out: &mut Vec<u8>,
) -> Result<RenderNotes, FormatError> {
    let mut writer = RowWriter::new(format, table, columns)?;
    writer.begin(out);
    writer.rows(rows, out)?;
    writer.end(out);
    Ok(writer.notes())
}
