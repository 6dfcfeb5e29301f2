//! The numbers of a column as vectors with their validity, and Arrow arrays out of them. Does not depend on forms.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use mercato_format::{CellValues, ColumnData, ColumnKind, Dictionary, Numbers};

use crate::render::arrow::texts::valid_codes;

/// Numbers of 64 bits, or the bits of doubles. A value behind a null is arbitrary.
pub(super) struct Longs {
    pub(super) values: Vec<i64>,
    pub(super) nulls: Option<NullBuffer>,
}

/// Numbers of 128 bits. A value behind a null is arbitrary.
pub(super) struct Wides {
    pub(super) values: Vec<i128>,
    pub(super) nulls: Option<NullBuffer>,
}

impl Longs {
    /// Numbers of a column; `None` when the file is damaged.
    pub(super) fn of(data: &ColumnData<'_>, kind: ColumnKind, cells: &CellValues) -> Option<Longs> {
        match (data, cells) {
            (ColumnData::Numbers(column), CellValues::Numbers { values, valid }) => {
                Some(Longs { values: values.clone(), nulls: validity(column, valid) })
            }
            (ColumnData::Dictionary(column), CellValues::Codes(codes)) => {
                let is_float = kind == ColumnKind::Float;
                let entry = |code| {
                    if is_float {
                        column.float(code).map(|value| value.to_bits().cast_signed())
                    } else {
                        column.integer(code).and_then(|value| i64::try_from(value).ok())
                    }
                };
                let (values, nulls) = decoded(column, codes, entry)?;
                Some(Longs { values, nulls })
            }
            _ => None,
        }
    }
}

impl Wides {
    /// Numbers of a column; `None` when the file is damaged.
    pub(super) fn of(data: &ColumnData<'_>, kind: ColumnKind, cells: &CellValues) -> Option<Wides> {
        match (data, cells) {
            (ColumnData::Numbers(column), CellValues::Wide { values, valid }) => {
                Some(Wides { values: values.clone(), nulls: validity(column, valid) })
            }
            (ColumnData::Dictionary(column), CellValues::Codes(codes)) => {
                let (values, nulls) = decoded(column, codes, |code| column.integer(code))?;
                Some(Wides { values, nulls })
            }
            _ => {
                let Longs { values, nulls } = Longs::of(data, kind, cells)?;
                Some(Wides { values: values.into_iter().map(i128::from).collect(), nulls })
            }
        }
    }
}

/// Decodes entries. Many rows share them, so all entries are decoded first where they are fewer.
fn decoded<T: Copy + Default>(
    column: &Dictionary<'_>,
    codes: &[u32],
    entry: impl Fn(u32) -> Option<T>,
) -> Option<(Vec<T>, Option<NullBuffer>)> {
    let value_of = |code: u32| if code == column.entries { Some(T::default()) } else { entry(code) };
    let values = if column.entries as usize <= codes.len() {
        let all: Vec<T> = (0..=column.entries).map(value_of).collect::<Option<_>>()?;
        codes.iter().map(|code| all.get(*code as usize).copied()).collect::<Option<_>>()?
    } else {
        let within = |code: &u32| (*code <= column.entries).then_some(*code);
        codes.iter().map(|code| within(code).and_then(value_of)).collect::<Option<_>>()?
    };
    Some((values, valid_codes(column, codes)))
}

/// Which rows have a value; `None` where all have.
fn validity(column: &Numbers<'_>, valid: &[bool]) -> Option<NullBuffer> {
    column.validity().map(|_| valid.iter().copied().collect())
}

/// The values in another type; `None` when one does not fit. What is behind a null is arbitrary and need not.
pub(super) fn converted<V: Copy, T: Default>(
    values: &[V],
    nulls: Option<&NullBuffer>,
    convert: impl Fn(V) -> Option<T>,
) -> Option<Vec<T>> {
    let is_null = |place: usize| nulls.is_some_and(|nulls| nulls.is_null(place));
    let values = values.iter().enumerate();
    values.map(|(place, value)| convert(*value).or_else(|| is_null(place).then(T::default))).collect()
}

/// An array of values; `None` when the validity has another length.
pub(super) fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    data_type: DataType,
) -> Option<ArrayRef> {
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls).ok()?;
    PrimitiveArray::<T>::is_compatible(&data_type)
        .then(|| Arc::new(array.with_data_type(data_type)) as ArrayRef)
}
