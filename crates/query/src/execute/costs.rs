//! Costs and sizes that select a strategy.

/// Rows tested at a time while a sort order is scanned.
pub(super) const SCAN_BLOCK_ROWS: usize = 4096;
/// Visits granted to every scan, so that small tables never change strategy.
pub(super) const SCAN_VISITS_MIN: f64 = 65_536.0;
/// Index matches below which testing them is cheaper than building a selection.
pub(super) const FEW_ROWS_MAX: u64 = 10_000;
/// Rows collected from a selection at a time.
pub(super) const SELECTION_BLOCK_ROWS: usize = 8192;
/// Nanoseconds to test a row inside a zone.
pub(super) const ZONE_ROW_COST: f64 = 0.4;
/// Nanoseconds to test a row found by an index.
pub(super) const PROBE_COST: f64 = 4.0;
/// Nanoseconds to visit and test a row along a sort order: rows lie far apart.
pub(super) const VISIT_COST: f64 = 20.0;
/// Nanoseconds to fetch and compare the sort key of a match.
pub(super) const TOP_ROW_COST: f64 = 10.0;
/// Nanoseconds per row to sort an index list into row order.
pub(super) const SORT_COST: f64 = 15.0;
