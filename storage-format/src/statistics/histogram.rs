//! Histograms with bins of equal width, and summaries of numbers with counts.

use super::{BINS_MAX, NumberSummary, QUANTILES, Stored, float_of, stored_float};

/// Bounds of at most twenty bins: `smallest`, then steps of equal width, up to a bound not below `largest`.
pub(super) fn edges(smallest: Stored, largest: Stored, float: bool, ceiling: Stored) -> Vec<Stored> {
    if float { float_edges(smallest, largest) } else { integer_edges(smallest, largest, ceiling) }
}

/// Integer steps, so that every bound is a possible value of the column.
fn integer_edges(smallest: Stored, largest: Stored, ceiling: Stored) -> Vec<Stored> {
    let range = largest.wrapping_sub(smallest).cast_unsigned();
    let step = range / BINS_MAX as u128 + 1;
    let bins = range / step + 1;
    let edge = |number: u128| {
        smallest.checked_add_unsigned(step.saturating_mul(number)).unwrap_or(ceiling).min(ceiling)
    };
    (0..=bins).map(edge).collect()
}

/// Weighted means of the extremes, because their difference may be infinite. Equal bounds are merged.
fn float_edges(smallest: Stored, largest: Stored) -> Vec<Stored> {
    let (Some(low), Some(high)) = (float_of(smallest), float_of(largest)) else { return Vec::new() };
    let share = |bin: usize| bin as f64 / BINS_MAX as f64;
    let mut edges = vec![low];
    for bin in 1..BINS_MAX {
        let edge = low * (1.0 - share(bin)) + high * share(bin);
        if edges.last().is_some_and(|last| *last < edge) && edge < high {
            edges.push(edge);
        }
    }
    edges.push(high);
    edges.into_iter().map(|edge| stored_float(edge + 0.0)).collect()
}

/// The bin of a number: the count of inner bounds that are not above it.
pub(super) fn bin_of(edges: &[Stored], number: Stored, float: bool) -> usize {
    let inner = edges.get(1..edges.len().saturating_sub(1)).unwrap_or_default();
    if float {
        let value = float_of(number);
        return inner.partition_point(|edge| float_of(*edge) <= value);
    }
    inner.partition_point(|edge| *edge <= number)
}

/// The rank, from 0, of the smallest number that is not below `hundredths` of `count` numbers (at least one).
pub(super) fn quantile_rank(count: u64, hundredths: u32) -> u64 {
    let scaled = u128::from(count) * u128::from(hundredths);
    u64::try_from(scaled.div_ceil(100)).unwrap_or(u64::MAX).saturating_sub(1)
}

/// Sums stored numbers: exact for integers, compensated (Neumaier 1974) for doubles.
#[derive(Default)]
pub(super) struct Sum {
    /// The upper and the lower 64 bits are summed separately: 2^32 rows overflow neither sum, in any order.
    upper: i128,
    lower: u128,
    float: f64,
    lost: f64,
}

impl Sum {
    #[inline]
    pub(super) fn add_integer(&mut self, number: Stored, count: u64) {
        let lower = number.cast_unsigned() & u128::from(u64::MAX);
        self.upper += (number >> 64) * i128::from(count);
        self.lower += lower * u128::from(count);
    }

    #[inline]
    pub(super) fn add_float(&mut self, value: f64) {
        let sum = self.float + value;
        self.lost += if self.float.abs() >= value.abs() {
            (self.float - sum) + value
        } else {
            (value - sum) + self.float
        };
        self.float = sum;
    }

    /// The sum; `None` when it is not finite or does not fit 128 bits.
    pub(super) fn finish(self, float: bool) -> Option<Stored> {
        if float {
            let value = self.float + self.lost;
            return value.is_finite().then(|| stored_float(value + 0.0));
        }
        let carried = self.upper + i128::try_from(self.lower >> 64).ok()?;
        let lower = i128::try_from(self.lower & u128::from(u64::MAX)).ok()?;
        carried.checked_mul(1 << 64)?.checked_add(lower)
    }
}

