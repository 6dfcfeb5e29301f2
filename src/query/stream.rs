//! The rows of a plan in batches, for answers of any length: nothing is kept but a position.

use mercato_format::FormatError;

use crate::query::execute::{NoSelections, execute, file_walk, rank_walk};
use crate::query::matcher::Node;
use crate::query::natural::FileWalk;
use crate::query::plan::{Plan, Start};
use crate::query::walk::RankWalk;

/// Rows skipped at a time for an offset into filtered rows.
const SKIP_BLOCK_ROWS: u64 = 8192;

/// A walk over the rows of a plan that is continued batch by batch.
pub struct RowStream<'p, 't> {
    plan: &'p Plan<'t>,
    source: Source<'t>,
    left: u64,
    skip: u64,
}

enum Source<'t> {
    File(FileWalk),
    Ranks {
        walk: Box<RankWalk<'t>>,
        test: bool,
    },
    /// Sorted by a column without sort index: at most the rows of the limit, sorted in memory.
    Sorted(std::vec::IntoIter<u32>),
}

impl<'p, 't> RowStream<'p, 't> {
    /// Begins where the plan does.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the store file is damaged.
    pub fn new(plan: &'p Plan<'t>) -> Result<RowStream<'p, 't>, FormatError> {
        let mut skip = if let Start::Offset(offset) = plan.start { offset } else { 0 };
        let source = match plan.sort {
            None => {
                let mut walk = file_walk(plan);
                if matches!(plan.filter, Node::All) {
                    walk.skip_rows(std::mem::take(&mut skip));
                }
                Source::File(walk)
            }
            Some(column) if plan.table.column(column)?.order().is_known() => {
                let (mut walk, left) = rank_walk(plan, column)?;
                if left == 0.0 {
                    walk.skip(std::mem::take(&mut skip))?;
                }
                Source::Ranks { walk: Box::new(walk), test: left > 0.0 }
            }
            Some(_) => {
                skip = 0;
                Source::Sorted(execute(plan, &NoSelections)?.rows.into_iter())
            }
        };
        Ok(RowStream { plan, source, left: plan.limit, skip })
    }

    /// Puts the next rows into `rows`, at most `max` and no more than the limit leaves; none at the end.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the store file is damaged.
    pub fn next_batch(&mut self, max: usize, rows: &mut Vec<u32>) -> Result<(), FormatError> {
        rows.clear();
        while self.skip > 0 {
            let step = usize::try_from(self.skip.min(SKIP_BLOCK_ROWS)).unwrap_or(0);
            self.fill(step, rows)?;
            let skipped = rows.len() as u64;
            rows.clear();
            self.skip = if skipped == 0 { 0 } else { self.skip - skipped };
        }
        let max = max.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.fill(max, rows)?;
        self.left -= rows.len() as u64;
        Ok(())
    }

    /// Whether a further row exists behind those handed out, limit or not.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the store file is damaged.
    pub fn has_more(&mut self, last: u32) -> Result<bool, FormatError> {
        if let Source::Sorted(_) = self.source {
            return Ok(execute(self.plan, &NoSelections)?.next_cursor.is_some() && last != u32::MAX);
        }
        let mut rows = Vec::new();
        self.fill(1, &mut rows)?;
        Ok(!rows.is_empty())
    }

    /// Appends up to `max` matching rows; fewer only at the end.
    fn fill(&mut self, max: usize, rows: &mut Vec<u32>) -> Result<(), FormatError> {
        let wanted = rows.len().saturating_add(max);
        match &mut self.source {
            Source::Sorted(sorted) => rows.extend(sorted.take(max)),
            Source::File(walk) if matches!(self.plan.filter, Node::All) => walk.fill_all(max, rows),
            Source::File(walk) => walk.fill(&self.plan.filter, max, rows)?,
            Source::Ranks { walk, test: false } => walk.fill(max, rows)?,
            Source::Ranks { walk, test: true } => {
                let mut candidates = Vec::with_capacity(max);
                while rows.len() < wanted {
                    candidates.clear();
                    let block = wanted - rows.len();
                    walk.fill(block, &mut candidates)?;
                    let at_end = candidates.len() < block;
                    self.plan.filter.retain(&mut candidates)?;
                    rows.extend_from_slice(&candidates);
                    if at_end {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}
