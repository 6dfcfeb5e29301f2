//! Sums of doubles by the compensated summation of Neumaier, which carries the lost low digits in a second double.
//!
//! The order of the additions is fixed: rows in file order within parts of the file, then the parts in their order. So a
//! sum depends on the file and the filter, and not on plans and threads.

/// A running sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FloatSum {
    sum: f64,
    lost: f64,
}

impl FloatSum {
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    /// Adds the sum of later rows.
    pub(super) fn merge(&mut self, other: FloatSum) {
        self.add(other.sum);
        self.lost += other.lost;
    }

    pub(super) fn total(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(values: &[f64]) -> f64 {
        let mut sum = FloatSum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum.total()
    }

    #[test]
    fn keeps_digits_that_plain_addition_loses() {
        assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(total(&[0.1; 10]), 1.0);
        let mut sum = FloatSum::default();
        let mut other = FloatSum::default();
        [1.0, 1e100].into_iter().for_each(|value| sum.add(value));
        [1.0, -1e100].into_iter().for_each(|value| other.add(value));
        sum.merge(other);
        assert_eq!(sum.total(), 2.0);
    }

    #[test]
    fn infinities_and_nan_are_those_of_addition() {
        assert_eq!(total(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(total(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan() && total(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(total(&[]), 0.0);
    }
}
