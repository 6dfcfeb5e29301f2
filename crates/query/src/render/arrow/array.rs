//! The numbers of a column as vectors with their validity, and Arrow arrays out of them. Does not depend on forms.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use mercato_format::{ColumnData, ColumnKind, Dictionary, Numbers};

use crate::render::arrow::texts::valid_codes;
use crate::render::cells::{find_codes, is_contiguous};

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
    /// The numbers of rows; `None` when the file is damaged.
    pub(super) fn gather(data: &ColumnData<'_>, kind: ColumnKind, rows: &[u32]) -> Option<Longs> {
        match data {
            ColumnData::Numbers(column) => {
                let mut values = Vec::with_capacity(rows.len());
                let complete = match is_contiguous(rows) {
                    Some(first) => column.values.copy_range(first, rows.len(), &mut values),
                    None => column.values.gather(rows, &mut values),
                };
                complete.then_some(())?;
                Some(Longs { values, nulls: validity(column, rows)? })
            }
            ColumnData::Dictionary(column) => {
                let is_float = kind == ColumnKind::Float;
                let entry = |code| {
                    if is_float {
                        column.float(code).map(|value| value.to_bits().cast_signed())
                    } else {
                        column.integer(code).and_then(|value| i64::try_from(value).ok())
                    }
                };
                let (values, nulls) = decoded(column, rows, entry)?;
                Some(Longs { values, nulls })
            }
            ColumnData::Texts(_) => None,
        }
    }
}

impl Wides {
    /// The numbers of rows; `None` when the file is damaged.
    pub(super) fn gather(data: &ColumnData<'_>, kind: ColumnKind, rows: &[u32]) -> Option<Wides> {
        match data {
            ColumnData::Numbers(column) if column.width == 16 => {
                let values = rows.iter().map(|row| column.values.get_wide(*row as usize));
                Some(Wides { values: values.collect::<Option<_>>()?, nulls: validity(column, rows)? })
            }
            ColumnData::Dictionary(column) => {
                let (values, nulls) = decoded(column, rows, |code| column.integer(code))?;
                Some(Wides { values, nulls })
            }
            _ => {
                let Longs { values, nulls } = Longs::gather(data, kind, rows)?;
                Some(Wides { values: values.into_iter().map(i128::from).collect(), nulls })
            }
        }
    }
}

/// Decodes the entries of rows. Many rows share them, so all entries are decoded first where they are fewer.
fn decoded<T: Copy + Default>(
    column: &Dictionary<'_>,
    rows: &[u32],
    entry: impl Fn(u32) -> Option<T>,
) -> Option<(Vec<T>, Option<NullBuffer>)> {
    let mut codes = Vec::new();
    find_codes(column, rows, &mut codes)?;
    let value_of = |code: u32| if code == column.entries { Some(T::default()) } else { entry(code) };
    let values = if column.entries as usize <= codes.len() {
        let all: Vec<T> = (0..=column.entries).map(value_of).collect::<Option<_>>()?;
        codes.iter().map(|code| all.get(*code as usize).copied()).collect::<Option<_>>()?
    } else {
        let within = |code: &u32| (*code <= column.entries).then_some(*code);
        codes.iter().map(|code| within(code).and_then(value_of)).collect::<Option<_>>()?
    };
    Some((values, valid_codes(column, &codes)))
}

/// Which rows have a value, `Some(None)` where all have; `None` when the file is damaged.
#[expect(clippy::option_option, reason = "a damaged file is another thing than a column without nulls")]
fn validity(column: &Numbers<'_>, rows: &[u32]) -> Option<Option<NullBuffer>> {
    let Some(bits) = column.validity() else { return Some(None) };
    let Some(first) = is_contiguous(rows) else {
        return Some(Some(rows.iter().map(|row| column.is_valid(*row)).collect()));
    };
    // The file has the bits in Arrow's order.
    let bytes = bits.get(first / 8..first.checked_add(rows.len())?.div_ceil(8))?;
    Some(Some(NullBuffer::new(BooleanBuffer::new(Buffer::from(bytes), first % 8, rows.len()))))
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
