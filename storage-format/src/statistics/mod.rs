//! Statistics of a column: extremes, sum, quantiles, histogram, most frequent values. They are computed once, when the
//! file is written. FORMAT.md chapter "Statistics" is normative. Holds references to rows, not encoded texts.

use crate::column_record::{ColumnMeta, Storage};
use crate::error::{FormatError, Place, corrupt};
use crate::layout::{put, take, u16_at, u32_at, u64_at};
use crate::order::float_key;
use crate::reader::Table;
use crate::schema::ColumnKind;
use crate::section::SectionKind;

mod collect;
mod fallback;
mod frequent;
mod histogram;

/// The stored quantiles, in percent.
pub const QUANTILES: [u32; 5] = [5, 25, 50, 75, 95];
/// Most bins of a histogram.
pub const BINS_MAX: usize = 20;
/// Most entries of the most frequent values.
pub const FREQUENT_MAX: usize = 20;

const INFINITIES_OFFSET: usize = 0;
const SUMMARISED_OFFSET: usize = INFINITIES_OFFSET + 8;
const SMALLEST_OFFSET: usize = SUMMARISED_OFFSET + 8;
const LARGEST_OFFSET: usize = SMALLEST_OFFSET + 16;
const SUM_OFFSET: usize = LARGEST_OFFSET + 16;
const QUANTILES_OFFSET: usize = SUM_OFFSET + 16;
const FIRST_TEXT_OFFSET: usize = QUANTILES_OFFSET + 16 * QUANTILES.len();
const LAST_TEXT_OFFSET: usize = FIRST_TEXT_OFFSET + 4;
const BINS_OFFSET: usize = LAST_TEXT_OFFSET + 4;
const FREQUENT_OFFSET: usize = BINS_OFFSET + 2;
const FLAGS_OFFSET: usize = FREQUENT_OFFSET + 2;
const FIXED_SIZE: usize = FLAGS_OFFSET + 4;
const EDGE_SIZE: usize = 16;
const COUNT_SIZE: usize = 8;
const FREQUENT_SIZE: usize = 24;

const _: () = assert!(FIXED_SIZE == 160);

const FLAG_SUM: u32 = 1;
const FLAG_QUANTILES: u32 = 2;
const FLAG_FREQUENT: u32 = 4;
const FLAGS_KNOWN: u32 = FLAG_SUM | FLAG_QUANTILES | FLAG_FREQUENT;

/// A number as a column stores it: scaled, in days, in time units; for doubles the 64 bits of the double.
pub type Stored = i128;

/// The statistics of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnStatistics {
    /// Rows with +∞ or −∞.
    pub infinities: u64,
    /// Rows that the summary covers: texts or finite numbers.
    pub summarised: u64,
    /// The summary of numbers, or of the lengths of texts in characters. `None` when no row is covered.
    pub numbers: Option<NumberSummary>,
    /// References to the first and the last text in sort order.
    pub texts: Option<(u32, u32)>,
    /// The most frequent values that occur at least twice, by count, then by value, without NaN and infinities. `None`
    /// when unknown.
    pub frequent: Option<Vec<Frequent>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberSummary {
    pub smallest: Stored,
    pub largest: Stored,
    /// The sum; `None` when it does not fit 128 bits.
    pub sum: Option<Stored>,
    /// The quantiles of [`QUANTILES`]; `None` when unknown.
    pub quantiles: Option<[Stored; QUANTILES.len()]>,
    /// Bounds of the bins, ascending, one more than there are bins. Empty for booleans.
    pub edges: Vec<Stored>,
    /// Count of each bin. A bin includes its lower bound and excludes its upper one, except the last bin.
    pub counts: Vec<u64>,
}

/// A value and its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequent {
    /// The number; for texts a reference: the code in a dictionary, else the first row that holds it.
    pub value: Stored,
    /// Number of rows with this value.
    pub count: u64,
}

