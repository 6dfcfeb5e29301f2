//! What is measured of each group while its rows go by, and the states of all groups. States of parts of the rows are
//! merged in the order of the rows.

use mercato_format::{ColumnData, ColumnKind, FormatError, Table};

use crate::groups::block::Block;
use crate::groups::coded::{Coded, Scratch};
use crate::groups::float_sum::FloatSum;
use crate::groups::value_counts::ValueCounts;

/// A measure of a column.
#[derive(Debug)]
pub(super) enum Measure<'t> {
    /// Rows with a value.
    Present(Source<'t>),
    /// Sum of exact numbers, and how many.
    Sum(Source<'t>),
    /// Sum of doubles, and how many.
    FloatSum(Source<'t>),
    /// The smallest code.
    Smallest(Coded<'t>),
    /// The largest code.
    Largest(Coded<'t>),
    /// How often each value occurs.
    Values(Coded<'t>),
}

/// A column whose numbers are read.
#[derive(Debug)]
pub(super) struct Source<'t> {
    table: &'t Table,
    column: usize,
    data: ColumnData<'t>,
    has_nulls: bool,
    /// The numbers of a dictionary's entries, or the bits of its doubles.
    entries: Entries,
}

#[derive(Debug)]
enum Entries {
    None,
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

/// The states of all groups, by their numbers.
#[derive(Debug)]
pub(super) enum State {
    Counts(Vec<u64>),
    Sums {
        /// Sums modulo 2¹²⁸, and how often they went beyond.
        sums: Vec<i128>,
        wraps: Vec<i32>,
        /// Numbers of values; nothing for a column without nulls, which has one in each row.
        counts: Vec<u64>,
    },
    FloatSums {
        sums: Vec<FloatSum>,
        counts: Vec<u64>,
    },
    /// For the smallest code, `u128::MAX` is none. For the largest, 0 is none and all codes are one higher.
    Codes(Vec<u128>),
    Values(ValueCounts),
}

/// Buffers of measuring.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) scratch: Scratch,
    codes: Vec<u128>,
    valid: Vec<bool>,
}

impl<'t> Source<'t> {
    pub(super) fn new(table: &'t Table, column: usize) -> Result<Source<'t>, FormatError> {
        let data = table.column(column)?;
        let meta = table.columns().get(column);
        let is_float = meta.is_some_and(|meta| meta.kind == ColumnKind::Float);
        let has_nulls = meta.is_some_and(|meta| meta.null_count > 0);
        let entries = match &data {
            ColumnData::Dictionary(dictionary) => {
                let float_bits =
                    |code| dictionary.float(code).map(|value| i128::from(value.to_bits().cast_signed()));
                let number = |code| if is_float { float_bits(code) } else { dictionary.integer(code) };
                let wide: Option<Vec<i128>> = (0..dictionary.entries).map(number).collect();
                // Entries that are texts have no numbers. Then only `count` reads the column, and looks at nulls.
                let wide = wide.unwrap_or_default();
                match wide.iter().map(|value| i64::try_from(*value).ok()).collect() {
                    Some(narrow) => Entries::Narrow(narrow),
                    None => Entries::Wide(wide),
                }
            }
            _ => Entries::None,
        };
        Ok(Source { table, column, data, has_nulls, entries })
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn data(&self) -> &ColumnData<'t> {
        &self.data
    }

    pub(super) fn damaged(&self) -> FormatError {
        self.table.damaged(self.column)
    }

    /// The number of a dictionary's entry.
    pub(super) fn entry(&self, code: u32) -> Option<i128> {
        match &self.entries {
            Entries::None => None,
            Entries::Narrow(entries) => entries.get(code as usize).map(|value| i128::from(*value)),
            Entries::Wide(entries) => entries.get(code as usize).copied(),
        }
    }

    /// Whether numbers are read with 128 bits.
    fn is_wide(&self) -> bool {
        match (&self.entries, &self.data) {
            (Entries::Wide(_), _) => true,
            (_, ColumnData::Numbers(column)) => column.width == 16,
            _ => false,
        }
    }

    /// Reads which of the rows have a value; nothing means all. Leaves the codes of a dictionary behind.
    fn read_validity(&self, block: &Block<'_>, codes: &mut Vec<u32>, valid: &mut Vec<bool>) -> Option<()> {
        valid.clear();
        if let ColumnData::Dictionary(column) = &self.data {
            block.codes(&column.codes, codes)?;
        }
        match &self.data {
            _ if !self.has_nulls => (),
            ColumnData::Dictionary(column) => valid.extend(codes.iter().map(|code| *code != column.entries)),
            ColumnData::Numbers(column) => valid.extend(block.rows().map(|row| column.is_valid(row))),
            ColumnData::Texts(column) => {
                let mut reader = column.reader();
                for row in block.rows() {
                    valid.push(!reader.is_null(row)?);
                }
            }
        }
        Some(())
    }

    /// Reads the numbers of rows, narrow or wide, and which of them are there; empty validity means all.
    fn read(&self, block: &Block<'_>, buffers: &mut Buffers) -> Option<()> {
        let Buffers { scratch: Scratch { codes, numbers, wide }, valid, .. } = buffers;
        self.read_validity(block, codes, valid)?;
        match (&self.data, &self.entries) {
            (ColumnData::Dictionary(_), Entries::Narrow(entries)) => {
                numbers.clear();
                numbers.extend(codes.iter().map(|code| entries.get(*code as usize).copied().unwrap_or(0)));
            }
            (ColumnData::Dictionary(_), Entries::Wide(entries)) => {
                wide.clear();
                wide.extend(codes.iter().map(|code| entries.get(*code as usize).copied().unwrap_or(0)));
            }
            (ColumnData::Numbers(column), _) if column.width == 16 => {
                block.wide_numbers(&column.values, wide)?
            }
            (ColumnData::Numbers(column), _) => block.numbers(&column.values, numbers)?,
            _ => return None,
        }
        Some(())
    }
}

impl Measure<'_> {
    /// The states of so many groups; `are_known` when there will be no more.
    pub(super) fn state(&self, groups: usize, are_known: bool) -> State {
        match self {
            Measure::Present(_) => State::Counts(vec![0; groups]),
            Measure::Sum(_) => State::Sums {
                sums: vec![0; groups],
                wraps: vec![0; groups],
                counts: vec![0; self.counters(groups)],
            },
            Measure::FloatSum(_) => State::FloatSums {
                sums: vec![FloatSum::default(); groups],
                counts: vec![0; self.counters(groups)],
            },
            Measure::Smallest(_) => State::Codes(vec![u128::MAX; groups]),
            Measure::Largest(_) => State::Codes(vec![0; groups]),
            Measure::Values(coded) => {
                State::Values(ValueCounts::new(are_known.then_some(groups), coded.domain()))
            }
        }
    }

    /// Counters of values for so many groups.
    fn counters(&self, groups: usize) -> usize {
        match self {
            Measure::Sum(source) | Measure::FloatSum(source) if source.has_nulls => groups,
            _ => 0,
        }
    }

    /// Adds a block of rows, whose groups are given.
    ///
    /// # Errors
    /// When the file is damaged.
    pub(super) fn add(
        &self,
        state: &mut State,
        groups: &[u32],
        block: &Block<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), FormatError> {
        match (self, state) {
            (Measure::Present(source), State::Counts(counts)) => {
                let Buffers { scratch, valid, .. } = buffers;
                let read = source.read_validity(block, &mut scratch.codes, valid);
                read.ok_or_else(|| source.damaged())?;
                each(groups, valid, groups, |group, _| bump(counts, group, 1));
            }
            (Measure::Sum(source), State::Sums { sums, wraps, counts }) => {
                source.read(block, buffers).ok_or_else(|| source.damaged())?;
                let Buffers { scratch, valid, .. } = buffers;
                if source.is_wide() {
                    each(groups, valid, &scratch.wide, |group, value| add_wide(sums, wraps, group, value));
                } else {
                    each(groups, valid, &scratch.numbers, |group, value| {
                        // At most 2³² numbers of 64 bits: no sum goes beyond 96 bits.
                        if let Some(sum) = sums.get_mut(group as usize) {
                            *sum = sum.wrapping_add(value.into());
                        }
                    });
                }
                if source.has_nulls {
                    each(groups, valid, groups, |group, _| bump(counts, group, 1));
                }
            }
            (Measure::FloatSum(source), State::FloatSums { sums, counts }) => {
                source.read(block, buffers).ok_or_else(|| source.damaged())?;
                let Buffers { scratch, valid, .. } = buffers;
                each(groups, valid, &scratch.numbers, |group, bits| {
                    if let Some(sum) = sums.get_mut(group as usize) {
                        sum.add(f64::from_bits(bits.cast_unsigned()));
                    }
                });
                if source.has_nulls {
                    each(groups, valid, groups, |group, _| bump(counts, group, 1));
                }
            }
            (Measure::Smallest(coded) | Measure::Largest(coded) | Measure::Values(coded), state) => {
                coded.read(block, &mut buffers.scratch, &mut buffers.codes)?;
                let null = coded.null_code();
                for (group, code) in groups.iter().zip(&buffers.codes) {
                    if *code != null {
                        self.add_code(state, *group, *code, 1);
                    }
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// Adds a value of a group, which occurs so often.
    #[inline]
    pub(super) fn add_code(&self, state: &mut State, group: u32, code: u128, count: u32) {
        match (self, state) {
            (Measure::Smallest(_), State::Codes(codes)) => {
                if let Some(slot) = codes.get_mut(group as usize) {
                    *slot = code.min(*slot);
                }
            }
            (Measure::Largest(_), State::Codes(codes)) => {
                if let Some(slot) = codes.get_mut(group as usize) {
                    *slot = code.saturating_add(1).max(*slot);
                }
            }
            (_, State::Values(values)) => values.add(group, code, count),
            _ => (),
        }
    }
}

impl State {
    /// Makes room for groups that were found since.
    pub(super) fn grow(&mut self, measure: &Measure<'_>, groups: usize) {
        match self {
            State::Counts(counts) => counts.resize(groups, 0),
            State::Sums { sums, wraps, counts } => {
                sums.resize(groups, 0);
                wraps.resize(groups, 0);
                counts.resize(measure.counters(groups), 0);
            }
            State::FloatSums { sums, counts } => {
                sums.resize(groups, FloatSum::default());
                counts.resize(measure.counters(groups), 0);
            }
            State::Codes(codes) => {
                codes.resize(groups, if matches!(measure, Measure::Smallest(_)) { u128::MAX } else { 0 });
            }
            State::Values(_) => (),
        }
    }

    /// Adds the states of later rows of the same groups.
    pub(super) fn merge(&mut self, measure: &Measure<'_>, other: State) {
        match (self, other) {
            (State::Counts(counts), State::Counts(others)) => add_counts(counts, &others),
            (
                State::Sums { sums, wraps, counts },
                State::Sums { sums: more, wraps: more_wraps, counts: others },
            ) => {
                for (group, value) in (0..).zip(more) {
                    add_wide(sums, wraps, group, value);
                }
                wraps
                    .iter_mut()
                    .zip(more_wraps)
                    .for_each(|(wraps, more)| *wraps = wraps.saturating_add(more));
                add_counts(counts, &others);
            }
            (State::FloatSums { sums, counts }, State::FloatSums { sums: more, counts: others }) => {
                sums.iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
                add_counts(counts, &others);
            }
            (State::Codes(codes), State::Codes(others)) => {
                let is_smallest = matches!(measure, Measure::Smallest(_));
                codes.iter_mut().zip(others).for_each(|(code, other)| {
                    *code = if is_smallest { other.min(*code) } else { other.max(*code) };
                });
            }
            (State::Values(values), State::Values(others)) => values.merge(others),
            _ => (),
        }
    }

    /// Memory after so many more rows of the same groups at most.
    pub(super) fn memory_bytes_after(&self, rows: usize) -> usize {
        match self {
            State::Values(values) => values.memory_bytes_after(rows),
            other => other.memory_bytes(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            State::Counts(counts) => counts.capacity() * size_of::<u64>(),
            State::Sums { sums, .. } => {
                sums.capacity() * (size_of::<i128>() + size_of::<i32>() + size_of::<u64>())
            }
            State::FloatSums { sums, .. } => sums.capacity() * (size_of::<FloatSum>() + size_of::<u64>()),
            State::Codes(codes) => codes.capacity() * size_of::<u128>(),
            State::Values(values) => values.memory_bytes(),
        }
    }
}

/// Calls `add` for each row that has a value; empty validity means all.
#[inline]
fn each<T: Copy>(groups: &[u32], valid: &[bool], values: &[T], mut add: impl FnMut(u32, T)) {
    let rows = groups.iter().zip(values);
    if valid.is_empty() {
        rows.for_each(|(group, value)| add(*group, *value));
    } else {
        rows.zip(valid).filter(|(_, valid)| **valid).for_each(|((group, value), _)| add(*group, *value));
    }
}

#[inline]
pub(super) fn bump(counts: &mut [u64], group: u32, by: u64) {
    if let Some(count) = counts.get_mut(group as usize) {
        *count = count.saturating_add(by);
    }
}

pub(super) fn add_counts(counts: &mut [u64], others: &[u64]) {
    counts.iter_mut().zip(others).for_each(|(count, other)| *count = count.saturating_add(*other));
}

/// Adds to a sum modulo 2¹²⁸ and notes when it goes beyond, so that the order of the additions decides nothing.
#[inline]
pub(super) fn add_wide(sums: &mut [i128], wraps: &mut [i32], group: u32, value: i128) {
    let Some(sum) = sums.get_mut(group as usize) else { return };
    let (next, beyond) = sum.overflowing_add(value);
    *sum = next;
    if beyond && let Some(wraps) = wraps.get_mut(group as usize) {
        *wraps = wraps.saturating_add(if value < 0 { -1 } else { 1 });
    }
}
