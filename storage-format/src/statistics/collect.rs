//! Computes the statistics of a column: from the runs of a dictionary, or from the values of other storages.

use std::collections::BTreeMap;

use super::histogram::{Sum, bin_of, edges, quantile_rank, summarise};
use super::{ColumnStatistics, NumberSummary, QUANTILES, Stored, frequent, stored_float};
use crate::column::{ColumnData, Dictionary, Numbers, Texts, ZONE_ROWS};
use crate::error::FormatError;
use crate::order::{float_key, integer_key, wide_key};
use crate::reader::Table;
use crate::schema::ColumnKind;
use crate::statistics::frequent::MostFrequent;
use crate::text::json_string_text;

/// Lengths of texts that are counted in a table; longer ones are few and counted in a tree.
const SHORT_LENGTHS: usize = 4_096;
/// Range of integers that are counted in a table of four bytes each.
const TABLE_RANGE_MAX: Stored = 1 << 20;

pub(super) fn collect(table: &Table, column: usize) -> Result<ColumnStatistics, FormatError> {
    let kind = table.columns().get(column).map_or(ColumnKind::Text, |meta| meta.kind);
    let collected = match table.column(column)? {
        ColumnData::Dictionary(data) if kind == ColumnKind::Text => of_text_dictionary(&data),
        ColumnData::Dictionary(data) => of_number_dictionary(&data, kind),
        ColumnData::Numbers(data) => of_numbers(&data, kind),
        ColumnData::Texts(data) => of_texts(&data, table.row_count()),
    };
    collected.ok_or_else(|| table.damaged(column))
}

fn of_number_dictionary(data: &Dictionary<'_>, kind: ColumnKind) -> Option<ColumnStatistics> {
    let float = kind == ColumnKind::Float;
    let (mut pairs, mut longest, mut infinities) = (Vec::new(), MostFrequent::default(), 0);
    for code in 0..data.entries {
        let count = u64::from(run_length(data, code)?);
        let number = if float {
            let value = data.float(code)?;
            infinities += if value.is_infinite() { count } else { 0 };
            if !value.is_finite() {
                continue;
            }
            stored_float(value)
        } else {
            data.integer(code)?
        };
        pairs.push((number, count));
        longest.offer(count, || Some(number));
    }
    let mut numbers = summarise(pairs.iter().copied(), float, ceiling(data.value_width));
    if let Some(numbers) = numbers.as_mut().filter(|_| kind == ColumnKind::Boolean) {
        (numbers.edges, numbers.counts) = (Vec::new(), Vec::new());
    }
    let summarised = pairs.iter().map(|(_, count)| count).sum();
    Some(ColumnStatistics { infinities, summarised, numbers, texts: None, frequent: Some(longest.finish()) })
}

fn of_text_dictionary(data: &Dictionary<'_>) -> Option<ColumnStatistics> {
    let (mut lengths, mut longest) = (Lengths::default(), MostFrequent::default());
    for code in 0..data.entries {
        let count = u64::from(run_length(data, code)?);
        lengths.add(characters(data.json.get(code)?)?, count);
        longest.offer(count, || Some(code.into()));
    }
    let texts = data.entries.checked_sub(1).map(|last| (0, last));
    Some(lengths.statistics(texts, Some(longest.finish())))
}

fn run_length(data: &Dictionary<'_>, code: u32) -> Option<u32> {
    data.first_rank(code + 1)?.checked_sub(data.first_rank(code)?)
}

fn of_texts(data: &Texts<'_>, rows: u32) -> Option<ColumnStatistics> {
    let mut lengths = Lengths::default();
    let mut unsorted: Option<(u32, u32)> = None;
    let known = data.order().is_known();
    let mut reader = data.reader();
    for row in 0..rows {
        let Some(text) = reader.text(row)? else { continue };
        lengths.add(characters_of(&text), 1);
        if !known {
            unsorted = Some(wider(data, unsorted, row)?);
        }
    }
    let texts = if known { sorted_extremes(data)? } else { unsorted };
    Some(lengths.statistics(texts, frequent::of_texts(data)?))
}

