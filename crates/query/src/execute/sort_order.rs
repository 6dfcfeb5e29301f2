//! Rows in the order of a sort column: along its index, or all matches and then the first of them.

use crate::execute::costs::{
    PROBE_COST, SCAN_BLOCK_ROWS, SCAN_VISITS_MIN, SELECTION_BLOCK_ROWS, SORT_COST, TOP_ROW_COST, VISIT_COST,
    ZONE_ROW_COST,
};
use crate::execute::{Selections, selection};
use crate::plan::matcher::{LeafMatcher, Node};
use crate::plan::{Plan, SORTED_ROWS_MAX, Start};
use crate::request::SortDirection;
use crate::scan::file_scan::FileScan;
use crate::scan::index_scan::IndexScan;
use crate::scan::selection::{LIST_SHARE, Selection};
use crate::scan::top_k::TopRows;
use crate::work_limit::SearchError;

/// Finds the wanted rows of a plan with a sort column, in their order.
pub(super) fn sorted(
    plan: &Plan<'_>,
    column: usize,
    wanted: usize,
    selections: &dyn Selections,
) -> Result<Vec<u32>, SearchError> {
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
        return scan_selection(plan, index_scan(plan, column)?.0, &selection, offset, wanted);
    }
    top_rows(plan, column, offset, wanted, selections)
}

/// An index scan along the sort column, restricted to the ranks that the filter allows, and the expected share of rows
/// that pass the other tests; 0 without other tests.
pub(crate) fn index_scan<'t>(plan: &Plan<'t>, column: usize) -> Result<(IndexScan<'t>, f64), SearchError> {
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

/// Scans the sort order and tests every row; `None` when that is, or turns out to be, too expensive.
fn scan_and_test(
    plan: &Plan<'_>,
    mut scan: IndexScan<'_>,
    density: f64,
    offset: u64,
    wanted: usize,
) -> Result<Option<Vec<u32>>, SearchError> {
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

/// A page too deep to sort in memory: scans the sort order against a complete selection.
fn scan_selection(
    plan: &Plan<'_>,
    mut scan: IndexScan<'_>,
    selection: &Selection,
    offset: u64,
    wanted: usize,
) -> Result<Vec<u32>, SearchError> {
    let mut skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    let mut candidates = Vec::with_capacity(SELECTION_BLOCK_ROWS);
    loop {
        plan.work.check()?;
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
) -> Result<Vec<u32>, SearchError> {
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let position = if let Start::Position(position) = plan.start { Some(position) } else { None };
    let most = plan.table.row_count() as usize;
    let kept = skip.saturating_add(wanted).min(most);
    let mut top = TopRows::new(plan.table, column, plan.direction, position, kept)?;
    let mut block = Vec::with_capacity(SELECTION_BLOCK_ROWS);
    if let Node::All = plan.filter {
        let mut scan = FileScan::new(plan.table.row_count(), SortDirection::Ascending, None);
        loop {
            plan.work.check()?;
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
        plan.work.check()?;
        block.clear();
        selection.take_after(after, 0, SELECTION_BLOCK_ROWS, &mut block);
        let Some(last) = block.last() else { return Ok(top.into_rows(skip)) };
        after = Some(*last);
        top.offer(&block)?;
    }
}
