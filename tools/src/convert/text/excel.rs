//! Reads a sheet of an Excel workbook into rows: the first row with cells names the columns. Cells have types of their
//! own; a formula is its last result, an error is null, and of merged cells the first has the value. Hidden rows and
//! columns are read like others. Does not depend on column kinds.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use calamine::{DataRef, ExcelDateTime, Reader, SheetType, SheetVisible, Xlsx, XlsxError};
use mercato_format::limits::COLUMNS_MAX;

use crate::convert::inputs::InputFile;
use crate::convert::isolation::channel;
use crate::convert::schema::flatten::cut;
use crate::convert::text::classify::{self, Class};
use crate::convert::text::head::{HEAD_RECORDS_MAX, Head, HeadRecord};
use crate::convert::text::infer::Spot;
use crate::convert::text::moments;
use crate::convert::text::rows::{RowError, Rows};
use crate::convert::text::workbook::{refusal, weigh};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::panic_guard::{catch_panic, progressed};

const FORMAT: &str = "Excel";
const SHOWN_BYTES: usize = 64;
/// Integers of more digits are doubles to Excel.
const WHOLE_MAX: f64 = 1e15;
/// Rows between two looks at signals.
const SIGNAL_ROWS: u64 = 1_024;

pub struct SheetOptions<'a> {
    /// Its name; the first visible one if there is none.
    pub sheet: Option<&'a str>,
    /// Rows above the header.
    pub skip_lines: u32,
    /// Whether there is no header, if the operator said.
    pub no_header: Option<bool>,
    /// Memory limit, bytes.
    pub memory_limit: u64,
    pub interruption: &'a Interruption,
}

/// Reads all rows of a sheet. Returns the bytes of the workbook, decompressed.
///
/// # Errors
/// A refusal that names file, row and column, or a failure of the system.
pub fn read(file: &InputFile, options: &SheetOptions<'_>, rows: &mut Rows) -> Result<u64, Failure> {
    let Some(path) = &file.path else {
        return Err(Failure::Usage("-: an Excel workbook cannot be standard input".into()));
    };
    let bytes = weigh(path, options.memory_limit, options.interruption)?;
    rows.begin_input(&file.name());
    let unreadable = |found: String| {
        refusal(path, "an Excel workbook (.xlsx)", found, "save it again as .xlsx, or as CSV in UTF-8")
    };
    channel::reading(&file.name(), "workbook", || catch_panic(|| read_sheet(path, options, rows)))
        .map_err(unreadable)??;
    Ok(bytes)
}

fn read_sheet(path: &Path, options: &SheetOptions<'_>, rows: &mut Rows) -> Result<(), Failure> {
    let unreadable = |error: XlsxError| {
        let remedy = "save it again as .xlsx, or as CSV in UTF-8";
        refusal(path, "an Excel workbook (.xlsx)", error.to_string(), remedy)
    };
    let file = File::open(path).map_err(Failure::io(path, "open"))?;
    let mut book = Xlsx::new(BufReader::new(file)).map_err(unreadable)?;
    let name = chosen_sheet(path, &book, options.sheet, rows)?;
    let mut cells = book.worksheet_cells_reader(&name).map_err(unreadable)?;
    let mut sheet = Sheet::new(path, options, rows);
    while let Some(cell) = cells.next_cell().map_err(unreadable)? {
        let (row, column) = cell.get_position();
        if row < options.skip_lines {
            continue;
        }
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        if column >= COLUMNS_MAX || row < sheet.row {
            let expected = format!("rows in order, with at most {COLUMNS_MAX} columns");
            return Err(sheet.refuse(row, column, expected, "another cell".into(), "save it again as .xlsx"));
        }
        if row != sheet.row {
            sheet.end_row()?;
            sheet.row = row;
        }
        sheet.take(column, cell.get_value());
    }
    sheet.end_row()?;
    sheet.begin_rows()?;
    sheet.tell_errors();
    Ok(())
}

/// The name of the sheet to read.
fn chosen_sheet(
    path: &Path,
    book: &Xlsx<BufReader<File>>,
    wanted: Option<&str>,
    rows: &mut Rows,
) -> Result<String, Failure> {
    let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let sheets: Vec<_> = sheets.collect();
    let names = || {
        let names: Vec<&str> = sheets.iter().take(20).map(|sheet| sheet.name.as_str()).collect();
        names.join(", ")
    };
    if let Some(wanted) = wanted {
        let found = sheets.iter().find(|sheet| sheet.name == wanted);
        return found.map(|sheet| sheet.name.clone()).ok_or_else(|| {
            Failure::Usage(format!(
                "--sheet {wanted}: {} has no such sheet; it has {}",
                path.display(),
                names()
            ))
        });
    }
    let visible: Vec<_> = sheets.iter().filter(|sheet| sheet.visible == SheetVisible::Visible).collect();
    let Some(first) = visible.first() else {
        return Err(refusal(path, "a visible sheet", "none".into(), "pass --sheet NAME"));
    };
    if visible.len() > 1 {
        rows.warn(format!(
            "{}: the first of {} sheets is read, `{}`; --sheet NAME reads another: {}",
            path.display(),
            visible.len(),
            first.name,
            names()
        ));
    }
    Ok(first.name.clone())
}

