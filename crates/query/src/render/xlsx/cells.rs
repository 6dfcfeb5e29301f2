//! The cells of a column: numbers, dates and booleans where Excel holds their values exactly, else texts. Nulls have no
//! cell. Does not depend on files.

use std::borrow::Cow;

use mercato_format::encode::{push_date, push_decimal, push_finite, push_timestamp, push_wide};
use mercato_format::text::json_string_text;
use mercato_format::{CellValues, ColumnData, ColumnKind, FloatWidth, FormatError, Table, TimeUnit};

use crate::render::RenderNotes;

/// Characters of a cell, counted as UTF-16 units. Excel has no more.
const TEXT_UNITS_MAX: usize = 32_767;
/// The integers up to here are exact doubles.
const INTEGER_MAX: i128 = 1 << 53;
/// Excel shows and keeps 15 digits of a decimal.
const DECIMAL_MAX: i128 = 999_999_999_999_999;
/// The scales of decimals that have a style.
pub(super) const SCALE_MAX: u8 = 15;
/// The serial number of 1 January 1970.
const EPOCH_SERIAL: i64 = 25_569;
/// 1 March 1900. Before it, Excel counts a day that never was.
const SERIAL_MIN: i64 = 61;
/// 31 December 9999, the last day of Excel.
const SERIAL_MAX: i64 = 2_958_465;
const DAY_MILLIS: i64 = 86_400_000;

/// The style of a cell: its place in the list of `parts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    General,
    Header,
    Integer,
    Date,
    Seconds,
    Millis,
    Text,
    /// A decimal with so many digits behind the point.
    Decimal(u8),
}

impl Style {
    /// Its number in the list of styles.
    pub(super) fn number(self) -> u8 {
        match self {
            Style::General => 0,
            Style::Header => 1,
            Style::Integer | Style::Decimal(0) => 2,
            Style::Date => 3,
            Style::Seconds => 4,
            Style::Millis => 5,
            Style::Text => 6,
            Style::Decimal(scale) => scale.min(SCALE_MAX).saturating_add(6),
        }
    }
}

/// A column of a sheet.
#[derive(Debug)]
pub(super) struct Column<'t> {
    number: usize,
    name: &'t str,
    kind: ColumnKind,
    width: FloatWidth,
    data: ColumnData<'t>,
    letters: String,
}

