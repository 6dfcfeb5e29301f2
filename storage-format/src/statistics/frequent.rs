//! The most frequent values of a column, from the runs of its sort order.

use super::{FREQUENT_MAX, Frequent, Stored};
use crate::column::{Numbers, Texts};
use crate::order::{float_of, number_of};

/// Ranks whose keys are fetched together, so that their cache misses overlap.
const BLOCK_RANKS: u32 = 512;

/// Keeps the longest runs. Runs arrive in value order.
#[derive(Default)]
pub(super) struct MostFrequent {
    kept: Vec<Frequent>,
}

impl MostFrequent {
    #[inline]
    pub(super) fn offer(&mut self, count: u64, value: impl FnOnce() -> Option<Stored>) {
        let least =
            if self.kept.len() == FREQUENT_MAX { self.kept.last().map_or(1, |last| last.count) } else { 1 };
        if count <= least {
            return;
        }
        if let Some(value) = value() {
            let place = self.kept.partition_point(|other| other.count >= count);
            self.kept.insert(place, Frequent { value, count });
            self.kept.truncate(FREQUENT_MAX);
        }
    }

    pub(super) fn finish(self) -> Vec<Frequent> {
        self.kept
    }
}

/// The most frequent numbers, by a walk in sort order; `None` without an order, or when the file is damaged.
pub(super) fn of_numbers(column: &Numbers<'_>) -> Option<Option<Vec<Frequent>>> {
    if !column.order().is_known() {
        return Some(None);
    }
    let ranks = column.valid_ranks();
    let mut longest = MostFrequent::default();
    let (mut rows, mut keys) = (Vec::new(), Vec::new());
    let (mut current, mut count) = (None, 0u64);
    for start in (0..ranks).step_by(BLOCK_RANKS as usize) {
        rows.clear();
        keys.clear();
        let block = start..ranks.min(start.saturating_add(BLOCK_RANKS));
        let inside = column.order().copy_rows(block, &mut rows);
        keys.extend(rows.iter().map_while(|row| column.wide_order_key(*row)));
        if !inside || keys.len() != rows.len() {
            return None;
        }
        for key in &keys {
            if current != Some(*key) {
                longest.offer(count, || stored_of(column, current?));
                (current, count) = (Some(*key), 0);
            }
            count += 1;
        }
    }
    longest.offer(count, || stored_of(column, current?));
    Some(Some(longest.finish()))
}

/// The number of an order key; `None` for NaN and infinities.
pub(super) fn stored_of(column: &Numbers<'_>, key: u128) -> Option<Stored> {
    if !column.is_float() {
        return number_of(key, column.width);
    }
    let value = float_of(u64::try_from(key).ok()?);
    value.is_finite().then(|| value.to_bits().into())
}

/// The most frequent texts. Each row has the first rank of its run, so the sorted distinct ranks give the length of
/// every run.
pub(super) fn of_texts(column: &Texts<'_>) -> Option<Option<Vec<Frequent>>> {
    let Some(ranks) = column.ranks else { return Some(None) };
    let valid = column.valid_ranks();
    let mut begins = vec![0u64; valid as usize / 64 + 1];
    let mut block = Vec::new();
    for start in (0..ranks.len()).step_by(BLOCK_RANKS as usize) {
        block.clear();
        if !ranks.copy_range(start, (BLOCK_RANKS as usize).min(ranks.len() - start), &mut block) {
            return None;
        }
        for rank in block.iter().filter(|rank| **rank <= valid) {
            if let Some(word) = begins.get_mut(*rank as usize / 64) {
                *word |= 1 << (rank % 64);
            }
        }
    }
    let mut longest = MostFrequent::default();
    let mut begin = 0u32;
    for (number, word) in (0u32..).zip(&begins) {
        let mut word = *word;
        while word != 0 {
            let rank = (number * 64 + word.trailing_zeros()).min(valid);
            longest.offer(u64::from(rank - begin), || column.order().row_at(begin).map(i128::from));
            begin = rank;
            word &= word - 1;
        }
    }
    longest.offer(u64::from(valid - begin), || column.order().row_at(begin).map(i128::from));
    Some(Some(longest.finish()))
}
