//! Complete selections: the rows of a filter as a list while they are few, else as a bitmap with match counts before
//! each zone, so that any match is found by its number.

use std::ops::Range;

use mercato_format::Table;
use mercato_format::column::ZONE_ROWS;

use crate::plan::key_set::Coverage;
use crate::plan::matcher::Node;
use crate::scan::helpers::evaluate_parts;
use crate::work_limit::SearchError;

/// A list is used while at most one row in this many matches.
pub(crate) const LIST_SHARE: u64 = 32;
const ZONE_WORDS: usize = ZONE_ROWS / 64;
/// Zones that one thread evaluates at a time.
const ZONES_PER_PART: usize = 16;
/// Rows found by an index that are tested at a time.
const ROWS_PER_BLOCK: usize = 4096;

/// Selected rows in row order.
#[derive(Debug)]
pub struct Selection {
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    List(Vec<u32>),
    Bitmap { words: Vec<u64>, before_zone: Vec<u32> },
}

impl Selection {
    /// Evaluates a filter over the whole table.
    pub(crate) fn of(table: &Table, filter: &Node<'_>) -> Result<Selection, SearchError> {
        if let Some(list) = list_by_index(table, filter)? {
            return Ok(Selection { rows: Rows::List(list) });
        }
        let rows = table.row_count() as usize;
        let zones = rows.div_ceil(ZONE_ROWS);
        let parts = evaluate_parts(zones.div_ceil(ZONES_PER_PART), |part| {
            let first = part * ZONES_PER_PART;
            bitmap_of(filter, first..zones.min(first + ZONES_PER_PART), rows)
        })?;
        Ok(Selection::from_words(parts.concat(), table.row_count()))
    }

    /// The rows whose bits are set, of a table of `rows` rows.
    pub fn from_words(words: Vec<u64>, rows: u32) -> Selection {
        let mut before_zone = Vec::with_capacity(words.len() / ZONE_WORDS + 2);
        let mut sum = 0u32;
        before_zone.push(0);
        for zone in words.chunks(ZONE_WORDS) {
            sum += zone.iter().map(|word| word.count_ones()).sum::<u32>();
            before_zone.push(sum);
        }
        let bitmap = Selection { rows: Rows::Bitmap { words, before_zone } };
        if u64::from(sum) * LIST_SHARE > u64::from(rows) {
            return bitmap;
        }
        let mut list = Vec::with_capacity(sum as usize);
        bitmap.take_after(None, 0, sum as usize, &mut list);
        Selection { rows: Rows::List(list) }
    }

    /// The number of matching rows.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.rows {
            Rows::List(rows) => rows.len() as u64,
            Rows::Bitmap { before_zone, .. } => before_zone.last().copied().unwrap_or(0).into(),
        }
    }

    /// Memory of the selection in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.rows {
            Rows::List(rows) => rows.capacity() * 4,
            Rows::Bitmap { words, before_zone } => words.capacity() * 8 + before_zone.capacity() * 4,
        }
    }

    /// Whether a row is selected.
    #[inline]
    #[must_use]
    pub fn contains(&self, row: u32) -> bool {
        match &self.rows {
            Rows::List(rows) => rows.binary_search(&row).is_ok(),
            Rows::Bitmap { words, .. } => {
                words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
            }
        }
    }

    /// The number of matches before `row`.
    fn number_before(&self, row: u32) -> u64 {
        match &self.rows {
            Rows::List(rows) => rows.partition_point(|found| *found < row) as u64,
            Rows::Bitmap { words, before_zone } => {
                let zone = row as usize / ZONE_ROWS;
                let Some(before) = before_zone.get(zone) else { return self.count() };
                let start = zone * ZONE_WORDS;
                let whole = words.get(start..(row as usize / 64).min(words.len())).unwrap_or_default();
                let part = words
                    .get(row as usize / 64)
                    .map_or(0, |word| (word & ((1u64 << (row % 64)) - 1)).count_ones());
                u64::from(*before)
                    + whole.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
                    + u64::from(part)
            }
        }
    }

    /// Appends up to `max` matches in row order after row `after`, skipping the first `skip`.
    pub fn take_after(&self, after: Option<u32>, skip: u64, max: usize, out: &mut Vec<u32>) {
        let first =
            after.map_or(0, |after| after.checked_add(1).map_or(self.count(), |row| self.number_before(row)));
        let first = first.saturating_add(skip);
        self.take_numbers(first, max, out);
    }

    /// Appends up to `max` matches in reverse row order before row `before`, skipping the first `skip`.
    pub fn take_before(&self, before: Option<u32>, skip: u64, max: usize, out: &mut Vec<u32>) {
        let end = before.map_or(self.count(), |before| self.number_before(before)).saturating_sub(skip);
        let start = end.saturating_sub(max as u64);
        let from = out.len();
        self.take_numbers(start, usize::try_from(end - start).unwrap_or(0), out);
        if let Some(taken) = out.get_mut(from..) {
            taken.reverse();
        }
    }

    /// Appends matches by their number.
    fn take_numbers(&self, first: u64, max: usize, out: &mut Vec<u32>) {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        match &self.rows {
            Rows::List(rows) => out.extend(rows.iter().skip(first).take(max)),
            Rows::Bitmap { words, before_zone } => {
                let zone = before_zone.partition_point(|before| *before as usize <= first).saturating_sub(1);
                let mut skip = first - before_zone.get(zone).map_or(0, |before| *before as usize);
                let mut wanted = max;
                for (number, word) in words.iter().enumerate().skip(zone * ZONE_WORDS) {
                    let ones = word.count_ones() as usize;
                    if skip >= ones {
                        skip -= ones;
                        continue;
                    }
                    let base = u32::try_from(number * 64).unwrap_or(u32::MAX);
                    for row in bits(*word, base).skip(skip).take(wanted) {
                        out.push(row);
                        wanted -= 1;
                    }
                    skip = 0;
                    if wanted == 0 {
                        return;
                    }
                }
            }
        }
    }
}

