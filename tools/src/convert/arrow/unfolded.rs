//! The size of values once dictionaries and shared items are unfolded, as Parquet and the store file have them. Does not
//! depend on files.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

/// Bytes of a value beside its own: its place and its levels.
const VALUE_BYTES: u64 = 8;

/// Bytes of some rows of a batch.
pub(super) fn bytes_of(batch: &RecordBatch, rows: &Range<usize>) -> u64 {
    let columns = batch.columns().iter().map(|array| bytes(array, rows.clone()));
    columns.fold(0, u64::saturating_add)
}

/// Bytes of some values of an array. Values behind nulls count too.
fn bytes(array: &ArrayRef, rows: Range<usize>) -> u64 {
    let own = match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets(), &rows),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets(), &rows),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets(), &rows),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets(), &rows),
        DataType::Utf8View => views(array.as_string_view().views(), &rows),
        DataType::BinaryView => views(array.as_binary_view().views(), &rows),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            items(list.values(), list.value_offsets(), &rows)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            items(list.values(), list.value_offsets(), &rows)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries = map.entries().columns().iter();
            entries.map(|side| items(side, map.value_offsets(), &rows)).fold(0, u64::saturating_add)
        }
        DataType::FixedSizeList(_, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            let range = rows.start.saturating_mul(length)..rows.end.saturating_mul(length);
            bytes(array.as_fixed_size_list().values(), range)
        }
        DataType::Struct(_) => {
            let fields = array.as_struct().columns().iter();
            fields.map(|field| bytes(field, rows.clone())).fold(0, u64::saturating_add)
        }
        DataType::Dictionary(key, _) => match **key {
            DataType::Int8 => entries::<Int8Type>(array, &rows),
            DataType::Int16 => entries::<Int16Type>(array, &rows),
            DataType::Int32 => entries::<Int32Type>(array, &rows),
            DataType::Int64 => entries::<Int64Type>(array, &rows),
            DataType::UInt8 => entries::<UInt8Type>(array, &rows),
            DataType::UInt16 => entries::<UInt16Type>(array, &rows),
            DataType::UInt32 => entries::<UInt32Type>(array, &rows),
            _ => entries::<UInt64Type>(array, &rows),
        },
        DataType::FixedSizeBinary(length) => {
            (rows.len() as u64).saturating_mul(u64::try_from(*length).unwrap_or(0))
        }
        fixed => (rows.len() as u64).saturating_mul(fixed.primitive_width().unwrap_or(1) as u64),
    };
    own.saturating_add((rows.len() as u64).saturating_mul(VALUE_BYTES))
}

/// The stretch between the first and the last offset of some rows.
fn stretch<O: ArrowNativeType>(offsets: &[O], rows: &Range<usize>) -> Range<usize> {
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset.as_usize());
    at(rows.start)..at(rows.end).max(at(rows.start))
}

fn between<O: ArrowNativeType>(offsets: &[O], rows: &Range<usize>) -> u64 {
    stretch(offsets, rows).len() as u64
}

fn items<O: ArrowNativeType>(values: &ArrayRef, offsets: &[O], rows: &Range<usize>) -> u64 {
    bytes(values, stretch(offsets, rows))
}

/// The first four bytes of a view are the length of its text.
fn views(views: &[u128], rows: &Range<usize>) -> u64 {
    let views = views.get(rows.clone()).unwrap_or_default().iter();
    views.map(|view| *view as u32 as u64).fold(0, u64::saturating_add)
}

fn entries<K: ArrowDictionaryKeyType>(array: &ArrayRef, rows: &Range<usize>) -> u64 {
    let dictionary = array.as_dictionary::<K>();
    let values = dictionary.values();
    if let Some(width) = values.data_type().primitive_width() {
        return (rows.len() as u64).saturating_mul(width as u64);
    }
    let mut sum = 0_u64;
    for row in rows.clone().filter(|row| dictionary.is_valid(*row)) {
        let entry = dictionary.keys().value(row).as_usize();
        sum = sum.saturating_add(bytes(values, entry..entry.saturating_add(1)));
    }
    sum
}
