//! The cells of one column for a batch of rows. An entry of a dictionary is a span of the file; numbers are encoded and
//! texts unpacked while they are gathered.

use mercato_format::column::TEXT_PADDING;
use mercato_format::text::{json_string_text, push_csv_field};
use mercato_format::{
    CellValues, ColumnData, ColumnKind, Dictionary, FloatWidth, FormatError, RowReader, Table,
};

use crate::render::numbers::{encode_numbers, encode_wide};
use crate::render::row_writer::CellText;

/// Encodes the cells of a column.
pub(crate) struct CellEncoder<'t> {
    table: &'t Table,
    column: usize,
    kind: ColumnKind,
    width: FloatWidth,
    text: CellText,
    data: ColumnData<'t>,
}

/// Gathered cells: spans of encoded bytes.
pub(crate) enum Cells<'t> {
    /// Spans of the file, and their total length.
    Stored {
        bytes: &'t [u8],
        spans: Spans,
        total: usize,
    },
    /// Spans of unpacked JSON texts or, as soon as one cell needs another form, spans of `made`.
    Texts {
        json: Vec<u8>,
        made: Vec<u8>,
        spans: Spans,
    },
    Encoded {
        made: Vec<u8>,
        spans: Spans,
    },
    /// Cells of joined columns.
    Joined {
        bytes: &'t [u8],
        combinations: Vec<u32>,
        spans: Spans,
        total: usize,
    },
}

/// Start and end of each cell.
pub(crate) type Spans = Vec<(usize, usize)>;

impl<'t> CellEncoder<'t> {
    pub(crate) fn new(
        table: &'t Table,
        column: usize,
        text: CellText,
    ) -> Result<CellEncoder<'t>, FormatError> {
        let data = table.column(column)?;
        let meta = table.columns().get(column).ok_or_else(|| table.damaged(column))?;
        Ok(CellEncoder { table, column, kind: meta.kind, width: meta.float_width(), text, data })
    }

    pub(crate) fn empty_cells(&self) -> Cells<'t> {
        match &self.data {
            ColumnData::Dictionary(column) => {
                let csv = column.csv.filter(|_| self.text == CellText::Csv);
                let bytes = csv.unwrap_or(column.json).padded_bytes();
                Cells::Stored { bytes, spans: Vec::new(), total: 0 }
            }
            ColumnData::Texts(_) => Cells::Texts { json: Vec::new(), made: Vec::new(), spans: Vec::new() },
            ColumnData::Numbers(_) => Cells::Encoded { made: Vec::new(), spans: Vec::new() },
        }
    }

    /// Replaces `cells` by the encoded values that the reader has at `place`, and takes texts out of it. Returns the
    /// number of NaNs and infinities shown as null.
    pub(crate) fn encode(
        &self,
        reader: &mut RowReader<'_>,
        place: usize,
        cells: &mut Cells<'t>,
    ) -> Result<u64, FormatError> {
        let encoded = reader.cells_mut(place).and_then(|values| self.encode_cells(values, cells));
        encoded.ok_or_else(|| self.table.damaged(self.column))
    }

    fn encode_cells(&self, values: &mut CellValues, cells: &mut Cells<'t>) -> Option<u64> {
        match (&self.data, values, cells) {
            (
                ColumnData::Dictionary(column),
                CellValues::Codes(codes),
                Cells::Stored { bytes, spans, total },
            ) => {
                let found = dictionary_spans(column, self.kind, self.text, codes, spans);
                *total = found.total;
                found.lies_in(bytes).then_some(found.hidden)
            }
            (
                ColumnData::Texts(column),
                CellValues::Texts { json: unpacked, spans: places },
                Cells::Texts { json, made, spans },
            ) => {
                made.clear();
                std::mem::swap(json, unpacked);
                std::mem::swap(spans, places);
                match self.text {
                    CellText::Json => {}
                    CellText::Csv if column.csv_plain => strip_quotes(json, column.null_count > 0, spans)?,
                    CellText::Csv => csv_forms(json, spans, made)?,
                }
                Some(0)
            }
            (_, CellValues::Numbers { values, valid }, Cells::Encoded { made, spans }) => {
                spans.clear();
                encode_numbers(self.kind, self.width, self.text, values, valid, made, spans);
                Some(self.non_finite(values, valid))
            }
            (_, CellValues::Wide { values, valid }, Cells::Encoded { made, spans }) => {
                spans.clear();
                made.clear();
                encode_wide(self.kind, self.text, values, valid, made, spans);
                Some(0)
            }
            _ => None,
        }
    }

    /// The number of NaNs and infinities among floats, for JSON.
    fn non_finite(&self, values: &[i64], valid: &[bool]) -> u64 {
        if self.kind != ColumnKind::Float || self.text != CellText::Json {
            return 0;
        }
        let pairs = values.iter().zip(valid);
        pairs.filter(|(value, valid)| **valid && !f64::from_bits(value.cast_unsigned()).is_finite()).count()
            as u64
    }
}

