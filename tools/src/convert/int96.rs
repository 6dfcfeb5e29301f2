//! Chooses the time unit of INT96 columns. INT96 covers eleven million years in nanoseconds, but 64 bits of nanoseconds
//! cover 584 years. A first pass finds the range and the precision of the values. The column gets the requested unit, or
//! the finest unit that holds its range. Does not depend on column kinds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::TimeUnit;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use crate::convert::limits::{BATCH_BYTES_MAX, BATCH_ROWS};
use crate::convert::pages::GroupPages;
use crate::convert::pages::batch_budget::{BatchBudget, LeafCost};
use crate::convert::plan::{ErrorContext, FieldViews, is_int96};
use crate::convert::schema::flatten::{OutputColumn, flatten, time_unit};
use crate::convert::source::Source;
use crate::failure::Failure;

/// Julian day of 1970-01-01, from which INT96 counts its days.
const UNIX_EPOCH_JULIAN_DAY: i128 = 2_440_588;
const DAY_NANOSECONDS: i128 = 86_400_000_000_000;
/// Bytes of a value and its levels.
const LEVEL_BYTES: u64 = 16;
/// The units of INT96 columns, the finest first: name and length in nanoseconds.
const UNITS: [(TimeUnit, &str, i128); 3] = [
    (TimeUnit::Nanosecond, "ns", 1),
    (TimeUnit::Microsecond, "us", 1_000),
    (TimeUnit::Millisecond, "ms", 1_000_000),
];

/// The units of INT96 leaves, with warnings.
#[derive(Default)]
pub(super) struct Int96Units {
    pub(super) by_leaf: HashMap<usize, TimeUnit>,
    /// One warning for each column that loses digits.
    pub(super) warnings: Vec<String>,
}

/// Reads all INT96 values and chooses their units. `asked` overrides the choice.
///
/// # Errors
/// When a value does not fit the unit; the error names column and row.
pub(super) fn units(
    source: &Source,
    metadata: &Arc<ParquetMetaData>,
    fields: &FieldViews,
    drop: &HashSet<String>,
    asked: Option<mercato_format::TimeUnit>,
    context: &ErrorContext,
) -> Result<Int96Units, Failure> {
    let mut units = Int96Units::default();
    let schema = metadata.file_metadata().schema_descr();
    if !(0..schema.num_columns()).any(|leaf| is_int96(schema, leaf)) {
        return Ok(units);
    }
    for column in flatten(&fields.plain, schema, drop).columns {
        for leaf in column.leaves().filter(|leaf| is_int96(schema, *leaf)) {
            let section = format!("column `{}`", column.spec.name);
            let range = context.decode(&section, || range(source, metadata, leaf))?;
            let unit = choose(&range, asked, &column, context)?;
            units.by_leaf.insert(leaf, unit.0);
            units.warnings.extend(warning(&column, &range, unit));
        }
    }
    Ok(units)
}

/// The range of the values of a leaf, in nanoseconds since 1970.
#[derive(Debug, Default, PartialEq, Eq)]
struct Range {
    /// The smallest and the largest value, each with its row; `None` without values.
    extremes: Option<[(i128, u64); 2]>,
    /// Values that microseconds do not hold exactly, and values that milliseconds do not.
    finer_than: [u64; 2],
}

impl Range {
    fn add(&mut self, value: i128, row: u64) {
        let [low, high] = self.extremes.get_or_insert([(value, row); 2]);
        if value < low.0 {
            *low = (value, row);
        }
        if value > high.0 {
            *high = (value, row);
        }
        for (count, nanoseconds) in self.finer_than.iter_mut().zip([1_000, 1_000_000]) {
            *count += u64::from(value % nanoseconds != 0);
        }
    }

    /// The first extreme that does not fit 64 bits of a unit.
    fn outside(&self, nanoseconds: i128) -> Option<(i128, u64)> {
        let fits = |value: i128| i64::try_from(value.div_euclid(nanoseconds)).is_ok();
        self.extremes.into_iter().flatten().find(|(value, _)| !fits(*value))
    }
}

