//! Reads a CSV or TSV file into rows: the header names the columns, every record has as many fields. Refusals name file,
//! line and column. Does not depend on column kinds.

use std::collections::HashSet;
use std::sync::Arc;

use mercato_catalog::Delimiter;
use mercato_format::limits::COLUMNS_MAX;

use crate::convert::schema::column_names::with_groups_above;
use crate::convert::schema::flatten::cut;
use crate::convert::text::bytes::ByteSource;
use crate::convert::text::csv::{Fault, Splitter};
use crate::convert::text::head::{HEAD_BYTES, HEAD_RECORDS_MAX, Head, HeadRecord};
use crate::convert::text::infer::Spot;
use crate::convert::text::records::CsvReader;
use crate::convert::text::rows::{RowError, Rows};
use crate::failure::Failure;

const NAME_SHOWN_BYTES: usize = 64;
/// Bytes of the longest line `sep=;` with its end.
const SEPARATOR_LINE_BYTES_MAX: usize = 10;

#[derive(Debug, Clone)]
pub struct Dialect {
    /// Between two fields, if the operator said.
    pub delimiter: Option<Delimiter>,
    pub usual_delimiter: u8,
    /// `CSV` or `TSV`.
    pub format: &'static str,
    pub record_bytes_max: usize,
    /// Columns to leave out, so that duplicates among them do no harm.
    pub drop: HashSet<String>,
    /// Lines above the header.
    pub skip_lines: u32,
    /// Whether there is no header, if the operator said.
    pub no_header: Option<bool>,
}

/// A place in a file, for refusals.
struct Place<'a> {
    file: &'a str,
    line: u64,
    field: usize,
    column: &'a str,
}

/// Reads all rows of a file. `progress` receives the number of bytes read. Returns the delimiter.
///
/// # Errors
/// A refusal that names file, line and column, or a failure of the system.
pub fn read(
    mut source: ByteSource,
    dialect: &Dialect,
    rows: &mut Rows,
    mut progress: impl FnMut(&ByteSource),
) -> Result<u8, Failure> {
    let file: Arc<str> = Arc::from(source.name());
    rows.begin_input(&file);
    let (delimiter, line) = begin(&mut source, dialect, rows)?;
    let mut reader = CsvReader::new(source, line, delimiter, (dialect.record_bytes_max, COLUMNS_MAX));
    let (names, columns) = columns(&mut reader, dialect, &file, rows)?;
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
                return Ok(delimiter);
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
            push_record(record, &names, &columns, &file, rows)?;
        }
    }
}

/// Records between two reports of progress.
const PROGRESS_ROWS: usize = 1_024;

/// Passes over the lines above the header, and checks the head of the file. Returns the delimiter and the present line.
fn begin(source: &mut ByteSource, dialect: &Dialect, rows: &Rows) -> Result<(u8, u64), Failure> {
    let declared = separator_line(&source.peek(SEPARATOR_LINE_BYTES_MAX)?);
    let skipped = u64::from(dialect.skip_lines).max(u64::from(declared.is_some()));
    let mut line = 1;
    while line <= skipped && source.skip_line()? {
        line += 1;
    }
    let chosen = dialect.delimiter.map(|delimiter| delimiter.0).or(declared);
    let delimiter = chosen.unwrap_or(dialect.usual_delimiter);
    let bytes = source.peek(HEAD_BYTES)?;
    let split = |delimiter| head_records(&bytes, delimiter, line);
    let head = Head {
        file: source.name(),
        records: split(delimiter),
        no_header: dialect.no_header,
        forms: rows.forms(),
    };
    head.check_delimiter(delimiter, chosen.is_some(), split)?;
    head.check_header()?;
    Ok((delimiter, line))
}

/// The delimiter of a first line `sep=;`, which Excel writes and reads.
fn separator_line(head: &[u8]) -> Option<u8> {
    let line = head.split(|byte| *byte == b'\n').next()?.trim_ascii_end();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', mark]
            if mark.is_ascii_punctuation() && *mark != b'"' =>
        {
            Some(*mark)
        }
        // The end of a line is cut off, and with it a tab.
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'='] if head.get(4) == Some(&b'\t') => Some(b'\t'),
        _ => None,
    }
}

/// The first records of a file, as far as they can be split.
fn head_records(bytes: &[u8], delimiter: u8, line: u64) -> Vec<HeadRecord> {
    let mut splitter = Splitter::new(delimiter, HEAD_BYTES, COLUMNS_MAX);
    splitter.begin_at(line);
    let (mut records, mut rest) = (Vec::new(), bytes);
    let keep = |splitter: &Splitter, records: &mut Vec<HeadRecord>| {
        if !splitter.is_blank() {
            let fields = splitter.fields().map(|(bytes, ..)| String::from_utf8_lossy(bytes).into_owned());
            records.push(HeadRecord { line: splitter.record_line(), fields: fields.collect() });
        }
    };
    while !rest.is_empty() && records.len() < HEAD_RECORDS_MAX {
        let Ok((used, is_complete)) = splitter.take(rest) else { return records };
        rest = rest.get(used..).unwrap_or_default();
        if is_complete {
            keep(&splitter, &mut records);
            splitter.clear();
        }
    }
    if bytes.len() < HEAD_BYTES && splitter.finish() == Ok(true) {
        keep(&splitter, &mut records);
    }
    records
}

