//! Fuzzes cursors. A decoded cursor encodes to the same text, and its page is the same with and without sort indexes,
//! as a page and as a stream.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mercato_query::{Cursor, QueryRequest};

use crate::table::Twins;
use crate::walk::page;

static TWINS: LazyLock<Twins> = LazyLock::new(Twins::new);

/// The first byte selects the request. The rest is the cursor, as text or (odd second byte) before encoding.
pub fn run(data: &[u8]) {
    let [request, mode, rest @ ..] = data else { return };
    let text = if mode % 2 == 0 {
        let Ok(text) = std::str::from_utf8(rest) else { return };
        text.to_owned()
    } else {
        STANDARD.encode(rest)
    };
    if let Ok(cursor) = Cursor::decode(&text) {
        assert_eq!(Cursor::decode(&cursor.encode()).ok(), Some(cursor), "a cursor reads back");
    }
    let table = &TWINS.naive;
    let sort = usize::from(*request >> 1) % (table.columns.len() + 1);
    let direction = if request % 2 == 0 { "asc" } else { "desc" };
    let mut body = serde_json::json!({"cursor": text, "limit": 9, "sortDirection": direction});
    if let Some(column) = table.columns.get(sort) {
        body["sortBy"] = column.name.as_str().into();
    }
    if mode & 2 != 0 {
        body["filters"] = serde_json::json!({"n": {"gte": 0}});
    }
    let Ok(request) = QueryRequest::from_json(body.to_string().as_bytes(), 10_000) else { return };
    if let (Ok(indexed), Ok(plain)) = (page(&request, &TWINS.indexed), page(&request, &TWINS.plain)) {
        assert_eq!(indexed, plain, "with and without sort indexes: {body}");
    }
}
