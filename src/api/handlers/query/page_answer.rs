//! The response of a page: a JSON envelope around rows in one buffer, or CSV, NDJSON, Arrow and Excel with headers.

use mercato_base::words::{counted, grouped};
use mercato_catalog::{DatasetVersion, FormatError, Table};
use mercato_query::render::{
    ArrowEncoder, Format, Labels, Output, RenderNotes, render_arrow, render_rows, render_xlsx,
};
use mercato_query::{Count, GroupRows, Page, PaginationMode};
use mercato_web::{Response, ResponseBuffer};

/// Estimated bytes of a cell without its column name, to reserve memory before rendering.
const CELL_SIZE_BYTES_GUESS: usize = 20;
/// Most bytes reserved for a page before rendering.
const PAGE_RESERVE_BYTES_MAX: usize = 1024 * 1024;
/// The media type of an Arrow IPC stream.
pub const ARROW_MEDIA_TYPE: &str = "application/vnd.apache.arrow.stream";
/// The media type of an Excel workbook.
pub const XLSX_MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// A page whose rows are rendered. The total follows once it is paid.
pub struct Rendered {
    output: Output,
    buffer: ResponseBuffer,
    /// Notes for the client on the rows.
    pub notes: RenderNotes,
    /// Groups with too few rows.
    pub groups_left_out: u64,
    rows: usize,
    next_cursor: Option<String>,
    mode: PaginationMode,
}

