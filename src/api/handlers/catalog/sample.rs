//! At most a hundred rows, evenly spaced over the file.

use serde_json::json;

use crate::api::handlers::query::page_answer::{content_type, write_rows};
use crate::limits::api::SAMPLE_ROW_COUNT_MAX;
use mercato_catalog::{DatasetVersion, FormatError};
use mercato_query::render::{Format, Labels, Output, RenderNotes, render_rows};
use mercato_web::{Response, ResponseBuffer};

const ROOM_BYTES: usize = 32 * 1024;

/// The encoded sample, its number of rows, and notes of the renderer.
pub(super) fn answer(
    output: Output,
    slug: &str,
    version: &DatasetVersion,
) -> Result<(Response, u32, RenderNotes), FormatError> {
    let table = &version.table;
    let rows = spaced_rows(table.row_count(), SAMPLE_ROW_COUNT_MAX);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let returned = u32::try_from(rows.len()).unwrap_or(SAMPLE_ROW_COUNT_MAX);
    if output != Output::Text(Format::Json) {
        let mut buffer = ResponseBuffer::with_capacity(ROOM_BYTES);
        let number = version.version.to_string();
        let labels = Labels { dataset: slug, version: &number };
        let notes = write_rows(output, labels, table, &columns, &rows, buffer.sink())?;
        let response = Response::raw(content_type(output), buffer)
            .with_header("X-Rows-Returned", returned.to_string())
            .with_header("X-Total-Rows", table.row_count().to_string());
        return Ok((response, returned, notes));
    }
    let mut buffer = Response::begin_envelope(ROOM_BYTES);
    buffer.sink().extend_from_slice(br#"{"results":"#);
    let notes = render_rows(Format::Json, table, &columns, &rows, buffer.sink())?;
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let tail = format!(
        r#","rowsReturned":{returned},"columns":{},"totalRows":{},"version":{}}}"#,
        json!(names),
        table.row_count(),
        json!(version.version.to_string())
    );
    buffer.sink().extend_from_slice(tail.as_bytes());
    Ok((Response::enveloped(buffer), returned, notes))
}

/// Row numbers: the first row, then steps of equal width.
pub fn spaced_rows(row_count: u32, at_most: u32) -> Vec<u32> {
    let taken = row_count.min(at_most);
    let place = |index: u32| {
        let scaled = u64::from(index).saturating_mul(u64::from(row_count)).checked_div(u64::from(taken));
        scaled.and_then(|row| u32::try_from(row).ok()).unwrap_or(0)
    };
    (0..taken).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::spaced_rows;

    #[test]
    fn spaces_rows_evenly_without_repetition() {
        assert!(spaced_rows(0, 100).is_empty());
        assert_eq!(spaced_rows(3, 100), [0, 1, 2]);
        assert_eq!(spaced_rows(10, 4), [0, 2, 5, 7]);
        let many = spaced_rows(u32::MAX, 100);
        assert_eq!(many.len(), 100);
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
