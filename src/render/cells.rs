//! The cells of one column for a batch of rows: gathered first, printed later. Where a printed form lies in the file,
//! a cell is a span of it; numbers of packed columns are printed when their row is.

use mercato_format::print::{
    push_date, push_decimal, push_finite, push_float_csv, push_integer, push_timestamp, push_wide,
};
use mercato_format::text::{csv_needs_quotes, json_string_text, push_csv_field};
use mercato_format::{ColumnData, ColumnKind, Dictionary, FormatError, Numbers, Table, Texts};

use crate::render::row_writer::CellText;

/// Gathers the cells of a column.
pub(crate) struct Printer<'t> {
    table: &'t Table,
    column: usize,
    kind: ColumnKind,
    text: CellText,
    data: ColumnData<'t>,
}

/// Gathered cells.
pub(crate) enum Cells<'t> {
    /// Printed forms, by their start and end in `bytes`.
    Spans { bytes: &'t [u8], spans: Vec<(usize, usize)> },
    /// Texts that may need quotes in CSV, by their JSON form.
    CsvTexts { bytes: &'t [u8], spans: Vec<(usize, usize)> },
    /// Stored numbers, and which rows have one.
    Numbers { kind: ColumnKind, text: CellText, values: Vec<i64>, valid: Vec<bool> },
    /// Wide numbers, and which rows have one.
    Wide { kind: ColumnKind, text: CellText, values: Vec<Option<i128>> },
}

impl<'t> Printer<'t> {
    pub(crate) fn new(table: &'t Table, column: usize, text: CellText) -> Result<Printer<'t>, FormatError> {
        let data = table.column(column)?;
        let kind = table.columns().get(column).map_or(ColumnKind::Text, |meta| meta.kind);
        Ok(Printer { table, column, kind, text, data })
    }

    pub(crate) fn empty_cells(&self) -> Cells<'t> {
        let (kind, text) = (self.kind, self.text);
        match &self.data {
            ColumnData::Dictionary(column) => {
                let table =
                    if text == CellText::Csv { column.csv.unwrap_or(column.json) } else { column.json };
                Cells::Spans { bytes: table.bytes(), spans: Vec::new() }
            }
            ColumnData::Texts(column) if text == CellText::Csv && !column.csv_plain => {
                Cells::CsvTexts { bytes: column.bytes(), spans: Vec::new() }
            }
            ColumnData::Texts(column) => Cells::Spans { bytes: column.bytes(), spans: Vec::new() },
            ColumnData::Numbers(column) if column.width == 16 => {
                Cells::Wide { kind, text, values: Vec::new() }
            }
            ColumnData::Numbers(_) => Cells::Numbers { kind, text, values: Vec::new(), valid: Vec::new() },
        }
    }

    /// Replaces `cells` by those of `rows`; gives the number of NaNs and infinities that will show as null.
    pub(crate) fn gather(&self, rows: &[u32], cells: &mut Cells<'t>) -> Result<u64, FormatError> {
        let gathered = match (&self.data, cells) {
            (ColumnData::Dictionary(column), Cells::Spans { bytes, spans }) => {
                dictionary_spans(column, self.kind, self.text, rows, spans)
                    .map(|hidden| (bytes, spans, hidden))
            }
            (ColumnData::Texts(column), Cells::Spans { bytes, spans } | Cells::CsvTexts { bytes, spans }) => {
                let strip = self.text == CellText::Csv && column.csv_plain;
                text_spans(column, strip, rows, spans).map(|()| (bytes, spans, 0))
            }
            (ColumnData::Numbers(column), Cells::Numbers { values, valid, .. }) => {
                let complete = gather_numbers(column, rows, values, valid);
                return complete.map(|()| self.non_finite(values, valid)).ok_or_else(|| self.damaged());
            }
            (ColumnData::Numbers(column), Cells::Wide { values, .. }) => {
                values.clear();
                let complete = rows.iter().try_for_each(|row| {
                    let value = column.values.get_wide(*row as usize)?;
                    values.push(column.is_valid(*row).then_some(value));
                    Some(())
                });
                return complete.map(|()| 0).ok_or_else(|| self.damaged());
            }
            _ => None,
        };
        let (bytes, spans, hidden) = gathered.ok_or_else(|| self.damaged())?;
        if matches!(self.data, ColumnData::Texts(_)) && is_contiguous(rows).is_none() {
            fetch(bytes, spans);
        }
        let inside = spans.iter().all(|(start, end)| start <= end && *end <= bytes.len());
        if inside { Ok(hidden) } else { Err(self.damaged()) }
    }

    /// NaNs and infinities among doubles, for JSON.
    fn non_finite(&self, values: &[i64], valid: &[bool]) -> u64 {
        if self.kind != ColumnKind::Float || self.text != CellText::Json {
            return 0;
        }
        let pairs = values.iter().zip(valid);
        pairs.filter(|(value, valid)| **valid && !f64::from_bits(value.cast_unsigned()).is_finite()).count()
            as u64
    }

    fn damaged(&self) -> FormatError {
        self.table.damaged(self.column)
    }
}

/// Touches texts that lie far apart, so that their cache misses overlap instead of coming one by one while they are
/// printed.
fn fetch(bytes: &[u8], spans: &[(usize, usize)]) {
    let touched = spans.iter().fold(0u8, |sum, (start, _)| sum ^ bytes.get(*start).copied().unwrap_or(0));
    std::hint::black_box(touched);
}

/// Whether rows follow one another, so that a range can be copied instead of gathered.
fn is_contiguous(rows: &[u32]) -> Option<usize> {
    let first = *rows.first()?;
    let ascending = rows.iter().zip(first..).all(|(row, expected)| *row == expected);
    ascending.then_some(first as usize)
}

/// Spans of printed entries; `None` when the file is damaged.
fn dictionary_spans(
    column: &Dictionary<'_>,
    kind: ColumnKind,
    text: CellText,
    rows: &[u32],
    spans: &mut Vec<(usize, usize)>,
) -> Option<u64> {
    let mut codes = Vec::with_capacity(rows.len());
    let complete = match is_contiguous(rows) {
        Some(first) => column.codes.copy_range(first, rows.len(), &mut codes),
        None => column.codes.gather(rows, &mut codes),
    };
    if !complete {
        return None;
    }
    spans.clear();
    spans.reserve(codes.len());
    for code in &codes {
        spans.push(entry_span(column, kind, text, *code)?);
    }
    let hides = kind == ColumnKind::Float && text == CellText::Json;
    let hidden = |code: &u32| *code != column.entries && !column.float(*code).is_some_and(f64::is_finite);
    Some(if hides { codes.iter().filter(|code| hidden(code)).count() as u64 } else { 0 })
}

/// Where the printed form of an entry, or of null, lies in its table.
#[inline]
pub(crate) fn entry_span(
    column: &Dictionary<'_>,
    kind: ColumnKind,
    text: CellText,
    code: u32,
) -> Option<(usize, usize)> {
    let quoted = matches!(kind, ColumnKind::Text | ColumnKind::Date | ColumnKind::Timestamp { .. });
    let (start, end) = match (text, column.csv) {
        (CellText::Csv, Some(csv)) => csv.span(code)?,
        (CellText::Csv, None) if code == column.entries => (0, 0),
        (CellText::Csv, None) if quoted => {
            let (start, end) = column.json.span(code)?;
            (start.checked_add(1)?, end.checked_sub(1)?)
        }
        _ => column.json.span(code)?,
    };
    Some((start as usize, end as usize))
}

/// Spans of texts, with or without their quotes; `None` when the file is damaged.
fn text_spans(column: &Texts<'_>, strip: bool, rows: &[u32], spans: &mut Vec<(usize, usize)>) -> Option<()> {
    spans.clear();
    spans.reserve(rows.len());
    for row in rows {
        let (start, end) = column.span(*row)?;
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        if !strip {
            spans.push((start, end));
        } else if column.bytes().get(start) == Some(&b'"') {
            spans.push((start + 1, end.checked_sub(1)?));
        } else {
            spans.push((0, 0));
        }
    }
    Some(())
}

fn gather_numbers(
    column: &Numbers<'_>,
    rows: &[u32],
    values: &mut Vec<i64>,
    valid: &mut Vec<bool>,
) -> Option<()> {
    values.clear();
    valid.clear();
    let complete = match is_contiguous(rows) {
        Some(first) => column.values.copy_range(first, rows.len(), values),
        None => column.values.gather(rows, values),
    };
    match column.validity() {
        None => valid.resize(rows.len(), true),
        Some(_) => valid.extend(rows.iter().map(|row| column.is_valid(*row))),
    }
    complete.then_some(())
}

impl Cells<'_> {
    /// Appends the cell of the batch's row `number`.
    #[inline]
    pub(crate) fn print(&self, number: usize, out: &mut Vec<u8>) {
        match self {
            Cells::Spans { bytes, spans } => {
                if let Some(text) = spans.get(number).and_then(|(start, end)| bytes.get(*start..*end)) {
                    out.extend_from_slice(text);
                }
            }
            Cells::CsvTexts { bytes, spans } => {
                if let Some(json) = spans.get(number).and_then(|(start, end)| bytes.get(*start..*end)) {
                    print_csv_text(json, out);
                }
            }
            Cells::Numbers { kind, text, values, valid } => {
                let value = values.get(number).copied().filter(|_| valid.get(number) == Some(&true));
                print_number(*kind, *text, value, out);
            }
            Cells::Wide { kind, text, values } => match (values.get(number).copied().flatten(), kind) {
                (Some(value), ColumnKind::Decimal { scale, .. }) => push_decimal(out, value, *scale),
                (Some(value), _) => push_wide(out, value),
                (None, _) => print_null(*text, out),
            },
        }
    }
}

