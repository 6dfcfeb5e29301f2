//! Puts rows into groups. While the codes of all keys together are few, they are the number of a group; otherwise a hash
//! table gives the number. Rows are read in file order, in parts that do not depend on threads.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::groups::block::{BLOCK_ROWS, Block};
use crate::groups::coded::{Code, Coded};
use crate::groups::group_plan::GroupPlan;
use crate::groups::measure::{Buffers, Measure, State, add_counts, bump};
use crate::groups::{GROUP_MEMORY_BYTES_MAX, GROUPS_MAX, GroupError};
use crate::scan::helpers::evaluate_parts;
use crate::scan::selection::Selection;
use crate::work_limit::WorkLimit;

/// Combinations of codes up to which each has a number of its own; where rows are many, up to the second.
const NUMBERED_MAX: u64 = 1 << 16;
const NUMBERED_OF_MANY_ROWS_MAX: u64 = 1 << 18;
/// Rows whose groups are measured apart from those of other parts, and rows a group of them, at least.
const PART_ROWS_MIN: u32 = 1 << 17;
const PART_ROWS_PER_GROUP: u32 = 8;
/// Memory of parts that are measured at one time.
const PARTS_BYTES_MAX: usize = 64 << 20;
/// Estimated memory of a group in the hash table.
const HASHED_GROUP_BYTES: usize = 96;

/// The rows of a group query.
pub(super) struct Rows<'s> {
    pub(super) count: u32,
    /// The rows that match the filter; nothing for all.
    pub(super) selection: Option<&'s Selection>,
}

/// All groups: for each its number in the states, in the order of the keys.
#[derive(Debug)]
pub(super) struct Found {
    /// Numbers of groups in the order of the keys.
    pub(super) groups: Vec<u32>,
    /// Rows of each group, by its number.
    pub(super) counts: Vec<u64>,
    pub(super) states: Vec<State>,
    pub(super) codes: GroupCodes,
}

/// The codes of the keys of each group.
#[derive(Debug)]
pub(super) enum GroupCodes {
    /// The number of a group is made of its codes.
    Numbered,
    /// Words of each group, by its number, and the keys of each word.
    Words { words: Vec<u128>, keys: Vec<usize> },
}

