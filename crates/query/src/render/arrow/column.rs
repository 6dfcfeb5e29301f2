//! One column of a stream: its form, the entries of its dictionary, and its values for some rows.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, new_empty_array};
use arrow_buffer::i256;
use arrow_schema::Field;
use mercato_format::{ColumnData, ColumnKind, Dictionary, FormatError, Table, TimeUnit};

use crate::render::arrow::array::{Longs, Wides, converted, primitive};
use crate::render::arrow::texts;
use crate::render::arrow::types::{DictionaryRoom, Form, KeyWidth};
use crate::render::cells::find_codes;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A column of a stream.
#[derive(Debug)]
pub(super) struct Column<'t> {
    number: usize,
    name: &'t str,
    kind: ColumnKind,
    nullable: bool,
    data: ColumnData<'t>,
    form: Form,
    /// The codes whose entries make the dictionary, ascending; all of them without it.
    kept: Option<Vec<u32>>,
}

impl<'t> Column<'t> {
    /// The column of a table.
    pub(super) fn new(
        table: &'t Table,
        number: usize,
        room: &mut DictionaryRoom,
    ) -> Result<Column<'t>, FormatError> {
        let meta = table.columns().get(number).ok_or_else(|| table.damaged(number))?;
        let data = table.column(number)?;
        let form = Form::of(meta, &data, room).ok_or_else(|| table.damaged(number))?;
        let (name, kind, nullable) = (meta.name.as_str(), meta.kind, meta.nullable);
        Ok(Column { number, name, kind, nullable, data, form, kept: None })
    }

    /// Its place in the table.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    /// The field that readers see.
    pub(super) fn field(&self) -> Field {
        Field::new(self.name, self.form.data_type(), self.nullable)
    }

    /// The field of a batch.
    pub(super) fn key_field(&self) -> Field {
        Field::new(self.name, self.form.key_type(), self.nullable)
    }

    /// Bytes of a row without the bytes of a plain text.
    pub(super) fn row_bytes(&self) -> usize {
        self.form.value_bytes()
    }

    /// Bytes that the plain texts of rows have at most; `None` when the file is damaged.
    pub(super) fn text_bytes(&self, rows: &[u32]) -> Option<usize> {
        match (&self.data, self.form) {
            (ColumnData::Texts(column), _) => texts::stored_bytes(column, rows),
            (ColumnData::Dictionary(column), Form::Text) => {
                let mut codes = Vec::new();
                find_codes(column, rows, &mut codes)?;
                texts::entry_bytes(column, &codes)
            }
            _ => Some(0),
        }
    }

    /// Keeps only the entries of the dictionary that occur in `rows`; `None` when the file is damaged.
    pub(super) fn keep_entries_of(&mut self, rows: &[u32]) -> Option<()> {
        if let (ColumnData::Dictionary(column), Form::Keys(_)) = (&self.data, self.form) {
            let mut codes = Vec::new();
            find_codes(column, rows, &mut codes)?;
            codes.retain(|code| *code < column.entries);
            codes.sort_unstable();
            codes.dedup();
            self.kept = Some(codes);
        }
        Some(())
    }

    /// An array without rows, with the dictionary where the column has one; `None` when the file is damaged.
    pub(super) fn dictionary(&self) -> Option<ArrayRef> {
        let (ColumnData::Dictionary(column), Form::Keys(width)) = (&self.data, self.form) else {
            return Some(new_empty_array(&self.form.data_type()));
        };
        let entries = match &self.kept {
            Some(kept) => texts::entries(column, kept.iter().copied())?,
            None => texts::entries(column, 0..column.entries)?,
        };
        match width {
            KeyWidth::One => without_rows::<Int8Type>(entries),
            KeyWidth::Two => without_rows::<Int16Type>(entries),
            KeyWidth::Four => without_rows::<Int32Type>(entries),
        }
    }

    /// The values of rows, with keys in the place of a dictionary; `None` when the file is damaged.
    pub(super) fn gather(&self, rows: &[u32]) -> Option<ArrayRef> {
        match self.form {
            Form::Keys(width) => self.keys(width, rows),
            Form::Text => match &self.data {
                ColumnData::Texts(column) => texts::stored(column, rows),
                ColumnData::Dictionary(column) => {
                    let mut codes = Vec::new();
                    find_codes(column, rows, &mut codes)?;
                    texts::of_codes(column, &codes)
                }
                ColumnData::Numbers(_) => None,
            },
            Form::UInt64 | Form::Decimal128(..) | Form::Decimal256(..) => self.wides(rows),
            _ => self.longs(rows),
        }
    }

    fn keys(&self, width: KeyWidth, rows: &[u32]) -> Option<ArrayRef> {
        let ColumnData::Dictionary(column) = &self.data else { return None };
        let mut codes = Vec::new();
        find_codes(column, rows, &mut codes)?;
        let nulls = texts::valid_codes(column, &codes);
        if let Some(kept) = &self.kept {
            renumber(column, kept, &mut codes)?;
        }
        // A null has some key too, which must be one of the width.
        let last = column.entries;
        let key = |code: &u32| if *code < last { *code } else { 0 };
        if codes.iter().any(|code| *code > last) {
            return None;
        }
        let data_type = self.form.key_type();
        match width {
            KeyWidth::One => {
                let keys = codes.iter().map(|code| i8::try_from(key(code)).ok());
                primitive::<Int8Type>(keys.collect::<Option<_>>()?, nulls, data_type)
            }
            KeyWidth::Two => {
                let keys = codes.iter().map(|code| i16::try_from(key(code)).ok());
                primitive::<Int16Type>(keys.collect::<Option<_>>()?, nulls, data_type)
            }
            KeyWidth::Four => {
                let keys = codes.iter().map(|code| i32::try_from(key(code)).ok());
                primitive::<Int32Type>(keys.collect::<Option<_>>()?, nulls, data_type)
            }
        }
    }

    /// Values of at most 64 bits.
    fn longs(&self, rows: &[u32]) -> Option<ArrayRef> {
        let Longs { values, nulls } = Longs::gather(&self.data, self.kind, rows)?;
        let data_type = self.form.data_type();
        match self.form {
            Form::Int64 => primitive::<Int64Type>(values, nulls, data_type),
            Form::Boolean => {
                let flags = values.iter().map(|value| *value != 0).collect();
                Some(Arc::new(BooleanArray::new(flags, nulls)))
            }
            Form::Float64 => {
                let doubles = values.into_iter().map(|bits| f64::from_bits(bits.cast_unsigned()));
                primitive::<Float64Type>(doubles.collect(), nulls, data_type)
            }
            Form::Float32 => {
                let singles = values.into_iter().map(|bits| single(f64::from_bits(bits.cast_unsigned())));
                primitive::<Float32Type>(singles.collect(), nulls, data_type)
            }
            Form::Date32 => {
                let days = converted(&values, nulls.as_ref(), |days| i32::try_from(days).ok())?;
                primitive::<Date32Type>(days, nulls, data_type)
            }
            Form::Date64 => {
                let millis = converted(&values, nulls.as_ref(), |days| days.checked_mul(MILLIS_PER_DAY))?;
                primitive::<Date64Type>(millis, nulls, data_type)
            }
            Form::Timestamp(unit, _) => match unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(values, nulls, data_type),
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(values, nulls, data_type),
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(values, nulls, data_type),
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(values, nulls, data_type),
            },
            _ => None,
        }
    }

    /// Values of up to 128 bits.
    fn wides(&self, rows: &[u32]) -> Option<ArrayRef> {
        let Wides { values, nulls } = Wides::gather(&self.data, self.kind, rows)?;
        let data_type = self.form.data_type();
        match self.form {
            Form::UInt64 => {
                let values = converted(&values, nulls.as_ref(), |value| u64::try_from(value).ok())?;
                primitive::<UInt64Type>(values, nulls, data_type)
            }
            Form::Decimal128(..) => primitive::<Decimal128Type>(values, nulls, data_type),
            Form::Decimal256(..) => {
                let values = values.into_iter().map(i256::from_i128);
                primitive::<Decimal256Type>(values.collect(), nulls, data_type)
            }
            _ => None,
        }
    }
}

/// The nearest single; the floats of a column of singles or halves are singles.
#[expect(clippy::cast_possible_truncation, reason = "the source had singles or halves")]
fn single(value: f64) -> f32 {
    value as f32
}

/// An array without rows over a dictionary.
fn without_rows<K: ArrowDictionaryKeyType>(entries: ArrayRef) -> Option<ArrayRef> {
    let keys = PrimitiveArray::<K>::new_null(0);
    Some(Arc::new(DictionaryArray::<K>::try_new(keys, entries).ok()?))
}

/// Replaces codes by their places among the kept ones. The code of null stays.
fn renumber(column: &Dictionary<'_>, kept: &[u32], codes: &mut [u32]) -> Option<()> {
    for code in codes.iter_mut().filter(|code| **code != column.entries) {
        *code = u32::try_from(kept.binary_search(code).ok()?).ok()?;
    }
    Some(())
}