impl ColumnStatistics {
    /// Computes the statistics of a column.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when a value points outside its section.
    pub fn of(table: &Table, column: usize) -> Result<ColumnStatistics, FormatError> {
        collect::collect(table, column)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let empty = NumberSummary::EMPTY;
        let numbers = self.numbers.as_ref().unwrap_or(&empty);
        let frequent = self.frequent.as_deref().unwrap_or_default();
        let mut out = vec![0u8; FIXED_SIZE];
        put(&mut out, INFINITIES_OFFSET, &self.infinities.to_le_bytes());
        put(&mut out, SUMMARISED_OFFSET, &self.summarised.to_le_bytes());
        put(&mut out, SMALLEST_OFFSET, &numbers.smallest.to_le_bytes());
        put(&mut out, LARGEST_OFFSET, &numbers.largest.to_le_bytes());
        put(&mut out, SUM_OFFSET, &numbers.sum.unwrap_or(0).to_le_bytes());
        for (number, quantile) in numbers.quantiles.unwrap_or_default().iter().enumerate() {
            put(&mut out, QUANTILES_OFFSET + 16 * number, &quantile.to_le_bytes());
        }
        let (first, last) = self.texts.unwrap_or_default();
        put(&mut out, FIRST_TEXT_OFFSET, &first.to_le_bytes());
        put(&mut out, LAST_TEXT_OFFSET, &last.to_le_bytes());
        put(&mut out, BINS_OFFSET, &short(numbers.counts.len()).to_le_bytes());
        put(&mut out, FREQUENT_OFFSET, &short(frequent.len()).to_le_bytes());
        put(&mut out, FLAGS_OFFSET, &self.flags(numbers).to_le_bytes());
        numbers.edges.iter().for_each(|edge| out.extend_from_slice(&edge.to_le_bytes()));
        numbers.counts.iter().for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
        for value in frequent {
            out.extend_from_slice(&value.value.to_le_bytes());
            out.extend_from_slice(&value.count.to_le_bytes());
        }
        out
    }

    fn flags(&self, numbers: &NumberSummary) -> u32 {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        flag(numbers.sum.is_some(), FLAG_SUM)
            | flag(numbers.quantiles.is_some(), FLAG_QUANTILES)
            | flag(self.frequent.is_some(), FLAG_FREQUENT)
    }

    /// Decodes a section; `None` when [`ColumnStatistics::encode`] could not have encoded it.
    fn decode(bytes: &[u8], text: bool) -> Option<ColumnStatistics> {
        let (bins, frequent) = (u16_at(bytes, BINS_OFFSET) as usize, u16_at(bytes, FREQUENT_OFFSET) as usize);
        let edges = if bins == 0 { 0 } else { bins + 1 };
        let counts_at = FIXED_SIZE + edges * EDGE_SIZE;
        let frequent_at = counts_at + bins * COUNT_SIZE;
        let flags = u32_at(bytes, FLAGS_OFFSET);
        let fits = bins <= BINS_MAX && frequent <= FREQUENT_MAX && flags & !FLAGS_KNOWN == 0;
        if !fits || bytes.len() != frequent_at + frequent * FREQUENT_SIZE {
            return None;
        }
        let stored = |at: usize| take(bytes, at).map_or(0, i128::from_le_bytes);
        let summarised = u64_at(bytes, SUMMARISED_OFFSET);
        let numbers = NumberSummary {
            smallest: stored(SMALLEST_OFFSET),
            largest: stored(LARGEST_OFFSET),
            sum: (flags & FLAG_SUM != 0).then(|| stored(SUM_OFFSET)),
            quantiles: (flags & FLAG_QUANTILES != 0)
                .then(|| [0, 1, 2, 3, 4].map(|number| stored(QUANTILES_OFFSET + 16 * number))),
            edges: (0..edges).map(|edge| stored(FIXED_SIZE + edge * EDGE_SIZE)).collect(),
            counts: (0..bins).map(|bin| u64_at(bytes, counts_at + bin * COUNT_SIZE)).collect(),
        };
        let frequent_value = |number: usize| {
            let at = frequent_at + number * FREQUENT_SIZE;
            Frequent { value: stored(at), count: u64_at(bytes, at + 16) }
        };
        let covers = summarised > 0;
        let statistics = ColumnStatistics {
            infinities: u64_at(bytes, INFINITIES_OFFSET),
            summarised,
            numbers: covers.then_some(numbers),
            texts: (covers && text)
                .then(|| (u32_at(bytes, FIRST_TEXT_OFFSET), u32_at(bytes, LAST_TEXT_OFFSET))),
            frequent: (flags & FLAG_FREQUENT != 0).then(|| (0..frequent).map(frequent_value).collect()),
        };
        // Unused fields are zero, so statistics have only one encoding.
        (statistics.encode() == bytes).then_some(statistics)
    }

