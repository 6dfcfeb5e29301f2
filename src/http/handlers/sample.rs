//! At most a hundred rows, evenly spaced over the file.

use serde_json::json;

use crate::catalog::{DatasetVersion, FormatError};
use crate::limits::http::SAMPLE_ROW_COUNT_MAX;
use crate::render::{Format, RenderNotes, render_rows};

/// Appends the data of a sample and says how many rows it has.
pub(super) fn write(version: &DatasetVersion, out: &mut Vec<u8>) -> Result<(u32, RenderNotes), FormatError> {
    let table = &version.table;
    let rows = spaced_rows(table.row_count(), SAMPLE_ROW_COUNT_MAX);
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    out.extend_from_slice(br#"{"results":"#);
    let notes = render_rows(Format::Json, table, &columns, &rows, out)?;
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    let returned = u32::try_from(rows.len()).unwrap_or(SAMPLE_ROW_COUNT_MAX);
    let tail = format!(
        r#","rowsReturned":{returned},"columns":{},"totalRows":{},"version":{}}}"#,
        json!(names),
        table.row_count(),
        json!(version.version.to_string())
    );
    out.extend_from_slice(tail.as_bytes());
    Ok((returned, notes))
}

/// Row numbers: the first row, then steps of equal width.
pub(super) fn spaced_rows(row_count: u32, at_most: u32) -> Vec<u32> {
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
    fn rows_are_evenly_spaced_and_never_repeated() {
        assert!(spaced_rows(0, 100).is_empty());
        assert_eq!(spaced_rows(3, 100), [0, 1, 2]);
        assert_eq!(spaced_rows(10, 4), [0, 2, 5, 7]);
        let many = spaced_rows(u32::MAX, 100);
        assert_eq!(many.len(), 100);
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