/// Facts about a batch of spans.
#[derive(Default)]
pub(crate) struct Found {
    /// Total length.
    pub(crate) total: usize,
    end: usize,
    /// Whether a span is inverted or missing.
    is_crooked: bool,
    /// NaNs and infinities shown as null.
    hidden: u64,
}

impl Found {
    #[inline]
    pub(crate) fn take(&mut self, (start, end): (usize, usize)) -> (usize, usize) {
        self.total = self.total.wrapping_add(end.wrapping_sub(start));
        self.end = self.end.max(end);
        self.is_crooked |= start > end;
        (start, end)
    }

    /// Whether every span lies within its section, without the padding.
    pub(crate) fn lies_in(&self, bytes: &[u8]) -> bool {
        !self.is_crooked && self.end <= bytes.len().saturating_sub(TEXT_PADDING)
    }
}

/// A span that no intact file has.
pub(crate) const CROOKED: (usize, usize) = (1, 0);

/// The spans of encoded entries.
fn dictionary_spans(
    column: &Dictionary<'_>,
    kind: ColumnKind,
    text: CellText,
    codes: &[u32],
    spans: &mut Spans,
) -> Found {
    spans.clear();
    let mut found = Found::default();
    let table = column.csv.filter(|_| text == CellText::Csv);
    if table.is_none() && text == CellText::Csv {
        let span = |code: &u32| entry_span(column, kind, text, *code).unwrap_or(CROOKED);
        spans.extend(codes.iter().map(|code| found.take(span(code))));
    } else {
        let table = table.unwrap_or(column.json);
        let span =
            |code: &u32| table.span(*code).map_or(CROOKED, |(start, end)| (start as usize, end as usize));
        spans.extend(codes.iter().map(|code| found.take(span(code))));
    }
    let hides = kind == ColumnKind::Float && text == CellText::Json;
    let hidden = |code: &u32| *code != column.entries && !column.float(*code).is_some_and(f64::is_finite);
    found.hidden = if hides { codes.iter().filter(|code| hidden(code)).count() as u64 } else { 0 };
    found
}

fn total_of(spans: &[(usize, usize)]) -> usize {
    spans.iter().map(|(start, end)| end.saturating_sub(*start)).sum()
}

/// The span of an encoded entry, or of null.
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

/// Strips the quotes of texts that need none in CSV; null becomes empty.
fn strip_quotes(bytes: &[u8], nulls: bool, spans: &mut Spans) -> Option<()> {
    for (start, end) in spans {
        if nulls && bytes.get(*start) != Some(&b'"') {
            *end = *start;
        } else if *end - *start >= 2 {
            (*start, *end) = (*start + 1, *end - 1);
        } else {
            return None;
        }
    }
    Some(())
}

