//! Encodes lists and maps, with their structs, as JSON text, by the rules of the row encoder: exact decimals, RFC 3339
//! datetimes, Base64 bytes, null for numbers that are not finite. Does not depend on columns or files.

use arrow_array::ArrowPrimitiveType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::i256;
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use mercato_format::{FloatWidth, TimeUnit, encode, text};

use crate::convert::limits::VALUE_BYTES_MAX;
use crate::convert::schema::flatten::{LeafTag, time_unit};
use crate::convert::values::feeder;
use crate::convert::values::texts::{push_base64, push_interval, push_time, push_uuid, wrap_at_midnight};

/// Why a nested value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NestedError {
    /// The text exceeds the limit of one value.
    #[error("a value of more than {VALUE_BYTES_MAX} bytes as text")]
    TooLong,
    /// A decimal is wider than 128 bits.
    #[error("a decimal of more than 128 bits")]
    WideDecimal,
    /// A time of day is outside the day, or a date carries a time of day.
    #[error("{0}")]
    Value(String),
    /// A type that the reader does not produce, or offsets outside the values.
    #[error("{0}, which has no JSON form")]
    Type(String),
}

/// Encodes the values of one array. One encoder serves one batch.
pub struct NestedEncoder<'a> {
    nulls: Option<NullBuffer>,
    body: Values<'a>,
}

/// Reads the value at a row; `None` past the end. A copy of the values would need several times the memory of the
/// array.
type Read<'a, V> = Box<dyn Fn(usize) -> Option<V> + 'a>;

