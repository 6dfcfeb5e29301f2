//! Reads a CSV or TSV file into rows: the header names the columns, every record has as many fields. Refusals name file,
//! line and column. Does not depend on column kinds.

use std::collections::HashSet;
use std::sync::Arc;

use mercato_format::limits::COLUMNS_MAX;

use crate::convert::footer::column_names::with_groups_above;
use crate::convert::schema::flatten::cut;
use crate::convert::text::bytes::ByteSource;
use crate::convert::text::classify;
use crate::convert::text::csv::{Fault, Splitter};
use crate::convert::text::infer::Spot;
use crate::convert::text::records::CsvReader;
use crate::convert::text::rows::{RowError, Rows};
use crate::failure::Failure;

const NAME_SHOWN_BYTES: usize = 64;

/// The dialect of a file.
#[derive(Debug, Clone)]
pub struct Dialect {
    /// Between two fields.
    pub delimiter: u8,
    /// Unquoted fields that are null, besides the empty one.
    pub null_texts: Vec<String>,
    /// `CSV` or `TSV`.
    pub format: &'static str,
    /// Bytes of a record.
    pub record_bytes_max: usize,
    /// Columns to leave out, so that duplicates among them do no harm.
    pub drop: HashSet<String>,
}

/// A place in a file, for refusals.
struct Place<'a> {
    file: &'a str,
    line: u64,
    field: usize,
    column: &'a str,
}

/// Reads all rows of a file. `progress` receives the number of bytes read.
///
/// # Errors
/// A refusal that names file, line and column, or a failure of the system.
pub fn read(
    source: ByteSource,
    dialect: &Dialect,
    rows: &mut Rows,
    mut progress: impl FnMut(&ByteSource),
) -> Result<(), Failure> {
    let file: Arc<str> = Arc::from(source.name());
    rows.begin_input(&file);
    let mut reader = CsvReader::new(source, dialect.delimiter, dialect.record_bytes_max, COLUMNS_MAX);
    let names = header(&mut reader, dialect)?;
    let mut columns = Vec::with_capacity(names.len());
    for (number, name) in (1..).zip(&names) {
        let place = Place { file: &file, line: 1, field: number, column: name };
        columns.push(rows.column(name, dialect.format).map_err(|error| place.refuse_row(error))?);
    }
    reader.set_fields_max(names.len());
    let refuse = |splitter: &Splitter, _: &str, fault: &Fault| {
        let column = names.get(splitter.field_number() - 1).map_or("", String::as_str);
        let place = Place { file: &file, line: splitter.line(), field: splitter.field_number(), column };
        place.refuse_fault(fault, names.len(), dialect)
    };
    loop {
        progress(reader.source());
        for _ in 0..PROGRESS_ROWS {
            let Some(record) = reader.next_record(refuse)? else {
                progress(reader.source());
                return Ok(());
            };
            if record.is_blank() && names.len() > 1 {
                continue;
            }
            if record.field_count() != names.len() {
                let column = names.get(record.field_count()).map_or("", String::as_str);
                let place = Place {
                    file: &file,
                    line: record.record_line(),
                    field: record.field_count() + 1,
                    column,
                };
                return Err(place.refuse(
                    format!("{} fields, as in the header", names.len()),
                    record.field_count().to_string(),
                    "correct the line; a field with a delimiter or a line break in it needs quotes",
                ));
            }
            push_record(record, &names, &columns, &file, dialect, rows)?;
        }
    }
}

/// Records between two reports of progress.
const PROGRESS_ROWS: usize = 1_024;

fn push_record(
    record: &Splitter,
    names: &[String],
    columns: &[usize],
    file: &Arc<str>,
    dialect: &Dialect,
    rows: &mut Rows,
) -> Result<(), Failure> {
    for (at, ((bytes, quoted, line), column)) in record.fields().zip(columns).enumerate() {
        let name = names.get(at).map_or("", String::as_str);
        let place = || Place { file, line, field: at + 1, column: name };
        let text =
            std::str::from_utf8(bytes).map_err(|error| place().refuse_bytes(bytes, error.valid_up_to()))?;
        let is_null = !quoted && (text.is_empty() || dialect.null_texts.iter().any(|null| null == text));
        let value = (!is_null).then(|| (classify::of_field(text), text));
        let spot = || Spot { file: Arc::clone(file), line, field: Some(at + 1) };
        rows.push(*column, value, false, spot).map_err(|error| place().refuse_row(error))?;
    }
    rows.end_row()
}

