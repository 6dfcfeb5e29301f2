//! The memory budget of a record batch. Adds up the decoded size of each page before its values are decoded, so that a
//! batch of long lists is bounded by bytes, not by rows. Does not depend on files.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::convert::pages::repetition_levels::RowStarts;

#[derive(Clone, Copy, Debug)]
pub struct LeafCost {
    /// Bytes of a level and its value, without the bytes of a text.
    pub level_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct PageValues {
    pub starts: RowStarts,
    /// Bytes of the longest text.
    pub text_bytes_max: u64,
    pub text_bytes: u64,
}

/// The budget that all leaves of a column share.
#[derive(Clone, Debug)]
pub struct BatchBudget(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    bound: u64,
    rows: u64,
    used: u64,
    is_over: bool,
    leaves: Vec<Leaf>,
}

#[derive(Debug)]
struct Leaf {
    cost: LeafCost,
    /// Rows to skip before the first batch.
    skip: u64,
    /// Whether the next levels may belong to a skipped row.
    is_skipping: bool,
    /// Rows of the batch that have started.
    rows: u64,
    page: Option<PageValues>,
}

impl BatchBudget {
    /// A budget for batches of `rows` rows and at most `bound` bytes, after `skip` rows.
    #[must_use]
    pub fn new(costs: &[LeafCost], bound: u64, rows: u64, skip: u64) -> BatchBudget {
        let leaf = |cost: &LeafCost| Leaf { cost: *cost, skip, is_skipping: skip > 0, rows: 0, page: None };
        let leaves = costs.iter().map(leaf).collect();
        BatchBudget(Arc::new(Mutex::new(State { bound, rows, used: 0, is_over: false, leaves })))
    }

    /// Starts a batch with the rest of the current pages. Returns whether they fit the budget.
    pub fn begin(&self) -> bool {
        let mut state = self.lock();
        state.used = 0;
        for leaf in 0..state.leaves.len() {
            if let Some(leaf) = state.leaves.get_mut(leaf) {
                leaf.rows = 0;
            }
            state.take(leaf);
        }
        !state.is_over
    }

    /// Adds a page of a leaf. Returns whether the batch still fits the budget.
    pub fn page(&self, leaf: usize, page: PageValues) -> bool {
        let mut state = self.lock();
        if let Some(leaf) = state.leaves.get_mut(leaf) {
            leaf.page = Some(page);
        }
        state.take(leaf);
        !state.is_over
    }

    /// Records a skipped page of `rows` whole rows.
    pub fn skip(&self, leaf: usize, rows: u64) {
        let mut state = self.lock();
        if let Some(leaf) = state.leaves.get_mut(leaf) {
            leaf.skip = leaf.skip.saturating_sub(rows);
        }
    }

    /// Bytes of the current batch so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.lock().used
    }

    /// Whether this leaf has all rows of the batch.
    #[must_use]
    pub fn is_complete(&self, leaf: usize) -> bool {
        let state = self.lock();
        let leaf = state.leaves.get(leaf).and_then(|leaf| Some((leaf.is_skipping, leaf.page.as_ref()?)));
        leaf.is_some_and(|(is_skipping, page)| !is_skipping && !page.starts.is_empty())
    }

    /// Whether the current batch exceeds the budget.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, number: usize) {
        let Some(leaf) = self.leaves.get_mut(number) else { return };
        self.used = self.used.saturating_add(leaf.take(self.rows));
        self.is_over |= self.used > self.bound;
    }
}

impl Leaf {
    /// Assigns levels of the current page to the batch. Returns their bytes.
    fn take(&mut self, rows: u64) -> u64 {
        let Some(page) = &mut self.page else { return 0 };
        if self.is_skipping {
            self.skip -= page.starts.take(self.skip).rows;
            self.is_skipping = page.starts.is_empty();
        }
        let taken = page.starts.take(rows.saturating_sub(self.rows));
        self.rows += taken.rows;
        page.bytes_of(taken.levels, self.cost)
    }
}

impl PageValues {
    fn bytes_of(&self, levels: u64, cost: LeafCost) -> u64 {
        // The text buffer grows by doubling.
        let texts = levels.saturating_mul(self.text_bytes_max).min(self.text_bytes).saturating_mul(2);
        levels.saturating_mul(cost.level_bytes).saturating_add(if levels == 0 { 0 } else { texts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(count: u64) -> PageValues {
        PageValues { starts: RowStarts::flat(count), text_bytes_max: 0, text_bytes: 0 }
    }

    #[test]
    fn exceeds_budget_with_page_that_does_not_fit() {
        let budget = BatchBudget::new(&[LeafCost { level_bytes: 10 }], 100, 8, 0);
        assert!(budget.begin());
        assert!(budget.page(0, page(5)), "five rows of ten bytes");
        assert!(budget.page(0, page(20)), "three more");
        assert!(budget.begin() && budget.begin(), "eight of the rows that are left");
        assert!(budget.begin() && !budget.is_over());
        let mut texts = page(20);
        (texts.text_bytes_max, texts.text_bytes) = (3, 30);
        assert!(!budget.page(0, texts), "eight rows of ten bytes and six of texts");
        assert!(budget.is_over());
    }

    #[test]
    fn leaves_share_budget_and_skipped_rows_are_free() {
        let costs = [LeafCost { level_bytes: 10 }, LeafCost { level_bytes: 10 }];
        let budget = BatchBudget::new(&costs, 100, 8, 30);
        assert!(budget.begin() && budget.page(0, page(20)) && budget.page(0, page(12)));
        budget.skip(1, 20);
        assert!(budget.page(1, page(16)));
        assert!(!budget.page(0, page(20)), "two, six and now eight rows");
    }
}
