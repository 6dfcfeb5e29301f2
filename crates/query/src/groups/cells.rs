//! The cells of an answer, column by column: values or codes of values, of which only those of the asked groups are turned
//! into values.

use mercato_format::order::{float_key, wide_key};
use mercato_format::writer::{Column, ColumnValues};
use mercato_format::{ColumnKind, FormatError};

use crate::groups::GroupError;
use crate::groups::coded::{Cell, Coded};
use crate::groups::float_sum::FloatSum;
use crate::groups::group_plan::{EXACT_DIGITS, GroupPlan, Output, ResultColumn};
use crate::groups::measure::{Measure, State};
use crate::groups::scan::Found;

/// The smallest number with more digits than are exact.
const EXACT_END: i128 = 10_i128.pow(EXACT_DIGITS as u32);

/// The cells of one column, in the order of the groups.
pub(super) enum Cells<'p, 't> {
    Codes(&'p Coded<'t>, Vec<u128>),
    Integers(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
}

/// The place of a cell in an order: values, then NaN, then null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Value(u128),
    Nan,
    Null,
}

/// The columns of an answer.
///
/// # Errors
/// When an exact aggregate has too many digits.
pub(super) fn cells_of<'p, 't>(
    plan: &'p GroupPlan<'t>,
    measures: &'p [Measure<'t>],
    found: &mut Found,
) -> Result<Vec<Cells<'p, 't>>, GroupError> {
    let keys = plan.keys.iter().enumerate();
    let mut columns: Vec<Cells<'p, 't>> =
        keys.map(|(number, key)| Cells::Codes(key, found.codes_of(&plan.keys, number))).collect();
    let names = plan.columns.iter().skip(plan.keys.len());
    let values = Values::of(plan, measures, found);
    for (number, (output, column)) in plan.outputs.iter().zip(names).enumerate() {
        let overflow = || GroupError::Overflow(column.name.clone());
        columns.push(values.cells(measures, found, number, *output).ok_or_else(overflow)?);
    }
    Ok(columns)
}

/// What distinct counts and quantiles read off the counts of values, by aggregate and group.
struct Values(Vec<Vec<u128>>);

impl Values {
    /// Takes the counts of values out of the states.
    fn of(plan: &GroupPlan<'_>, measures: &[Measure<'_>], found: &mut Found) -> Values {
        let groups = found.counts.len();
        let mut columns: Vec<Vec<u128>> = plan
            .outputs
            .iter()
            .map(|output| match output {
                Output::Distinct(_) => vec![0; groups],
                // No code is as large: a group without values is null.
                Output::Quantile(..) => vec![u128::MAX; groups],
                _ => Vec::new(),
            })
            .collect();
        for (number, (_, state)) in measures.iter().zip(&mut found.states).enumerate() {
            let State::Values(_) = state else { continue };
            let State::Values(counts) = std::mem::replace(state, State::Counts(Vec::new())) else { continue };
            counts.each_group(|group, values| {
                for (output, column) in plan.outputs.iter().zip(&mut columns) {
                    let read = match output {
                        Output::Distinct(measure) if *measure == number => Some(values.len() as u128),
                        Output::Quantile(measure, share) if *measure == number => {
                            let count = values.iter().map(|(_, count)| u64::from(*count)).sum();
                            code_at(values, share.rank(count))
                        }
                        _ => None,
                    };
                    if let (Some(read), Some(slot)) = (read, column.get_mut(group as usize)) {
                        *slot = read;
                    }
                }
            });
        }
        Values(columns)
    }

    /// The cells of an aggregate; `None` when one has too many digits.
    fn cells<'p, 't>(
        &self,
        measures: &'p [Measure<'t>],
        found: &Found,
        number: usize,
        output: Output,
    ) -> Option<Cells<'p, 't>> {
        let read = self.0.get(number).map_or(&[][..], Vec::as_slice);
        let each = |values: &[u128]| -> Vec<u128> {
            found.groups.iter().filter_map(|group| values.get(*group as usize).copied()).collect()
        };
        let counted = |counts: &[u64]| -> Cells<'p, 't> {
            let counts = found.groups.iter().map(|group| counts.get(*group as usize).copied().unwrap_or(0));
            Cells::Integers(counts.map(|count| Some(count.into())).collect())
        };
        let state = |measure: usize| found.states.get(measure);
        let coded = |measure: usize| match measures.get(measure)? {
            Measure::Smallest(coded) | Measure::Largest(coded) | Measure::Values(coded) => Some(coded),
            _ => None,
        };
        Some(match output {
            Output::Rows => counted(&found.counts),
            Output::Present(measure) => match state(measure)? {
                State::Counts(counts) => counted(counts),
                _ => return None,
            },
            Output::Distinct(_) => {
                Cells::Integers(each(read).into_iter().map(|count| i128::try_from(count).ok()).collect())
            }
            Output::Quantile(measure, _) => Cells::Codes(coded(measure)?, each(read)),
            Output::Extreme(measure) => {
                let State::Codes(codes) = state(measure)? else { return None };
                let is_largest = matches!(measures.get(measure), Some(Measure::Largest(_)));
                let code =
                    |code: u128| if is_largest { code.checked_sub(1).unwrap_or(u128::MAX) } else { code };
                Cells::Codes(coded(measure)?, each(codes).into_iter().map(code).collect())
            }
            Output::Sum(measure) => Cells::Integers(exact(found, state(measure)?, |sum, _| Some(sum))?),
            Output::Average(measure, digits) => {
                Cells::Integers(exact(found, state(measure)?, |sum, count| average(sum, count, digits))?)
            }
            Output::FloatSum(measure) => Cells::Floats(floats(found, state(measure)?, |sum, _| sum)?),
            Output::FloatAverage(measure) => {
                Cells::Floats(floats(found, state(measure)?, |sum, count| sum / count as f64)?)
            }
        })
    }
}