/// The names of the columns, which are there, differ and are not empty.
fn header(reader: &mut CsvReader, dialect: &Dialect) -> Result<Vec<String>, Failure> {
    let file = reader.source().name().to_owned();
    let refuse = |splitter: &Splitter, _: &str, fault: &Fault| {
        let place = Place { file: &file, line: splitter.line(), field: splitter.field_number(), column: "" };
        place.refuse_fault(fault, COLUMNS_MAX, dialect)
    };
    let place = |field| Place { file: &file, line: 1, field, column: "" };
    let Some(record) = reader.next_record(refuse)? else {
        let expected = "a header line with the names of the columns".to_owned();
        return Err(place(1).refuse(expected, "an empty file".into(), "add a header line"));
    };
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for (at, (bytes, ..)) in record.fields().enumerate() {
        let place = place(at + 1);
        let name =
            std::str::from_utf8(bytes).map_err(|error| place.refuse_bytes(bytes, error.valid_up_to()))?;
        if name.is_empty() {
            return Err(place.refuse("the name of a column".into(), "nothing".into(), "name every column"));
        }
        let is_dropped = with_groups_above(name).any(|name| dialect.drop.contains(name));
        if !seen.insert(name.to_owned()) && !is_dropped {
            let found = format!("`{}` for the second time", cut(name.to_owned(), NAME_SHOWN_BYTES));
            return Err(place.refuse("names that differ".into(), found, "rename one of the columns"));
        }
        names.push(name.to_owned());
    }
    match names.as_slice() {
        [only] if dialect.delimiter == b',' && only.contains([';', '\t', '|']) => {
            let found = format!("`{}`", cut(only.clone(), NAME_SHOWN_BYTES));
            let remedy = "pass --delimiter ';' (or 'tab' or '|')";
            Err(place(1).refuse("names with commas between them".into(), found, remedy))
        }
        _ => Ok(names),
    }
}

impl Place<'_> {
    fn refuse(&self, expected: String, found: String, remedy: &str) -> Failure {
        let column = cut(self.column.to_owned(), NAME_SHOWN_BYTES);
        let column = if column.is_empty() { String::new() } else { format!(" (`{column}`)") };
        Failure::Refused {
            file: self.file.to_owned(),
            section: format!("line {}, column {}{column}", self.line, self.field),
            expected,
            found,
            remedy: remedy.to_owned(),
        }
    }

    fn refuse_row(&self, error: RowError) -> Failure {
        match error {
            RowError::Failure(failure) => failure,
            RowError::Value { expected, found, remedy } => self.refuse(expected, found, &remedy),
        }
    }

    fn refuse_bytes(&self, bytes: &[u8], at: usize) -> Failure {
        let byte = bytes.get(at).copied().unwrap_or(0);
        self.refuse(
            "UTF-8".into(),
            format!("the byte 0x{byte:02X} at byte {} of the field", at + 1),
            "convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8",
        )
    }

    fn refuse_fault(&self, fault: &Fault, fields_max: usize, dialect: &Dialect) -> Failure {
        match fault {
            Fault::TooLong => self.refuse(
                format!("a record of at most {} bytes", dialect.record_bytes_max),
                "more".into(),
                "look for a quote that is never closed, shorten the values, or raise --memory-limit",
            ),
            Fault::TooManyFields => self.refuse(
                format!("at most {fields_max} fields"),
                "more".into(),
                "correct the line; a field with a delimiter in it needs quotes",
            ),
            Fault::AfterQuote(byte) => self.refuse(
                "a delimiter or the end of the line after a closing quote".into(),
                format!("`{}`", char::from(*byte).escape_default()),
                "double the quotes inside a quoted field",
            ),
            Fault::OpenQuote => self.refuse(
                "a closing quote".into(),
                "the end of the file".into(),
                "close the quote; quotes inside a quoted field are doubled",
            ),
            Fault::BareReturn => self.refuse(
                "a line feed after a carriage return".into(),
                "none".into(),
                "end lines with LF or CRLF, or put quotes around the field",
            ),
        }
    }
}
