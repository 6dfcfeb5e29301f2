//! Chooses the unit of INT96 columns. INT96 counts nanoseconds over eleven million years; 64 bits of nanoseconds
//! hold 584. A first pass in seconds finds the range, then the finest unit that holds it is taken. Knows no kind.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, TimeUnit, TimestampSecondType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::hints::Reading;
use super::limits::BATCH_ROWS;
use super::plan::{DAMAGED, FieldViews, Refusal, is_int96, read_with};
use super::reader::unwrap_structs;
use super::source::Source;
use crate::failure::Failure;

/// The unit of each INT96 leaf outside lists and maps; inside them microseconds are taken.
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
    for column in super::columns::flatten(reading.schema().fields(), schema, drop).columns {
        if column.nested || !is_int96(schema, column.first_leaf) {
            continue;
        }
        let section = format!("column `{}`", column.spec.name);
        let range =
            refuse.decode(&section, || range(source, &reading, column.first_leaf, column.struct_depth))?;
        let unit = match range {
            None => TimeUnit::Nanosecond,
            Some((low, high)) => unit_for(low, high).ok_or_else(|| {
                let expected = "timestamps that 64 bits of milliseconds hold".into();
                refuse.because(&section, expected, format!("seconds from {low} to {high}"), DAMAGED)
            })?,
        };
        units.insert(column.first_leaf, unit);
    }
    Ok(units)
}

fn range(
    source: &Source,
    reading: &ArrowReaderMetadata,
    leaf: usize,
    struct_depth: usize,
) -> parquet::errors::Result<Option<(i64, i64)>> {
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source.clone(), reading.clone());
    let mask = ProjectionMask::leaves(builder.parquet_schema(), [leaf]);
    let mut range: Option<(i64, i64)> = None;
    for batch in builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()? {
        let batch = batch?;
        let Some((array, _)) = batch.columns().first().and_then(|array| unwrap_structs(array, struct_depth))
        else {
            continue;
        };
        if !matches!(array.data_type(), DataType::Timestamp(TimeUnit::Second, _)) {
            continue;
        }
        for second in array.as_primitive::<TimestampSecondType>().iter().flatten() {
            let (low, high) = range.unwrap_or((second, second));
            range = Some((low.min(second), high.max(second)));
        }
    }
    Ok(range)
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