/// The rows of one bitmap word.
fn bits(mut word: u64, base: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(base + bit)
    })
}

fn bitmap_of(filter: &Node<'_>, zones: Range<usize>, rows: usize) -> Result<Vec<u64>, SearchError> {
    let mut words = Vec::with_capacity(zones.len() * ZONE_WORDS);
    let mut mask = [0u8; ZONE_ROWS];
    for zone in zones {
        let count = ZONE_ROWS.min(rows - zone * ZONE_ROWS);
        let mask = mask.get_mut(..count).unwrap_or_default();
        match filter.zone(zone, mask)? {
            Coverage::None => mask.fill(0),
            Coverage::All => mask.fill(1),
            Coverage::Some => (),
        }
        words.extend(mask.chunks(64).map(pack));
    }
    Ok(words)
}

/// Packs up to 64 bytes of 0 or 1 into a word, eight at a time by one multiplication that gathers their lowest bits.
fn pack(marks: &[u8]) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut word = 0u64;
    for (number, bytes) in marks.chunks(8).enumerate() {
        let mut eight = [0u8; 8];
        eight.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte);
        word |= (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (number * 8);
    }
    word
}

/// The matches found by the most selective index, if they are few.
fn list_by_index(table: &Table, filter: &Node<'_>) -> Result<Option<Vec<u32>>, SearchError> {
    let Some(driver) = filter.conjuncts().filter(|leaf| leaf.ranks.is_some()).min_by_key(|leaf| leaf.count())
    else {
        return Ok(matches!(filter, Node::Nothing).then(Vec::new));
    };
    let count = driver.count().unwrap_or(u64::MAX);
    if count * LIST_SHARE > u64::from(table.row_count()) {
        return Ok(None);
    }
    let order = driver.data.order();
    let mut rows = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    let ranges = driver.ranks.as_deref().unwrap_or_default();
    if !ranges.iter().all(|ranks| order.copy_rows(ranks.clone(), &mut rows)) {
        return Err(driver.damaged().into());
    }
    if !rows.is_sorted() {
        rows.sort_unstable();
    }
    let mut matching = Vec::new();
    for block in rows.chunks(ROWS_PER_BLOCK) {
        let mut block = block.to_vec();
        filter.retain(&mut block)?;
        matching.append(&mut block);
    }
    Ok(Some(matching))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_matches_by_number_from_both_ends(
            rows in prop::collection::btree_set(0u32..30_000, 0..3_000),
            edge in prop::option::of(0u32..30_001),
            skip in 0u64..50,
            max in 0usize..200,
        ) {
            let mut words = vec![0u64; 30_000usize.div_ceil(64)];
            rows.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
            let selection = Selection::from_words(words, 30_000);
            prop_assert_eq!(selection.count(), rows.len() as u64);
            let mut found = Vec::new();
            selection.take_after(edge, skip, max, &mut found);
            let ahead = rows.iter().copied().filter(|row| edge.is_none_or(|edge| *row > edge));
            prop_assert_eq!(&found, &ahead.skip(skip as usize).take(max).collect::<Vec<_>>());
            found.clear();
            selection.take_before(edge, skip, max, &mut found);
            let behind = rows.iter().rev().copied().filter(|row| edge.is_none_or(|edge| *row < edge));
            prop_assert_eq!(found, behind.skip(skip as usize).take(max).collect::<Vec<_>>());
        }
    }

    #[test]
    fn packs_bits_in_place() {
        for bit in 0..64 {
            let mut marks = [0u8; 64];
            marks[bit] = 1;
            assert_eq!(pack(&marks), 1 << bit);
        }
        assert_eq!(pack(&[1; 13]), 0x1FFF);
    }
}
