//! Streams the rows of a plan in batches. Keeps only a position, whatever the length.

use crate::execute::{NoSelections, execute, file_scan, index_scan};
use crate::plan::matcher::Node;
use crate::plan::{Plan, Start};
use crate::scan::file_scan::FileScan;
use crate::scan::index_scan::IndexScan;
use crate::work_limit::SearchError;

/// Rows skipped at a time for an offset into filtered rows.
const SKIP_BLOCK_ROWS: u64 = 8192;
/// Zones that one call scans in file order: some milliseconds of work.
const ZONES_PER_CALL: usize = 256;
/// Rows that one call visits in the order of a column.
const CANDIDATES_PER_CALL: usize = 65_536;

/// A resumable stream of the rows of a plan.
pub struct RowStream<'p, 't> {
    plan: &'p Plan<'t>,
    source: Source<'t>,
    left: u64,
    skip: u64,
}

enum Source<'t> {
    File(FileScan),
    Ranks {
        scan: Box<IndexScan<'t>>,
        test: bool,
    },
    /// Rows sorted in memory, for a column without sort index; at most the limit.
    Sorted(std::vec::IntoIter<u32>),
}

impl<'p, 't> RowStream<'p, 't> {
    /// Starts the stream of a plan.
    ///
    /// # Errors
    /// When the store file is damaged, or the search is stopped.
    pub fn new(plan: &'p Plan<'t>) -> Result<RowStream<'p, 't>, SearchError> {
        let mut skip = if let Start::Offset(offset) = plan.start { offset } else { 0 };
        let source = match plan.sort {
            None => {
                let mut scan = file_scan(plan);
                if matches!(plan.filter, Node::All) {
                    scan.skip_rows(std::mem::take(&mut skip));
                }
                Source::File(scan)
            }
            Some(column) if plan.table.column(column)?.order().is_known() => {
                let (mut scan, left) = index_scan(plan, column)?;
                if left == 0.0 {
                    scan.skip(std::mem::take(&mut skip))?;
                }
                Source::Ranks { scan: Box::new(scan), test: left > 0.0 }
            }
            Some(_) => {
                skip = 0;
                Source::Sorted(execute(plan, &NoSelections)?.rows.into_iter())
            }
        };
        Ok(RowStream { plan, source, left: plan.limit, skip })
    }

    /// Whether [`RowStream::new`] does all the work, because the sort column has no sort index.
    ///
    /// # Errors
    /// When the store file is damaged, or the search is stopped.
    pub fn begins_slowly(plan: &Plan<'_>) -> Result<bool, SearchError> {
        let Some(column) = plan.sort else { return Ok(false) };
        Ok(!plan.table.column(column)?.order().is_known())
    }

    /// Fills `rows` with the next rows: at most `max`, within the limit. Returns whether more may follow. A call takes
    /// bounded time, so it may find no row although more follow.
    ///
    /// # Errors
    /// When the store file is damaged, or the search is stopped.
    pub fn next_batch(&mut self, max: usize, rows: &mut Vec<u32>) -> Result<bool, SearchError> {
        rows.clear();
        if self.left == 0 {
            return Ok(false);
        }
        if self.skip > 0 {
            let step = usize::try_from(self.skip.min(SKIP_BLOCK_ROWS)).unwrap_or(0);
            let more = self.fill(step, rows)?;
            self.skip -= rows.len() as u64;
            rows.clear();
            return Ok(more);
        }
        let max = max.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let more = self.fill(max, rows)?;
        self.left -= rows.len() as u64;
        Ok(more && self.left > 0)
    }

    /// Whether a row follows the returned ones, also beyond the limit. `None` while unknown: ask again. A call takes
    /// bounded time.
    ///
    /// # Errors
    /// When the store file is damaged, or the search is stopped.
    pub fn has_more(&mut self, last: u32) -> Result<Option<bool>, SearchError> {
        if let Source::Sorted(_) = self.source {
            return Ok(Some(execute(self.plan, &NoSelections)?.next_cursor.is_some() && last != u32::MAX));
        }
        let mut rows = Vec::new();
        let more = self.fill(1, &mut rows)?;
        Ok(if rows.is_empty() && more { None } else { Some(!rows.is_empty()) })
    }

    /// Appends up to `max` matching rows and returns whether the scan continues.
    fn fill(&mut self, max: usize, rows: &mut Vec<u32>) -> Result<bool, SearchError> {
        match &mut self.source {
            Source::Sorted(sorted) => {
                rows.extend(sorted.take(max));
                Ok(sorted.len() > 0)
            }
            Source::File(scan) => {
                if matches!(self.plan.filter, Node::All) {
                    scan.fill_all(max, rows);
                } else {
                    scan.fill(&self.plan.filter, max, ZONES_PER_CALL, rows)?;
                }
                Ok(!scan.is_over())
            }
            Source::Ranks { scan, test: false } => {
                scan.fill(max, rows)?;
                Ok(!scan.is_over())
            }
            Source::Ranks { scan, test: true } => {
                let wanted = rows.len().saturating_add(max);
                let mut candidates = Vec::with_capacity(max.min(CANDIDATES_PER_CALL));
                let mut left = CANDIDATES_PER_CALL;
                while rows.len() < wanted && left > 0 && !scan.is_over() {
                    candidates.clear();
                    scan.fill((wanted - rows.len()).min(left), &mut candidates)?;
                    left -= candidates.len();
                    self.plan.filter.retain(&mut candidates)?;
                    rows.extend_from_slice(&candidates);
                }
                Ok(!scan.is_over())
            }
        }
    }
}
