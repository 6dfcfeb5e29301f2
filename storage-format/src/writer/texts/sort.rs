//! Sorts texts with a multikey sort (J. Bentley and R. Sedgewick, 1997) and cached keys: seven bytes and their count
//! make a 64-bit key; equal keys are compared by the next seven bytes, and so on.

use crate::error::FormatError;
use crate::writer::sort::{KeyRange, Passes, split};
use crate::writer::texts::source::TextSource;

/// Bytes of text in one key.
const KEY_BYTES: usize = 7;
/// The low byte of a key whose text continues.
const GOES_ON: u64 = 8;
/// Levels sorted by keys; deeper ties are compared byte by byte.
const KEY_LEVELS_MAX: usize = 8;
/// Memory of a text in the sort, without its bytes.
const ENTRY_BYTES: u64 = 40;
/// Largest sorted batch of texts, bytes, so that positions fit 32 bits.
const PARTITION_BYTES_MAX: u64 = u32::MAX as u64;

/// The key of a text from byte `depth`: seven bytes, then their count (8: the text continues). Keys compare like texts;
/// equal keys without continuation mean equal texts.
fn key_at(text: &[u8], depth: usize) -> u64 {
    let rest = text.get(depth..).unwrap_or_default();
    let mut bytes = [0u8; 8];
    let head = rest.get(..KEY_BYTES).unwrap_or(rest);
    crate::layout::put(&mut bytes, 0, head);
    let count = if rest.len() > KEY_BYTES { GOES_ON } else { rest.len() as u64 };
    u64::from_be_bytes(bytes) | count
}

/// A partition of the texts: those with the prefix `path` (one key a level) and the next key in `range`.
struct Part {
    path: Vec<u64>,
    range: KeyRange<u64>,
}

impl Part {
    fn contains(&self, text: &[u8]) -> Option<u64> {
        let on_path =
            self.path.iter().enumerate().all(|(level, key)| key_at(text, level * KEY_BYTES) == *key);
        let key = key_at(text, self.path.len() * KEY_BYTES);
        (on_path && key >= self.range.low && key <= self.range.high).then_some(key)
    }
}

/// Visits all rows with a text in (text, row) order. The flag tells whether the text differs from the previous one.
pub(crate) fn visit_sorted(
    source: &TextSource,
    memory: u64,
    emit: &mut dyn FnMut(u32, bool) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let mut passes = Passes::new();
    let weight = source.text_bytes + (source.rows - source.null_count) * ENTRY_BYTES;
    let capacity = memory.min(PARTITION_BYTES_MAX);
    let mut open = vec![Part { path: Vec::new(), range: KeyRange { low: 0, high: u64::MAX, weight } }];
    while let Some(part) = open.pop() {
        passes.spend()?;
        if part.range.weight <= capacity {
            Batch::collect(source, &part)?.sort().emit(emit)?;
        } else if part.range.low < part.range.high {
            let scan = |take: &mut dyn FnMut(u32, u64, u64)| scan_part(source, &part, take);
            let ranges = split(&scan, part.range, capacity, &mut passes)?;
            open.extend(ranges.into_iter().rev().map(|range| Part { path: part.path.clone(), range }));
        } else if part.range.low & 0xFF == GOES_ON {
            let mut path = part.path;
            path.push(part.range.low);
            open.push(Part { path, range: KeyRange { low: 0, high: u64::MAX, weight: part.range.weight } });
        } else {
            stream_equal(source, &part, emit)?;
        }
    }
    Ok(())
}

fn scan_part(
    source: &TextSource,
    part: &Part,
    take: &mut dyn FnMut(u32, u64, u64),
) -> Result<(), FormatError> {
    let mut row = 0u32;
    source.read_texts(&mut |text| {
        if let Some(text) = text
            && let Some(key) = part.contains(text)
        {
            take(row, key, text.len() as u64 + ENTRY_BYTES);
        }
        row += 1;
        Ok(())
    })
}

/// Streams equal texts, which already arrive in row order.
fn stream_equal(
    source: &TextSource,
    part: &Part,
    emit: &mut dyn FnMut(u32, bool) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let mut row = 0u32;
    let mut first = true;
    source.read_texts(&mut |text| {
        if text.is_some_and(|text| part.contains(text).is_some()) {
            emit(row, first)?;
            first = false;
        }
        row += 1;
        Ok(())
    })
}

/// A batch of texts that is sorted in memory.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Position of each text, and of the end.
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// (key, number of the text). After the sort, the key is 1 if the text differs from the previous one, or else 0.
    entries: Vec<(u64, u32)>,
}

impl Batch {
    fn collect(source: &TextSource, part: &Part) -> Result<Batch, FormatError> {
        let mut batch = Batch::default();
        let depth = part.path.len() * KEY_BYTES;
        let mut row = 0u32;
        batch.starts.push(0);
        source.read_texts(&mut |text| {
            if let Some(text) = text
                && let Some(key) = part.contains(text)
            {
                let number = u32::try_from(batch.rows.len()).unwrap_or(u32::MAX);
                batch.entries.push((key, number));
                batch.rows.push(row);
                batch.bytes.extend_from_slice(text.get(depth..).unwrap_or_default());
                batch.starts.push(u32::try_from(batch.bytes.len()).unwrap_or(u32::MAX));
            }
            row += 1;
            Ok(())
        })?;
        Ok(batch)
    }

