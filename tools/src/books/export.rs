//! Exports all entries for accounting, as CSV (RFC 4180) or NDJSON, page by page.
//!
//! Holds the columns. Does not depend on storage.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use mercato::operator::ReadEntries;
use serde_json::Value;

use super::backend::Backend;
use crate::destination::Destination;
use crate::failure::Failure;

const ENTRIES_PER_PAGE: usize = 1_000;
const COLUMNS: [&str; 15] = [
    "sequence",
    "at",
    "account",
    "kind",
    "amount",
    "balance",
    "rows",
    "cents",
    "currency",
    "vatIncluded",
    "related",
    "requestId",
    "dataset",
    "note",
    "key",
];

/// The format of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A header row and one row an entry.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// Writes all entries, or those of one account.
pub(super) fn run(
    backend: &Backend,
    format: ExportFormat,
    account: Option<&str>,
    output: Option<&Path>,
    force: bool,
) -> Result<(), Failure> {
    let name = output.unwrap_or(Path::new("standard output"));
    match output {
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            write_entries(backend, format, account, name, &mut out)?;
            out.flush().map_err(Failure::io(name, "write"))
        }
        Some(path) => {
            let mut out = Destination::check(path, force)?.create()?;
            write_entries(backend, format, account, name, &mut out)?;
            out.finish()
        }
    }
}

fn write_entries(
    backend: &Backend,
    format: ExportFormat,
    account: Option<&str>,
    name: &Path,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if format == ExportFormat::Csv {
        write!(out, "{}\r\n", COLUMNS.join(",")).map_err(Failure::io(name, "write"))?;
    }
    let mut first = 1;
    loop {
        let account = account.map(ToOwned::to_owned);
        let page = backend.execute(&ReadEntries { account, first, limit: ENTRIES_PER_PAGE })?;
        for entry in &page.entries {
            let written = serde_json::to_value(entry).map_err(io::Error::from);
            let written = written.and_then(|entry| write_entry(out, format, &entry));
            written.map_err(Failure::io(name, "write"))?;
        }
        match page.next {
            Some(next) => first = next,
            None => return Ok(()),
        }
    }
}

fn write_entry(out: &mut impl Write, format: ExportFormat, entry: &Value) -> io::Result<()> {
    match format {
        ExportFormat::Ndjson => writeln!(out, "{entry}"),
        ExportFormat::Csv => {
            let fields = COLUMNS.map(|column| field(entry.get(column).unwrap_or(&Value::Null)));
            write!(out, "{}\r\n", fields.join(","))
        }
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) if text.contains(['"', ',', '\r', '\n']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_round_trips_as_csv() {
        let entry = serde_json::json!({
            "sequence": 3, "at": "2026-11-21T12:00:00.000Z", "account": "acc_1", "kind": "purchase", "amount": 1000,
            "balance": 1000, "rows": 0, "cents": 500, "currency": "EUR", "vatIncluded": false, "related": 0,
            "requestId": "inv-1", "dataset": "", "note": "a \"gift\", late", "key": "key_5",
        });
        let mut row = Vec::new();
        write_entry(&mut row, ExportFormat::Csv, &entry).unwrap();
        assert_eq!(
            String::from_utf8(row).unwrap(),
            "3,2026-11-21T12:00:00.000Z,acc_1,purchase,1000,1000,0,500,EUR,false,0,inv-1,\"\",\"a \"\"gift\"\", late\",key_5\r\n"
        );
    }
}
