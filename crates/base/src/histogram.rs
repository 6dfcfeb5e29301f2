//! A histogram that many threads count into without a lock.
//!
//! Does not depend on units or names.

use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the buckets for durations, in microseconds.
pub const MICROS: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 250_000, 1_000_000, 10_000_000,
    60_000_000,
];

/// Upper bounds of the buckets for numbers of things.
pub const NUMBERS: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// Counts of values by bucket.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    bounds: &'static [u64; N],
    counts: [AtomicU64; N],
    above: AtomicU64,
    sum: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// For each upper bound, how many values are at most that.
    pub cumulative: Vec<(u64, u64)>,
    pub count: u64,
    pub sum: u64,
}

impl<const N: usize> Histogram<N> {
    /// A histogram that has counted nothing. `bounds` are upper bounds, growing.
    pub const fn new(bounds: &'static [u64; N]) -> Self {
        Self {
            bounds,
            counts: [const { AtomicU64::new(0) }; N],
            above: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    pub fn count(&self, value: u64) {
        let bucket = self.bounds.iter().zip(&self.counts).find(|(bound, _)| value <= **bound);
        bucket.map_or(&self.above, |(_, counter)| counter).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn read(&self) -> Counted {
        let mut count = 0_u64;
        let mut cumulative = Vec::with_capacity(N);
        for (bound, counter) in self.bounds.iter().zip(&self.counts) {
            count = count.saturating_add(counter.load(Ordering::Relaxed));
            cumulative.push((*bound, count));
        }
        let count = count.saturating_add(self.above.load(Ordering::Relaxed));
        Counted { cumulative, count, sum: self.sum.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_value_in_its_bucket_and_larger_ones() {
        let histogram = Histogram::new(&NUMBERS);
        for value in [1, 2, 3, 512, 513] {
            histogram.count(value);
        }
        let counted = histogram.read();
        assert_eq!((counted.count, counted.sum), (5, 1031));
        assert_eq!(counted.cumulative[..3], [(1, 1), (2, 2), (4, 3)]);
        assert_eq!(counted.cumulative.last(), Some(&(512, 4)));
    }
}