/// A value of a cell.
type Value = (Class, String);

/// A row of values, by column, in ascending order.
type Row = (u32, Vec<(usize, Value)>);

/// The rows of a sheet on their way into columns.
struct Sheet<'a> {
    path: &'a Path,
    file: Arc<str>,
    options: &'a SheetOptions<'a>,
    rows: &'a mut Rows,
    row: u32,
    values: Vec<(usize, Value)>,
    /// The first rows, until the columns are known.
    head: Vec<Row>,
    /// The first column of the table, and its columns; `None` until they are known.
    columns: Option<(usize, Vec<usize>)>,
    count: u64,
    errors: u64,
    first_error: Option<(u32, usize, String)>,
}

impl<'a> Sheet<'a> {
    fn new(path: &'a Path, options: &'a SheetOptions<'a>, rows: &'a mut Rows) -> Sheet<'a> {
        Sheet {
            path,
            file: Arc::from(path.display().to_string()),
            options,
            rows,
            row: 0,
            values: Vec::new(),
            head: Vec::new(),
            columns: None,
            count: 0,
            errors: 0,
            first_error: None,
        }
    }

    fn take(&mut self, column: usize, cell: &DataRef<'_>) {
        let value = match cell {
            DataRef::Empty => None,
            DataRef::Int(number) => Some(of_text(number.to_string())),
            DataRef::Float(number) => Some(of_number(*number)),
            DataRef::Bool(value) => Some((Class::Boolean, value.to_string())),
            DataRef::String(text) => self.of_string(text),
            DataRef::SharedString(text) => self.of_string(text),
            DataRef::DateTime(moment) => Some(of_moment(moment)),
            DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => self.of_string(text),
            DataRef::Error(error) => {
                self.errors += 1;
                self.first_error.get_or_insert_with(|| (self.row, column, error.to_string()));
                None
            }
        };
        if let Some(value) = value {
            self.values.push((column, value));
        }
    }

    fn of_string(&mut self, text: &str) -> Option<Value> {
        let is_null = text.is_empty() || self.rows.is_null_text(text);
        (!is_null).then(|| (self.rows.forms().class_of_string(text), text.to_owned()))
    }

    /// Ends a row. One without values is no row.
    fn end_row(&mut self) -> Result<(), Failure> {
        if self.values.is_empty() {
            return Ok(());
        }
        self.count += 1;
        progressed();
        if self.count.is_multiple_of(SIGNAL_ROWS) && self.options.interruption.is_requested() {
            return Err(Failure::Cancelled { file: self.file.to_string() });
        }
        let row = (self.row, std::mem::take(&mut self.values));
        if self.columns.is_some() {
            return self.push(&row);
        }
        self.head.push(row);
        if self.head.len() == HEAD_RECORDS_MAX { self.begin_rows() } else { Ok(()) }
    }

    /// Finds the columns out of the first rows, and pushes these.
    fn begin_rows(&mut self) -> Result<(), Failure> {
        if self.columns.is_some() {
            return Ok(());
        }
        let head = std::mem::take(&mut self.head);
        let first_column =
            head.iter().filter_map(|(_, values)| values.first()).map(|(column, _)| *column).min();
        let (Some(first), Some(first_column)) = (head.first(), first_column) else {
            return Err(refusal(self.path, "a sheet with rows", "an empty one".into(), "pass --sheet NAME"));
        };
        let records = head.iter().map(|row| record(row, first_column)).collect();
        let forms = self.rows.forms().clone();
        Head { file: &self.file, records, no_header: self.options.no_header, forms: &forms }
            .check_header()?;
        let has_header = self.options.no_header != Some(true);
        let names = if has_header {
            self.names(first, first_column)?
        } else {
            let width = head
                .iter()
                .filter_map(|(_, values)| values.last())
                .map(|(column, _)| column + 1 - first_column);
            (1..=width.max().unwrap_or(0)).map(super::read_csv::numbered).collect()
        };
        let mut columns = Vec::with_capacity(names.len());
        for (number, name) in (first_column..).zip(&names) {
            let column = self.rows.column(name, FORMAT);
            columns.push(column.map_err(|error| self.refuse_row(first.0, number, error))?);
        }
        self.columns = Some((first_column, columns));
        head.iter().skip(usize::from(has_header)).try_for_each(|row| self.push(row))
    }

    /// The names of the columns, which differ. A column without a name gets a number.
    fn names(&mut self, header: &Row, first_column: usize) -> Result<Vec<String>, Failure> {
        let HeadRecord { line, fields } = record(header, first_column);
        let (mut names, mut seen) = (Vec::with_capacity(fields.len()), HashSet::new());
        for (at, name) in fields.into_iter().enumerate() {
            let name = name.trim();
            let name = if name.is_empty() {
                self.rows.name_column(&self.file, line, at + 1)
            } else {
                name.to_owned()
            };
            if !seen.insert(name.clone()) {
                let found = format!("`{}` for the second time", cut(name, SHOWN_BYTES));
                let remedy = format!("rename one of the columns, or pass --skip-lines {line} --no-header");
                return Err(self.refuse(
                    header.0,
                    first_column + at,
                    "names that differ".into(),
                    found,
                    &remedy,
                ));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn push(&mut self, row: &Row) -> Result<(), Failure> {
        let Some((first_column, columns)) = self.columns.take() else { return Ok(()) };
        for (at, (class, text)) in &row.1 {
            let number = at.checked_sub(first_column).and_then(|at| columns.get(at));
            let Some(number) = number else {
                let expected = format!("{} columns, as in the header", columns.len());
                let found = format!("`{}` beside them", cut(text.clone(), SHOWN_BYTES));
                return Err(self.refuse(row.0, *at, expected, found, "remove the cell, or name its column"));
            };
            let spot =
                || Spot { file: Arc::clone(&self.file), line: u64::from(row.0) + 1, field: Some(at + 1) };
            let pushed = self.rows.push(*number, Some((*class, text)), true, spot);
            pushed.map_err(|error| self.refuse_row(row.0, *at, error))?;
        }
        self.columns = Some((first_column, columns));
        self.rows.end_row()
    }

    fn tell_errors(&mut self) {
        if let Some((row, column, error)) = self.first_error.take() {
            let (line, number) = (row + 1, column + 1);
            self.rows.warn(format!(
                "{}: {} cells are errors and become null, the first is {error} in row {line}, column {number}",
                self.file, self.errors
            ));
        }
    }

    fn refuse_row(&self, row: u32, column: usize, error: RowError) -> Failure {
        match error {
            RowError::Failure(failure) => failure,
            RowError::Value { expected, found, remedy } => self.refuse(row, column, expected, found, &remedy),
        }
    }

    fn refuse(&self, row: u32, column: usize, expected: String, found: String, remedy: &str) -> Failure {
        Failure::refused(
            self.file.to_string(),
            format!("line {}, column {}", u64::from(row) + 1, column.saturating_add(1)),
            expected,
            found,
            remedy,
        )
    }
}

/// A row as a record of texts, from the first column of the table on.
fn record(row: &Row, first_column: usize) -> HeadRecord {
    let mut fields = Vec::new();
    for (column, (_, text)) in &row.1 {
        fields.resize(column - first_column, String::new());
        fields.push(cut(text.clone(), mercato_format::limits::NAME_BYTES_MAX));
    }
    HeadRecord { line: u64::from(row.0) + 1, fields }
}

fn of_text(text: String) -> Value {
    (classify::of_number(&text).unwrap_or(Class::Text), text)
}

/// Excel has doubles only. A whole number of at most 15 digits is an integer.
fn of_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < WHOLE_MAX {
        return of_text(format!("{number:.0}").replace("-0", "0"));
    }
    (Class::Float, format!("{number:?}"))
}

/// A day, a datetime, or a text with a time of day or a duration.
fn of_moment(moment: &ExcelDateTime) -> Value {
    let days = moment.as_f64();
    if moment.is_duration() || (0.0..1.0).contains(&days) {
        let seconds = (days * 86_400.0).round() as i64;
        let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
        let text = format!("{sign}{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        return (Class::Text, text);
    }
    let (year, month, day, hour, minute, second, milli) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let text = match (hour, minute, second, milli) {
        (0, 0, 0, 0) => date,
        (_, _, _, 0) => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
        _ => format!("{date}T{hour:02}:{minute:02}:{second:02}.{milli:03}"),
    };
    let class = moments::parse(&text).map_or(Class::Text, classify::of_moment);
    (class, text)
}
