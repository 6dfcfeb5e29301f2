//! Sets of keys as sorted, disjoint, closed ranges. A key is a code, a rank or an order key, by the storage of a column.

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySet {
    ranges: Vec<(u128, u128)>,
}

impl KeySet {
    #[must_use]
    pub fn empty() -> KeySet {
        KeySet::default()
    }

    /// All keys from `low` to `high`, inclusive; empty when `low` is above `high`.
    #[must_use]
    pub fn range(low: u128, high: u128) -> KeySet {
        KeySet { ranges: if low <= high { vec![(low, high)] } else { Vec::new() } }
    }

    /// The union of any ranges.
    #[must_use]
    pub fn of_ranges(mut ranges: Vec<(u128, u128)>) -> KeySet {
        ranges.retain(|(low, high)| low <= high);
        ranges.sort_unstable();
        let mut merged: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        KeySet { ranges: merged }
    }

    #[must_use]
    pub fn ranges(&self) -> &[(u128, u128)] {
        &self.ranges
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Keys in either set.
    #[must_use]
    pub fn union(&self, other: &KeySet) -> KeySet {
        KeySet::of_ranges(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// Keys in both sets.
    #[must_use]
    pub fn intersection(&self, other: &KeySet) -> KeySet {
        let mut ranges = Vec::new();
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            ranges.push((a.0.max(b.0), a.1.min(b.1)));
            if a.1 < b.1 {
                left.next()
            } else {
                right.next()
            };
        }
        KeySet::of_ranges(ranges)
    }

    /// Keys from 0 to `highest` that are not in the set.
    #[must_use]
    pub fn complement(&self, highest: u128) -> KeySet {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = Some(0u128);
        for (low, high) in &self.ranges {
            if let Some(from) = next.filter(|from| from < low) {
                ranges.push((from, (low - 1).min(highest)));
            }
            next = high.checked_add(1);
        }
        if let Some(from) = next.filter(|from| *from <= highest) {
            ranges.push((from, highest));
        }
        KeySet::of_ranges(ranges)
    }

    /// Whether the set contains a key.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: u128) -> bool {
        if let [(low, high)] = self.ranges.as_slice() {
            return (*low..=*high).contains(&key);
        }
        let at = self.ranges.partition_point(|(_, high)| *high < key);
        self.ranges.get(at).is_some_and(|(low, _)| *low <= key)
    }

    /// Whether the set covers all, some or none of the keys from `low` to `high`.
    #[must_use]
    pub fn covers(&self, low: u128, high: u128) -> Coverage {
        let at = self.ranges.partition_point(|(_, end)| *end < low);
        match self.ranges.get(at) {
            Some((start, end)) if *start <= low && high <= *end => Coverage::All,
            Some((start, _)) if *start <= high => Coverage::Some,
            _ => Coverage::None,
        }
    }
}

/// The coverage of a range by a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    None,
    /// Possibly some.
    Some,
    All,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set() -> impl Strategy<Value = KeySet> {
        prop::collection::vec((0u128..40, 0u128..40), 0..6).prop_map(KeySet::of_ranges)
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_membership(a in set(), b in set(), low in 0u128..40, len in 0u128..9) {
            let (union, intersection, complement) = (a.union(&b), a.intersection(&b), a.complement(39));
            for key in 0..40 {
                prop_assert_eq!(union.contains(key), a.contains(key) || b.contains(key));
                prop_assert_eq!(intersection.contains(key), a.contains(key) && b.contains(key));
                prop_assert_eq!(complement.contains(key), !a.contains(key));
            }
            let inside = (low..=low + len).filter(|key| a.contains(*key)).count() as u128;
            let expected = match inside {
                0 => Coverage::None,
                all if all == len + 1 => Coverage::All,
                _ => Coverage::Some,
            };
            prop_assert_eq!(a.covers(low, low + len), expected);
        }
    }

    #[test]
    fn key_space_bounds_do_not_overflow() {
        let all = KeySet::range(0, u128::MAX);
        assert!(all.complement(u128::MAX).is_empty());
        assert_eq!(KeySet::empty().complement(u128::MAX), all);
        assert_eq!(KeySet::of_ranges(vec![(5, u128::MAX), (0, 4)]), all);
    }
}
