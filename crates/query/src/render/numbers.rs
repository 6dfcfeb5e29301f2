//! Encodes numbers: one loop for each kind.
//!
//! Integers and decimals are right-aligned in slots of fixed size. Does not depend on formats beyond the text of a
//! cell.

use mercato_format::column::TEXT_PADDING;
use mercato_format::encode::{
    SLOT_BYTES, SLOT_SCALE_MAX, decimal_at_end, integer_at_end, push_date, push_decimal, push_timestamp,
    push_wide,
};
use mercato_format::{ColumnKind, FloatWidth};

use crate::render::cells::Spans;
use crate::render::row_writer::CellText;

/// Encodes numbers, with one loop for each kind.
pub(crate) fn encode_numbers(
    kind: ColumnKind,
    width: FloatWidth,
    text: CellText,
    values: &[i64],
    valid: &[bool],
    made: &mut Vec<u8>,
    spans: &mut Spans,
) {
    let quote: &[u8] = if text == CellText::Json { b"\"" } else { b"" };
    let mut cells = NumberEncoder { text, values, valid, made, spans };
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
            cells.each(|out, value| encode_float(width, text, f64::from_bits(value.cast_unsigned()), out))
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

struct NumberEncoder<'a> {
    text: CellText,
    values: &'a [i64],
    valid: &'a [bool],
    made: &'a mut Vec<u8>,
    spans: &'a mut Spans,
}

impl NumberEncoder<'_> {
    #[inline]
    fn each(&mut self, encode: impl Fn(&mut Vec<u8>, i64)) {
        self.made.clear();
        for (value, valid) in self.values.iter().zip(self.valid) {
            let start = self.made.len();
            if *valid {
                encode(self.made, *value);
            } else {
                encode_null(self.text, self.made);
            }
            self.spans.push((start, self.made.len()));
        }
        self.made.extend_from_slice(&[0; TEXT_PADDING]);
    }

    /// For numbers that fit a slot: each is right-aligned in its own slot.
    #[inline]
    fn each_in_slot(&mut self, encode: impl Fn(&mut [u8; SLOT_BYTES], i64) -> usize) {
        self.made.resize(self.values.len() * SLOT_BYTES + TEXT_PADDING, 0);
        let (slots, _) = self.made.as_chunks_mut::<SLOT_BYTES>();
        let cells = self.values.iter().zip(self.valid).zip(slots).zip(1..);
        self.spans.extend(cells.map(|(((value, valid), slot), number)| {
            let length = if *valid { encode(slot, *value) } else { null_at_end(self.text, slot) };
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

/// Encodes 128-bit numbers.
pub(crate) fn encode_wide(
    kind: ColumnKind,
    text: CellText,
    values: &[i128],
    valid: &[bool],
    made: &mut Vec<u8>,
    spans: &mut Spans,
) {
    for (value, valid) in values.iter().zip(valid) {
        let start = made.len();
        match kind {
            _ if !valid => encode_null(text, made),
            ColumnKind::Decimal { scale, .. } => push_decimal(made, *value, scale),
            _ => push_wide(made, *value),
        }
        spans.push((start, made.len()));
    }
    made.extend_from_slice(&[0; TEXT_PADDING]);
}

fn encode_float(width: FloatWidth, text: CellText, value: f64, out: &mut Vec<u8>) {
    match text {
        CellText::Csv => width.push_csv(out, value),
        CellText::Json => {
            if !width.push_finite(out, value) {
                out.extend_from_slice(b"null");
            }
        }
    }
}

fn encode_null(text: CellText, out: &mut Vec<u8>) {
    if text == CellText::Json {
        out.extend_from_slice(b"null");
    }
}