/// Summarises numbers in ascending order, each with its count; `None` without numbers.
pub(super) fn summarise(
    pairs: impl Iterator<Item = (Stored, u64)> + Clone,
    float: bool,
    ceiling: Stored,
) -> Option<NumberSummary> {
    let (smallest, _) = pairs.clone().next()?;
    let (largest, _) = pairs.clone().last()?;
    let total: u64 = pairs.clone().map(|(_, count)| count).sum();
    let edges = edges(smallest, largest, float, ceiling);
    let mut counts = vec![0u64; edges.len().saturating_sub(1)];
    let mut ranks = QUANTILES.map(|hundredths| (quantile_rank(total, hundredths), smallest));
    let (mut sum, mut before) = (Sum::default(), 0u64);
    for (number, count) in pairs {
        if let Some(bin) = counts.get_mut(bin_of(&edges, number, float)) {
            *bin += count;
        }
        match float_of(number).filter(|_| float) {
            Some(value) => sum.add_float(value * count as f64),
            None => sum.add_integer(number, count),
        }
        for (rank, quantile) in &mut ranks {
            if (before..before + count).contains(rank) {
                *quantile = number;
            }
        }
        before += count;
    }
    let quantiles = Some(ranks.map(|(_, quantile)| quantile));
    Some(NumberSummary { smallest, largest, sum: sum.finish(float), quantiles, edges, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_one_width_and_cover_range() {
        let check = |smallest: i128, largest: i128, bins: usize| {
            let edges = integer_edges(smallest, largest, i64::MAX.into());
            assert_eq!(edges.len(), bins + 1, "{smallest} to {largest}");
            assert!(edges[0] == smallest && *edges.last().unwrap() >= largest);
            assert!(edges.windows(2).take(bins - 1).all(|pair| pair[1] - pair[0] == edges[1] - edges[0]));
        };
        check(7, 7, 1);
        check(0, 19, 20);
        check(0, 20, 11);
        check(-100, 99, 20);
        check(i64::MIN.into(), i64::MAX.into(), 20);
        assert_eq!(integer_edges(i128::MIN, i128::MAX, i128::MAX).len(), 21);
    }

    #[test]
    fn float_bins_stay_in_range() {
        for (low, high) in [(-f64::MAX, f64::MAX), (0.0, 5e-324), (1.0, 1.0), (-3.5, 2.0), (-0.0, 0.0)] {
            let edges: Vec<f64> = float_edges(stored_float(low), stored_float(high))
                .into_iter()
                .map(|edge| float_of(edge).unwrap())
                .collect();
            assert!(edges.len() >= 2 && edges.len() <= BINS_MAX + 1);
            assert!(edges[0] == low && *edges.last().unwrap() == high && edges.is_sorted(), "{edges:?}");
        }
    }

    #[test]
    fn quantile_is_smallest_number_of_its_rank() {
        assert_eq!([quantile_rank(1, 5), quantile_rank(1, 95)], [0, 0]);
        assert_eq!([quantile_rank(20, 5), quantile_rank(21, 5)], [0, 1]);
        assert_eq!([quantile_rank(100, 50), quantile_rank(101, 50)], [49, 50]);
    }

    #[test]
    fn float_sums_keep_small_terms() {
        let mut sum = Sum::default();
        [1e100, 1.0, -1e100].into_iter().for_each(|value| sum.add_float(value));
        assert_eq!(sum.finish(true).and_then(float_of), Some(1.0));
    }

    #[test]
    fn integer_sums_are_exact_or_none() {
        let sum_of = |parts: &[(i128, u64)]| {
            let mut sum = Sum::default();
            parts.iter().for_each(|(number, count)| sum.add_integer(*number, *count));
            sum.finish(false)
        };
        assert_eq!(sum_of(&[(i128::MAX, 2)]), None);
        assert_eq!(sum_of(&[(i128::MAX, 2), (i128::MIN, 2)]), Some(-2));
        assert_eq!(sum_of(&[(i128::MIN, 1)]), Some(i128::MIN));
        assert_eq!(sum_of(&[(-3, 5), (1, 2)]), Some(-13));
    }
}