    fn sort(mut self) -> Batch {
        let mut entries = bucketed(std::mem::take(&mut self.entries));
        let texts = BatchTexts { bytes: &self.bytes, starts: &self.starts };
        let mut rest = entries.as_mut_slice();
        // After the bucket pass, equal leading bytes are contiguous, so each bucket is sorted separately.
        while let Some((first, _)) = rest.first().copied() {
            let end = rest.iter().position(|(key, _)| key >> 48 != first >> 48).unwrap_or(rest.len());
            let (bucket, tail) = rest.split_at_mut(end);
            sort_level(&texts, bucket, 0);
            rest = tail;
        }
        self.entries = entries;
        self
    }

    fn emit(self, emit: &mut dyn FnMut(u32, bool) -> Result<(), FormatError>) -> Result<(), FormatError> {
        for (differs, number) in &self.entries {
            let row = self.rows.get(*number as usize).copied().unwrap_or(u32::MAX);
            emit(row, *differs == 1)?;
        }
        Ok(())
    }
}

/// One counting pass over the two leading bytes, so that the sort works on small buckets.
fn bucketed(entries: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    let bucket = |key: u64| (key >> 48) as usize;
    let mut starts = vec![0usize; 1 << 16];
    for (key, _) in &entries {
        if let Some(count) = starts.get_mut(bucket(*key)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    let mut out = vec![(0u64, 0u32); entries.len()];
    for entry in entries {
        if let Some(start) = starts.get_mut(bucket(entry.0)) {
            if let Some(slot) = out.get_mut(*start) {
                *slot = entry;
            }
            *start += 1;
        }
    }
    out
}

struct BatchTexts<'a> {
    bytes: &'a [u8],
    starts: &'a [u32],
}

impl BatchTexts<'_> {
    fn from(&self, number: u32, depth: usize) -> &[u8] {
        let at = |number: usize| self.starts.get(number).map_or(0, |start| *start as usize);
        let number = number as usize;
        self.bytes.get(at(number) + depth..at(number + 1)).unwrap_or_default()
    }
}

/// Sorts entries whose texts are equal before `level`, and marks where texts differ.
fn sort_level(texts: &BatchTexts<'_>, entries: &mut [(u64, u32)], level: usize) {
    if level == KEY_LEVELS_MAX {
        return sort_bytes(texts, entries, level * KEY_BYTES);
    }
    entries.sort_unstable();
    let mut rest = entries;
    while let Some((key, _)) = rest.first().copied() {
        let end = rest.iter().position(|(other, _)| *other != key).unwrap_or(rest.len());
        let (group, tail) = rest.split_at_mut(end);
        if group.len() > 1 && key & 0xFF == GOES_ON {
            for entry in group.iter_mut() {
                entry.0 = key_at(texts.from(entry.1, (level + 1) * KEY_BYTES), 0);
            }
            sort_level(texts, group, level + 1);
        } else {
            mark(group, |_, _| true);
        }
        rest = tail;
    }
}

fn sort_bytes(texts: &BatchTexts<'_>, entries: &mut [(u64, u32)], depth: usize) {
    entries
        .sort_unstable_by(|(_, a), (_, b)| texts.from(*a, depth).cmp(texts.from(*b, depth)).then(a.cmp(b)));
    mark(entries, |before, now| texts.from(before, depth) == texts.from(now, depth));
}

/// Sets the key to 1 for every entry that differs from the previous one, and to 0 for the others.
fn mark(entries: &mut [(u64, u32)], equal: impl Fn(u32, u32) -> bool) {
    let mut before = None;
    for (key, number) in entries {
        *key = u64::from(!before.is_some_and(|before| equal(before, *number)));
        before = Some(*number);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn matches_plain_sort_with_any_budget(
            texts in prop::collection::vec(
                prop::option::of(prop_oneof!["[ab]{0,30}", "(same prefix for all ){2,5}[a-c]{0,2}", ".{0,9}", Just("\0\0".to_string())]),
                0..200,
            ),
            memory in prop_oneof![Just(u64::MAX), 60u64..4_000],
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut source = TextSource::new(u64::MAX, directory.path());
            for text in &texts {
                source.push(text.as_ref().map(String::as_bytes)).unwrap();
            }
            source.stop_interning().unwrap();
            let mut expected: Vec<(&[u8], u32)> =
                texts.iter().zip(0u32..).filter_map(|(text, row)| Some((text.as_ref()?.as_bytes(), row))).collect();
            expected.sort_unstable();
            let differs = |at: usize| at == 0 || expected[at - 1].0 != expected[at].0;
            let expected: Vec<(u32, bool)> = (0..expected.len()).map(|at| (expected[at].1, differs(at))).collect();
            let mut found = Vec::new();
            visit_sorted(&source, memory, &mut |row, differs| { found.push((row, differs)); Ok(()) }).unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}