    /// The first violated rule.
    fn violated_rule(&self, meta: &ColumnMeta, rows: u32) -> Option<&'static str> {
        let covered = [self.summarised, self.infinities, meta.nan_count, meta.null_count];
        let covered = covered.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        if covered != Some(rows.into()) || (self.infinities > 0 && meta.kind != ColumnKind::Float) {
            return Some("rows covered");
        }
        let text = meta.kind == ColumnKind::Text;
        let references = if meta.storage == Storage::Dictionary { meta.entries } else { rows };
        if self.texts.is_some_and(|(first, last)| first.max(last) >= references) {
            return Some("reference to a text");
        }
        let order =
            Order { kind: if text { ColumnKind::Integer } else { meta.kind }, wide: meta.number_width == 16 };
        let numbers = self.numbers.as_ref().and_then(|numbers| numbers.violated_rule(order, self.summarised));
        let values = self.frequent.iter().flatten();
        let known = |value: &Frequent| {
            if text { (0..i128::from(references)).contains(&value.value) } else { order.has(value.value) }
        };
        let mut most = u64::MAX;
        let mut counts_fall =
            |value: &Frequent| std::mem::replace(&mut most, value.count) >= value.count && value.count > 1;
        numbers.or_else(|| {
            let holds = values.clone().all(|value| known(value) && counts_fall(value));
            let sum = values.map(|value| value.count).try_fold(0u64, u64::checked_add);
            let fits = holds && sum.is_some_and(|sum| sum <= self.summarised);
            (!fits).then_some("most frequent values")
        })
    }
}

impl NumberSummary {
    const EMPTY: NumberSummary = NumberSummary {
        smallest: 0,
        largest: 0,
        sum: None,
        quantiles: None,
        edges: Vec::new(),
        counts: Vec::new(),
    };

    fn violated_rule(&self, order: Order, summarised: u64) -> Option<&'static str> {
        let quantiles = self.quantiles.iter().flatten();
        let in_order: Vec<Stored> =
            [&self.smallest].into_iter().chain(quantiles).chain([&self.largest]).copied().collect();
        let all = in_order.iter().chain(&self.edges);
        if !all.clone().all(|number| order.has(*number)) {
            return Some("numbers of the column's kind");
        }
        let ascend = |pair: &[Stored]| matches!(pair, [a, b] if order.key(*a) <= order.key(*b));
        if !in_order.windows(2).all(ascend) || !self.edges.windows(2).all(ascend) {
            return Some("order of numbers");
        }
        let inside = self.counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        (!self.counts.is_empty() && inside != Some(summarised)).then_some("counts of the bins")
    }
}

/// Compares stored numbers of a column.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    kind: ColumnKind,
    wide: bool,
}

impl Order {
    fn has(self, number: Stored) -> bool {
        match self.kind {
            ColumnKind::Float => float_of(number).is_some_and(f64::is_finite),
            _ => self.wide || i64::try_from(number).is_ok(),
        }
    }

    fn key(self, number: Stored) -> i128 {
        match self.kind {
            ColumnKind::Float => float_of(number).map_or(i128::MAX, |number| float_key(number).into()),
            _ => number,
        }
    }
}

/// The double of a stored number; `None` when it has more than 64 bits.
#[must_use]
pub fn float_of(number: Stored) -> Option<f64> {
    u64::try_from(number).ok().map(f64::from_bits)
}

/// A double as a stored number.
#[must_use]
pub fn stored_float(value: f64) -> Stored {
    value.to_bits().into()
}

fn short(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

impl Table {
    /// The statistics of a column, if the file has them.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when they violate a rule of FORMAT.md. Only [`Table::verify`] compares them with the
    /// values.
    pub fn statistics(&self, column: usize) -> Result<Option<ColumnStatistics>, FormatError> {
        let number = u32::try_from(column).unwrap_or(u32::MAX);
        let place = Place::Column(SectionKind::Statistics, number);
        let found = self.columns().get(column).zip(self.column_section(column, SectionKind::Statistics));
        let Some((meta, record)) = found else { return Ok(None) };
        let bytes = self.section(record, 0).unwrap_or_default();
        let statistics = ColumnStatistics::decode(bytes, meta.kind == ColumnKind::Text)
            .ok_or_else(|| corrupt(place, "form of the section", FIXED_SIZE as u64, bytes.len() as u64))?;
        match statistics.violated_rule(meta, self.row_count()) {
            Some(rule) => Err(corrupt(place, rule, 0, 1)),
            None => Ok(Some(statistics)),
        }
    }

    /// Compares the stored statistics with the values.
    pub(crate) fn verify_statistics(&self, column: usize) -> Result<(), FormatError> {
        let Some(found) = self.statistics(column)? else { return Ok(()) };
        if found == ColumnStatistics::of(self, column)? {
            return Ok(());
        }
        let number = u32::try_from(column).unwrap_or(u32::MAX);
        Err(corrupt(Place::Column(SectionKind::Statistics, number), "differs from the values", 0, 1))
    }
}