/// The first rows of the first and the last run; `None` without values or without an order.
pub(super) fn sorted_extremes(data: &Texts<'_>) -> Option<Option<(u32, u32)>> {
    if !data.order().is_known() {
        return Some(None);
    }
    let Some(last) = data.valid_ranks().checked_sub(1) else { return Some(None) };
    let order = data.order();
    let begin = data.ranks?.get(order.row_at(last)? as usize)?;
    Some(Some((order.row_at(0)?, order.row_at(begin)?)))
}

fn wider(data: &Texts<'_>, extremes: Option<(u32, u32)>, row: u32) -> Option<(u32, u32)> {
    let Some((first, last)) = extremes else { return Some((row, row)) };
    let (mut one, mut other) = (data.reader(), data.reader());
    let found = one.text(row)?;
    let first = if found < other.text(first)? { row } else { first };
    Some((first, if found > other.text(last)? { row } else { last }))
}

/// Characters of the text of a JSON string.
fn characters(json: &[u8]) -> Option<u64> {
    json_string_text(json).map(|text| characters_of(&text))
}

fn characters_of(text: &[u8]) -> u64 {
    // Continuation bytes look like 10xxxxxx. Counting bytes lets the loop be vectorised.
    let continued: usize = text
        .chunks(usize::from(u8::MAX))
        .map(|part| usize::from(part.iter().fold(0u8, |sum, byte| sum + u8::from(byte & 0xC0 == 0x80))))
        .sum();
    (text.len() - continued) as u64
}

/// The number of texts by length.
struct Lengths {
    short: Vec<u64>,
    long: BTreeMap<u64, u64>,
    texts: u64,
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths { short: vec![0; SHORT_LENGTHS], long: BTreeMap::new(), texts: 0 }
    }
}

impl Lengths {
    fn add(&mut self, length: u64, count: u64) {
        self.texts += count;
        match self.short.get_mut(length as usize) {
            Some(slot) => *slot += count,
            None => *self.long.entry(length).or_insert(0) += count,
        }
    }

    fn statistics(
        self,
        texts: Option<(u32, u32)>,
        frequent: Option<Vec<super::Frequent>>,
    ) -> ColumnStatistics {
        let short = (0i128..).zip(self.short.iter().copied()).filter(|(_, count)| *count > 0);
        let long = self.long.iter().map(|(length, count)| (Stored::from(*length), *count));
        let numbers = summarise(short.chain(long), false, ceiling(8));
        ColumnStatistics { infinities: 0, summarised: self.texts, numbers, texts, frequent }
    }
}

/// The largest stored number of a width.
fn ceiling(width: u8) -> Stored {
    if width == 16 { i128::MAX } else { i64::MAX.into() }
}

/// The results of one pass over the values.
struct Pass {
    smallest: Stored,
    largest: Stored,
    finite: u64,
    infinities: u64,
    sum: Sum,
}

fn of_numbers(data: &Numbers<'_>, kind: ColumnKind) -> Option<ColumnStatistics> {
    let float = kind == ColumnKind::Float;
    let mut pass =
        Pass { smallest: i128::MAX, largest: i128::MIN, finite: 0, infinities: 0, sum: Sum::default() };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    each_number(data, |number| {
        if !float {
            pass.smallest = pass.smallest.min(number);
            pass.largest = pass.largest.max(number);
            pass.finite += 1;
            return pass.sum.add_integer(number, 1);
        }
        let value = super::float_of(number).unwrap_or(f64::NAN);
        if value.is_finite() {
            (low, high) = (low.min(value), high.max(value));
            pass.finite += 1;
            pass.sum.add_float(value);
        }
        pass.infinities += u64::from(value.is_infinite());
    })?;
    if float {
        // Both zeros are one number, encoded without a sign.
        (pass.smallest, pass.largest) = (stored_float(low + 0.0), stored_float(high + 0.0));
    }
    let (finite, infinities) = (pass.finite, pass.infinities);
    let narrow = |number: Stored| i64::try_from(number).ok().map(i128::from);
    let range = narrow(pass.smallest).zip(narrow(pass.largest));
    let numbers = if finite == 0 { None } else { Some(number_summary(data, pass, float)?) };
    let frequent = match range.filter(|_| !float && data.order().is_known()) {
        Some(range) if range.1 - range.0 < TABLE_RANGE_MAX => Some(frequent_in_table(data, range)?),
        _ => frequent::of_numbers(data)?,
    };
    Some(ColumnStatistics { infinities, summarised: finite, numbers, texts: None, frequent })
}

