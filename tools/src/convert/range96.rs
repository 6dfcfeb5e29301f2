//! Chooses the unit of INT96 columns. INT96 counts nanoseconds over eleven million years; 64 bits of nanoseconds
//! hold 584. A first pass in seconds finds the range, then the finest unit that holds it is taken. Knows no kind.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, TimeUnit, TimestampSecondType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::columns::{OutputColumn, flatten};
use super::hints::Reading;
use super::limits::BATCH_ROWS;
use super::plan::{DAMAGED, FieldViews, Refusal, is_int96, read_with};
use super::source::Source;
use crate::failure::Failure;

/// The unit of each INT96 leaf that is read.
pub(super) fn units(
    source: &Source,
    facts: &Arc<ParquetMetaData>,
    fields: &FieldViews,
    drop: &[String],
    refuse: &Refusal,
) -> Result<HashMap<usize, TimeUnit>, Failure> {
    let mut units = HashMap::new();
    let schema = facts.file_metadata().schema_descr();
    if !(0..schema.num_columns()).any(|leaf| is_int96(schema, leaf)) {
        return Ok(units);
    }
    let reading = read_with(facts, fields, Reading::Int96Seconds, &units, refuse)?;
    for column in flatten(reading.schema().fields(), schema, drop).columns {
        if !column.leaves().any(|leaf| is_int96(schema, leaf)) {
            continue;
        }
        let section = format!("column `{}`", column.spec.name);
        for (leaf, (low, high)) in refuse.decode(&section, || ranges(source, &reading, &column))? {
            let unit = unit_for(low, high).ok_or_else(|| {
                let expected = "timestamps that 64 bits of milliseconds hold".into();
                refuse.because(&section, expected, format!("seconds from {low} to {high}"), DAMAGED)
            })?;
            units.insert(leaf, unit);
        }
    }
    Ok(units)
}

/// Lowest and highest second by leaf.
type Ranges = HashMap<usize, (i64, i64)>;

fn ranges(
    source: &Source,
    reading: &ArrowReaderMetadata,
    column: &OutputColumn,
) -> parquet::errors::Result<Ranges> {
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source.clone(), reading.clone());
    let mask = ProjectionMask::leaves(builder.parquet_schema(), column.leaves());
    let mut ranges = Ranges::new();
    for batch in builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()? {
        for array in batch?.columns() {
            widen(array, &mut column.leaves(), &mut ranges);
        }
    }
    Ok(ranges)
}

/// Walks down to the timestamps; `leaves` gives the leaf of each array that has no children.
fn widen(array: &ArrayRef, leaves: &mut Range<usize>, ranges: &mut Ranges) {
    match array.data_type() {
        DataType::Struct(_) => {
            array.as_struct().columns().iter().for_each(|child| widen(child, leaves, ranges))
        }
        DataType::List(_) => widen(array.as_list::<i32>().values(), leaves, ranges),
        DataType::Map(..) => {
            widen(array.as_map().keys(), leaves, ranges);
            widen(array.as_map().values(), leaves, ranges);
        }
        data_type => {
            let Some(leaf) = leaves.next() else { return };
            if !matches!(data_type, DataType::Timestamp(TimeUnit::Second, _)) {
                return;
            }
            for second in array.as_primitive::<TimestampSecondType>().iter().flatten() {
                let (low, high) = ranges.entry(leaf).or_insert((second, second));
                (*low, *high) = (second.min(*low), second.max(*high));
            }
        }
    }
}

fn unit_for(low: i64, high: i64) -> Option<TimeUnit> {
    // One second of room on either side for the fraction.
    let fits = |per_second: i64| {
        let holds = |second: i64| second.checked_mul(per_second).is_some();
        low.checked_sub(1).is_some_and(holds) && high.checked_add(1).is_some_and(holds)
    };
    let candidates = [
        (1_000_000_000, TimeUnit::Nanosecond),
        (1_000_000, TimeUnit::Microsecond),
        (1_000, TimeUnit::Millisecond),
    ];
    candidates.into_iter().find(|(per_second, _)| fits(*per_second)).map(|(_, unit)| unit)
}
