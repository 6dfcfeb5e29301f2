//! Refuses decimals beyond the precision of their type: the writer of spilled rows would cut them to the bytes of the
//! precision. Does not depend on files.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use crate::convert::plan::ErrorContext;
use crate::failure::Failure;

/// A value of an array that is too large: its place, and what was expected and found.
struct Beyond {
    place: usize,
    precision: u8,
    text: String,
}

/// Checks a batch whose first row is `first_row` of the input.
pub(super) fn check(batch: &RecordBatch, first_row: u64, context: &ErrorContext) -> Result<(), Failure> {
    let schema = batch.schema_ref();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        if !has_decimals(field.data_type()) {
            continue;
        }
        if let Some(Beyond { place, precision, text }) = first(array, &|_| true) {
            let section = format!("column `{}`, row {}", field.name(), first_row + place as u64);
            let expected = format!("decimals of at most {precision} digits, as the column declares");
            let remedy = "correct the value or the declared precision in the source";
            return Err(context.refusal(&section, expected, text, remedy));
        }
    }
    Ok(())
}

fn has_decimals(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_decimals(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_decimals(item.data_type()),
        DataType::Dictionary(_, value) => has_decimals(value),
        other => other.is_decimal(),
    }
}

/// The first value beyond its precision, of those that `is_used` and are not null.
fn first(array: &ArrayRef, is_used: &dyn Fn(usize) -> bool) -> Option<Beyond> {
    let is_valid = |place: usize| is_used(place) && array.is_valid(place);
    match array.data_type() {
        DataType::Decimal32(precision, scale) => {
            first_decimal::<Decimal32Type>(array, (*precision, *scale), &is_valid)
        }
        DataType::Decimal64(precision, scale) => {
            first_decimal::<Decimal64Type>(array, (*precision, *scale), &is_valid)
        }
        DataType::Decimal128(precision, scale) => {
            first_decimal::<Decimal128Type>(array, (*precision, *scale), &is_valid)
        }
        DataType::Decimal256(precision, scale) => {
            first_decimal::<Decimal256Type>(array, (*precision, *scale), &is_valid)
        }
        DataType::Struct(_) => array.as_struct().columns().iter().find_map(|child| first(child, &is_valid)),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            first_item(list.values(), array.len(), &is_valid, |row| span(list.value_offsets(), row))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            first_item(list.values(), array.len(), &is_valid, |row| span(list.value_offsets(), row))
        }
        DataType::FixedSizeList(_, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            let values = array.as_fixed_size_list().values();
            first_item(values, array.len(), &is_valid, |row| row * length..(row + 1) * length)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let mut sides = map.entries().columns().iter();
            sides.find_map(|side| {
                first_item(side, array.len(), &is_valid, |row| span(map.value_offsets(), row))
            })
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt().filter(|keyed| !keyed.values().is_empty())?;
            let keys = dictionary.normalized_keys();
            let entry = |row: usize| keys.get(row).map_or(0..0, |key| *key..*key + 1);
            first_item(dictionary.values(), array.len(), &is_valid, entry)
        }
        _ => None,
    }
}

fn first_decimal<T: DecimalType>(
    array: &ArrayRef,
    (precision, scale): (u8, i8),
    is_valid: &dyn Fn(usize) -> bool,
) -> Option<Beyond> {
    let values = array.as_primitive::<T>().values().iter().enumerate();
    let mut beyond = values
        .filter(|(place, value)| !T::is_valid_decimal_precision(**value, precision) && is_valid(*place));
    let (place, value) = beyond.next()?;
    Some(Beyond { place, precision, text: T::format_decimal(*value, precision, scale) })
}

/// The first row with such a value among its items.
fn first_item(
    items: &ArrayRef,
    rows: usize,
    is_valid: &dyn Fn(usize) -> bool,
    items_of: impl Fn(usize) -> Range<usize>,
) -> Option<Beyond> {
    let mut row_of = vec![None; items.len()];
    for row in (0..rows).filter(|row| is_valid(*row)) {
        if let Some(own) = row_of.get_mut(items_of(row)) {
            own.fill(Some(row));
        }
    }
    let beyond = first(items, &|item| row_of.get(item).copied().flatten().is_some())?;
    let place = row_of.get(beyond.place).copied().flatten()?;
    Some(Beyond { place, ..beyond })
}

fn span<O: ArrowNativeType>(offsets: &[O], row: usize) -> Range<usize> {
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset.as_usize());
    at(row)..at(row + 1)
}
