//! Builds the posting lists of a dictionary from its codes, in windows of codes, so that memory is bounded for any row
//! count. Verification builds them again.

use std::ops::Range;

use crate::column::ZONE_ROWS;
use crate::column::row_order::{ListForm, WORD_BYTES, encode_counts, encode_rows};
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::writer::segment::{SectionSet, Uints};
use crate::writer::sort::Passes;

/// A dictionary with more entries has a permutation.
const ENTRIES_MAX: u32 = 65_536;
/// So has one with fewer rows for each entry, on average. FORMAT.md section 11.1 has what was measured.
const MEAN_ROWS_MIN: u64 = 64;
/// Counts and rows that a window has room for, whatever the memory.
const WINDOW_ITEMS_MIN: u64 = 65_536;

/// Whether posting lists are the order of choice.
pub(super) fn are_smaller(entries: u32, rows: u32) -> bool {
    entries <= ENTRIES_MAX && u64::from(rows) >= u64::from(entries) * MEAN_ROWS_MIN
}

/// Receives the codes of a zone.
pub(crate) type TakeZone<'a> = dyn FnMut(&[u32]) -> Result<(), FormatError> + 'a;

/// Calls its argument with the codes of each zone.
pub(crate) type ZonesOfCodes<'a> = dyn Fn(&mut TakeZone<'_>) -> Result<(), FormatError> + 'a;

/// Receives a code and its list.
pub(crate) type EmitList<'a> = dyn FnMut(u32, &[u8]) -> Result<(), FormatError> + 'a;

/// Writes the lists. `runs` has the first rank of each code, and the row count at the end.
pub(super) fn write(
    set: &mut SectionSet<'_>,
    codes: &Uints,
    runs: &[u32],
    memory: u64,
) -> Result<(), FormatError> {
    let mut postings = set.spool();
    let (mut starts, mut words) = (Vec::with_capacity(runs.len() * 4), 0u32);
    let zones = |take: &mut TakeZone<'_>| zones_of(codes, take);
    build(runs, memory, &zones, &mut |_, list| {
        starts.extend_from_slice(&words.to_le_bytes());
        words = words.saturating_add(u32::try_from(list.len() / WORD_BYTES).unwrap_or(u32::MAX));
        postings.push(list)
    })?;
    starts.extend_from_slice(&words.to_le_bytes());
    set.add_bytes(SectionKind::PostingStarts, 4, runs.len() as u64, &starts)?;
    set.add(SectionKind::Postings, 0, words.into(), postings);
    Ok(())
}

fn zones_of(codes: &Uints, take: &mut TakeZone<'_>) -> Result<(), FormatError> {
    let mut zone = Vec::with_capacity(ZONE_ROWS);
    codes.read(|code| {
        zone.push(code);
        if zone.len() == ZONE_ROWS {
            take(&zone)?;
            zone.clear();
        }
        Ok(())
    })?;
    if zone.is_empty() { Ok(()) } else { take(&zone) }
}

/// Calls `emit` with each code and its list, in code order. `memory` bounds a window of codes, if more than one.
pub(crate) fn build(
    runs: &[u32],
    memory: u64,
    zones: &ZonesOfCodes<'_>,
    emit: &mut EmitList<'_>,
) -> Result<(), FormatError> {
    let mut passes = Passes::new();
    let mut list = Vec::new();
    let mut first = 0;
    while first + 1 < runs.len() {
        passes.spend()?;
        let mut window = Window::from(runs, first, (memory / 4).max(WINDOW_ITEMS_MIN));
        window.fill(zones)?;
        for slot in &window.slots {
            list.clear();
            match (slot.form, window.items.get(slot.items.clone()).unwrap_or_default()) {
                (ListForm::Counts { .. }, counts) => encode_counts(counts, &mut list),
                (form, rows) => encode_rows(&form, rows, &mut list),
            }
            emit(slot.code, &list)?;
        }
        first += window.slots.len();
    }
    Ok(())
}

/// Consecutive codes whose lists are built in one pass over the codes of all rows.
struct Window {
    slots: Vec<Slot>,
    /// For each slot, its rows in every zone, or its rows.
    items: Vec<u32>,
}

struct Slot {
    code: u32,
    form: ListForm,
    items: Range<usize>,
    /// The next free item of a list of rows.
    next: usize,
}

impl Window {
    /// From code `first` on, with room for `items_max` items, at least one code.
    fn from(runs: &[u32], first: usize, items_max: u64) -> Window {
        let rows = runs.last().copied().unwrap_or(0);
        let (mut slots, mut end) = (Vec::new(), 0usize);
        for (code, run) in (0u32..).zip(runs.windows(2)).skip(first) {
            let [start, stop] = run else { break };
            let count = stop.saturating_sub(*start);
            let form = ListForm::of(count, rows);
            let items = if let ListForm::Counts { zones } = form { zones } else { count } as usize;
            if end > 0 && (end + items) as u64 > items_max {
                break;
            }
            slots.push(Slot { code, form, items: end..end + items, next: end });
            end += items;
        }
        Window { slots, items: vec![0; end] }
    }

    fn fill(&mut self, zones: &ZonesOfCodes<'_>) -> Result<(), FormatError> {
        let first = self.slots.first().map_or(0, |slot| slot.code);
        let (mut zone, mut row) = (0usize, 0u32);
        zones(&mut |codes| {
            for code in codes {
                let number = code.wrapping_sub(first) as usize;
                if let Some(slot) = self.slots.get_mut(number) {
                    let counted = matches!(slot.form, ListForm::Counts { .. });
                    let at = if counted { slot.items.start + zone } else { slot.next };
                    if let Some(item) = self.items.get_mut(at) {
                        *item = if counted { *item + 1 } else { row };
                    }
                    slot.next += 1;
                }
                row += 1;
            }
            zone += 1;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_give_the_same_lists() {
        let code = |row: u32| if row.is_multiple_of(3) { 200 } else { row.wrapping_mul(0x9E37_79B9) >> 24 };
        let codes: Vec<u32> = (0..40_000).map(code).collect();
        let mut counts = vec![0u32; 257];
        codes.iter().for_each(|code| counts[*code as usize + 1] += 1);
        let runs: Vec<u32> = counts
            .iter()
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect();
        let zones = |take: &mut TakeZone<'_>| codes.chunks(ZONE_ROWS).try_for_each(take);
        let lists = |items_max: u64| {
            let mut lists = Vec::new();
            let mut first = 0;
            while first < 256 {
                let mut window = Window::from(&runs, first, items_max);
                window.fill(&zones).unwrap();
                lists.extend(window.slots.iter().map(|slot| window.items[slot.items.clone()].to_vec()));
                first += window.slots.len();
            }
            lists
        };
        let whole = lists(u64::MAX);
        assert_eq!(whole.len(), 256);
        assert!(whole.iter().any(|list| list.len() == 5) && whole.iter().any(|list| list.len() > 100));
        assert_eq!(lists(1), whole);
        assert_eq!(lists(3_000), whole);
    }
}