/// The values of an array, by type.
enum Values<'a> {
    Null,
    Boolean(&'a BooleanBuffer),
    Integer(Read<'a, i128>),
    Float(Read<'a, f64>, FloatWidth),
    Decimal(Read<'a, i128>, u8),
    WideDecimal(&'a [i256], u8),
    Date(Read<'a, i64>),
    Timestamp(Read<'a, i64>, TimeUnit),
    Time(Read<'a, i64>, TimeUnit),
    Text(&'a StringArray),
    Bytes(&'a dyn Array, LeafTag),
    List(&'a OffsetBuffer<i32>, Box<NestedEncoder<'a>>),
    Object(&'a OffsetBuffer<i32>, &'a StringArray, Box<NestedEncoder<'a>>),
    Pairs(&'a OffsetBuffer<i32>, Box<NestedEncoder<'a>>, Box<NestedEncoder<'a>>),
    Struct(Vec<(Vec<u8>, NestedEncoder<'a>)>),
}

impl<'a> NestedEncoder<'a> {
    /// An encoder for `array`. It takes the tags of its leaves from the front of `tags`.
    pub fn new(
        array: &'a ArrayRef,
        tags: &mut std::slice::Iter<'_, LeafTag>,
    ) -> Result<NestedEncoder<'a>, NestedError> {
        let body = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::List(list.offsets(), Box::new(NestedEncoder::new(list.values(), tags)?))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let keys = NestedEncoder::new(map.keys(), tags)?;
                let values = Box::new(NestedEncoder::new(map.values(), tags)?);
                match keys.body {
                    Values::Text(keys) => Values::Object(map.offsets(), keys, values),
                    _ => Values::Pairs(map.offsets(), Box::new(keys), values),
                }
            }
            DataType::Struct(fields) => {
                let children = fields.iter().zip(array.as_struct().columns()).map(|(field, column)| {
                    let mut name = Vec::new();
                    text::push_json_string(&mut name, field.name().as_bytes());
                    name.push(b':');
                    Ok((name, NestedEncoder::new(column, tags)?))
                });
                Values::Struct(children.collect::<Result<_, NestedError>>()?)
            }
            _ => leaf(array, tags.next().copied().unwrap_or(LeafTag::None))?,
        };
        Ok(NestedEncoder { nulls: array.logical_nulls(), body })
    }

    /// Appends the JSON text of the value at `row`.
    ///
    /// # Errors
    /// When the text exceeds the limit of one value, counted from `start`.
    pub fn push(&self, row: usize, start: usize, out: &mut Vec<u8>) -> Result<(), NestedError> {
        if out.len() - start > VALUE_BYTES_MAX {
            return Err(NestedError::TooLong);
        }
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.body {
            Values::List(offsets, item) => {
                push_sequence(out, b"[]", span(offsets, row)?, |index, out| item.push(index, start, out))
            }
            Values::Object(offsets, keys, values) => {
                push_sequence(out, b"{}", span(offsets, row)?, |index, out| {
                    text::push_json_string(out, keys.value(index).as_bytes());
                    out.push(b':');
                    values.push(index, start, out)
                })
            }
            Values::Pairs(offsets, keys, values) => {
                push_sequence(out, b"[]", span(offsets, row)?, |index, out| {
                    out.extend_from_slice(b"{\"key\":");
                    keys.push(index, start, out)?;
                    out.extend_from_slice(b",\"value\":");
                    values.push(index, start, out)?;
                    out.push(b'}');
                    Ok(())
                })
            }
            Values::Struct(children) => push_sequence(out, b"{}", 0..children.len(), |index, out| {
                let Some((name, child)) = children.get(index) else { return Ok(()) };
                out.extend_from_slice(name);
                child.push(row, start, out)
            }),
            scalar => push_scalar(scalar, row, out),
        }
    }
}

fn push_sequence(
    out: &mut Vec<u8>,
    brackets: &[u8; 2],
    range: std::ops::Range<usize>,
    mut push: impl FnMut(usize, &mut Vec<u8>) -> Result<(), NestedError>,
) -> Result<(), NestedError> {
    let [open, close] = *brackets;
    out.push(open);
    let first = range.start;
    for index in range {
        if index > first {
            out.push(b',');
        }
        push(index, out)?;
    }
    out.push(close);
    Ok(())
}

pub fn span(offsets: &OffsetBuffer<i32>, row: usize) -> Result<std::ops::Range<usize>, NestedError> {
    let at = |index: usize| offsets.get(index).and_then(|offset| usize::try_from(*offset).ok());
    match (at(row), at(row + 1)) {
        (Some(start), Some(end)) if start <= end => Ok(start..end),
        _ => Err(NestedError::Type("a list with offsets out of order".into())),
    }
}

fn push_scalar(body: &Values<'_>, row: usize, out: &mut Vec<u8>) -> Result<(), NestedError> {
    let missing = || NestedError::Type("fewer values than rows".into());
    match body {
        Values::Boolean(values) => {
            let value = row < values.len() && values.value(row);
            out.extend_from_slice(if value { b"true" } else { b"false" });
        }
        Values::Integer(read) => encode::push_wide(out, read(row).ok_or_else(missing)?),
        Values::Float(read, width) => {
            if !width.push_finite(out, read(row).ok_or_else(missing)?) {
                out.extend_from_slice(b"null");
            }
        }
        Values::Decimal(read, scale) => encode::push_decimal(out, read(row).ok_or_else(missing)?, *scale),
        Values::WideDecimal(values, scale) => {
            let value = values.get(row).ok_or_else(missing)?;
            encode::push_decimal(out, value.to_i128().ok_or(NestedError::WideDecimal)?, *scale);
        }
        Values::Date(read) => {
            let days = read(row).ok_or_else(missing)?;
            push_quoted(out, |out| encode::push_date(out, days));
        }
        Values::Timestamp(read, unit) => {
            let units = read(row).ok_or_else(missing)?;
            push_quoted(out, |out| encode::push_timestamp(out, units, *unit));
        }
        Values::Time(read, unit) => {
            let (units, mut inside) = (read(row).ok_or_else(missing)?, false);
            push_quoted(out, |out| inside = push_time(out, units, *unit));
            if !inside {
                return Err(NestedError::Value("a time of day outside the day".into()));
            }
        }
        Values::Text(values) => text::push_json_string(out, values.value(row).as_bytes()),
        Values::Bytes(array, tag) => {
            let bytes = feeder::bytes_at(*array, row);
            push_quoted(out, |out| match tag {
                LeafTag::Uuid => push_uuid(out, bytes),
                LeafTag::Interval => push_interval(out, bytes),
                LeafTag::None | LeafTag::UtcTime => push_base64(out, bytes),
            });
        }
        _ => out.extend_from_slice(b"null"),
    }
    Ok(())
}

pub fn push_quoted(out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    push(out);
    out.push(b'"');
}

fn leaf<'a>(array: &'a ArrayRef, tag: LeafTag) -> Result<Values<'a>, NestedError> {
    Ok(match array.data_type() {
        DataType::Null => Values::Null,
        DataType::Boolean => Values::Boolean(array.as_boolean().values()),
        DataType::Int8 => Values::Integer(read::<Int8Type, _>(array)),
        DataType::Int16 => Values::Integer(read::<Int16Type, _>(array)),
        DataType::Int32 => Values::Integer(read::<Int32Type, _>(array)),
        DataType::Int64 => Values::Integer(read::<Int64Type, _>(array)),
        DataType::UInt8 => Values::Integer(read::<UInt8Type, _>(array)),
        DataType::UInt16 => Values::Integer(read::<UInt16Type, _>(array)),
        DataType::UInt32 => Values::Integer(read::<UInt32Type, _>(array)),
        DataType::UInt64 => Values::Integer(read::<UInt64Type, _>(array)),
        DataType::Float16 => Values::Float(read::<Float16Type, _>(array), FloatWidth::Half),
        DataType::Float32 => Values::Float(read::<Float32Type, _>(array), FloatWidth::Single),
        DataType::Float64 => Values::Float(read::<Float64Type, _>(array), FloatWidth::Double),
        DataType::Decimal64(_, scale) => Values::Decimal(read::<Decimal64Type, _>(array), scale_of(*scale)?),
        DataType::Decimal128(_, scale) => {
            Values::Decimal(read::<Decimal128Type, _>(array), scale_of(*scale)?)
        }
        DataType::Decimal256(_, scale) => {
            Values::WideDecimal(array.as_primitive::<Decimal256Type>().values(), scale_of(*scale)?)
        }
        DataType::Date32 => Values::Date(read::<Date32Type, _>(array)),
        DataType::Date64 => Values::Timestamp(read::<Date64Type, _>(array), TimeUnit::Millisecond),
        DataType::Timestamp(unit, _) => Values::Timestamp(timestamps(array, *unit), time_unit(*unit)),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            Values::Time(times(array, *unit, tag), time_unit(*unit))
        }
        DataType::Utf8 => Values::Text(array.as_string::<i32>()),
        DataType::Binary | DataType::FixedSizeBinary(_) => Values::Bytes(array.as_ref(), tag),
        other => return Err(NestedError::Type(format!("type {other}"))),
    })
}

fn scale_of(scale: i8) -> Result<u8, NestedError> {
    u8::try_from(scale).map_err(|_| NestedError::Type(format!("a decimal with scale {scale}")))
}

fn read<T, V>(array: &ArrayRef) -> Read<'_, V>
where
    T: ArrowPrimitiveType,
    T::Native: Into<V>,
{
    let values = array.as_primitive::<T>().values();
    Box::new(move |row| values.get(row).map(|value| (*value).into()))
}

fn times(array: &ArrayRef, unit: ArrowUnit, tag: LeafTag) -> Read<'_, i64> {
    let read = match unit {
        ArrowUnit::Second => read::<Time32SecondType, _>(array),
        ArrowUnit::Millisecond => read::<Time32MillisecondType, _>(array),
        ArrowUnit::Microsecond => read::<Time64MicrosecondType, _>(array),
        ArrowUnit::Nanosecond => read::<Time64NanosecondType, _>(array),
    };
    if tag != LeafTag::UtcTime {
        return read;
    }
    Box::new(move |row| read(row).map(|units| wrap_at_midnight(units, time_unit(unit))))
}

fn timestamps(array: &ArrayRef, unit: ArrowUnit) -> Read<'_, i64> {
    match unit {
        ArrowUnit::Second => read::<TimestampSecondType, _>(array),
        ArrowUnit::Millisecond => read::<TimestampMillisecondType, _>(array),
        ArrowUnit::Microsecond => read::<TimestampMicrosecondType, _>(array),
        ArrowUnit::Nanosecond => read::<TimestampNanosecondType, _>(array),
    }
}