impl<'t> Column<'t> {
    /// The column of a table at a place of the sheet, counted from zero.
    pub(super) fn new(table: &'t Table, number: usize, place: usize) -> Result<Column<'t>, FormatError> {
        let meta = table.columns().get(number).ok_or_else(|| table.damaged(number))?;
        let data = table.column(number)?;
        let (name, kind, width) = (meta.name.as_str(), meta.kind, meta.float_width());
        Ok(Column { number, name, kind, width, data, letters: letters(place) })
    }

    /// Its number in the table.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    pub(super) fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Appends the cell number `at`, which stands in row `line` of the sheet; `None` when the file is damaged.
    pub(super) fn push(
        &self,
        cells: &CellValues,
        at: usize,
        line: &str,
        out: &mut Vec<u8>,
        notes: &mut RenderNotes,
    ) -> Option<()> {
        match self.kind {
            ColumnKind::Text => {
                if let Some(text) = self.text(cells, at)? {
                    let text = std::str::from_utf8(&text).ok()?;
                    notes.cut_texts =
                        notes.cut_texts.saturating_add(u64::from(self.push_text(text, line, out)));
                }
            }
            ColumnKind::Float => {
                if let Some(value) = self.float(cells, at)? {
                    self.push_float(value, line, out);
                }
            }
            _ => {
                if let Some(value) = self.integer(cells, at)? {
                    self.push_integer(value, line, out)?;
                }
            }
        }
        Some(())
    }

    fn text<'c>(&'c self, cells: &'c CellValues, at: usize) -> Option<Option<Cow<'c, [u8]>>> {
        let json = match (&self.data, cells) {
            (ColumnData::Dictionary(column), CellValues::Codes(codes)) => column.json.get(*codes.get(at)?)?,
            (_, CellValues::Texts { json, spans }) => {
                let (start, end) = *spans.get(at)?;
                json.get(start..end)?
            }
            _ => return None,
        };
        if json == b"null" { Some(None) } else { json_string_text(json).map(Some) }
    }

    fn float(&self, cells: &CellValues, at: usize) -> Option<Option<f64>> {
        match (&self.data, cells) {
            (ColumnData::Dictionary(column), CellValues::Codes(codes)) => {
                let code = *codes.get(at)?;
                if code == column.entries { Some(None) } else { column.float(code).map(Some) }
            }
            (_, CellValues::Numbers { values, valid }) => {
                let value = f64::from_bits(values.get(at)?.cast_unsigned());
                Some(valid.get(at)?.then_some(value))
            }
            _ => None,
        }
    }

    fn integer(&self, cells: &CellValues, at: usize) -> Option<Option<i128>> {
        match (&self.data, cells) {
            (ColumnData::Dictionary(column), CellValues::Codes(codes)) => {
                let code = *codes.get(at)?;
                if code == column.entries { Some(None) } else { column.integer(code).map(Some) }
            }
            (_, CellValues::Numbers { values, valid }) => {
                Some(valid.get(at)?.then_some(i128::from(*values.get(at)?)))
            }
            (_, CellValues::Wide { values, valid }) => Some(valid.get(at)?.then_some(*values.get(at)?)),
            _ => None,
        }
    }

    /// Appends the cell with the column's name.
    pub(super) fn push_header(&self, out: &mut Vec<u8>) {
        push_text_cell(&self.letters, "1", Style::Header, self.name, out);
    }

    fn push_text(&self, text: &str, line: &str, out: &mut Vec<u8>) -> bool {
        push_text_cell(&self.letters, line, Style::Text, text, out)
    }

    fn push_number(&self, line: &str, style: Style, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
        open(&self.letters, line, style, out);
        out.extend_from_slice(b"><v>");
        value(out);
        out.extend_from_slice(b"</v></c>");
    }

    /// A number where Excel has it, else the text of CSV. Excel has no numbers below the normal ones.
    fn push_float(&self, value: f64, line: &str, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        if value.is_finite() && !value.is_subnormal() && self.width.push_finite(&mut text, value) {
            self.push_number(line, Style::General, out, |out| out.extend_from_slice(&text));
            return;
        }
        text.clear();
        self.width.push_csv(&mut text, value);
        self.push_text(&String::from_utf8_lossy(&text), line, out);
    }

    fn push_integer(&self, value: i128, line: &str, out: &mut Vec<u8>) -> Option<()> {
        match self.kind {
            ColumnKind::Boolean => {
                open(&self.letters, line, Style::General, out);
                let value: &[u8] =
                    if value == 0 { b" t=\"b\"><v>0</v></c>" } else { b" t=\"b\"><v>1</v></c>" };
                out.extend_from_slice(value);
            }
            ColumnKind::Date => self.push_date(i64::try_from(value).ok()?, line, out),
            ColumnKind::Timestamp { unit } => {
                self.push_timestamp(i64::try_from(value).ok()?, unit, line, out)
            }
            ColumnKind::Decimal { scale, .. } => {
                if scale <= SCALE_MAX && value.unsigned_abs() <= DECIMAL_MAX.unsigned_abs() {
                    self.push_number(line, Style::Decimal(scale), out, |out| push_decimal(out, value, scale));
                } else {
                    self.push_printed(line, out, |out| push_decimal(out, value, scale));
                }
            }
            _ if value.unsigned_abs() <= INTEGER_MAX.unsigned_abs() => {
                self.push_number(line, Style::Integer, out, |out| push_wide(out, value));
            }
            _ => self.push_printed(line, out, |out| push_wide(out, value)),
        }
        Some(())
    }

    fn push_date(&self, days: i64, line: &str, out: &mut Vec<u8>) {
        match serial_of(days) {
            Some(serial) => {
                self.push_number(line, Style::Date, out, |out| push_wide(out, serial.into()));
            }
            None => self.push_printed(line, out, |out| push_date(out, days)),
        }
    }

    /// A moment of whole milliseconds as a number; a finer one would lose digits.
    fn push_timestamp(&self, value: i64, unit: TimeUnit, line: &str, out: &mut Vec<u8>) {
        let Some((serial, millis)) = moment(value, unit) else {
            self.push_printed(line, out, |out| push_timestamp(out, value, unit));
            return;
        };
        let style = if unit == TimeUnit::Second { Style::Seconds } else { Style::Millis };
        self.push_number(line, style, out, |out| {
            if millis == 0 {
                push_wide(out, serial.into());
                return;
            }
            // A day inside Excel's range is finite.
            let _ = push_finite(out, serial as f64 + millis as f64 / DAY_MILLIS as f64);
        });
    }

    /// Appends a text that needs no escape, as CSV prints it.
    fn push_printed(&self, line: &str, out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
        let mut text = Vec::new();
        print(&mut text);
        self.push_text(&String::from_utf8_lossy(&text), line, out);
    }
}

/// The serial number of a day, inside Excel's range.
fn serial_of(days: i64) -> Option<i64> {
    days.checked_add(EPOCH_SERIAL).filter(|serial| (SERIAL_MIN..=SERIAL_MAX).contains(serial))
}

/// The serial number of the day of a moment and the milliseconds of the day; `None` for finer moments and days out of
/// range.
fn moment(value: i64, unit: TimeUnit) -> Option<(i64, i64)> {
    let millis = match unit {
        TimeUnit::Second => value.checked_mul(1_000)?,
        TimeUnit::Millisecond => value,
        TimeUnit::Microsecond => (value % 1_000 == 0).then_some(value / 1_000)?,
        TimeUnit::Nanosecond => (value % 1_000_000 == 0).then_some(value / 1_000_000)?,
    };
    Some((serial_of(millis.div_euclid(DAY_MILLIS))?, millis.rem_euclid(DAY_MILLIS)))
}

fn open(letters: &str, line: &str, style: Style, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<c r=\"");
    out.extend_from_slice(letters.as_bytes());
    out.extend_from_slice(line.as_bytes());
    out.push(b'"');
    if style != Style::General {
        out.extend_from_slice(b" s=\"");
        out.extend_from_slice(itoa::Buffer::new().format(style.number()).as_bytes());
        out.push(b'"');
    }
}

