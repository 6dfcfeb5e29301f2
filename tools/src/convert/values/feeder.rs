//! Feeds Arrow arrays into a column builder, batch by batch and without an allocation for each value. Does not depend on
//! files.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use mercato_format::{ColumnBuilder, FormatError};

use crate::convert::limits::{ENCODED_BYTES, VALUE_BYTES_MAX};
use crate::convert::schema::flatten::{LeafTag, OutputColumn, time_unit};
use crate::convert::values::nested::{NestedEncoder, NestedError};
use crate::convert::values::texts::{
    TextArena, push_base64, push_interval, push_time, push_uuid, wrap_at_midnight,
};
use crate::convert::values::variants::VariantEncoder;

const DAY_MILLISECONDS: i64 = 86_400_000;

/// Why a batch was refused.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error(transparent)]
    Build(#[from] FormatError),
    /// A value has no form in the column.
    #[error("row {row} of the batch: {found}")]
    Value { row: usize, found: String },
    /// The reader returned another type than planned.
    #[error("unexpected type {0}")]
    Type(String),
}

/// Feeds the batches of one column. Buffers are reused between batches.
#[derive(Debug, Default)]
pub struct Feeder {
    arena: TextArena,
}

impl Feeder {
    /// Appends a batch. `nulls` combines the nulls of the array and of every struct above it.
    pub fn feed(
        &mut self,
        builder: &mut ColumnBuilder,
        column: &OutputColumn,
        array: &ArrayRef,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), FeedError> {
        match array.data_type() {
            DataType::Null => Ok(builder.extend_texts(std::iter::repeat_n(None, array.len()))?),
            DataType::Boolean => {
                let values = array.as_boolean().values();
                Ok(builder.extend_booleans(with_nulls(values.iter(), nulls))?)
            }
            DataType::Float16 => floats::<Float16Type>(builder, array, nulls),
            DataType::Float32 => floats::<Float32Type>(builder, array, nulls),
            DataType::Float64 => floats::<Float64Type>(builder, array, nulls),
            DataType::Utf8 => plain_texts(builder, array, nulls),
            DataType::Dictionary(..) => dictionary_texts(builder, array, nulls),
            DataType::Binary
            | DataType::FixedSizeBinary(_)
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::List(_)
            | DataType::Map(..)
            | DataType::Struct(_) => self.encoded_texts(builder, column, array, nulls),
            _ => integers(builder, array, nulls),
        }
    }

    /// Appends values that are encoded as text, through the arena.
    fn encoded_texts(
        &mut self,
        builder: &mut ColumnBuilder,
        column: &OutputColumn,
        array: &ArrayRef,
        nulls: Option<&NullBuffer>,
    ) -> Result<(), FeedError> {
        self.arena.clear();
        let printer = ValueEncoder::new(array, &column.tags).map_err(|error| refused(0, &error))?;
        for row in 0..array.len() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                self.arena.push_null();
                continue;
            }
            printer.push(row, self.arena.buffer()).map_err(|error| refused(row, &error))?;
            if self.arena.end_text() > VALUE_BYTES_MAX {
                return Err(refused(row, &NestedError::TooLong));
            }
            if self.arena.byte_length() >= ENCODED_BYTES {
                self.flush(builder)?;
            }
        }
        self.flush(builder)
    }

    /// Moves the encoded texts into the column.
    fn flush(&mut self, builder: &mut ColumnBuilder) -> Result<(), FeedError> {
        let texts = self.arena.iter().map_err(|error| FeedError::Type(error.to_string()))?;
        builder.extend_texts(texts)?;
        self.arena.clear();
        Ok(())
    }
}

fn refused(row: usize, error: &NestedError) -> FeedError {
    FeedError::Value { row, found: error.to_string() }
}