/// Groups all rows, and measures each group.
///
/// # Errors
/// When groups are too many, the file is damaged, or the search is stopped.
pub(super) fn group_rows(
    plan: &GroupPlan<'_>,
    measures: &[Measure<'_>],
    rows: &Rows<'_>,
    work: &dyn WorkLimit,
) -> Result<Found, GroupError> {
    let combinations = plan.keys.iter().map(Coded::domain).fold(1u128, u128::saturating_mul);
    let matches = rows.selection.map_or(rows.count.into(), Selection::count);
    let most = matches.clamp(NUMBERED_MAX, NUMBERED_OF_MANY_ROWS_MAX);
    match usize::try_from(combinations) {
        Ok(groups) if combinations <= most.into() => numbered(plan, measures, rows, groups, work),
        _ => hashed(plan, measures, rows, work),
    }
}

/// The blocks of some rows, in file order.
pub(super) fn each_block(
    rows: &Rows<'_>,
    part: std::ops::Range<u32>,
    work: &dyn WorkLimit,
    mut take: impl FnMut(&Block<'_>) -> Result<(), GroupError>,
) -> Result<(), GroupError> {
    let Some(selection) = rows.selection else {
        let starts = part.clone().step_by(BLOCK_ROWS);
        return starts.into_iter().try_for_each(|start| {
            work.check()?;
            take(&Block::Range { start, count: ((part.end - start) as usize).min(BLOCK_ROWS) })
        });
    };
    let mut after = part.start.checked_sub(1);
    let mut block = Vec::with_capacity(BLOCK_ROWS);
    loop {
        work.check()?;
        block.clear();
        selection.take_after(after, 0, BLOCK_ROWS, &mut block);
        after = block.last().copied();
        block.truncate(block.partition_point(|row| *row < part.end));
        let (Some(_), true) = (block.first(), after.is_some()) else { return Ok(()) };
        take(&Block::Rows(&block))?;
    }
}

/// Rows and measures of the groups of one part.
struct Part {
    counts: Vec<u64>,
    states: Vec<State>,
}

impl Part {
    fn new(measures: &[Measure<'_>], groups: usize) -> Part {
        Part {
            counts: vec![0; groups],
            states: measures.iter().map(|measure| measure.state(groups, true)).collect(),
        }
    }

    fn add(
        &mut self,
        measures: &[Measure<'_>],
        groups: &[u32],
        block: &Block<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), GroupError> {
        groups.iter().for_each(|group| bump(&mut self.counts, *group, 1));
        for (measure, state) in measures.iter().zip(&mut self.states) {
            measure.add(state, groups, block, buffers)?;
        }
        Ok(())
    }

    fn merge(&mut self, measures: &[Measure<'_>], other: Part) {
        add_counts(&mut self.counts, &other.counts);
        for ((measure, state), other) in measures.iter().zip(&mut self.states).zip(other.states) {
            state.merge(measure, other);
        }
    }

    fn memory_bytes(&self) -> usize {
        let states: usize = self.states.iter().map(State::memory_bytes).sum();
        states + self.counts.capacity() * size_of::<u64>()
    }

    fn check_memory(&self, more: usize) -> Result<(), GroupError> {
        if self.memory_bytes().saturating_add(more) > GROUP_MEMORY_BYTES_MAX {
            return Err(GroupError::TooMuchMemory);
        }
        Ok(())
    }
}

fn numbered(
    plan: &GroupPlan<'_>,
    measures: &[Measure<'_>],
    rows: &Rows<'_>,
    groups: usize,
    work: &dyn WorkLimit,
) -> Result<Found, GroupError> {
    let wanted = u32::try_from(groups).unwrap_or(u32::MAX).saturating_mul(PART_ROWS_PER_GROUP);
    let part_rows = PART_ROWS_MIN.max(wanted);
    // The number behind all groups is that of rows that do not match.
    let none = u32::try_from(groups).unwrap_or(u32::MAX);
    let parts = rows.count.div_ceil(part_rows);
    let measure = |part: u32| -> Result<Part, GroupError> {
        let start = part.saturating_mul(part_rows);
        let mut found = Part::new(measures, groups + 1);
        let (mut buffers, mut numbers, mut codes) = (Buffers::default(), Vec::new(), Vec::new());
        let mut masked = Vec::new();
        each_block(rows, start..start.saturating_add(part_rows).min(rows.count), work, |block| {
            let range = block.dense_range().unwrap_or(*block);
            combine(&plan.keys, &range, &mut buffers, &mut numbers, &mut codes)?;
            if let (Block::Range { start, .. }, Block::Rows(wanted)) = (range, block) {
                mask(&numbers, start, wanted, none, &mut masked);
                std::mem::swap(&mut numbers, &mut masked);
            }
            found.add(measures, &numbers, &range, &mut buffers)?;
            found.check_memory(0)
        })?;
        Ok(found)
    };
    let mut all = Part::new(measures, groups + 1);
    let states = all.states.iter().map(|state| state.memory_bytes_after(part_rows as usize));
    let part_bytes = states.sum::<usize>() + all.counts.len() * size_of::<u64>();
    let at_once = (PARTS_BYTES_MAX / part_bytes.max(1)).max(1);
    let mut first = 0;
    while first < parts {
        let count = (parts - first).min(u32::try_from(at_once).unwrap_or(u32::MAX));
        let numbers =
            |number: usize| measure(first.saturating_add(u32::try_from(number).unwrap_or(u32::MAX)));
        for found in evaluate_parts(count as usize, numbers)? {
            all.merge(measures, found);
            all.check_memory(0)?;
        }
        first += count;
    }
    let numbers = (0..none).zip(&all.counts);
    let groups = match plan.keys.is_empty() {
        // Without keys, no rows are a group too.
        true => vec![0],
        false => numbers.filter(|(_, count)| **count > 0).map(|(number, _)| number).collect(),
    };
    Ok(Found { groups, counts: all.counts, states: all.states, codes: GroupCodes::Numbered })
}

/// Replaces `masked` by the numbers of a range of rows, with `none` for rows that are not wanted.
fn mask(numbers: &[u32], start: u32, wanted: &[u32], none: u32, masked: &mut Vec<u32>) {
    masked.clear();
    masked.resize(numbers.len(), none);
    for row in wanted {
        let at = row.wrapping_sub(start) as usize;
        if let (Some(slot), Some(number)) = (masked.get_mut(at), numbers.get(at)) {
            *slot = *number;
        }
    }
}

/// Makes one code of the codes of several keys.
fn combine<C: Code>(
    keys: &[Coded<'_>],
    block: &Block<'_>,
    buffers: &mut Buffers,
    combined: &mut Vec<C>,
    codes: &mut Vec<C>,
) -> Result<(), GroupError> {
    combined.clear();
    combined.resize(block.len(), C::of_u32(0));
    for (number, key) in keys.iter().enumerate() {
        if number == 0 {
            key.read(block, &mut buffers.scratch, combined)?;
            continue;
        }
        key.read(block, &mut buffers.scratch, codes)?;
        let domain = C::of_u128(key.domain());
        combined.iter_mut().zip(codes.iter()).for_each(|(all, code)| *all = all.with(domain, *code));
    }
    Ok(())
}

/// How many keys each word holds, in their order.
fn words_of(keys: &[Coded<'_>]) -> Vec<usize> {
    let mut words: Vec<usize> = Vec::new();
    let mut combinations = u128::MAX;
    for key in keys {
        match (combinations.checked_mul(key.domain()), words.last_mut()) {
            (Some(more), Some(last)) => {
                combinations = more;
                *last += 1;
            }
            _ => {
                combinations = key.domain();
                words.push(1);
            }
        }
    }
    words
}

/// Numbers of groups by their words: each step goes from the number of the words so far and the next word to a number.
#[derive(Default)]
struct Numbers {
    steps: Vec<HashMap<(u32, u128), u32, FixedState>>,
    /// The words of each group.
    words: Vec<u128>,
    groups: u32,
}

impl Numbers {
    /// Replaces `numbers` by the groups of rows, whose words are given column by column.
    fn of(&mut self, columns: &[Vec<u128>], numbers: &mut Vec<u32>) {
        let rows = columns.first().map_or(0, Vec::len);
        numbers.clear();
        numbers.resize(rows, 0);
        let last = columns.len().saturating_sub(1);
        for (step, (words, map)) in columns.iter().zip(&mut self.steps).enumerate() {
            let mut before: Option<((u32, u128), u32)> = None;
            for (row, (number, word)) in numbers.iter_mut().zip(words).enumerate() {
                let key = (*number, *word);
                if let Some((_, same)) = before.filter(|(found, _)| *found == key) {
                    *number = same;
                    continue;
                }
                let next = u32::try_from(map.len()).unwrap_or(u32::MAX);
                let found = *map.entry(key).or_insert(next);
                if found == next && step == last {
                    self.words.extend(columns.iter().filter_map(|words| words.get(row)));
                    self.groups = next.saturating_add(1);
                }
                before = Some((key, found));
                *number = found;
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        let entries: usize = self.steps.iter().map(HashMap::len).sum();
        entries * HASHED_GROUP_BYTES + self.words.capacity() * size_of::<u128>()
    }
}

fn hashed(
    plan: &GroupPlan<'_>,
    measures: &[Measure<'_>],
    rows: &Rows<'_>,
    work: &dyn WorkLimit,
) -> Result<Found, GroupError> {
    let keys = words_of(&plan.keys);
    let mut numbers =
        Numbers { steps: keys.iter().map(|_| HashMap::default()).collect(), ..Numbers::default() };
    let states = measures.iter().map(|measure| measure.state(0, false)).collect();
    let mut all = Part { counts: Vec::new(), states };
    let mut columns: Vec<Vec<u128>> = keys.iter().map(|_| Vec::new()).collect();
    let (mut buffers, mut codes, mut groups) = (Buffers::default(), Vec::new(), Vec::new());
    each_block(rows, 0..rows.count, work, |block| {
        let mut rest = plan.keys.as_slice();
        for (count, column) in keys.iter().zip(&mut columns) {
            let (these, behind) = rest.split_at_checked(*count).unwrap_or((rest, &[]));
            combine(these, block, &mut buffers, column, &mut codes)?;
            rest = behind;
        }
        numbers.of(&columns, &mut groups);
        if numbers.groups > GROUPS_MAX {
            return Err(GroupError::TooManyGroups);
        }
        let found = numbers.groups as usize;
        if found > all.counts.len() {
            all.counts.resize(found, 0);
            measures.iter().zip(&mut all.states).for_each(|(measure, state)| state.grow(measure, found));
        }
        all.add(measures, &groups, block, &mut buffers)?;
        all.check_memory(numbers.memory_bytes())
    })?;
    let (words, width) = (numbers.words, keys.len().max(1));
    let of_group =
        |group: u32| words.get(group as usize * width..(group as usize + 1) * width).unwrap_or_default();
    let mut groups: Vec<u32> = (0..numbers.groups).collect();
    groups.sort_unstable_by(|one, other| of_group(*one).cmp(of_group(*other)));
    Ok(Found { groups, counts: all.counts, states: all.states, codes: GroupCodes::Words { words, keys } })
}

impl Found {
    /// The codes of one key of all groups, in the order of the groups.
    pub(super) fn codes_of(&self, keys: &[Coded<'_>], key: usize) -> Vec<u128> {
        let domain = |number: usize| keys.get(number).map_or(1, Coded::domain).max(1);
        let (width, word, first, end) = match &self.codes {
            GroupCodes::Numbered => (1, 0, 0, keys.len()),
            GroupCodes::Words { keys: counts, .. } => {
                let (mut word, mut first) = (0, 0);
                for count in counts {
                    if key < first + count {
                        break;
                    }
                    first += count;
                    word += 1;
                }
                (counts.len(), word, first, first + counts.get(word).copied().unwrap_or(0))
            }
        };
        let below: u128 = (key + 1..end).map(domain).product();
        let above_first = key > first;
        let code = |combined: u128| {
            let code = combined / below.max(1);
            if above_first { code % domain(key) } else { code }
        };
        let combined = |group: &u32| match &self.codes {
            GroupCodes::Numbered => (*group).into(),
            GroupCodes::Words { words, .. } => {
                words.get(*group as usize * width + word).copied().unwrap_or(0)
            }
        };
        self.groups.iter().map(|group| code(combined(group))).collect()
    }
}
