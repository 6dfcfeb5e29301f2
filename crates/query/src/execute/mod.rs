//! Executes a plan. Exact counts of the indexes and the budget of a scan select the strategy; all strategies give the
//! same rows. `N` rows, `F` expected matches, `k` rows wanted:
//!
//! 1. No filter, or one on the sort column alone: a slice of the sort order.
//! 2. File order: rows from the most selective index where that is cheaper, else zone by zone until `k` are found.
//! 3. Sorted: scan the order and test each row where `k·N/F` visits cost less than finding all matches, for at
//!    most four times the visits expected.
//! 4. Sorted otherwise: all matches, then the top `k`.
//!
//! No strategy costs more for a deeper page, except an `offset` into filtered rows.

mod costs;
mod file_order;
mod sort_order;

use std::sync::Arc;

use mercato_format::Table;

pub(crate) use file_order::file_scan;
pub(crate) use sort_order::index_scan;

use crate::execute::costs::FEW_ROWS_MAX;
use crate::execute::file_order::{cheaper_driver, in_file_order};
use crate::execute::sort_order::sorted;
use crate::groups::GroupRows;
use crate::plan::matcher::{LeafMatcher, Node};
use crate::plan::{PaginationMode, Plan, Start};
use crate::scan::selection::Selection;
use crate::work_limit::{SearchError, WorkLimit};

/// A cache of complete selections.
pub trait Selections: Sync {
    /// Returns the selection of a filter on a store file; `build` runs on a miss. While another search builds it, `work`
    /// says whether to go on waiting.
    ///
    /// # Errors
    /// The error of `build`, or the stop of `work`.
    fn get(
        &self,
        table: mercato_format::Fingerprint,
        filter: &str,
        work: &dyn WorkLimit,
        build: &mut dyn FnMut() -> Result<Selection, SearchError>,
    ) -> Result<Arc<Selection>, SearchError>;
}

/// A cache that keeps nothing.
pub struct NoSelections;

impl Selections for NoSelections {
    fn get(
        &self,
        _: mercato_format::Fingerprint,
        _: &str,
        _: &dyn WorkLimit,
        build: &mut dyn FnMut() -> Result<Selection, SearchError>,
    ) -> Result<Arc<Selection>, SearchError> {
        build().map(Arc::new)
    }
}

/// One page of rows.
#[derive(Debug, Clone)]
pub struct Page {
    /// Row numbers in the requested order.
    pub rows: Vec<u32>,
    /// The cursor of the next page; `None` exactly when there is no further row.
    pub next_cursor: Option<String>,
    /// The total of matching rows, if an index gives it or the request wants an exact count.
    pub total_rows: Option<u64>,
    pub mode: PaginationMode,
    /// The groups whose rows these are; nothing for rows of the file.
    pub groups: Option<Arc<GroupRows>>,
}

impl Page {
    /// The table whose rows these are: that of the groups, or the queried one.
    #[must_use]
    pub fn table<'p>(&'p self, queried: &'p Table) -> &'p Table {
        self.groups.as_deref().map_or(queried, GroupRows::table)
    }
}