/// Encodes the values of an array as text.
enum ValueEncoder<'a> {
    Bytes(&'a dyn Array, LeafTag),
    Times(Vec<i64>, mercato_format::TimeUnit),
    Json(NestedEncoder<'a>),
    Variant(VariantEncoder<'a>),
}

impl<'a> ValueEncoder<'a> {
    fn new(array: &'a ArrayRef, tags: &[LeafTag]) -> Result<ValueEncoder<'a>, NestedError> {
        Ok(match array.data_type() {
            DataType::Binary | DataType::FixedSizeBinary(_) => {
                ValueEncoder::Bytes(array.as_ref(), tags.first().copied().unwrap_or(LeafTag::None))
            }
            DataType::Time32(unit) | DataType::Time64(unit) => {
                let mut units = times(array, *unit);
                if tags.first() == Some(&LeafTag::UtcTime) {
                    units.iter_mut().for_each(|units| *units = wrap_at_midnight(*units, time_unit(*unit)));
                }
                ValueEncoder::Times(units, time_unit(*unit))
            }
            // The reader takes every struct apart except a VARIANT.
            DataType::Struct(_) => ValueEncoder::Variant(VariantEncoder::new(array, &mut tags.iter())?),
            _ => ValueEncoder::Json(NestedEncoder::new(array, &mut tags.iter())?),
        })
    }

    fn push(&self, row: usize, out: &mut Vec<u8>) -> Result<(), NestedError> {
        match self {
            ValueEncoder::Bytes(array, tag) => {
                let bytes = bytes_at(*array, row);
                match tag {
                    LeafTag::Uuid => push_uuid(out, bytes),
                    LeafTag::Interval => push_interval(out, bytes),
                    LeafTag::None | LeafTag::UtcTime => push_base64(out, bytes),
                }
                Ok(())
            }
            ValueEncoder::Times(values, unit) => {
                let units = values.get(row).copied().unwrap_or(-1);
                if push_time(out, units, *unit) {
                    Ok(())
                } else {
                    Err(NestedError::Value(format!("a time of day outside the day ({units})")))
                }
            }
            ValueEncoder::Json(printer) => printer.push(row, out.len(), out),
            ValueEncoder::Variant(printer) => printer.push(row, out.len(), out),
        }
    }
}

/// The bytes at `row` of a binary array of fixed or variable width.
#[must_use]
pub fn bytes_at(array: &dyn Array, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        _ => array.as_fixed_size_binary().value(row),
    }
}

/// Times of day, in the unit of the array.
#[must_use]
pub fn times(array: &ArrayRef, unit: ArrowUnit) -> Vec<i64> {
    let wide = |values: &[i32]| values.iter().map(|value| i64::from(*value)).collect();
    match unit {
        ArrowUnit::Second => wide(array.as_primitive::<Time32SecondType>().values()),
        ArrowUnit::Millisecond => wide(array.as_primitive::<Time32MillisecondType>().values()),
        ArrowUnit::Microsecond => array.as_primitive::<Time64MicrosecondType>().values().to_vec(),
        ArrowUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().values().to_vec(),
    }
}

fn integers(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    match array.data_type() {
        DataType::Int8 => small::<Int8Type>(builder, array, nulls),
        DataType::Int16 => small::<Int16Type>(builder, array, nulls),
        DataType::Int32 => small::<Int32Type>(builder, array, nulls),
        DataType::Int64 => small::<Int64Type>(builder, array, nulls),
        DataType::UInt8 => small::<UInt8Type>(builder, array, nulls),
        DataType::UInt16 => small::<UInt16Type>(builder, array, nulls),
        DataType::UInt32 => small::<UInt32Type>(builder, array, nulls),
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            wide(builder, values, |value| i128::from(*value), nulls)
        }
        DataType::Decimal64(..) => small::<Decimal64Type>(builder, array, nulls),
        DataType::Decimal128(..) => {
            wide(builder, array.as_primitive::<Decimal128Type>().values(), |value| *value, nulls)
        }
        DataType::Decimal256(..) => decimals_256(builder, array, nulls),
        DataType::Date32 => small::<Date32Type>(builder, array, nulls),
        DataType::Date64 => dates_64(builder, array, nulls),
        DataType::Timestamp(ArrowUnit::Second, _) => small::<TimestampSecondType>(builder, array, nulls),
        DataType::Timestamp(ArrowUnit::Millisecond, _) => {
            small::<TimestampMillisecondType>(builder, array, nulls)
        }
        DataType::Timestamp(ArrowUnit::Microsecond, _) => {
            small::<TimestampMicrosecondType>(builder, array, nulls)
        }
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => {
            small::<TimestampNanosecondType>(builder, array, nulls)
        }
        other => Err(FeedError::Type(other.to_string())),
    }
}

fn small<T>(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    Ok(builder.extend_integers(with_nulls(native_values::<T, i64>(array), nulls))?)
}

fn floats<T>(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    Ok(builder.extend_floats(with_nulls(native_values::<T, f64>(array), nulls))?)
}

/// The values of a primitive array, converted to `V`.
fn native_values<T, V>(array: &ArrayRef) -> impl Iterator<Item = V>
where
    T: ArrowPrimitiveType,
    T::Native: Into<V>,
{
    array.as_primitive::<T>().values().iter().map(|value| (*value).into())
}

/// Appends integers that may exceed 64 bits. Only batches with such a value take the slower path.
fn wide<V>(
    builder: &mut ColumnBuilder,
    values: &[V],
    widen: impl Fn(&V) -> i128,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    // A value behind a null is arbitrary; at worst it selects the slower path.
    if values.iter().all(|value| i64::try_from(widen(value)).is_ok()) {
        let values = values.iter().map(|value| i64::try_from(widen(value)).unwrap_or_default());
        Ok(builder.extend_integers(with_nulls(values, nulls))?)
    } else {
        Ok(builder.extend_wide(with_nulls(values.iter().map(widen), nulls))?)
    }
}

fn decimals_256(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    let mut narrow = Vec::with_capacity(array.len());
    for (row, value) in array.as_primitive::<Decimal256Type>().values().iter().enumerate() {
        let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        match value.to_i128() {
            Some(value) => narrow.push(value),
            None if !valid => narrow.push(0),
            None => {
                return Err(FeedError::Value {
                    row,
                    found: format!("the decimal {value}, wider than 128 bits"),
                });
            }
        }
    }
    wide(builder, &narrow, |value| *value, nulls)
}

fn dates_64(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    let values = array.as_primitive::<Date64Type>().values();
    for (row, value) in values.iter().enumerate() {
        if value % DAY_MILLISECONDS != 0 && nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            return Err(FeedError::Value { row, found: format!("a date with a time of day ({value} ms)") });
        }
    }
    let days = values.iter().map(|value| value.div_euclid(DAY_MILLISECONDS));
    Ok(builder.extend_integers(with_nulls(days, nulls))?)
}

