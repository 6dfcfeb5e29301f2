//! One JSON array of objects (RFC 8259).

use mercato_format::text::push_json_string;

use crate::render::row_writer::{CellText, Layout};

pub(crate) fn layout<'n>(names: impl Iterator<Item = &'n str>) -> Layout {
    Layout {
        text: CellText::Json,
        begin: b"[".to_vec(),
        before_cell: keys(b"{", names),
        row_end: b"}",
        between_rows: b",",
        end: b"]",
    }
}

/// `{"first":`, `,"second":` and so on; the first with what opens a row.
pub(crate) fn keys<'n>(open: &[u8], names: impl Iterator<Item = &'n str>) -> Vec<Vec<u8>> {
    names
        .enumerate()
        .map(|(number, name)| {
            let mut key = if number == 0 { open.to_vec() } else { b",".to_vec() };
            push_json_string(&mut key, name.as_bytes());
            key.push(b':');
            key
        })
        .collect()
}
