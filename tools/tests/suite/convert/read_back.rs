//! Reads store files through the renderer that the server uses.

use std::collections::HashMap;
use std::path::Path;

use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_tools::convert::{Conversion, convert};
use serde_json::value::RawValue;

use crate::convert::files::isolated;

/// Rows of a store file: JSON text of each value by column name.
pub type Rows = Vec<HashMap<String, String>>;

/// Converts a Parquet file and reads every row.
pub fn converted(parquet: &Path) -> Rows {
    let output = parquet.with_extension("mcol");
    let mut conversion = Conversion::new(parquet, &output);
    conversion.progress = false;
    // Some tests convert different files under the same name.
    conversion.replace = true;
    convert(&conversion).unwrap();
    let table = Table::open(&output).unwrap();
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let rows: Vec<u32> = (0..table.row_count()).collect();
    let mut text = Vec::new();
    render_rows(Format::Ndjson, &table, &columns, &rows, &mut text).unwrap();
    let lines = std::str::from_utf8(&text).unwrap().lines();
    let row = |line| -> HashMap<String, Box<RawValue>> { serde_json::from_str(line).unwrap() };
    lines
        .map(|line| row(line).into_iter().map(|(name, value)| (name, value.get().to_owned())).collect())
        .collect()
}

/// The error of a conversion, which must leave no file except the input.
pub fn refusal(parquet: &Path) -> String {
    let output = parquet.with_extension("mcol");
    let reason = convert(&isolated(parquet, &output)).unwrap_err().one_line();
    let left = std::fs::read_dir(parquet.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "{reason}");
    reason
}