/// The code at a rank among values with their counts.
fn code_at(values: &[(u128, u32)], rank: u64) -> Option<u128> {
    let mut before = 0u64;
    let at = |(_, count): &&(u128, u32)| {
        before = before.saturating_add(u64::from(*count));
        before > rank
    };
    values.iter().find(at).map(|(code, _)| *code)
}

/// Exact aggregates of all groups, null where a group has no value; `None` when one has too many digits.
fn exact(
    found: &Found,
    state: &State,
    aggregate: impl Fn(i128, u64) -> Option<i128>,
) -> Option<Vec<Option<i128>>> {
    let State::Sums { sums, wraps, counts } = state else { return None };
    let counts = if counts.is_empty() { &found.counts } else { counts };
    let of_group = |group: &u32| {
        let at = *group as usize;
        let (sum, wraps, count) = (sums.get(at)?, wraps.get(at)?, counts.get(at)?);
        if *count == 0 {
            return Some(None);
        }
        let value = aggregate(*sum, *count).filter(|_| *wraps == 0)?;
        (value.unsigned_abs() < EXACT_END.unsigned_abs()).then_some(Some(value))
    };
    found.groups.iter().map(of_group).collect()
}

/// An average with more digits than the numbers, half to even; `None` when it does not fit.
fn average(sum: i128, count: u64, digits: u8) -> Option<i128> {
    let (count, unit) = (i128::from(count), 10_i128.checked_pow(digits.into())?);
    let (whole, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
    // The rest is below 2³², so this does not overflow.
    let (digits, rest) = (rest * unit / count, rest * unit % count);
    let floor = whole.checked_mul(unit)?.checked_add(digits)?;
    let is_up = match (rest * 2).cmp(&count) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => floor % 2 != 0,
        std::cmp::Ordering::Greater => true,
    };
    floor.checked_add(is_up.into())
}

fn floats(found: &Found, state: &State, aggregate: impl Fn(f64, u64) -> f64) -> Option<Vec<Option<f64>>> {
    let State::FloatSums { sums, counts } = state else { return None };
    let counts = if counts.is_empty() { &found.counts } else { counts };
    let of_group = |group: &u32| {
        let at = *group as usize;
        let (sum, count) = (sums.get(at).copied().map(FloatSum::total)?, *counts.get(at)?);
        (count > 0).then(|| aggregate(sum, count))
    };
    Some(found.groups.iter().map(of_group).collect())
}

