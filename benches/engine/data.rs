//! The table of this bench, and a request run from bytes to bytes.

use std::path::PathBuf;

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_query::{QueryRequest, Selections, execute, plan};

use crate::lineitem;
use crate::scale::scale;

/// Path of the store file.
pub fn path() -> PathBuf {
    lineitem::store(scale(), true)
}

/// The open table.
pub fn table() -> Table {
    Table::open(&path()).unwrap()
}

/// The same rows without a sort index.
pub fn unsorted_table() -> Table {
    Table::open(&lineitem::store(scale(), false)).unwrap()
}

/// Runs a request from the bytes of its body to the bytes of its rows; gives the next cursor.
pub fn run(table: &Table, body: &str, selections: &dyn Selections, out: &mut Vec<u8>) -> Option<String> {
    out.clear();
    let request = QueryRequest::from_json(body.as_bytes(), 1_000_000).unwrap();
    let plan = plan(&request, table, "lineitem@1.0.0", &mercato_query::Unlimited).unwrap();
    let page = execute(&plan, selections).unwrap();
    render_rows(Format::Json, table, plan.columns(), &page.rows, out).unwrap();
    page.next_cursor
}