/// Appends a cell with a text, which is never a formula. Returns whether the text was cut.
fn push_text_cell(letters: &str, line: &str, style: Style, text: &str, out: &mut Vec<u8>) -> bool {
    open(letters, line, style, out);
    out.extend_from_slice(b" t=\"inlineStr\"><is><t xml:space=\"preserve\">");
    let cut = cut(text);
    push_escaped(cut.as_deref().unwrap_or(text), out);
    out.extend_from_slice(b"</t></is></c>");
    cut.is_some()
}

/// A text that is too long for a cell, cut, with a mark that says so; `None` for texts that fit.
fn cut(text: &str) -> Option<String> {
    if text.len() <= TEXT_UNITS_MAX {
        return None;
    }
    let units = text.encode_utf16().count();
    if units <= TEXT_UNITS_MAX {
        return None;
    }
    let mark = format!("… [cut: {units} characters in all]");
    let most = TEXT_UNITS_MAX.saturating_sub(mark.encode_utf16().count());
    let mut taken = 0;
    let head = text.chars().take_while(|character| {
        taken += character.len_utf16();
        taken <= most
    });
    Some(head.chain(mark.chars()).collect())
}

/// Appends a text as XML. What XML cannot hold stands as `_x0001_`, as Excel writes it, and a text that looks so is
/// escaped itself.
fn push_escaped(text: &str, out: &mut Vec<u8>) {
    for (at, character) in text.char_indices() {
        match character {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '_' if looks_escaped(text.as_bytes().get(at..)) => out.extend_from_slice(b"_x005F_"),
            '\t' | '\n' => out.push(character as u8),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => {
                out.extend_from_slice(format!("_x{:04X}_", u32::from(character)).as_bytes());
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Whether a text begins as an escape does.
fn looks_escaped(rest: Option<&[u8]>) -> bool {
    let Some(head) = rest.and_then(|rest| rest.first_chunk::<7>()) else { return false };
    let [b'_', b'x', digits @ .., b'_'] = head else { return false };
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// The letters of a column of a sheet: A to Z, then AA.
fn letters(place: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = place.saturating_add(1);
    while rest > 0 {
        let digit = u8::try_from((rest - 1) % 26).unwrap_or(0);
        letters.push(char::from(b'A'.saturating_add(digit)));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_columns_by_letters() {
        let names = [0, 25, 26, 51, 52, 701, 702, 16_383].map(letters);
        assert_eq!(names, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA", "XFD"]);
    }

    #[test]
    fn escapes_what_xml_cannot_hold() {
        let escaped = |text: &str| {
            let mut out = Vec::new();
            push_escaped(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(escaped("a<b & c>\"d\" 'è'🦀"), "a&lt;b &amp; c&gt;\"d\" 'è'🦀");
        assert_eq!(escaped("a\u{0}b\rc\nd\te\u{b}\u{ffff}"), "a_x0000_b_x000D_c\nd\te_x000B__xFFFF_");
        assert_eq!(escaped("_x0041_ _x004G_ _x41_"), "_x005F_x0041_ _x004G_ _x41_");
        assert_eq!(escaped("__x000d__x"), "__x005F_x000d__x");
    }

    #[test]
    fn cuts_long_texts_with_mark() {
        assert_eq!(cut(&"è".repeat(TEXT_UNITS_MAX)), None);
        let long = "🦀".repeat(TEXT_UNITS_MAX);
        let cut = cut(&long).unwrap();
        assert!(cut.encode_utf16().count() <= TEXT_UNITS_MAX && cut.starts_with("🦀🦀"));
        assert!(cut.ends_with("🦀… [cut: 65534 characters in all]"), "{}", &cut[cut.len() - 60..]);
    }

    #[test]
    fn counts_days_of_excel_inside_its_range() {
        // 1900-02-28, 1900-03-01, 1970-01-01, 9999-12-31 and the day after.
        let serials = [-25_509, -25_508, 0, 2_932_896, 2_932_897].map(serial_of);
        assert_eq!(serials, [None, Some(61), Some(25_569), Some(2_958_465), None]);
        assert_eq!(moment(-1, TimeUnit::Millisecond), Some((25_568, 86_399_999)));
        assert_eq!(moment(1_500, TimeUnit::Microsecond), None);
        assert_eq!(moment(2_000_000, TimeUnit::Nanosecond), Some((25_569, 2)));
        assert_eq!(moment(i64::MAX, TimeUnit::Second), None);
    }
}
