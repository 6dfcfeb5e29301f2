//! RFC 4180: a header row, CRLF, quotes where needed. NULL is empty, the empty text is `""`.
//!
//! Where one column stands alone, a row of NULL would be an empty line, which many readers skip: it is `""`, too. The name of
//! such a column is in quotes, because DuckDB takes a file for one without quotes if its first 20,000 rows have none.

use mercato_format::ColumnMeta;
use mercato_format::text::push_csv_field;

use crate::render::cell_copy::Piece;
use crate::render::row_writer::{CellText, Layout};

/// NULL in a column that stands alone.
pub(crate) const LONE_NULL: &[u8] = b"\"\"";

/// Whether these columns are one that stands alone and has nulls.
pub(crate) fn has_lone_nulls(columns: &[&ColumnMeta]) -> bool {
    matches!(columns, [only] if only.null_count > 0)
}

pub(crate) fn layout(columns: &[&ColumnMeta]) -> Layout {
    let mut begin = Vec::new();
    let mut before_cell = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let comma: &[u8] = if number == 0 { b"" } else { b"," };
        begin.extend_from_slice(comma);
        push_csv_field(&mut begin, column.name.as_bytes());
        before_cell.push(Piece::of(comma));
    }
    if has_lone_nulls(columns) && begin.first() != Some(&b'"') {
        begin.insert(0, b'"');
        begin.push(b'"');
    }
    begin.extend_from_slice(b"\r\n");
    Layout { text: CellText::Csv, begin, before_cell, row_end: b"\r\n", between_rows: b"", end: b"" }
}