fn plain_texts(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    let texts = array.as_string::<i32>();
    let lengths = texts.offsets().lengths().enumerate();
    if let Some((row, length)) = lengths.into_iter().find(|(_, length)| *length > VALUE_BYTES_MAX) {
        return Err(FeedError::Value { row, found: format!("a text of {length} bytes") });
    }
    let rows = (0..texts.len()).map(|row| texts.value(row));
    Ok(builder.extend_texts(with_nulls(rows, nulls))?)
}

fn dictionary_texts(
    builder: &mut ColumnBuilder,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(), FeedError> {
    let dictionary = array.as_dictionary::<Int32Type>();
    let entries = dictionary.values().as_string::<i32>();
    if let Some(length) = entries.offsets().lengths().find(|length| *length > VALUE_BYTES_MAX) {
        return Err(FeedError::Value { row: 0, found: format!("a text of {length} bytes") });
    }
    // The reader has checked every valid key against the dictionary. A key behind a null is arbitrary.
    let entry = |key: &i32| match usize::try_from(*key) {
        Ok(key) if key < entries.len() => entries.value(key),
        _ => "",
    };
    Ok(builder.extend_texts(with_nulls(dictionary.keys().values().iter().map(entry), nulls))?)
}

/// Values paired with their validity.
fn with_nulls<V>(
    values: impl Iterator<Item = V>,
    nulls: Option<&NullBuffer>,
) -> impl Iterator<Item = Option<V>> {
    let mut validity = nulls.map(NullBuffer::iter);
    values.map(move |value| match &mut validity {
        None => Some(value),
        Some(bits) => bits.next().unwrap_or(false).then_some(value),
    })
}
