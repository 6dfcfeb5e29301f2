//! Executes a plan. Exact counts of the indexes and the budget of a scan select the strategy; all strategies give the
//! same rows. `N` rows, `F` expected matches, `k` rows wanted:
//!
//! 1. No filter, or one on the sort column alone: a slice of the permutation.
//! 2. File order: rows from the most selective index where that is cheaper, else zone by zone until `k` are found.
//! 3. sorted: scan the permutation and test each row where `k·N/F` visits cost less than finding all matches, for at
//!    most four times the visits expected;
//! 4. Sorted otherwise: all matches, then the top `k`.
//!
//! No strategy costs more for a deeper page, except an `offset` into filtered rows.

use std::sync::Arc;

use mercato_format::FormatError;

use crate::query::file_scan::FileScan;
use crate::query::index_scan::IndexScan;
use crate::query::matcher::{LeafMatcher, Node};
use crate::query::plan::{PaginationMode, Plan, SORTED_ROWS_MAX, Start};
use crate::query::request::SortDirection;
use crate::query::selection::{LIST_SHARE, Selection};
use crate::query::top_k::TopRows;

/// Rows tested at a time while a permutation is scanned.
const SCAN_BLOCK_ROWS: usize = 4096;
/// Visits granted to every scan, so that small tables never change strategy.
const SCAN_VISITS_MIN: f64 = 65_536.0;
/// Index matches below which testing them is cheaper than building a selection.
const FEW_ROWS_MAX: u64 = 10_000;
/// Rows collected from a selection at a time.
const SELECTION_BLOCK_ROWS: usize = 8192;
/// Nanoseconds to test a row inside a zone, and to test a row found by an index.
const ZONE_ROW_COST: f64 = 0.4;
const PROBE_COST: f64 = 4.0;
/// Nanoseconds to visit and test a row along a permutation: rows lie far apart.
const VISIT_COST: f64 = 20.0;
/// Nanoseconds to fetch and compare the sort key of a match.
const TOP_ROW_COST: f64 = 10.0;
/// Nanoseconds per row to sort an index list into row order.
const SORT_COST: f64 = 15.0;

/// A cache of complete selections.
pub trait Selections: Sync {
    /// Returns the selection of a filter on a store file; `build` runs on a miss.
    ///
    /// # Errors
    /// The error of `build`.
    fn get(
        &self,
        table: mercato_format::Fingerprint,
        filter: &str,
        build: &mut dyn FnMut() -> Result<Selection, FormatError>,
    ) -> Result<Arc<Selection>, FormatError>;
}

/// A cache that keeps nothing.
pub struct NoSelections;