/// Bytes of a text in CSV, from its JSON form; `plain` texts need neither quotes nor escapes.
pub(crate) fn csv_text_len(json: &[u8], plain: bool) -> Option<u64> {
    if plain {
        let stripped = if json.first() == Some(&b'"') { json.len().checked_sub(2)? } else { 0 };
        return Some(stripped as u64);
    }
    let mut out = Vec::new();
    let Some(text) = json_string_text(json) else { return Some(0) };
    match (matches!(text, std::borrow::Cow::Borrowed(_)), csv_needs_quotes(&text)) {
        (_, false) => return Some(text.len() as u64),
        (true, true) => return Some(json.len() as u64),
        (false, true) => push_csv_field(&mut out, &text),
    }
    Some(out.len() as u64)
}

/// A text without escapes is its own CSV form, if need be with the quotes that it has already.
fn print_csv_text(json: &[u8], out: &mut Vec<u8>) {
    let Some(text) = json_string_text(json) else { return };
    let clean = matches!(text, std::borrow::Cow::Borrowed(_));
    match (clean, csv_needs_quotes(&text)) {
        (_, false) => out.extend_from_slice(&text),
        (true, true) => out.extend_from_slice(json),
        (false, true) => push_csv_field(out, &text),
    }
}

fn print_null(text: CellText, out: &mut Vec<u8>) {
    if text == CellText::Json {
        out.extend_from_slice(b"null");
    }
}

#[inline]
fn print_number(kind: ColumnKind, text: CellText, value: Option<i64>, out: &mut Vec<u8>) {
    let Some(value) = value else { return print_null(text, out) };
    match kind {
        ColumnKind::Integer | ColumnKind::Text => push_integer(out, value),
        ColumnKind::Decimal { scale, .. } => push_decimal(out, value.into(), scale),
        ColumnKind::Boolean => out.extend_from_slice(if value == 0 { b"false" } else { b"true" }),
        ColumnKind::Float => {
            let value = f64::from_bits(value.cast_unsigned());
            match text {
                CellText::Csv => push_float_csv(out, value),
                CellText::Json => {
                    if !push_finite(out, value) {
                        out.extend_from_slice(b"null");
                    }
                }
            }
        }
        ColumnKind::Date => print_quoted(text, out, |out| push_date(out, value)),
        ColumnKind::Timestamp { unit } => print_quoted(text, out, |out| push_timestamp(out, value, unit)),
    }
}

fn print_quoted(text: CellText, out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
    if text == CellText::Csv {
        return print(out);
    }
    out.push(b'"');
    print(out);
    out.push(b'"');
}
