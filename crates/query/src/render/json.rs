//! One JSON array of objects (RFC 8259).

use mercato_format::text::push_json_string;

use crate::render::cell_copy::Piece;
use crate::render::row_writer::{CellText, Layout};

/// Room for a key of usual length.
const KEY_BYTES: usize = 64;

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
pub(crate) fn keys<'n>(open: &[u8], names: impl Iterator<Item = &'n str>) -> Vec<Piece> {
    let (mut keys, mut key) =
        (Vec::with_capacity(names.size_hint().1.unwrap_or_default()), Vec::with_capacity(KEY_BYTES));
    for (number, name) in names.enumerate() {
        key.clear();
        key.extend_from_slice(if number == 0 { open } else { b"," });
        push_json_string(&mut key, name.as_bytes());
        key.push(b':');
        keys.push(Piece::of(&key));
    }
    keys
}
