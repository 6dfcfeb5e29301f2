//! What the rows of a batch take in memory once they are decoded, reckoned from every page before its values are: a
//! batch of lists is bounded by its bytes, not by its rows. Knows no file.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::convert::pages::repetition_levels::RowStarts;

/// Memory of one leaf of a column.
#[derive(Clone, Copy, Debug)]
pub struct LeafCost {
    /// Bytes of a level with its value, beside the bytes of a text.
    pub level_bytes: u64,
}

/// The values of one page.
#[derive(Clone, Debug)]
pub struct PageValues {
    /// Where rows begin.
    pub starts: RowStarts,
    /// Bytes of the longest text.
    pub text_bytes_max: u64,
    /// Bytes of all texts.
    pub text_bytes: u64,
}

/// Shared by the leaves of a column that are read together.
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
    /// Rows that are skipped before the first batch.
    skip: u64,
    /// Whether what comes may still belong to a row that is skipped.
    is_skipping: bool,
    /// Rows of the batch that have begun.
    rows: u64,
    page: Option<PageValues>,
}

impl BatchBudget {
    /// For batches of `rows` rows and at most `bound` bytes, after `skip` rows.
    #[must_use]
    pub fn new(costs: &[LeafCost], bound: u64, rows: u64, skip: u64) -> BatchBudget {
        let leaf = |cost: &LeafCost| Leaf { cost: *cost, skip, is_skipping: skip > 0, rows: 0, page: None };
        let leaves = costs.iter().map(leaf).collect();
        BatchBudget(Arc::new(Mutex::new(State { bound, rows, used: 0, is_over: false, leaves })))
    }

    /// Begins a batch with what is left of the present pages; whether it fits as far as that goes.
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

    /// Takes a new page of a leaf into account; whether the batch still fits.
    pub fn page(&self, leaf: usize, page: PageValues) -> bool {
        let mut state = self.lock();
        if let Some(leaf) = state.leaves.get_mut(leaf) {
            leaf.page = Some(page);
        }
        state.take(leaf);
        !state.is_over
    }

    /// Takes note of a page of `rows` whole rows that is passed over.
    pub fn skip(&self, leaf: usize, rows: u64) {
        let mut state = self.lock();
        if let Some(leaf) = state.leaves.get_mut(leaf) {
            leaf.skip = leaf.skip.saturating_sub(rows);
        }
    }

    /// Bytes of the present batch so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.lock().used
    }

    /// Whether the rows of the batch are known to their end in this leaf.
    #[must_use]
    pub fn is_complete(&self, leaf: usize) -> bool {
        let state = self.lock();
        let leaf = state.leaves.get(leaf).and_then(|leaf| Some((leaf.is_skipping, leaf.page.as_ref()?)));
        leaf.is_some_and(|(is_skipping, page)| !is_skipping && !page.starts.is_empty())
    }

    /// Whether the present batch takes more than it may.
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
    /// The bytes that the batch takes out of the present page.
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
        // The buffer of texts grows by doubling.
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
    fn a_batch_is_over_as_soon_as_its_pages_are() {
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
    fn leaves_share_the_bound_and_rows_that_are_skipped_cost_nothing() {
        let costs = [LeafCost { level_bytes: 10 }, LeafCost { level_bytes: 10 }];
        let budget = BatchBudget::new(&costs, 100, 8, 30);
        assert!(budget.begin() && budget.page(0, page(20)) && budget.page(0, page(12)));
        budget.skip(1, 20);
        assert!(budget.page(1, page(16)));
        assert!(!budget.page(0, page(20)), "two, six and now eight rows");
    }
}