type Unit = (TimeUnit, &'static str, i128);

fn finest(range: &Range) -> Option<Unit> {
    UNITS.into_iter().find(|(_, _, nanoseconds)| range.outside(*nanoseconds).is_none())
}

fn choose(
    range: &Range,
    asked: Option<mercato_format::TimeUnit>,
    column: &OutputColumn,
    context: &ErrorContext,
) -> Result<Unit, Failure> {
    let fitting = finest(range);
    let wanted = UNITS.into_iter().find(|(unit, ..)| Some(time_unit(*unit)) == asked).or(fitting);
    let name = &column.spec.name;
    let Some(wanted) = wanted else {
        let (section, remedy) =
            (format!("column `{name}`"), format!("leave the column out with --drop {name}"));
        let expected = "timestamps that 64 bits of milliseconds hold".to_owned();
        return Err(context.refusal(&section, expected, "one beyond them".to_owned(), &remedy));
    };
    let Some((value, row)) = range.outside(wanted.2) else { return Ok(wanted) };
    let section = format!("column `{name}`, row {row}");
    let expected = format!("a timestamp that 64 bits of {} hold", wanted.1);
    let remedy = match fitting {
        Some((_, unit, _)) => {
            format!("--timestamp-unit {unit} holds it, or leave the column out with --drop {name}")
        }
        None => format!("leave the column out with --drop {name}"),
    };
    Err(context.refusal(&section, expected, printed(value), &remedy))
}

/// The warning that a column gets a coarser unit than its source has, with the number of values that lose digits.
fn warning(column: &OutputColumn, range: &Range, (_, unit, nanoseconds): Unit) -> Option<String> {
    let [finer_than_us, finer_than_ms] = range.finer_than;
    let lost = match nanoseconds {
        1 => return None,
        1_000 => finer_than_us,
        _ => finer_than_ms,
    };
    let why = match range.outside(1) {
        Some((value, row)) => format!(", because nanoseconds do not hold {} in row {row}", printed(value)),
        None if lost == 0 => return None,
        None => String::new(),
    };
    let name = &column.spec.name;
    Some(format!("column `{name}` is kept in {unit}{why}: {lost} of its values lose digits"))
}

/// A timestamp as text, with nanoseconds.
fn printed(nanoseconds: i128) -> String {
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or_default();
    let mut text = Vec::new();
    mercato_format::encode::push_timestamp(&mut text, seconds, mercato_format::TimeUnit::Second);
    let text = String::from_utf8_lossy(&text).into_owned();
    text.replace('Z', &format!(".{:09}Z", nanoseconds.rem_euclid(1_000_000_000)))
}

fn range(source: &Source, metadata: &ParquetMetaData, leaf: usize) -> parquet::errors::Result<Range> {
    let (mut range, mut first_row) = (Range::default(), 0);
    let description = metadata.file_metadata().schema_descr().column(leaf);
    // Flat rows are read in large batches. A row of a list may have any number of values.
    let rows = if description.max_rep_level() > 0 { 1 } else { BATCH_ROWS };
    for group in metadata.row_groups() {
        let budget =
            BatchBudget::new(&[LeafCost { level_bytes: LEVEL_BYTES }], BATCH_BYTES_MAX, rows as u64, 0);
        let leaves = leaf..leaf + 1;
        let checked = GroupPages { source, metadata, group, leaves, as_keys: false, budget };
        let pages = Box::new(checked.pages(leaf)?);
        let reader = get_column_reader(Arc::clone(&description), pages);
        let ColumnReader::Int96ColumnReader(reader) = reader else {
            return Err(ParquetError::General("a column is missing".to_owned()));
        };
        let mut leaf = Leaf { reader, budget: &checked.budget, present: description.max_def_level(), rows };
        leaf.widen(&mut range, first_row)?;
        first_row += group.num_rows().unsigned_abs();
    }
    Ok(range)
}

struct Leaf<'a> {
    reader: ColumnReaderImpl<Int96Type>,
    budget: &'a BatchBudget,
    /// The definition level of a value.
    present: i16,
    rows: usize,
}

impl Leaf<'_> {
    fn widen(&mut self, range: &mut Range, first_row: u64) -> parquet::errors::Result<()> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::<Int96>::new());
        let mut next_row = first_row;
        loop {
            definitions.clear();
            repetitions.clear();
            values.clear();
            self.budget.begin();
            let levels = (Some(&mut definitions), Some(&mut repetitions));
            let (_, _, places) = self.reader.read_records(self.rows, levels.0, levels.1, &mut values)?;
            if places == 0 {
                return Ok(());
            }
            let mut values = values.iter();
            for place in 0..places {
                // Without levels, every row has a value.
                next_row += u64::from(repetitions.get(place).is_none_or(|level| *level == 0));
                if definitions.get(place).is_none_or(|level| *level == self.present)
                    && let Some(value) = values.next()
                {
                    range.add(nanoseconds(value), next_row.saturating_sub(1));
                }
            }
        }
    }
}

/// Days and nanoseconds of the day, as one number.
fn nanoseconds(value: &Int96) -> i128 {
    let [low, high, day] = <[u32; 3]>::try_from(value.data()).unwrap_or_default();
    let of_day = (u64::from(high) << 32 | u64::from(low)).cast_signed();
    (i128::from(day.cast_signed()) - UNIX_EPOCH_JULIAN_DAY) * DAY_NANOSECONDS + i128::from(of_day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_of(values: &[i128]) -> &'static str {
        let mut range = Range::default();
        (0..).zip(values).for_each(|(row, value)| range.add(*value, row));
        finest(&range).unwrap().1
    }

    #[test]
    fn chooses_finest_unit_that_holds_range() {
        let (low, high) = (i128::from(i64::MIN), i128::from(i64::MAX));
        assert_eq!(unit_of(&[]), "ns");
        assert_eq!(unit_of(&[low, 0, high]), "ns");
        assert_eq!(unit_of(&[0, high + 1]), "us");
        assert_eq!(unit_of(&[low - 1]), "us");
        assert_eq!(unit_of(&[low * 1_000, high * 1_000 + 999]), "us");
        assert_eq!(unit_of(&[high * 1_000 + 1_000]), "ms");
        assert_eq!(unit_of(&[low * 1_000 - 1, 0]), "ms");
    }

    #[test]
    fn formats_timestamps_with_nine_digits() {
        assert_eq!(printed(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(printed(253_402_300_800_000_000_001), "+010000-01-01T00:00:00.000000001Z");
    }
}