/// Counts integers of a small range in a table, which is faster than a walk in sort order.
fn frequent_in_table(
    data: &Numbers<'_>,
    (smallest, largest): (Stored, Stored),
) -> Option<Vec<super::Frequent>> {
    let mut counts = vec![0u32; usize::try_from(largest - smallest).ok()? + 1];
    each_number(data, |number| {
        if let Some(count) = usize::try_from(number - smallest).ok().and_then(|at| counts.get_mut(at)) {
            *count += 1;
        }
    })?;
    let mut longest = MostFrequent::default();
    for (number, count) in (smallest..).zip(&counts) {
        longest.offer((*count).into(), || Some(number));
    }
    Some(longest.finish())
}

/// Calls `take` with every number; `None` when the file is damaged.
fn each_number(data: &Numbers<'_>, mut take: impl FnMut(Stored)) -> Option<()> {
    let rows = data.values.len();
    if data.width == 16 {
        return (0..rows).try_for_each(|row| {
            let number = data.values.get_wide(row)?;
            if data.is_valid(u32::try_from(row).ok()?) {
                take(number);
            }
            Some(())
        });
    }
    let stored = |number: i64| {
        if data.is_float() { Stored::from(number.cast_unsigned()) } else { Stored::from(number) }
    };
    let mut block = Vec::with_capacity(ZONE_ROWS);
    for start in (0..rows).step_by(ZONE_ROWS) {
        block.clear();
        if !data.values.copy_range(start, ZONE_ROWS.min(rows - start), &mut block) {
            return None;
        }
        if data.validity().is_none() {
            block.iter().for_each(|number| take(stored(*number)));
            continue;
        }
        for (row, number) in (u32::try_from(start).ok()?..).zip(&block) {
            if data.is_valid(row) {
                take(stored(*number));
            }
        }
    }
    Some(())
}

fn number_summary(data: &Numbers<'_>, pass: Pass, float: bool) -> Option<NumberSummary> {
    let edges = edges(pass.smallest, pass.largest, float, ceiling(data.width));
    let mut counts = vec![0u64; edges.len().saturating_sub(1)];
    let mut quantiles = None;
    if data.order().is_known() {
        let first = if float { data.lower_bound(float_key(f64::MIN).into(), 0)? } else { 0 };
        quantiles = Some(sorted_quantiles(data, first, pass.finite)?);
        let below = |edge: &Stored| data.lower_bound(order_key(data, *edge), 0);
        let inner = edges.get(1..edges.len().saturating_sub(1)).unwrap_or_default();
        let mut from = first;
        let end = first.checked_add(u32::try_from(pass.finite).ok()?)?;
        let ends = inner.iter().map(below).chain([Some(end)]);
        for (count, to) in counts.iter_mut().zip(ends) {
            *count = to?.checked_sub(from)?.into();
            from = to?;
        }
    } else {
        each_number(data, |number| {
            let finite = !float || super::float_of(number).is_some_and(f64::is_finite);
            if let Some(count) = counts.get_mut(bin_of(&edges, number, float)).filter(|_| finite) {
                *count += 1;
            }
        })?;
    }
    let Pass { smallest, largest, sum, .. } = pass;
    Some(NumberSummary { smallest, largest, sum: sum.finish(float), quantiles, edges, counts })
}

fn sorted_quantiles(data: &Numbers<'_>, first: u32, count: u64) -> Option<[Stored; QUANTILES.len()]> {
    let at = |hundredths: u32| {
        let rank = first.checked_add(u32::try_from(quantile_rank(count, hundredths)).ok()?)?;
        let row = data.order().row_at(rank)? as usize;
        if data.width == 16 {
            return data.values.get_wide(row);
        }
        let number = data.values.get(row)?;
        Some(if data.is_float() {
            stored_float(f64::from_bits(number.cast_unsigned()) + 0.0)
        } else {
            number.into()
        })
    };
    let [a, b, c, d, e] = QUANTILES;
    Some([at(a)?, at(b)?, at(c)?, at(d)?, at(e)?])
}

fn order_key(data: &Numbers<'_>, number: Stored) -> u128 {
    if data.width == 16 {
        return wide_key(number);
    }
    if data.is_float() {
        return super::float_of(number).map_or(u128::MAX, |value| float_key(value).into());
    }
    integer_key(i64::try_from(number).unwrap_or(i64::MAX)).into()
}