/// The CSV forms of texts. A text without JSON escapes is its own CSV form, with or without its quotes. If one text
/// needs another form, all texts of the batch are copied.
fn csv_forms(bytes: &[u8], spans: &mut Spans, made: &mut Vec<u8>) -> Option<()> {
    let marks = marks_of(bytes, spans)?;
    let makes = marks.contains(&Mark::Escape);
    for ((start, end), mark) in spans.iter_mut().zip(marks) {
        let json = bytes.get(*start..*end)?;
        match mark {
            _ if json.first() != Some(&b'"') => *end = *start,
            Mark::Clean if json.len() > 2 => (*start, *end) = (*start + 1, *end - 1),
            Mark::Clean | Mark::Comma => {}
            Mark::Escape => {
                let at = made.len();
                push_csv_field(made, &json_string_text(json)?);
                (*start, *end) = (at, made.len());
                continue;
            }
        }
        if makes {
            let at = made.len();
            made.extend_from_slice(bytes.get(*start..*end)?);
            (*start, *end) = (at, made.len());
        }
    }
    if makes {
        made.extend_from_slice(&[0; TEXT_PADDING]);
    }
    Some(())
}

/// Characters of a JSON text that matter in CSV. Quotes and line ends are escapes in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Clean,
    Comma,
    Escape,
}

/// One search over texts that lie one behind the other.
fn marks_of(bytes: &[u8], spans: &[(usize, usize)]) -> Option<Vec<Mark>> {
    let mut marks = vec![Mark::Clean; spans.len()];
    let (Some((first, _)), Some((_, last))) = (spans.first(), spans.last()) else { return Some(marks) };
    let mut cells = spans.iter().zip(&mut marks);
    let mut cell = cells.next();
    let stretch = bytes.get(*first..*last)?;
    for hit in memchr::memchr2_iter(b',', b'\\', stretch) {
        while cell.as_ref().is_some_and(|((_, end), _)| *end <= first + hit) {
            cell = cells.next();
        }
        let Some((_, mark)) = cell.as_mut() else { break };
        if stretch.get(hit) == Some(&b'\\') {
            **mark = Mark::Escape;
        } else if **mark == Mark::Clean {
            **mark = Mark::Comma;
        }
    }
    Some(marks)
}

fn mark_of(json: &[u8]) -> Mark {
    match memchr::memchr2(b',', b'\\', json) {
        None => Mark::Clean,
        Some(at) if json.iter().skip(at).any(|byte| *byte == b'\\') => Mark::Escape,
        Some(_) => Mark::Comma,
    }
}

impl Cells<'_> {
    /// The bytes that hold the cells, padded by [`TEXT_PADDING`] bytes; the span of each cell; their total length.
    pub(crate) fn forms(&self) -> (&[u8], &[(usize, usize)], usize) {
        match self {
            Cells::Texts { made, spans, .. } if !made.is_empty() => (made, spans, total_of(spans)),
            Cells::Texts { json, spans, .. } => (json, spans, total_of(spans)),
            Cells::Stored { bytes, spans, total } => (bytes, spans, *total),
            Cells::Encoded { made, spans, .. } => (made, spans, total_of(spans)),
            Cells::Joined { bytes, spans, total, .. } => (bytes, spans, *total),
        }
    }
}

/// The length of a text in CSV, from its JSON form; `plain` texts need neither quotes nor escapes.
pub(crate) fn csv_text_len(json: &[u8], plain: bool) -> Option<u64> {
    if plain {
        let stripped = if json.first() == Some(&b'"') { json.len().checked_sub(2)? } else { 0 };
        return Some(stripped as u64);
    }
    if json.first() != Some(&b'"') {
        return Some(0);
    }
    match mark_of(json) {
        Mark::Clean if json.len() > 2 => Some(json.len() as u64 - 2),
        Mark::Clean | Mark::Comma => Some(json.len() as u64),
        Mark::Escape => {
            let mut out = Vec::new();
            push_csv_field(&mut out, &json_string_text(json)?);
            Some(out.len() as u64)
        }
    }
}
