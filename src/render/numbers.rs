//! Numbers of packed columns: gathered for a batch of rows and printed at once, one loop for each kind.
//!
//! Integers and decimals are printed each at the end of a slot of fixed size. Knows no format but its text of a cell.

use mercato_format::column::TEXT_PADDING;
use mercato_format::encode::{
    SLOT_BYTES, SLOT_SCALE_MAX, decimal_at_end, integer_at_end, push_date, push_decimal, push_timestamp,
    push_wide,
};
use mercato_format::{ColumnKind, FloatWidth, Numbers};

use crate::render::cells::{Spans, is_contiguous};
use crate::render::row_writer::CellText;

/// Replaces `values` by those of `rows`, and `valid` by whether they have one; `None` when one is missing.
pub(crate) fn gather_numbers(
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

/// Prints numbers of a kind, one loop each.
pub(crate) fn print_numbers(
    kind: ColumnKind,
    width: FloatWidth,
    text: CellText,
    values: &[i64],
    valid: &[bool],
    made: &mut Vec<u8>,
    spans: &mut Spans,
) {
    let quote: &[u8] = if text == CellText::Json { b"\"" } else { b"" };
    let mut cells = Printing { text, values, valid, made, spans };
    match kind {
        ColumnKind::Integer | ColumnKind::Text => cells.each_in_slot(integer_at_end),
        ColumnKind::Decimal { scale, .. } if scale <= SLOT_SCALE_MAX => {
            cells.each_in_slot(|slot, value| decimal_at_end(slot, value, scale));
        }
        ColumnKind::Decimal { scale, .. } => cells.each(|out, value| push_decimal(out, value.into(), scale)),
        ColumnKind::Boolean => {
            cells.each(|out, value| out.extend_from_slice(if value == 0 { b"false" } else { b"true" }));
        }
        ColumnKind::Float => {
            cells.each(|out, value| print_float(width, text, f64::from_bits(value.cast_unsigned()), out))
        }
        ColumnKind::Date => cells.each(|out, value| {
            out.extend_from_slice(quote);
            push_date(out, value);
            out.extend_from_slice(quote);
        }),
        ColumnKind::Timestamp { unit } => cells.each(|out, value| {
            out.extend_from_slice(quote);
            push_timestamp(out, value, unit);
            out.extend_from_slice(quote);
        }),
    }
}

struct Printing<'a> {
    text: CellText,
    values: &'a [i64],
    valid: &'a [bool],
    made: &'a mut Vec<u8>,
    spans: &'a mut Spans,
}

impl Printing<'_> {
    #[inline]
    fn each(&mut self, print: impl Fn(&mut Vec<u8>, i64)) {
        self.made.clear();
        for (value, valid) in self.values.iter().zip(self.valid) {
            let start = self.made.len();
            if *valid {
                print(self.made, *value);
            } else {
                print_null(self.text, self.made);
            }
            self.spans.push((start, self.made.len()));
        }
        self.made.extend_from_slice(&[0; TEXT_PADDING]);
    }

    /// For numbers that are never longer than a slot: each is printed at the end of its own.
    #[inline]
    fn each_in_slot(&mut self, print: impl Fn(&mut [u8; SLOT_BYTES], i64) -> usize) {
        self.made.resize(self.values.len() * SLOT_BYTES + TEXT_PADDING, 0);
        let (slots, _) = self.made.as_chunks_mut::<SLOT_BYTES>();
        let cells = self.values.iter().zip(self.valid).zip(slots).zip(1..);
        self.spans.extend(cells.map(|(((value, valid), slot), number)| {
            let length = if *valid { print(slot, *value) } else { null_at_end(self.text, slot) };
            let end = number * SLOT_BYTES;
            (end - length, end)
        }));
    }
}

fn null_at_end(text: CellText, slot: &mut [u8; SLOT_BYTES]) -> usize {
    match slot.last_chunk_mut() {
        Some(end) if text == CellText::Json => {
            *end = *b"null";
            end.len()
        }
        _ => 0,
    }
}

/// Prints numbers of 128 bits; `None` when one is missing.
pub(crate) fn print_wide(
    column: &Numbers<'_>,
    kind: ColumnKind,
    text: CellText,
    rows: &[u32],
    made: &mut Vec<u8>,
    spans: &mut Spans,
) -> Option<()> {
    for row in rows {
        let start = made.len();
        let value = column.values.get_wide(*row as usize)?;
        match kind {
            _ if !column.is_valid(*row) => print_null(text, made),
            ColumnKind::Decimal { scale, .. } => push_decimal(made, value, scale),
            _ => push_wide(made, value),
        }
        spans.push((start, made.len()));
    }
    made.extend_from_slice(&[0; TEXT_PADDING]);
    Some(())
}

fn print_float(width: FloatWidth, text: CellText, value: f64, out: &mut Vec<u8>) {
    match text {
        CellText::Csv => width.push_csv(out, value),
        CellText::Json => {
            if !width.push_finite(out, value) {
                out.extend_from_slice(b"null");
            }
        }
    }
}

fn print_null(text: CellText, out: &mut Vec<u8>) {
    if text == CellText::Json {
        out.extend_from_slice(b"null");
    }
}
