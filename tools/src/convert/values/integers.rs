//! The integers of an array: numbers, scaled decimals, days and time units, for columns that widen them. Does not depend
//! on column builders.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal64Type, Decimal128Type, Decimal256Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

use crate::convert::values::feeder::FeedError;

const DAY_MILLISECONDS: i64 = 86_400_000;

/// The values of an array of integers.
///
/// # Errors
/// [`FeedError::Value`] for a decimal beyond 128 bits and a date with a time of day, [`FeedError::Type`] for another
/// array.
pub fn integers_of(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Vec<Option<i128>>, FeedError> {
    Ok(match array.data_type() {
        DataType::Int8 => plain::<Int8Type>(array, nulls),
        DataType::Int16 => plain::<Int16Type>(array, nulls),
        DataType::Int32 => plain::<Int32Type>(array, nulls),
        DataType::Int64 => plain::<Int64Type>(array, nulls),
        DataType::UInt8 => plain::<UInt8Type>(array, nulls),
        DataType::UInt16 => plain::<UInt16Type>(array, nulls),
        DataType::UInt32 => plain::<UInt32Type>(array, nulls),
        DataType::UInt64 => plain::<UInt64Type>(array, nulls),
        DataType::Decimal64(..) => plain::<Decimal64Type>(array, nulls),
        DataType::Decimal128(..) => plain::<Decimal128Type>(array, nulls),
        DataType::Date32 => plain::<Date32Type>(array, nulls),
        DataType::Timestamp(TimeUnit::Second, _) => plain::<TimestampSecondType>(array, nulls),
        DataType::Timestamp(TimeUnit::Millisecond, _) => plain::<TimestampMillisecondType>(array, nulls),
        DataType::Timestamp(TimeUnit::Microsecond, _) => plain::<TimestampMicrosecondType>(array, nulls),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => plain::<TimestampNanosecondType>(array, nulls),
        DataType::Decimal256(..) => {
            let values = array.as_primitive::<Decimal256Type>().values().iter();
            let narrow = values.enumerate().map(|(row, value)| match value.to_i128() {
                _ if is_null(nulls, row) => Ok(None),
                Some(value) => Ok(Some(value)),
                None => {
                    Err(FeedError::Value { row, found: format!("the decimal {value}, wider than 128 bits") })
                }
            });
            narrow.collect::<Result<_, _>>()?
        }
        DataType::Date64 => {
            let values = array.as_primitive::<Date64Type>().values().iter();
            let days = values.enumerate().map(|(row, value)| match value % DAY_MILLISECONDS {
                _ if is_null(nulls, row) => Ok(None),
                0 => Ok(Some(i128::from(value.div_euclid(DAY_MILLISECONDS)))),
                _ => Err(FeedError::Value { row, found: format!("a date with a time of day ({value} ms)") }),
            });
            days.collect::<Result<_, _>>()?
        }
        other => return Err(FeedError::Type(other.to_string())),
    })
}

fn plain<T>(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Vec<Option<i128>>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    let values = array.as_primitive::<T>().values().iter().enumerate();
    values.map(|(row, value)| (!is_null(nulls, row)).then(|| (*value).into())).collect()
}

fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}
