//! Rows in file order: from the most selective index where that is cheaper, else zone by zone.

use mercato_format::RowOrder;

use crate::execute::costs::{PROBE_COST, SCAN_BLOCK_ROWS, SORT_COST, ZONE_ROW_COST};
use crate::execute::{Selections, selection};
use crate::plan::matcher::{LeafMatcher, Node};
use crate::plan::predicate::Test;
use crate::plan::{Plan, Start};
use crate::request::SortDirection;
use crate::scan::file_scan::FileScan;
use crate::scan::selection::LIST_SHARE;
use crate::work_limit::SearchError;

/// A file scan from the start of the plan. An offset into filtered rows is not applied yet.
pub(crate) fn file_scan(plan: &Plan<'_>) -> FileScan {
    let after = if let Start::Row(row) = plan.start { Some(row) } else { None };
    FileScan::new(plan.table.row_count(), plan.direction, after)
}

/// Finds the wanted rows of a plan without a sort column.
pub(super) fn in_file_order(
    plan: &Plan<'_>,
    wanted: usize,
    selections: &dyn Selections,
) -> Result<Vec<u32>, SearchError> {
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
pub(super) fn cheaper_driver<'n, 't>(
    filter: &'n Node<'t>,
    wanted: usize,
    rows: u32,
) -> Option<&'n LeafMatcher<'t>> {
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
        Test::Keys(keys) => keys.ranges().iter().all(|(low, high)| low == high),
        Test::IsNull => true,
        _ => false,
    };
    one && (single_key || matches!(leaf.data.order(), RowOrder::FileOrder { .. }))
}

/// Tests the rows of an index in blocks until enough match.
fn by_driver(
    plan: &Plan<'_>,
    driver: &LeafMatcher<'_>,
    wanted: usize,
    rows: &mut Vec<u32>,
) -> Result<(), SearchError> {
    let mut found = Vec::new();
    for ranks in driver.ranks.as_deref().unwrap_or_default() {
        if !driver.data.order().copy_rows(ranks.clone(), &mut found) {
            return Err(driver.damaged().into());
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
