//! How often each group has each value: what distinct counts and quantiles are read from. In an array while groups and
//! values are few, else as pairs that are sorted and merged from time to time.

/// Counters of an array at most.
const COUNTERS_MAX: u128 = 1 << 20;
/// Pairs that are collected before they are merged for the first time.
const PAIRS_MERGED_MIN: usize = 1 << 18;

/// The counts of one part of the rows, or of all.
#[derive(Debug)]
pub(super) enum ValueCounts {
    Array { values: usize, counts: Vec<u32> },
    Narrow(Pairs<u64>),
    Wide(Pairs<u128>),
}

/// Groups and values with counts.
#[derive(Debug)]
pub(super) struct Pairs<C> {
    pairs: Vec<Pair<C>>,
    /// Pairs at the beginning that are sorted and distinct.
    merged: usize,
}

#[derive(Debug, Clone, Copy)]
struct Pair<C> {
    code: C,
    group: u32,
    count: u32,
}

impl ValueCounts {
    /// For groups whose number is known, or not, and so many values.
    pub(super) fn new(groups: Option<usize>, values: u128) -> ValueCounts {
        let counters = groups.map_or(u128::MAX, |groups| values.saturating_mul(groups as u128));
        if counters <= COUNTERS_MAX {
            let counters = usize::try_from(counters).unwrap_or(0);
            return ValueCounts::Array {
                values: usize::try_from(values).unwrap_or(0),
                counts: vec![0; counters],
            };
        }
        if values <= u64::MAX.into() {
            return ValueCounts::Narrow(Pairs { pairs: Vec::new(), merged: 0 });
        }
        ValueCounts::Wide(Pairs { pairs: Vec::new(), merged: 0 })
    }

    /// Counts a value.
    #[inline]
    pub(super) fn add(&mut self, group: u32, code: u128, count: u32) {
        match self {
            ValueCounts::Array { values, counts } => {
                let at = (group as usize)
                    .saturating_mul(*values)
                    .saturating_add(usize::try_from(code).unwrap_or(usize::MAX));
                if let Some(slot) = counts.get_mut(at) {
                    *slot = slot.saturating_add(count);
                }
            }
            #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^64 values")]
            ValueCounts::Narrow(pairs) => pairs.push(Pair { code: code as u64, group, count }),
            ValueCounts::Wide(pairs) => pairs.push(Pair { code, group, count }),
        }
    }

    /// Adds the counts of other rows of the same groups.
    pub(super) fn merge(&mut self, other: ValueCounts) {
        match (self, other) {
            (ValueCounts::Array { counts, .. }, ValueCounts::Array { counts: others, .. }) => {
                counts.iter_mut().zip(others).for_each(|(count, other)| *count = count.saturating_add(other));
            }
            (ValueCounts::Narrow(pairs), ValueCounts::Narrow(others)) => pairs.extend(others),
            (ValueCounts::Wide(pairs), ValueCounts::Wide(others)) => pairs.extend(others),
            _ => (),
        }
    }

    /// Memory after so many more rows at most.
    pub(super) fn memory_bytes_after(&self, rows: usize) -> usize {
        let more = match self {
            ValueCounts::Array { .. } => 0,
            ValueCounts::Narrow(_) => rows.saturating_mul(size_of::<Pair<u64>>()),
            ValueCounts::Wide(_) => rows.saturating_mul(size_of::<Pair<u128>>()),
        };
        self.memory_bytes().saturating_add(more)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            ValueCounts::Array { counts, .. } => counts.len() * size_of::<u32>(),
            ValueCounts::Narrow(pairs) => pairs.pairs.capacity() * size_of::<Pair<u64>>(),
            ValueCounts::Wide(pairs) => pairs.pairs.capacity() * size_of::<Pair<u128>>(),
        }
    }

    /// Gives each group with its values and their counts, values ascending; groups in ascending order. A group without
    /// values is left out.
    pub(super) fn each_group(self, mut take: impl FnMut(u32, &[(u128, u32)])) {
        match self {
            ValueCounts::Array { values, counts } => {
                let mut found = Vec::new();
                for (group, counts) in (0..).zip(counts.chunks(values.max(1))) {
                    found.clear();
                    found.extend((0..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0));
                    if !found.is_empty() {
                        take(group, &found);
                    }
                }
            }
            ValueCounts::Narrow(pairs) => pairs.each_group(take),
            ValueCounts::Wide(pairs) => pairs.each_group(take),
        }
    }
}

impl<C: Copy + Ord + Into<u128>> Pairs<C> {
    #[inline]
    fn push(&mut self, pair: Pair<C>) {
        if self.pairs.len() >= PAIRS_MERGED_MIN.max(self.merged.saturating_mul(2)) {
            self.merge_equal();
        }
        self.pairs.push(pair);
    }

    fn extend(&mut self, others: Pairs<C>) {
        others.pairs.into_iter().for_each(|pair| self.push(pair));
    }

    fn merge_equal(&mut self) {
        self.pairs.sort_unstable_by_key(|pair| (pair.group, pair.code));
        self.pairs.dedup_by(|next, kept| {
            let is_same = (next.group, next.code) == (kept.group, kept.code);
            if is_same {
                kept.count = kept.count.saturating_add(next.count);
            }
            is_same
        });
        self.merged = self.pairs.len();
    }

    fn each_group(mut self, mut take: impl FnMut(u32, &[(u128, u32)])) {
        self.merge_equal();
        let mut found = Vec::new();
        for pairs in self.pairs.chunk_by(|one, next| one.group == next.group) {
            found.clear();
            found.extend(pairs.iter().map(|pair| (pair.code.into(), pair.count)));
            if let Some(first) = pairs.first() {
                take(first.group, &found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn check(groups: Option<usize>, values: u128) {
        let (mut counts, mut other) = (ValueCounts::new(groups, values), ValueCounts::new(groups, values));
        let mut expected: BTreeMap<(u32, u128), u32> = BTreeMap::new();
        for number in 0..700_000u32 {
            let (group, code) = (number % 7, u128::from(number.wrapping_mul(2_654_435_761) % 900));
            *expected.entry((group, code)).or_default() += 1;
            if number % 3 == 0 { &mut other } else { &mut counts }.add(group, code, 1);
        }
        counts.merge(other);
        let mut found = BTreeMap::new();
        counts.each_group(|group, values| {
            assert!(values.is_sorted());
            found.extend(values.iter().map(|(code, count)| ((group, *code), *count)));
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn counts_in_every_form() {
        check(Some(7), 900);
        check(None, 900);
        check(None, 1 << 70);
    }
}