/// Executes a plan.
///
/// # Errors
/// When the store file is damaged, or the search is stopped.
pub fn execute(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Page, SearchError> {
    let limit = usize::try_from(plan.limit).unwrap_or(usize::MAX);
    let mut rows = first_rows(plan, limit.saturating_add(1), selections)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = match rows.last() {
        Some(last) if more => Some(plan.cursor_after(*last)?),
        _ => None,
    };
    let total_rows = total_rows(plan, selections)?;
    Ok(Page { rows, next_cursor, total_rows, mode: plan.mode(), groups: None })
}

/// The total of matching rows, if an index gives it or the request wants an exact count. Depends on the schema and the
/// request only.
///
/// # Errors
/// As [`execute`].
pub fn total_rows(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Option<u64>, SearchError> {
    if plan.counts_exactly { count_matches(plan, selections).map(Some) } else { Ok(plan.total_rows()) }
}

/// A number of rows that was counted up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Exact(u64),
    /// So many, and perhaps more.
    AtLeast(u64),
}

impl Count {
    /// The number, if it is known.
    #[must_use]
    pub fn exact(self) -> Option<u64> {
        if let Count::Exact(rows) = self { Some(rows) } else { None }
    }

    /// The smallest number that it can be, if it is not known.
    #[must_use]
    pub fn at_least(self) -> Option<u64> {
        if let Count::AtLeast(rows) = self { Some(rows) } else { None }
    }

    /// A number, told exactly up to `most`.
    #[must_use]
    pub fn up_to(rows: u64, most: u64) -> Count {
        if rows > most { Count::AtLeast(most) } else { Count::Exact(rows) }
    }
}

/// Counts the rows that a plan would return, without looking at their values. Exact where at most `most` rows match from
/// the start, or nothing is filtered; where more match, the count does not depend on how many.
///
/// # Errors
/// As [`execute`].
pub fn count_rows(plan: &Plan<'_>, most: u64, selections: &dyn Selections) -> Result<Count, SearchError> {
    let Start::Offset(offset) = plan.start else {
        let wanted = usize::try_from(plan.limit.min(most.saturating_add(1))).unwrap_or(usize::MAX);
        return Ok(Count::up_to(first_rows(plan, wanted, selections)?.len() as u64, most));
    };
    let end = offset.saturating_add(plan.limit);
    let rows_of = |matches: u64| matches.saturating_sub(offset).min(plan.limit);
    Ok(match plan.is_unfiltered() {
        true => Count::Exact(rows_of(plan.table.row_count().into())),
        false => match matches_up_to(plan, end.min(most.saturating_add(1)), selections)? {
            found if found > most => Count::AtLeast(rows_of(most)),
            found => Count::Exact(rows_of(found)),
        },
    })
}

/// Counts the matches of a plan's filter, told exactly up to `most`; without a filter always.
///
/// # Errors
/// As [`execute`].
pub fn count_up_to(plan: &Plan<'_>, most: u64, selections: &dyn Selections) -> Result<Count, SearchError> {
    if plan.is_unfiltered() {
        return Ok(Count::Exact(plan.table.row_count().into()));
    }
    Ok(Count::up_to(matches_up_to(plan, most.saturating_add(1), selections)?, most))
}

/// The number of matches, or `most` where there are more.
fn matches_up_to(plan: &Plan<'_>, most: u64, selections: &dyn Selections) -> Result<u64, SearchError> {
    let wanted = usize::try_from(most).unwrap_or(usize::MAX);
    let is_whole = !matches!(plan.start, Start::Offset(0)) || is_worth_keeping(plan, wanted);
    let found = match plan.total_rows() {
        Some(total) => total,
        None if is_whole => count_matches(plan, selections)?,
        // The order does not change the count.
        None => in_file_order(plan, wanted, selections)?.len() as u64,
    };
    Ok(found.min(most))
}

/// Whether counting `limit` rows would scan most of the file: fewer matches are expected, and no selective index
/// exists. Then all matches are counted and cached.
fn is_worth_keeping(plan: &Plan<'_>, limit: usize) -> bool {
    let rows = plan.table.row_count();
    let by_index = cheaper_driver(&plan.filter, limit, rows).and_then(LeafMatcher::count);
    plan.filter.density() * f64::from(rows) <= limit as f64
        && by_index.is_none_or(|count| count > FEW_ROWS_MAX)
}

/// Counts all matches of a plan's filter, independent of its page.
///
/// # Errors
/// As [`execute`].
pub fn count_matches(plan: &Plan<'_>, selections: &dyn Selections) -> Result<u64, SearchError> {
    match plan.total_rows() {
        Some(total) => Ok(total),
        None => selection(plan, selections).map(|selection| selection.count()),
    }
}

fn first_rows(plan: &Plan<'_>, wanted: usize, selections: &dyn Selections) -> Result<Vec<u32>, SearchError> {
    match plan.sort {
        _ if matches!(plan.filter, Node::Nothing) => Ok(Vec::new()),
        None => in_file_order(plan, wanted, selections),
        Some(column) => sorted(plan, column, wanted, selections),
    }
}

/// The complete selection of the plan's filter.
pub(crate) fn selection(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Arc<Selection>, SearchError> {
    let mut build = || Selection::of(plan.table, &plan.filter);
    selections.get(plan.table.fingerprint(), &plan.filter_text, plan.work, &mut build)
}
