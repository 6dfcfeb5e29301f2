//! Sorts rows by key inside a memory budget with a sample sort (W. D. Frazer and A. C. McKellar, 1970): sampled
//! splitters divide the key range until each part fits; one pass over the source collects each part, which is sorted in
//! memory. Small keys are packed with their row and radix-sorted.

use crate::error::FormatError;
use crate::limits::SORT_PASSES_MAX;

/// Size of the sample of keys.
const SAMPLE_KEYS: u64 = 65_536;
const SPLITTERS: usize = 256;
/// Bits of a radix digit.
const DIGIT_BITS: u32 = 11;

pub(crate) trait OrderKey: Copy + Ord {
    /// The next smaller key; the key itself at zero.
    fn before(self) -> Self;
    /// The next larger key; the key itself at the top.
    fn after(self) -> Self;
    /// The distance from `low`, if it fits 32 bits.
    fn distance(self, low: Self) -> Option<u32>;
    /// The key at a distance from `low`.
    fn at_distance(low: Self, distance: u32) -> Self;
}

macro_rules! order_key {
    ($key:ty) => {
        impl OrderKey for $key {
            fn before(self) -> Self {
                self.saturating_sub(1)
            }
            fn after(self) -> Self {
                self.saturating_add(1)
            }
            fn distance(self, low: Self) -> Option<u32> {
                u32::try_from(self.checked_sub(low)?).ok()
            }
            fn at_distance(low: Self, distance: u32) -> Self {
                low.saturating_add(distance.into())
            }
        }
    };
}
order_key!(u64);
order_key!(u128);

/// Calls its argument with every (row, key, weight in bytes) in row order. Repeatable.
pub(crate) type Scan<'a, K> = dyn Fn(&mut dyn FnMut(u32, K, u64)) -> Result<(), FormatError> + 'a;

/// Receives rows of one key, in row order.
pub(crate) type Emit<'a, K> = dyn FnMut(K, &[u32]) -> Result<(), FormatError> + 'a;

/// A closed range of keys and the weight of the rows inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange<K> {
    pub(crate) low: K,
    pub(crate) high: K,
    pub(crate) weight: u64,
}

/// Counts passes, so that a budget that is too small is an error.
pub(crate) struct Passes {
    pub(crate) left: usize,
}

impl Passes {
    pub(crate) fn new() -> Passes {
        Passes { left: SORT_PASSES_MAX }
    }

    pub(crate) fn spend(&mut self) -> Result<(), FormatError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| FormatError::LimitExceeded {
            what: "passes while sorting a column".into(),
            limit: SORT_PASSES_MAX as u64,
            found: SORT_PASSES_MAX as u64 + 1,
            remedy: "raise the memory limit",
        })?;
        Ok(())
    }
}

/// Splits a range into smaller ones in key order, each with a weight of at most `capacity` or with a single key, if
/// possible.
pub(crate) fn split<K: OrderKey>(
    scan: &Scan<'_, K>,
    range: KeyRange<K>,
    capacity: u64,
    passes: &mut Passes,
) -> Result<Vec<KeyRange<K>>, FormatError> {
    passes.spend()?;
    let splitters = sample(scan, range)?;
    let mut parts: Vec<KeyRange<K>> = Vec::with_capacity(splitters.len() * 2 + 1);
    let mut low = range.low;
    for splitter in splitters {
        if low < splitter {
            parts.push(KeyRange { low, high: splitter.before(), weight: 0 });
        }
        parts.push(KeyRange { low: splitter, high: splitter, weight: 0 });
        low = splitter.after();
    }
    if parts.last().is_none_or(|last| last.high < range.high) {
        parts.push(KeyRange { low, high: range.high, weight: 0 });
    }
    passes.spend()?;
    scan(&mut |_, key, weight| {
        if key < range.low || key > range.high {
            return;
        }
        let at = parts.partition_point(|part| part.high < key);
        if let Some(part) = parts.get_mut(at) {
            part.weight += weight;
        }
    })?;
    Ok(merge(parts, capacity))
}

fn sample<K: OrderKey>(scan: &Scan<'_, K>, range: KeyRange<K>) -> Result<Vec<K>, FormatError> {
    let mut inside = 0u64;
    let mut keys = Vec::new();
    let mut stride = 1u64;
    scan(&mut |_, key, _| {
        if key < range.low || key > range.high {
            return;
        }
        if inside.is_multiple_of(stride) {
            keys.push(key);
        }
        inside += 1;
        if keys.len() as u64 >= 2 * SAMPLE_KEYS {
            // Every second key is kept, so the sample stays uniform for an unknown count.
            let mut number = 0usize;
            keys.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            stride *= 2;
        }
    })?;
    keys.sort_unstable();
    let step = keys.len().div_ceil(SPLITTERS).max(1);
    let mut splitters: Vec<K> = keys.into_iter().step_by(step).collect();
    splitters.dedup();
    Ok(splitters)
}

fn merge<K: OrderKey>(parts: Vec<KeyRange<K>>, capacity: u64) -> Vec<KeyRange<K>> {
    let mut merged: Vec<KeyRange<K>> = Vec::new();
    for part in parts.into_iter().filter(|part| part.weight > 0) {
        match merged.last_mut() {
            Some(last) if last.weight + part.weight <= capacity => {
                last.high = part.high;
                last.weight += part.weight;
            }
            _ => merged.push(part),
        }
    }
    merged
}