/// Renders the rows of a page. They go straight into the buffer that is sent.
pub fn render(
    output: Output,
    slug: &str,
    version: &DatasetVersion,
    columns: &[usize],
    page: &Page,
) -> Result<Rendered, FormatError> {
    let table = page.table(&version.table);
    let reserve = page.rows.len().saturating_mul(row_size(table, columns)).min(PAGE_RESERVE_BYTES_MAX);
    let is_json = output == Output::Text(Format::Json);
    let mut buffer = match is_json {
        true => Response::begin_envelope(reserve),
        false => ResponseBuffer::with_capacity(reserve),
    };
    if is_json {
        buffer.sink().extend_from_slice(br#"{"results":"#);
    }
    let number = version.version.to_string();
    let labels = Labels { dataset: slug, version: &number };
    let notes = match (output, &page.groups) {
        // Pages of groups have dictionaries of their own, so their types would differ.
        (Output::Arrow, Some(_)) => ArrowEncoder::without_dictionaries(table, labels)?
            .write(&page.rows, buffer.sink())
            .map(|()| RenderNotes::default())?,
        _ => write_rows(output, labels, table, columns, &page.rows, buffer.sink())?,
    };
    let groups_left_out = page.groups.as_deref().map_or(0, GroupRows::left_out);
    let (rows, next_cursor, mode) = (page.rows.len(), page.next_cursor.clone(), page.mode);
    Ok(Rendered { output, buffer, notes, groups_left_out, rows, next_cursor, mode })
}

impl Rendered {
    pub fn finish(mut self, total: Option<Count>) -> Response {
        if self.output == Output::Text(Format::Json) {
            self.write_tail(total);
            return Response::enveloped(self.buffer);
        }
        let mut response = Response::raw(content_type(self.output), self.buffer)
            .with_header("X-Rows-Returned", self.rows.to_string())
            .with_header("X-Pagination-Mode", self.mode.as_str());
        if let Some(cursor) = self.next_cursor {
            response = response.with_header("X-Next-Cursor", cursor);
        }
        with_total(response, total)
    }

    fn write_tail(&mut self, total: Option<Count>) {
        let out = self.buffer.sink();
        out.extend_from_slice(br#","rowsReturned":"#);
        out.extend_from_slice(itoa::Buffer::new().format(self.rows).as_bytes());
        out.extend_from_slice(br#","nextCursor":"#);
        match &self.next_cursor {
            // Base64 needs no escapes.
            Some(cursor) => {
                out.push(b'"');
                out.extend_from_slice(cursor.as_bytes());
                out.push(b'"');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(br#","paginationMode":""#);
        out.extend_from_slice(self.mode.as_str().as_bytes());
        out.extend_from_slice(br#"","totalRows":"#);
        match total {
            Some(Count::Exact(rows)) => out.extend_from_slice(itoa::Buffer::new().format(rows).as_bytes()),
            Some(Count::AtLeast(rows)) => {
                out.extend_from_slice(br#"null,"totalRowsAtLeast":"#);
                out.extend_from_slice(itoa::Buffer::new().format(rows).as_bytes());
            }
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }
}

/// Adds the number of all rows that match, as far as it is told.
pub fn with_total(response: Response, total: Option<Count>) -> Response {
    match total {
        Some(Count::Exact(rows)) => response.with_header("X-Total-Rows", rows.to_string()),
        Some(Count::AtLeast(rows)) => response.with_header("X-Total-Rows-At-Least", rows.to_string()),
        None => response,
    }
}

/// Appends rows without an envelope.
pub fn write_rows(
    output: Output,
    labels: Labels<'_>,
    table: &Table,
    columns: &[usize],
    rows: &[u32],
    out: &mut Vec<u8>,
) -> Result<RenderNotes, FormatError> {
    match output {
        Output::Text(format) => render_rows(format, table, columns, rows, out),
        Output::Arrow => render_arrow(table, columns, rows, labels, out).map(|()| RenderNotes::default()),
        Output::Xlsx => render_xlsx(table, columns, rows, labels, out),
    }
}

/// Estimated length of a row in JSON, so that the buffer seldom moves while it grows.
fn row_size(table: &Table, columns: &[usize]) -> usize {
    let names =
        columns.iter().filter_map(|column| table.columns().get(*column)).map(|column| column.name.len());
    names.map(|length| length.saturating_add(CELL_SIZE_BYTES_GUESS)).sum()
}

/// The media type of rows in a format.
pub const fn content_type(output: Output) -> &'static str {
    match output {
        Output::Text(Format::Json) => "application/json; charset=utf-8",
        Output::Text(Format::Csv) => "text/csv; charset=utf-8; header=present",
        Output::Text(Format::Ndjson) => "application/x-ndjson",
        Output::Text(Format::Sse) => "text/event-stream",
        Output::Arrow => ARROW_MEDIA_TYPE,
        Output::Xlsx => XLSX_MEDIA_TYPE,
    }
}

/// Warns of numbers that were replaced by null, and of texts that were cut.
pub fn with_notes(response: Response, notes: &RenderNotes) -> Response {
    if notes.cut_texts > 0 {
        let (texts, is) = (counted(notes.cut_texts, "text"), if notes.cut_texts == 1 { "is" } else { "are" });
        return response.with_warning(format!(
            "{texts} {is} longer than the 32,767 characters of a cell of Excel and end with a mark; \
             other formats have the whole"
        ));
    }
    match non_finite_warning(notes) {
        Some(warning) => response.with_warning(warning),
        None => response,
    }
}

/// Warns of groups that have too few rows for the seller.
pub fn with_left_out(response: Response, groups: u64) -> Response {
    match left_out_warning(groups) {
        Some(warning) => response.with_warning(warning),
        None => response,
    }
}

/// The warning of groups that were left out, if there are any.
pub fn left_out_warning(groups: u64) -> Option<String> {
    let were = match groups {
        0 => return None,
        1 => "1 group was".to_owned(),
        groups => format!("{} groups were", grouped(groups)),
    };
    Some(format!("{were} left out, because the seller offers only groups with more rows"))
}

/// The warning of numbers that were replaced by null, if there are any.
pub fn non_finite_warning(notes: &RenderNotes) -> Option<String> {
    if notes.non_finite == 0 {
        return None;
    }
    let values = counted(notes.non_finite, "value");
    let (are, they_are) = if notes.non_finite == 1 { ("is", "it is") } else { ("are", "they are") };
    Some(format!("{values} {are} NaN or infinite, which JSON cannot express; {they_are} null"))
}
