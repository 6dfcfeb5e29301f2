//! Facets: how many of the rows that match have each of the frequent values that the public statistics tell. Other values
//! are never told, and counts only as far as those of other answers that cost nothing.

use mercato_format::statistics::Frequent;
use mercato_format::{FormatError, Table};

use crate::execute::{Count, Selections, selection};
use crate::groups::GroupError;
use crate::groups::coded::{Coded, Scratch};
use crate::groups::scan::{Rows, each_block};
use crate::plan::Plan;
use crate::plan::matcher::Node;
use crate::plan::resolve::column_named;
use crate::render::write_statistics_value;
use crate::request::QueryRequest;
use crate::request::validation_error::{Reason, ValidationError, pointer_to};
use crate::scan::selection::Selection;
use mercato_base::words::quoted;

/// A public value of a column, as JSON in the form of statistics, and how many matching rows have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCount {
    pub json: Vec<u8>,
    pub count: Count,
}

/// The columns whose values a request wants counted, and errors for those without public values.
pub(crate) fn public_columns(
    request: &QueryRequest,
    table: &Table,
    errors: &mut Vec<ValidationError>,
) -> Result<Vec<usize>, FormatError> {
    let mut columns = Vec::with_capacity(request.facets.len());
    for (number, name) in request.facets.iter().enumerate() {
        let pointer = pointer_to("/facets", &number.to_string());
        match column_named(table, name, &pointer) {
            Err(error) => errors.push(error),
            Ok(column) if columns.contains(&column) => {
                let message = format!("column {} is asked for more than once", quoted(name));
                let hint = "name every column once";
                errors.push(ValidationError::new(Reason::DuplicateColumn, &pointer, message, hint));
            }
            Ok(column) if frequent(table, column)?.is_empty() => {
                let message = format!("the statistics tell no frequent values of column {}", quoted(name));
                let hint = "choose a column with `topValues` in the statistics";
                errors.push(ValidationError::new(Reason::NoPublicValues, &pointer, message, hint));
            }
            Ok(column) => columns.push(column),
        }
    }
    Ok(columns)
}

/// The frequent values that the statistics of a column tell.
fn frequent(table: &Table, column: usize) -> Result<Vec<Frequent>, FormatError> {
    Ok(table.statistics(column)?.and_then(|statistics| statistics.frequent).unwrap_or_default())
}

/// Counts the public values of each column that the request names, under its filters: told exactly up to `most`, without
/// a filter always. Values by their counts as told, then in the order of the statistics; without those that no row has.
///
/// # Errors
/// When the file is damaged, or the search is stopped.
pub fn facets(
    plan: &Plan<'_>,
    most: u64,
    selections: &dyn Selections,
) -> Result<Vec<(String, Vec<ValueCount>)>, GroupError> {
    let matching = match plan.filter {
        Node::All => None,
        _ if plan.facets.is_empty() => None,
        _ => Some(selection(plan, selections)?),
    };
    let of_column = |column: &usize| {
        let values = values_of(plan, *column, most, matching.as_deref())?;
        let name = plan.table.columns().get(*column).map(|meta| meta.name.clone());
        Ok((name.unwrap_or_default(), values))
    };
    plan.facets.iter().map(of_column).collect()
}

fn values_of(
    plan: &Plan<'_>,
    column: usize,
    most: u64,
    matching: Option<&Selection>,
) -> Result<Vec<ValueCount>, GroupError> {
    let public = frequent(plan.table, column)?;
    let counts: Vec<Count> = match plan.is_unfiltered() {
        true => public.iter().map(|value| Count::Exact(value.count)).collect(),
        false => {
            let found = count_values(plan, column, &public, most, matching)?;
            found.into_iter().map(|count| Count::up_to(count, most)).collect()
        }
    };
    let mut values = Vec::with_capacity(public.len());
    for (value, count) in public.iter().zip(counts) {
        if count != Count::Exact(0) {
            let mut json = Vec::new();
            write_statistics_value(plan.table, column, value.value, &mut json)?;
            values.push(ValueCount { json, count });
        }
    }
    // By counts as they are told: the order of others would tell which is greater.
    values.sort_by_key(|value| std::cmp::Reverse(value.count.exact().unwrap_or(u64::MAX)));
    plan.table.check_intact()?;
    Ok(values)
}

/// How many matching rows have each value; more than `most` is enough.
fn count_values(
    plan: &Plan<'_>,
    column: usize,
    public: &[Frequent],
    most: u64,
    matching: Option<&Selection>,
) -> Result<Vec<u64>, GroupError> {
    let coded = Coded::new(plan.table, column, None)?;
    let codes = public.iter().map(|value| coded.code_of_stored(value.value));
    let mut places: Vec<(u128, usize)> = codes
        .zip(0..)
        .map(|(code, place)| Some((code?, place)))
        .collect::<Option<_>>()
        .ok_or_else(|| coded.damaged())?;
    places.sort_unstable();
    let mut counts = vec![0u64; public.len()];
    let (mut scratch, mut codes) = (Scratch::default(), Vec::<u128>::new());
    let rows = Rows { count: plan.table.row_count(), selection: matching };
    each_block(&rows, 0..rows.count, plan.work, |block| {
        if counts.iter().all(|count| *count > most) {
            return Ok(());
        }
        coded.read(block, &mut scratch, &mut codes)?;
        for code in &codes {
            let found = places.binary_search_by_key(code, |(code, _)| *code).ok();
            let place = found.and_then(|found| places.get(found));
            if let Some(count) = place.and_then(|(_, place)| counts.get_mut(*place)) {
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    })?;
    Ok(counts)
}
