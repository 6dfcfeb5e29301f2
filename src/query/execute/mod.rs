//! Executes a plan. Exact counts of the indexes and the budget of a scan select the strategy; all strategies give the
//! same rows. `N` rows, `F` expected matches, `k` rows wanted:
//!
//! 1. No filter, or one on the sort column alone: a slice of the permutation.
//! 2. File order: rows from the most selective index where that is cheaper, else zone by zone until `k` are found.
//! 3. Sorted: scan the permutation and test each row where `k·N/F` visits cost less than finding all matches, for at
//!    most four times the visits expected.
//! 4. Sorted otherwise: all matches, then the top `k`.
//!
//! No strategy costs more for a deeper page, except an `offset` into filtered rows.

mod costs;
mod file_order;
mod sort_order;

use std::sync::Arc;

pub(crate) use file_order::file_scan;
pub(crate) use sort_order::index_scan;

use crate::query::execute::costs::FEW_ROWS_MAX;
use crate::query::execute::file_order::{cheaper_driver, in_file_order};
use crate::query::execute::sort_order::sorted;
use crate::query::plan::matcher::{LeafMatcher, Node};
use crate::query::plan::{PaginationMode, Plan, Start};
use crate::query::scan::selection::Selection;
use crate::query::work_limit::{SearchError, WorkLimit};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Row numbers in the requested order.
    pub rows: Vec<u32>,
    /// The cursor of the next page; `None` exactly when there is no further row.
    pub next_cursor: Option<String>,
    /// The total of matching rows, if an index gives it or the request wants an exact count.
    pub total_rows: Option<u64>,
    /// The pagination mode.
    pub mode: PaginationMode,
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
    Ok(Page { rows, next_cursor, total_rows, mode: plan.mode() })
}

/// The total of matching rows, if an index gives it or the request wants an exact count. Depends on the schema and the
/// request only.
///
/// # Errors
/// As [`execute`].
pub fn total_rows(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Option<u64>, SearchError> {
    if plan.counts_exactly { count_matches(plan, selections).map(Some) } else { Ok(plan.total_rows()) }
}

/// Counts the rows that a plan would return, without looking at their values.
///
/// # Errors
/// As [`execute`].
pub fn count_rows(plan: &Plan<'_>, selections: &dyn Selections) -> Result<u64, SearchError> {
    let limit = usize::try_from(plan.limit).unwrap_or(usize::MAX);
    let Start::Offset(offset) = plan.start else {
        return Ok(first_rows(plan, limit, selections)?.len() as u64);
    };
    let total = match plan.total_rows() {
        None if is_worth_keeping(plan, limit) => Some(count_matches(plan, selections)?),
        total => total,
    };
    match total {
        Some(total) => Ok(total.saturating_sub(offset).min(plan.limit)),
        // The order does not change the count.
        None => Ok(in_file_order(plan, limit, selections)?.len() as u64),
    }
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
