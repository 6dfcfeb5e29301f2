//! One JSON array of objects (RFC 8259).

use mercato_format::text::push_json_string;

use crate::render::row_writer::{CellText, Layout};

/// Bytes of a key beside its name, if the name needs no escapes.
const KEY_MARKS: usize = 3;

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

/// `{"first":`, `,"second":` and so on; the first includes the opening of a row.
pub(crate) fn keys<'n>(open: &[u8], names: impl Iterator<Item = &'n str>) -> Vec<Vec<u8>> {
    names
        .enumerate()
        .map(|(number, name)| {
            let before: &[u8] = if number == 0 { open } else { b"," };
            // Allocated in one piece: short responses consist mostly of keys.
            let mut key = Vec::with_capacity(before.len() + name.len() + KEY_MARKS);
            key.extend_from_slice(before);
            push_json_string(&mut key, name.as_bytes());
            key.push(b':');
            key
        })
        .collect()
}