/// The columns of a file, by name and by their number among all rows. Without a header, the first record is a row.
fn columns(
    reader: &mut CsvReader,
    dialect: &Dialect,
    file: &Arc<str>,
    rows: &mut Rows,
) -> Result<(Vec<String>, Vec<usize>), Failure> {
    let refuse = |splitter: &Splitter, _: &str, fault: &Fault| {
        let place = Place { file, line: splitter.line(), field: splitter.field_number(), column: "" };
        place.refuse_fault(fault, COLUMNS_MAX, dialect)
    };
    let first = loop {
        match reader.next_record(refuse)? {
            // The borrow of a record ends only outside of the loop.
            Some(record) if record.is_blank() => {}
            Some(_) => break reader.record(),
            None => {
                let place = Place { file, line: 1, field: 1, column: "" };
                let expected = "a header line with the names of the columns".to_owned();
                return Err(place.refuse(
                    expected,
                    "an empty file".into(),
                    "add a header line, or lower --skip-lines",
                ));
            }
        }
    };
    let has_header = dialect.no_header != Some(true);
    let names = if has_header {
        header(first, dialect, file, rows)?
    } else {
        (1..=first.field_count()).map(numbered).collect()
    };
    let mut columns = Vec::with_capacity(names.len());
    for (number, name) in (1..).zip(&names) {
        let place = Place { file, line: first.record_line(), field: number, column: name };
        columns.push(rows.column(name, dialect.format).map_err(|error| place.refuse_row(error))?);
    }
    if !has_header {
        push_record(first, &names, &columns, file, rows)?;
    }
    Ok((names, columns))
}

/// The name of a column without one, by its number.
pub(super) fn numbered(number: usize) -> String {
    format!("column{number}")
}

fn push_record(
    record: &Splitter,
    names: &[String],
    columns: &[usize],
    file: &Arc<str>,
    rows: &mut Rows,
) -> Result<(), Failure> {
    for (at, ((bytes, quoted, line), column)) in record.fields().zip(columns).enumerate() {
        let name = names.get(at).map_or("", String::as_str);
        let place = || Place { file, line, field: at + 1, column: name };
        let text =
            std::str::from_utf8(bytes).map_err(|error| place().refuse_bytes(bytes, error.valid_up_to()))?;
        if !quoted && text.starts_with(' ') && text.trim_ascii_start().starts_with('"') {
            return Err(place().refuse(
                "a quote right behind the delimiter".into(),
                "blanks before it".into(),
                "remove the blanks between delimiter and quote",
            ));
        }
        let is_null = !quoted && (text.is_empty() || rows.is_null_text(text));
        let value = (!is_null).then(|| (rows.forms().class_of_field(text), text));
        let spot = || Spot { file: Arc::clone(file), line, field: Some(at + 1) };
        rows.push(*column, value, false, spot).map_err(|error| place().refuse_row(error))?;
    }
    rows.end_row()
}

/// The names of the columns, which differ. A column without a name gets a number.
fn header(
    record: &Splitter,
    dialect: &Dialect,
    file: &Arc<str>,
    rows: &mut Rows,
) -> Result<Vec<String>, Failure> {
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    for (at, (bytes, is_quoted, line)) in record.fields().enumerate() {
        let place = Place { file, line, field: at + 1, column: "" };
        let name =
            std::str::from_utf8(bytes).map_err(|error| place.refuse_bytes(bytes, error.valid_up_to()))?;
        if name.contains('\0') {
            let remedy = "pass --encoding utf-16 if that is its encoding";
            return Err(place.refuse("the name of a column".into(), "a zero byte".into(), remedy));
        }
        let name = if is_quoted { name } else { name.trim_ascii() };
        let name = if name.is_empty() { rows.name_column(file, line, at + 1) } else { name.to_owned() };
        let is_dropped = with_groups_above(&name).any(|name| dialect.drop.contains(name));
        if !seen.insert(name.clone()) && !is_dropped {
            let found = format!("`{}` for the second time", cut(name, NAME_SHOWN_BYTES));
            let remedy = format!("rename one of the columns, or pass --skip-lines {line} --no-header");
            return Err(place.refuse("names that differ".into(), found, &remedy));
        }
        names.push(name);
    }
    Ok(names)
}

impl Place<'_> {
    fn refuse(&self, expected: String, found: String, remedy: &str) -> Failure {
        let column = cut(self.column.to_owned(), NAME_SHOWN_BYTES);
        let column = if column.is_empty() { String::new() } else { format!(" (`{column}`)") };
        Failure::refused(
            self.file,
            format!("line {}, column {}{column}", self.line, self.field),
            expected,
            found,
            remedy,
        )
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
            "pass --encoding windows-1252, or that of the file",
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
                "end lines with LF or CRLF, for example with tr '\\r' '\\n', or put quotes around the field",
            ),
        }
    }
}
