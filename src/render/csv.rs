//! RFC 4180: a header row, CRLF, quotes where needed. NULL is empty, the empty text is `""`.

use mercato_format::text::push_csv_field;

use crate::render::cell_copy::Piece;
use crate::render::row_writer::{CellText, Layout};

pub(crate) fn layout<'n>(names: impl Iterator<Item = &'n str>) -> Layout {
    let mut begin = Vec::new();
    let mut before_cell = Vec::new();
    for (number, name) in names.enumerate() {
        let comma: &[u8] = if number == 0 { b"" } else { b"," };
        begin.extend_from_slice(comma);
        push_csv_field(&mut begin, name.as_bytes());
        before_cell.push(Piece::of(comma));
    }
    begin.extend_from_slice(b"\r\n");
    Layout { text: CellText::Csv, begin, before_cell, row_end: b"\r\n", between_rows: b"", end: b"" }
}
