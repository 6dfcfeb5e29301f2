//! The mix of a run: which works it sends, and their weights. Does not depend on requests.

use crate::loadgen::random::Random;

/// Most works of a run, where each depth counts as a work.
pub const WORK_COUNT_MAX: usize = 64;
/// Largest weight of a work.
pub const WEIGHT_MAX: u64 = 1_000_000;

/// One item of `--work`: `NAME`, `NAME=WEIGHT` or `NAME@DEPTH=WEIGHT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixItem {
    pub name: String,
    /// Only this depth; by default, all depths of the run.
    pub depth: Option<u64>,
    /// The weight, relative to the other works.
    pub weight: u64,
}

/// Parses a mix like `w1=8,w4=2,w2k@100000`.
pub fn parse(text: &str) -> Result<Vec<MixItem>, String> {
    let items: Vec<MixItem> = text.split(',').map(|item| parse_one(item.trim())).collect::<Result<_, _>>()?;
    if items.len() > WORK_COUNT_MAX {
        return Err(format!("{} works, at most {WORK_COUNT_MAX} are run together", items.len()));
    }
    Ok(items)
}

fn parse_one(item: &str) -> Result<MixItem, String> {
    let expected = || format!("`{item}`, expected NAME, NAME=WEIGHT or NAME@DEPTH=WEIGHT");
    let (name, weight) = item.split_once('=').unwrap_or((item, "1"));
    let (name, depth) = match name.split_once('@') {
        Some((name, depth)) => (name, Some(depth.parse().map_err(|_| expected())?)),
        None => (name, None),
    };
    let weight: u64 = weight.parse().map_err(|_| expected())?;
    if name.is_empty() || !(1..=WEIGHT_MAX).contains(&weight) {
        return Err(format!("{}, with a weight from 1 to {WEIGHT_MAX}", expected()));
    }
    Ok(MixItem { name: name.to_owned(), depth, weight })
}

#[derive(Debug, Clone)]
pub struct Mix {
    /// The cumulative weight of each work.
    upto: Vec<u64>,
}

impl Mix {
    /// A mix of works with these weights.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Mix {
        let upto = weights.into_iter().scan(0_u64, |sum, weight| {
            *sum = sum.saturating_add(weight);
            Some(*sum)
        });
        Mix { upto: upto.collect() }
    }

    pub fn draw(&self, random: &mut Random) -> usize {
        let all = self.upto.last().copied().unwrap_or_default();
        if self.upto.len() < 2 {
            return 0;
        }
        let drawn = random.below(all);
        self.upto.partition_point(|&upto| upto <= drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_mix_items() {
        let item = |name: &str, depth, weight| MixItem { name: name.into(), depth, weight };
        assert_eq!(
            parse("w1=8, w4,w2k@100=3"),
            Ok(vec![item("w1", None, 8), item("w4", None, 1), item("w2k", Some(100), 3)])
        );
        for wrong in ["", "w1=", "=3", "w1=0", "w1=-1", "w1,,w2", "w1=2000000", "w2k@x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn draws_works_by_weight() {
        let mix = Mix::new([8, 2, 1]);
        let mut drawn = [0_u32; 3];
        for index in 0..11_000 {
            drawn[mix.draw(&mut Random::of(42, index))] += 1;
        }
        for (count, expected) in drawn.iter().zip([8_000_i64, 2_000, 1_000]) {
            assert!((i64::from(*count) - expected).abs() < 200, "{drawn:?}");
        }
        assert_eq!(Mix::new([5]).draw(&mut Random::of(1, 1)), 0);
    }
}