/// Visits all rows in (key, row) order. Each call of `emit` passes rows of one key, in row order.
pub(crate) fn visit_sorted<K: OrderKey>(
    scan: &Scan<'_, K>,
    range: KeyRange<K>,
    capacity: u64,
    emit: &mut Emit<'_, K>,
) -> Result<(), FormatError> {
    let mut passes = Passes::new();
    let mut open = vec![range];
    while let Some(range) = open.pop() {
        if range.weight <= capacity {
            passes.spend()?;
            sort_in_memory(scan, range, emit)?;
        } else if range.low == range.high {
            passes.spend()?;
            stream_one_key(scan, range.low, emit)?;
        } else {
            let mut parts = split(scan, range, capacity, &mut passes)?;
            parts.reverse();
            open.append(&mut parts);
        }
    }
    Ok(())
}

/// Streams the rows of one key, which already arrive in order.
fn stream_one_key<K: OrderKey>(
    scan: &Scan<'_, K>,
    only: K,
    emit: &mut Emit<'_, K>,
) -> Result<(), FormatError> {
    let mut rows: Vec<u32> = Vec::with_capacity(65_536);
    let mut failure = None;
    scan(&mut |row, key, _| {
        if key == only && failure.is_none() {
            rows.push(row);
            if rows.len() == 65_536 {
                failure = emit(only, &rows).err();
                rows.clear();
            }
        }
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    if rows.is_empty() { Ok(()) } else { emit(only, &rows) }
}

fn sort_in_memory<K: OrderKey>(
    scan: &Scan<'_, K>,
    range: KeyRange<K>,
    emit: &mut Emit<'_, K>,
) -> Result<(), FormatError> {
    if range.high.distance(range.low).is_some() {
        let mut packed: Vec<u64> = Vec::new();
        scan(&mut |row, key, _| {
            if key >= range.low && key <= range.high {
                packed.push(u64::from(key.distance(range.low).unwrap_or(0)) << 32 | u64::from(row));
            }
        })?;
        radix_sort(&mut packed, range.high.distance(range.low).unwrap_or(u32::MAX));
        let split = |packed: u64| (K::at_distance(range.low, high_half(packed)), low_half(packed));
        return emit_runs(packed.iter().map(|packed| split(*packed)), emit);
    }
    let mut pairs: Vec<(K, u32)> = Vec::new();
    scan(&mut |row, key, _| {
        if key >= range.low && key <= range.high {
            pairs.push((key, row));
        }
    })?;
    pairs.sort_unstable();
    emit_runs(pairs.into_iter(), emit)
}

fn high_half(packed: u64) -> u32 {
    u32::try_from(packed >> 32).unwrap_or(u32::MAX)
}

fn low_half(packed: u64) -> u32 {
    u32::try_from(packed & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

fn emit_runs<K: OrderKey>(
    sorted: impl Iterator<Item = (K, u32)>,
    emit: &mut Emit<'_, K>,
) -> Result<(), FormatError> {
    let mut rows: Vec<u32> = Vec::new();
    let mut current = None;
    for (key, row) in sorted {
        if let Some(last) = current
            && last != key
        {
            emit(last, &rows)?;
            rows.clear();
        }
        current = Some(key);
        rows.push(row);
    }
    match current {
        Some(last) => emit(last, &rows),
        None => Ok(()),
    }
}

/// Sorts by the upper half, whose largest value is `largest`; equal upper halves keep their order.
/// One counting pass per digit, least significant first.
fn radix_sort(items: &mut Vec<u64>, largest: u32) {
    let bits = 32 - largest.leading_zeros();
    let mut other = vec![0u64; items.len()];
    let mut done = 0;
    while done < bits {
        scatter(items, &mut other, 32 + done);
        std::mem::swap(items, &mut other);
        done += DIGIT_BITS;
    }
}

fn scatter(from: &[u64], to: &mut [u64], shift: u32) {
    let digit = |item: u64| (item >> shift) as usize & ((1 << DIGIT_BITS) - 1);
    let mut starts = [0usize; 1 << DIGIT_BITS];
    for item in from {
        if let Some(count) = starts.get_mut(digit(*item)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    for item in from {
        if let Some(start) = starts.get_mut(digit(*item)) {
            if let Some(slot) = to.get_mut(*start) {
                *slot = *item;
            }
            *start += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(keys: &[u64], capacity: u64) -> Vec<(u64, u32)> {
        let scan = |take: &mut dyn FnMut(u32, u64, u64)| {
            (0u32..).zip(keys).for_each(|(row, key)| take(row, *key, 16));
            Ok(())
        };
        let mut out: Vec<(u64, u32)> = Vec::new();
        let range = KeyRange {
            low: keys.iter().min().copied().unwrap_or(0),
            high: keys.iter().max().copied().unwrap_or(0),
            weight: keys.len() as u64 * 16,
        };
        let mut emit = |key: u64, rows: &[u32]| {
            out.extend(rows.iter().map(|row| (key, *row)));
            Ok(())
        };
        visit_sorted(&scan, range, capacity, &mut emit).unwrap();
        out
    }

    proptest! {
        #[test]
        fn matches_plain_sort_with_any_budget(
            keys in prop::collection::vec(prop_oneof![0u64..9, any::<u64>(), 1_000u64..5_000], 0..400),
            capacity in 16u64..4_000,
        ) {
            let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(0u32..).collect();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&keys, capacity), expected);
        }

        #[test]
        fn packed_keys_match_plain_sort(keys in prop::collection::vec(0u64..6_000_000_000, 0..2_000)) {
            let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(0u32..).collect();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&keys, u64::MAX), expected);
        }
    }

    #[test]
    fn streams_single_key_beyond_budget() {
        let keys = vec![5u64; 200_000];
        assert!(sorted(&keys, 64).iter().map(|(_, row)| *row).eq(0..200_000));
    }
}
