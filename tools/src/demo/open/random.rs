//! A deterministic random number generator.
//!
//! SplitMix64, which is sufficient for generated data only.

use crate::split_mix::{STEP, mixed};

pub(super) struct Random {
    state: u64,
}

impl Random {
    /// A generator seeded by a name. Each table has its own, so tables are independent.
    pub(super) fn named(name: &str) -> Random {
        let state = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Random { state }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }

    /// A number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: i64, most: i64) -> i64 {
        let width = most.abs_diff(least).saturating_add(1);
        least.saturating_add_unsigned(self.next().checked_rem(width).unwrap_or(0))
    }

    /// A number from 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number around `middle`, mostly within three times `spread`.
    pub(super) fn around(&mut self, middle: f64, spread: f64) -> f64 {
        let sum = self.share() + self.share() + self.share() + self.share() - 2.0;
        middle + sum * spread * 1.73
    }

    /// True with a probability of `of_thousand` in 1,000.
    pub(super) fn chance(&mut self, of_thousand: i64) -> bool {
        self.between(0, 999) < of_thousand
    }

    /// A random choice; an empty text without choices.
    pub(super) fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        let last = i64::try_from(choices.len()).unwrap_or(1).saturating_sub(1);
        let place = usize::try_from(self.between(0, last)).unwrap_or(0);
        choices.get(place).copied().unwrap_or_default()
    }

    /// A random subset of the choices, in order.
    pub(super) fn some(&mut self, choices: &[&'static str], of_thousand: i64) -> Vec<&'static str> {
        choices.iter().filter(|_| self.chance(of_thousand)).copied().collect()
    }
}

/// Rounds to `digits` decimal places.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_determines_numbers_within_bounds() {
        let draw = |name: &str| {
            let mut random = Random::named(name);
            (0..1000).map(|_| random.between(-3, 4)).collect::<Vec<_>>()
        };
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a"), draw("b"));
        assert_eq!((draw("a").iter().min(), draw("a").iter().max()), (Some(&-3), Some(&4)));
        let mut random = Random::named("x");
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.share())));
        assert!((0..1000).all(|_| (-4.0..=24.0).contains(&random.around(10.0, 4.0))));
        assert_eq!(rounded(1.2345, 2), 1.23);
    }
}
