//! Lengths of the cells of one column, computed from the values without encoding where possible.

use std::ops::Range;

use mercato_format::encode::{date_len, decimal_len, integer_len, timestamp_len, wide_len};
use mercato_format::{ColumnData, ColumnKind, Dictionary, FloatWidth, FormatError, Numbers, Table, Texts};

use crate::render::cells::{csv_text_len, entry_span};
use crate::render::csv;
use crate::render::row_writer::CellText;

const NULL_IN_JSON: u64 = 4;
const JSON_QUOTES: u64 = 2;

/// Computes the cell lengths of a column.
pub(crate) struct ColumnLengths<'t> {
    table: &'t Table,
    column: usize,
    kind: ColumnKind,
    width: FloatWidth,
    text: CellText,
    data: ColumnData<'t>,
    /// The length of every dictionary entry and of null.
    entries: Vec<u32>,
    null_bytes: u64,
}

/// Buffers reused between chunks.
#[derive(Default)]
pub(crate) struct Scratch {
    codes: Vec<u32>,
    values: Vec<i64>,
    text: Vec<u8>,
}

impl<'t> ColumnLengths<'t> {
    pub(crate) fn new(
        table: &'t Table,
        column: usize,
        text: CellText,
    ) -> Result<ColumnLengths<'t>, FormatError> {
        let data = table.column(column)?;
        let meta = table.columns().get(column).ok_or_else(|| table.damaged(column))?;
        let (kind, width) = (meta.kind, meta.float_width());
        let null_bytes = match text {
            CellText::Json => NULL_IN_JSON,
            CellText::Csv if table.columns().len() == 1 => csv::LONE_NULL.len() as u64,
            CellText::Csv => 0,
        };
        let entries = match &data {
            ColumnData::Dictionary(dictionary) => {
                entry_lengths(dictionary, kind, text, null_bytes).ok_or_else(|| table.damaged(column))?
            }
            _ => Vec::new(),
        };
        Ok(ColumnLengths { table, column, kind, width, text, data, entries, null_bytes })
    }

    pub(crate) fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// Bytes of the cells of a range of rows.
    pub(crate) fn bytes_of(&self, rows: Range<u32>, scratch: &mut Scratch) -> Result<u64, FormatError> {
        let counted = match &self.data {
            ColumnData::Dictionary(column) => self.dictionary_bytes(column, rows, scratch),
            ColumnData::Numbers(column) if column.width == 16 => self.wide_bytes(column, rows),
            ColumnData::Numbers(column) => self.number_bytes(column, rows, scratch),
            ColumnData::Texts(column) => self.text_bytes(column, rows),
        };
        counted.ok_or_else(|| self.table.damaged(self.column))
    }

    fn dictionary_bytes(
        &self,
        column: &Dictionary<'_>,
        rows: Range<u32>,
        scratch: &mut Scratch,
    ) -> Option<u64> {
        scratch.codes.clear();
        if !column.codes.copy_range(rows.start as usize, rows.len(), &mut scratch.codes) {
            return None;
        }
        let lengths = scratch.codes.iter().map(|code| self.entries.get(*code as usize).copied());
        lengths.map(|length| length.map(u64::from)).sum()
    }

    fn number_bytes(&self, column: &Numbers<'_>, rows: Range<u32>, scratch: &mut Scratch) -> Option<u64> {
        scratch.values.clear();
        if !column.values.copy_range(rows.start as usize, rows.len(), &mut scratch.values) {
            return None;
        }
        if column.validity().is_none() {
            return Some(self.present_bytes(&scratch.values, &mut scratch.text));
        }
        let mut present = rows.clone().map(|row| column.is_valid(row));
        scratch.values.retain(|_| present.next() == Some(true));
        let nulls = (rows.len() - scratch.values.len()) as u64;
        Some(self.present_bytes(&scratch.values, &mut scratch.text) + nulls * self.null_bytes)
    }

    /// Bytes of the numbers that are not null. Each kind has its own small loop.
    fn present_bytes(&self, values: &[i64], text: &mut Vec<u8>) -> u64 {
        let quotes = if self.text == CellText::Json { JSON_QUOTES * values.len() as u64 } else { 0 };
        match self.kind {
            ColumnKind::Integer | ColumnKind::Text => values.iter().map(|value| integer_len(*value)).sum(),
            ColumnKind::Decimal { scale, .. } => {
                values.iter().map(|value| decimal_len((*value).into(), scale)).sum()
            }
            ColumnKind::Boolean => values.iter().map(|value| if *value == 0 { 5 } else { 4 }).sum(),
            ColumnKind::Float => values.iter().map(|value| self.float_len(*value, text)).sum(),
            ColumnKind::Date => quotes + values.iter().map(|value| date_len(*value)).sum::<u64>(),
            ColumnKind::Timestamp { unit } => {
                quotes + values.iter().map(|value| timestamp_len(*value, unit)).sum::<u64>()
            }
        }
    }

    /// The length of a float needs its digits.
    fn float_len(&self, value: i64, text: &mut Vec<u8>) -> u64 {
        let value = f64::from_bits(value.cast_unsigned());
        text.clear();
        match self.text {
            CellText::Csv => self.width.push_csv(text, value),
            CellText::Json if !self.width.push_finite(text, value) => return NULL_IN_JSON,
            CellText::Json => {}
        }
        text.len() as u64
    }

    fn wide_bytes(&self, column: &Numbers<'_>, rows: Range<u32>) -> Option<u64> {
        rows.map(|row| {
            let value = column.values.get_wide(row as usize)?;
            Some(match self.kind {
                _ if !column.is_valid(row) => self.null_bytes,
                ColumnKind::Decimal { scale, .. } => decimal_len(value, scale),
                _ => wide_len(value),
            })
        })
        .sum()
    }

    fn text_bytes(&self, column: &Texts<'_>, mut rows: Range<u32>) -> Option<u64> {
        let mut reader = column.reader();
        let plain = column.csv_plain && column.null_count == 0;
        if self.text == CellText::Json || plain {
            let quotes = if self.text == CellText::Csv { JSON_QUOTES * rows.len() as u64 } else { 0 };
            let bytes = rows.try_fold(0_u64, |sum, row| sum.checked_add(reader.json_len(row)? as u64))?;
            return bytes.checked_sub(quotes);
        }
        rows.try_fold(0_u64, |sum, row| {
            let length = match csv_text_len(reader.json(row)?, column.csv_plain)? {
                0 => self.null_bytes,
                length => length,
            };
            sum.checked_add(length)
        })
    }
}

fn entry_lengths(
    column: &Dictionary<'_>,
    kind: ColumnKind,
    text: CellText,
    null_bytes: u64,
) -> Option<Vec<u32>> {
    (0..=column.entries)
        .map(|code| {
            if code == column.entries {
                return u32::try_from(null_bytes).ok();
            }
            let (start, end) = entry_span(column, kind, text, code)?;
            u32::try_from(end.checked_sub(start)?).ok()
        })
        .collect()
}
