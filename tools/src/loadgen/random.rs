//! Random numbers that depend only on a seed and an index, so that a run is repeatable with any number of threads.
//! Does not depend on requests.

use crate::split_mix::{STEP, mixed};

/// The random sequence of an index under a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of this index.
    #[must_use]
    pub fn of(seed: u64, index: u64) -> Random {
        Random(mixed(seed ^ mixed(index.wrapping_add(STEP))))
    }

    /// A random 64-bit number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A random number below `bound`; 0 when `bound` is 0. Its bias is below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.any()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or_default()
    }

    /// A number from `low` to `high`, both included; `low` when they are in the wrong order.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = i128::from(high) - i128::from(low);
        match u64::try_from(span).ok().map(|span| span.checked_add(1)) {
            Some(Some(count)) => low.wrapping_add_unsigned(self.below(count)),
            Some(None) => self.any().cast_signed(),
            None => low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_cover_their_bounds() {
        let mut seen = [false; 7];
        for index in 0..1_000 {
            let number = Random::of(1, index).between(-3, 3);
            seen[usize::try_from(number + 3).unwrap()] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(Random::of(1, 1).between(5, 5), 5);
        assert_eq!(Random::of(1, 1).between(5, 4), 5);
        Random::of(1, 1).between(i64::MIN, i64::MAX);
    }

    #[test]
    fn seed_and_index_determine_numbers() {
        let first = |seed, index| Random::of(seed, index).any();
        assert_eq!(first(7, 9), first(7, 9));
        assert_ne!(first(7, 9), first(7, 10));
        assert_ne!(first(7, 9), first(8, 9));
    }
}
