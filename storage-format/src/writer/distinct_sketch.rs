//! A KMV sketch that estimates the number of distinct texts: of the hashes of `n` distinct texts, the k-th smallest is
//! about k/n of the range. Does not depend on texts.

use std::collections::BTreeSet;

/// Number of kept hashes. The relative error is about one over its square root: 1.6 %.
const KEPT: usize = 4_096;

/// The smallest hashes seen so far.
#[derive(Default)]
pub(crate) struct DistinctSketch {
    smallest: BTreeSet<u64>,
}

impl DistinctSketch {
    pub(crate) fn add(&mut self, hash: u64) {
        if self.smallest.len() < KEPT {
            self.smallest.insert(hash);
        } else if self.smallest.last().is_some_and(|last| hash < *last) && self.smallest.insert(hash) {
            self.smallest.pop_last();
        }
    }

    /// The number of distinct hashes: exact below [`KEPT`], else an estimate.
    pub(crate) fn estimate(&self) -> u64 {
        match self.smallest.last() {
            Some(last) if self.smallest.len() == KEPT => {
                let estimate = ((KEPT as u128 - 1) << 64) / (u128::from(*last) + 1);
                u64::try_from(estimate).unwrap_or(u64::MAX)
            }
            _ => self.smallest.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::checksum;

    #[test]
    fn estimate_is_within_ten_percent() {
        for distinct in [0u64, 1, 4_095, 4_096, 5_000, 60_000, 1_000_000] {
            let mut sketch = DistinctSketch::default();
            for round in 0..2 {
                (0..distinct).step_by(1 + round).for_each(|text| {
                    sketch.add(checksum(format!("text {text}").as_bytes()));
                });
            }
            let estimate = sketch.estimate();
            assert!(estimate.abs_diff(distinct) <= distinct / 10, "{estimate} of {distinct}");
        }
    }
}