impl Cells<'_, '_> {
    /// The place of a group in the order of the column.
    pub(super) fn place(&self, group: usize) -> Place {
        match self {
            Cells::Codes(coded, codes) => match codes.get(group) {
                Some(code) if *code < coded.nan_code() => Place::Value(*code),
                Some(code) if *code == coded.nan_code() => Place::Nan,
                _ => Place::Null,
            },
            Cells::Integers(values) => values
                .get(group)
                .copied()
                .flatten()
                .map_or(Place::Null, |value| Place::Value(wide_key(value))),
            Cells::Floats(values) => match values.get(group).copied().flatten() {
                None => Place::Null,
                Some(value) if value.is_nan() => Place::Nan,
                Some(value) => Place::Value(float_key(value).into()),
            },
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Cells::Codes(_, codes) => codes.capacity() * size_of::<u128>(),
            Cells::Integers(values) => values.capacity() * size_of::<Option<i128>>(),
            Cells::Floats(values) => values.capacity() * size_of::<Option<f64>>(),
        }
    }

    /// A column of a table with the cells of some groups.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(super) fn column(&self, column: &ResultColumn, groups: &[u32]) -> Result<Column, FormatError> {
        let values = match self {
            Cells::Integers(values) => {
                let chosen = groups.iter().map(|group| values.get(*group as usize).copied().flatten());
                return Ok(column.with(self.kind(column), ColumnValues::Wide(chosen.collect())));
            }
            Cells::Floats(values) => {
                let chosen = groups.iter().map(|group| values.get(*group as usize).copied().flatten());
                ColumnValues::Floats(chosen.collect())
            }
            Cells::Codes(coded, codes) => {
                let cell = |group: &u32| coded.cell(codes.get(*group as usize).copied().unwrap_or(u128::MAX));
                let cells: Vec<Cell> = groups.iter().map(cell).collect::<Result<_, _>>()?;
                values_of(column.kind, cells)
            }
        };
        Ok(column.with(column.kind, values))
    }

    /// Sums of integers are integers where all of them fit 64 bits, so that every page has the same type.
    fn kind(&self, column: &ResultColumn) -> ColumnKind {
        let Cells::Integers(values) = self else { return column.kind };
        let fits = |value: &i128| i64::try_from(*value).is_ok();
        let is_whole = matches!(column.kind, ColumnKind::Decimal { scale: 0, .. });
        if is_whole && values.iter().flatten().all(fits) { ColumnKind::Integer } else { column.kind }
    }
}

fn values_of(kind: ColumnKind, cells: Vec<Cell>) -> ColumnValues {
    let integer = |cell: Cell| if let Cell::Integer(value) = cell { Some(value) } else { None };
    match kind {
        ColumnKind::Text => {
            let text = |cell| if let Cell::Text(text) = cell { Some(text) } else { None };
            ColumnValues::Texts(cells.into_iter().map(text).collect())
        }
        ColumnKind::Float => {
            let float = |cell| if let Cell::Float(value) = cell { Some(value) } else { None };
            ColumnValues::Floats(cells.into_iter().map(float).collect())
        }
        ColumnKind::Boolean => ColumnValues::Booleans(
            cells.into_iter().map(|cell| integer(cell).map(|value| value != 0)).collect(),
        ),
        ColumnKind::Integer | ColumnKind::Decimal { .. } => {
            ColumnValues::Wide(cells.into_iter().map(integer).collect())
        }
        ColumnKind::Date | ColumnKind::Timestamp { .. } => {
            // The start of a period may lie before the first moment of the type.
            let narrow =
                |value: i128| i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
            ColumnValues::Integers(cells.into_iter().map(|cell| integer(cell).map(narrow)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_round_half_to_even() {
        for (sum, count, digits, expected) in [
            (1, 2, 0, Some(0)),
            (3, 2, 0, Some(2)),
            (-1, 2, 0, Some(0)),
            (-3, 2, 0, Some(-2)),
            (-5, 2, 0, Some(-2)),
            (1, 3, 6, Some(333_333)),
            (-1, 3, 6, Some(-333_333)),
            (2, 3, 6, Some(666_667)),
            (10_i128.pow(37), 1, 6, None),
        ] {
            assert_eq!(average(sum, count, digits), expected, "{sum} / {count}");
        }
    }

    #[test]
    fn finds_code_at_rank() {
        let values = [(3, 2), (7, 1), (9, 4)];
        let codes: Vec<_> = (0..8).map(|rank| code_at(&values, rank)).collect();
        assert_eq!(codes, [Some(3), Some(3), Some(7), Some(9), Some(9), Some(9), Some(9), None]);
    }
}
