//! NDJSON: one JSON object per line.

use crate::render::json::keys;
use crate::render::row_writer::{CellText, Layout};

pub(crate) fn layout<'n>(names: impl Iterator<Item = &'n str>) -> Layout {
    Layout {
        text: CellText::Json,
        begin: Vec::new(),
        before_cell: keys(b"{", names),
        row_end: b"}\n",
        between_rows: b"",
        end: b"",
    }
}