impl Selections for NoSelections {
    fn get(
        &self,
        _: mercato_format::Fingerprint,
        _: &str,
        build: &mut dyn FnMut() -> Result<Selection, FormatError>,
    ) -> Result<Arc<Selection>, FormatError> {
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
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn execute(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Page, FormatError> {
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
pub fn total_rows(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Option<u64>, FormatError> {
    if plan.counts_exactly { count_matches(plan, selections).map(Some) } else { Ok(plan.total_rows()) }
}

/// Counts the rows that a plan would return, without looking at their values.
///
/// # Errors
/// As [`execute`].
pub fn count_rows(plan: &Plan<'_>, selections: &dyn Selections) -> Result<u64, FormatError> {
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
pub fn count_matches(plan: &Plan<'_>, selections: &dyn Selections) -> Result<u64, FormatError> {
    match plan.total_rows() {
        Some(total) => Ok(total),
        None => selection(plan, selections).map(|selection| selection.count()),
    }
}

fn first_rows(plan: &Plan<'_>, wanted: usize, selections: &dyn Selections) -> Result<Vec<u32>, FormatError> {
    match plan.sort {
        _ if matches!(plan.filter, Node::Nothing) => Ok(Vec::new()),
        None => in_file_order(plan, wanted, selections),
        Some(column) => sorted(plan, column, wanted, selections),
    }
}

/// A file scan from the start of the plan. An offset into filtered rows is not applied yet.
pub(crate) fn file_scan(plan: &Plan<'_>) -> FileScan {
    let after = if let Start::Row(row) = plan.start { Some(row) } else { None };
    FileScan::new(plan.table.row_count(), plan.direction, after)
}

fn in_file_order(
    plan: &Plan<'_>,
    wanted: usize,
    selections: &dyn Selections,
) -> Result<Vec<u32>, FormatError> {
    let mut rows = Vec::with_capacity(wanted.min(plan.table.row_count() as usize));
    let mut scan = file_scan(plan);
    match (&plan.filter, plan.start) {
        (Node::All, start) => {
            if let Start::Offset(offset) = start {
                scan.skip_rows(offset);
            }
            scan.fill_all(wanted, &mut rows);
        }
        (_, Start::Offset(offset)) if offset > 0 => {
            let selection = selection(plan, selections)?;
            match plan.direction {
                SortDirection::Ascending => selection.take_after(None, offset, wanted, &mut rows),
                SortDirection::Descending => selection.take_before(None, offset, wanted, &mut rows),
            }
        }
        (filter, _) => match cheaper_driver(filter, wanted, plan.table.row_count()) {
            Some(driver) => by_driver(plan, driver, wanted, &mut rows)?,
            None => scan.fill(filter, wanted, usize::MAX, &mut rows)?,
        },
    }
    Ok(rows)
}

/// The most selective indexed test, if its rows are cheaper than scanning zones.
fn cheaper_driver<'n, 't>(filter: &'n Node<'t>, wanted: usize, rows: u32) -> Option<&'n LeafMatcher<'t>> {
    let driver = filter.conjuncts().filter(|leaf| leaf.ranks.is_some()).min_by_key(|leaf| leaf.count())?;
    let count = driver.count()?;
    if count * LIST_SHARE > u64::from(rows) {
        return None;
    }
    let tests = filter.leaf_count() as f64;
    let scanned = (wanted as f64 / filter.density().max(1e-9)).min(rows.into());
    let per_row = PROBE_COST * tests + if is_one_run(driver) { 0.0 } else { SORT_COST };
    (count as f64 * per_row < scanned * ZONE_ROW_COST * tests).then_some(driver)
}

/// Whether the ranks of the test are in row order.
fn is_one_run(leaf: &LeafMatcher<'_>) -> bool {
    let one = leaf.ranks.as_deref().is_some_and(|ranks| ranks.len() <= 1);
    let single_key = match &leaf.test {
        crate::query::predicate::Test::Keys(keys) => keys.ranges().iter().all(|(low, high)| low == high),
        crate::query::predicate::Test::IsNull => true,
        _ => false,
    };
    one && (single_key || matches!(leaf.data.order(), mercato_format::RowOrder::FileOrder { .. }))
}

/// Tests the rows of an index in blocks until enough match.
fn by_driver(
    plan: &Plan<'_>,
    driver: &LeafMatcher<'_>,
    wanted: usize,
    rows: &mut Vec<u32>,
) -> Result<(), FormatError> {
    let mut found = Vec::new();
    for ranks in driver.ranks.as_deref().unwrap_or_default() {
        if !driver.data.order().copy_rows(ranks.clone(), &mut found) {
            return Err(driver.damaged());
        }
    }
    if !found.is_sorted() {
        found.sort_unstable();
    }
    if let Start::Row(after) = plan.start {
        let edge = found.partition_point(|row| *row <= after);
        match plan.direction {
            SortDirection::Ascending => drop(found.drain(..edge)),
            SortDirection::Descending => {
                found.truncate(edge);
                found.pop_if(|last| *last == after);
            }
        }
    }
    if plan.direction == SortDirection::Descending {
        found.reverse();
    }
    for block in found.chunks(SCAN_BLOCK_ROWS) {
        let mut block = block.to_vec();
        plan.filter.retain(&mut block)?;
        rows.extend(block.iter().take(wanted - rows.len()));
        if rows.len() == wanted {
            break;
        }
    }
    Ok(())
}

/// The complete selection of the plan's filter.
pub(crate) fn selection(plan: &Plan<'_>, selections: &dyn Selections) -> Result<Arc<Selection>, FormatError> {
    let mut build = || Selection::of(plan.table, &plan.filter);
    selections.get(plan.table.fingerprint(), &plan.filter_text, &mut build)
}

fn sorted(
    plan: &Plan<'_>,
    column: usize,
    wanted: usize,
    selections: &dyn Selections,
) -> Result<Vec<u32>, FormatError> {
    let offset = if let Start::Offset(offset) = plan.start { offset } else { 0 };
    let indexed = plan.table.column(column)?.order().is_known();
    if indexed {
        let (mut scan, left) = index_scan(plan, column)?;
        if left == 0.0 {
            scan.skip(offset)?;
            let mut rows = Vec::with_capacity(wanted.min(plan.table.row_count() as usize));
            scan.fill(wanted, &mut rows)?;
            return Ok(rows);
        }
        if let Some(rows) = scan_and_test(plan, scan, left, offset, wanted)? {
            return Ok(rows);
        }
    }
    if indexed && offset.saturating_add(wanted as u64) > SORTED_ROWS_MAX {
        let selection = selection(plan, selections)?;
        return scan_selection(index_scan(plan, column)?.0, &selection, offset, wanted);
    }
    top_rows(plan, column, offset, wanted, selections)
}

/// An index scan along the sort column, restricted to the ranks that the filter allows, and the expected share of rows
/// that pass the other tests; 0 without other tests.
pub(crate) fn index_scan<'t>(plan: &Plan<'t>, column: usize) -> Result<(IndexScan<'t>, f64), FormatError> {
    let on_sort_column = plan.filter.conjuncts().find(|leaf| leaf.column == column && leaf.ranks.is_some());
    let allowed = on_sort_column.and_then(|leaf| leaf.ranks.as_deref());
    let mut scan = IndexScan::new(plan.table, column, plan.direction, allowed)?;
    if let Start::Position(position) = &plan.start {
        scan.seek(position)?;
    }
    let own = on_sort_column
        .map_or(1.0, |leaf| leaf.count().unwrap_or(0) as f64 / f64::from(plan.table.row_count().max(1)));
    let nothing_left =
        matches!(plan.filter, Node::All) || (on_sort_column.is_some() && plan.filter.only_leaf().is_some());
    let left = if nothing_left { 0.0 } else { (plan.filter.density() / own.max(1e-12)).clamp(1e-9, 1.0) };
    Ok((scan, left))
}

/// Scans the permutation and tests every row; `None` when that is, or turns out to be, too expensive.
fn scan_and_test(
    plan: &Plan<'_>,
    mut scan: IndexScan<'_>,
    density: f64,
    offset: u64,
    wanted: usize,
) -> Result<Option<Vec<u32>>, FormatError> {
    let needed = offset as f64 + wanted as f64;
    if needed / density * VISIT_COST > all_matches_cost(plan) {
        return Ok(None);
    }
    let mut visits_left = (4.0 * needed / density).max(SCAN_VISITS_MIN);
    let block = ((needed / density) as usize).clamp(64, SCAN_BLOCK_ROWS);
    let mut skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut rows = Vec::with_capacity(wanted.min(plan.table.row_count() as usize));
    let mut candidates = Vec::with_capacity(block);
    loop {
        candidates.clear();
        scan.fill(block, &mut candidates)?;
        let at_end = candidates.len() < block;
        visits_left -= candidates.len() as f64;
        plan.filter.retain(&mut candidates)?;
        let skipped = skip.min(candidates.len());
        skip -= skipped;
        rows.extend(candidates.iter().skip(skipped).take(wanted - rows.len()));
        if rows.len() == wanted || at_end {
            return Ok(Some(rows));
        }
        if visits_left < 0.0 {
            return Ok(None);
        }
    }
}

/// Estimated nanoseconds to find all matches and their sort keys.
fn all_matches_cost(plan: &Plan<'_>) -> f64 {
    let rows = f64::from(plan.table.row_count());
    let tests = plan.filter.leaf_count() as f64;
    let rarest =
        plan.filter.conjuncts().filter(|leaf| leaf.ranks.is_some()).filter_map(LeafMatcher::count).min();
    let by_index = rarest.filter(|count| count * LIST_SHARE <= u64::from(plan.table.row_count()));
    let find = by_index
        .map_or(rows * ZONE_ROW_COST * tests, |count| count as f64 * (PROBE_COST * tests + SORT_COST));
    find + plan.filter.density() * rows * TOP_ROW_COST
}

/// A page too deep to sort in memory: scans the permutation against a complete selection.
fn scan_selection(
    mut scan: IndexScan<'_>,
    selection: &Selection,
    offset: u64,
    wanted: usize,
) -> Result<Vec<u32>, FormatError> {
    let mut skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    let mut candidates = Vec::with_capacity(SELECTION_BLOCK_ROWS);
    loop {
        candidates.clear();
        scan.fill(SELECTION_BLOCK_ROWS, &mut candidates)?;
        let at_end = candidates.len() < SELECTION_BLOCK_ROWS;
        candidates.retain(|row| selection.contains(*row));
        let skipped = skip.min(candidates.len());
        skip -= skipped;
        rows.extend(candidates.iter().skip(skipped).take(wanted - rows.len()));
        if rows.len() == wanted || at_end {
            return Ok(rows);
        }
    }
}

/// Finds all matches, then the top rows.
fn top_rows(
    plan: &Plan<'_>,
    column: usize,
    offset: u64,
    wanted: usize,
    selections: &dyn Selections,
) -> Result<Vec<u32>, FormatError> {
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let position = if let Start::Position(position) = plan.start { Some(position) } else { None };
    let most = plan.table.row_count() as usize;
    let kept = skip.saturating_add(wanted).min(most);
    let mut top = TopRows::new(plan.table, column, plan.direction, position, kept)?;
    let mut block = Vec::with_capacity(SELECTION_BLOCK_ROWS);
    if let Node::All = plan.filter {
        let mut scan = FileScan::new(plan.table.row_count(), SortDirection::Ascending, None);
        loop {
            block.clear();
            scan.fill_all(SELECTION_BLOCK_ROWS, &mut block);
            if block.is_empty() {
                return Ok(top.into_rows(skip));
            }
            top.offer(&block)?;
        }
    }
    let selection = selection(plan, selections)?;
    let mut after = None;
    loop {
        block.clear();
        selection.take_after(after, 0, SELECTION_BLOCK_ROWS, &mut block);
        let Some(last) = block.last() else { return Ok(top.into_rows(skip)) };
        after = Some(*last);
        top.offer(&block)?;
    }
}
