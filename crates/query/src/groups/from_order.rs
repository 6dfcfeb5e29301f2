//! Groups of a whole table that the orders of columns know: nobody looks at rows.
//!
//! A dictionary knows how often each entry occurs. So it answers groups of its own column and measures of it, and measures
//! of the table as a whole. The zone maps of numbers know their extremes.

use mercato_format::{ColumnData, Dictionary, FormatError, Table};

use crate::groups::coded::Coded;
use crate::groups::group_plan::GroupPlan;
use crate::groups::measure::{Measure, State, add_wide, bump};
use crate::groups::scan::{Found, GroupCodes};

/// The groups of all rows, where orders know them.
///
/// # Errors
/// When the file is damaged.
pub(super) fn from_order(
    table: &Table,
    plan: &GroupPlan<'_>,
    measures: &[Measure<'_>],
) -> Result<Option<Found>, FormatError> {
    match plan.keys.as_slice() {
        [] => whole_table(table, measures),
        [key] => groups_of(key, measures),
        _ => Ok(None),
    }
}

/// One group of all rows.
fn whole_table(table: &Table, measures: &[Measure<'_>]) -> Result<Option<Found>, FormatError> {
    let mut states = Vec::with_capacity(measures.len());
    for measure in measures {
        let mut state = measure.state(1, true);
        if let Measure::Smallest(coded) | Measure::Largest(coded) = measure
            && let ColumnData::Numbers(_) = coded.data()
        {
            let has_nan = table.columns().get(coded.column()).is_some_and(|meta| meta.nan_count > 0);
            let nan = has_nan.then_some(coded.nan_code());
            let extremes = coded.nan_code().checked_sub(1).map(|largest| [0, largest]);
            let codes = extremes.into_iter().flatten().chain(nan);
            codes.for_each(|code| measure.add_code(&mut state, 0, code, 1));
            states.push(state);
            continue;
        }
        let Some((dictionary, column)) = dictionary_of(measure) else { return Ok(None) };
        each_entry(dictionary, |entry, rows| add(measure, &mut state, dictionary, 0, entry, rows))
            .ok_or_else(|| table.damaged(column))?;
        states.push(state);
    }
    let counts = vec![table.row_count().into()];
    Ok(Some(Found { groups: vec![0], counts, states, codes: GroupCodes::Numbered }))
}

/// Groups of one column, with measures of the same column.
fn groups_of(key: &Coded<'_>, measures: &[Measure<'_>]) -> Result<Option<Found>, FormatError> {
    let Some(dictionary) = key.dictionary() else { return Ok(None) };
    let is_own = |measure| dictionary_of(measure).is_some_and(|(_, column)| column == key.column());
    if !measures.iter().all(is_own) {
        return Ok(None);
    }
    let groups = usize::try_from(key.domain()).unwrap_or(usize::MAX);
    let mut counts = vec![0; groups];
    let mut states: Vec<State> = measures.iter().map(|measure| measure.state(groups, true)).collect();
    let counted = each_entry(dictionary, |entry, rows| {
        let group = key.code_of_entry(entry)?;
        bump(&mut counts, group, rows.into());
        let states = measures.iter().zip(&mut states);
        states
            .into_iter()
            .try_for_each(|(measure, state)| add(measure, state, dictionary, group, entry, rows))
    });
    counted.ok_or_else(|| key.damaged())?;
    let numbers = (0..).zip(&counts);
    let groups = numbers.filter(|(_, count)| **count > 0).map(|(number, _)| number).collect();
    Ok(Some(Found { groups, counts, states, codes: GroupCodes::Numbered }))
}

/// The dictionary of a measure that does not depend on the order of rows.
fn dictionary_of<'m, 't>(measure: &'m Measure<'t>) -> Option<(&'m Dictionary<'t>, usize)> {
    let (data, column) = match measure {
        Measure::Present(source) | Measure::Sum(source) => (source.data(), source.column()),
        Measure::Smallest(coded) | Measure::Largest(coded) | Measure::Values(coded) => {
            (coded.data(), coded.column())
        }
        Measure::FloatSum(_) => return None,
    };
    if let ColumnData::Dictionary(dictionary) = data { Some((dictionary, column)) } else { None }
}

/// Calls `take` with each entry, and with null behind the last one, and how many rows have it; `None` when the file is
/// damaged.
fn each_entry(dictionary: &Dictionary<'_>, mut take: impl FnMut(u32, u32) -> Option<()>) -> Option<()> {
    let mut start = dictionary.first_rank(0)?;
    for entry in 0..=dictionary.entries {
        let end = dictionary.first_rank(entry.checked_add(1)?)?;
        let rows = end.checked_sub(start)?;
        if rows > 0 {
            take(entry, rows)?;
        }
        start = end;
    }
    Some(())
}

/// Adds an entry that so many rows have.
fn add(
    measure: &Measure<'_>,
    state: &mut State,
    dictionary: &Dictionary<'_>,
    group: u32,
    entry: u32,
    rows: u32,
) -> Option<()> {
    if entry == dictionary.entries {
        return Some(());
    }
    match (measure, state) {
        (Measure::Present(_), State::Counts(counts)) => bump(counts, group, rows.into()),
        (Measure::Sum(source), State::Sums { sums, wraps, counts }) => {
            bump(counts, group, rows.into());
            let value = source.entry(entry)?;
            match value.checked_mul(rows.into()) {
                Some(product) => add_wide(sums, wraps, group, product),
                None => (0..rows).for_each(|_| add_wide(sums, wraps, group, value)),
            }
        }
        (Measure::Smallest(coded) | Measure::Largest(coded) | Measure::Values(coded), state) => {
            measure.add_code(state, group, coded.code_of_entry(entry)?.into(), rows);
        }
        _ => (),
    }
    Some(())
}
