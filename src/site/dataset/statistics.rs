//! The statistics of a column as its page shows them, out of the JSON that `/stats` serves.
//!
//! Computes nothing but shares of whole numbers: every figure was counted when the store file was made.

use std::ops::RangeInclusive;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::site::numbers::Numbers;
use crate::site::plots::{Bin, Histogram, Tenths};
use crate::site::words::fill;
use mercato_catalog::{ColumnKind, FormatError, LogicalType, Table};
use mercato_query::render::write_column_statistics;

use super::DatasetWords;
use super::values::Value;

/// Characters of a text value that are shown.
const VALUE_CHARACTERS_MAX: usize = 60;
/// Frequent values that are shown beside a histogram.
const BESIDE_HISTOGRAM_MAX: usize = 5;
/// Frequent values are shown beside a histogram where the first of them is at least this part of the rows: a hundredth.
const BESIDE_HISTOGRAM_PART: u64 = 100;
/// Significant digits of a mean, which is a rounded figure in any case.
const MEAN_DIGITS: usize = 6;
/// Means that are written without an exponent.
const PLAIN_MEANS: RangeInclusive<f64> = 0.001..=1e15;
/// Length of the bar of a share, in tenths of a unit.
const BAR_LENGTH: u32 = 1000;

/// The statistics of a column in `/stats`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures<'a> {
    complete: bool,
    nulls: u64,
    nans: u64,
    infinities: Option<u64>,
    distinct: Option<u64>,
    #[serde(borrow)]
    min: Option<&'a RawValue>,
    #[serde(borrow)]
    max: Option<&'a RawValue>,
    #[serde(borrow)]
    mean: Option<&'a RawValue>,
    #[serde(borrow)]
    quantiles: Option<Quantiles<'a>>,
    #[serde(borrow)]
    lengths: Option<Lengths<'a>>,
    #[serde(borrow)]
    histogram: Option<Bins<'a>>,
    #[serde(borrow)]
    top_values: Option<Vec<TopValue<'a>>>,
}

#[derive(Debug, Deserialize)]
struct Quantiles<'a> {
    #[serde(borrow)]
    p5: &'a RawValue,
    #[serde(borrow)]
    p25: &'a RawValue,
    #[serde(borrow)]
    p50: &'a RawValue,
    #[serde(borrow)]
    p75: &'a RawValue,
    #[serde(borrow)]
    p95: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct Lengths<'a> {
    #[serde(borrow)]
    min: &'a RawValue,
    #[serde(borrow)]
    max: &'a RawValue,
    #[serde(borrow)]
    mean: Option<&'a RawValue>,
    #[serde(borrow)]
    quantiles: Option<Quantiles<'a>>,
}

#[derive(Debug, Deserialize)]
struct Bins<'a> {
    of: String,
    #[serde(borrow)]
    bins: Vec<StoredBin<'a>>,
}

#[derive(Debug, Deserialize)]
struct StoredBin<'a> {
    #[serde(borrow)]
    from: &'a RawValue,
    #[serde(borrow)]
    to: &'a RawValue,
    count: u64,
}

#[derive(Debug, Deserialize)]
struct TopValue<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
    count: u64,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A value and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frequent {
    pub(super) value: String,
    pub(super) count: String,
    pub(super) share: String,
    /// Length of its bar of 100 units; the most frequent value has the longest.
    pub(super) bar: Tenths,
}

/// The statistics of a column as shown.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) figures: Vec<Figure>,
    /// Of the values, or of the lengths of texts; `None` when the store file has none.
    pub(super) quantiles: Option<[String; 5]>,
    pub(super) quantiles_are_lengths: bool,
    pub(super) histogram: Option<Histogram>,
    pub(super) histogram_title: &'static str,
    pub(super) bins: Vec<Bin>,
    pub(super) frequent: Vec<Frequent>,
    /// Whether the store file keeps extremes only, because it is old.
    pub(super) is_incomplete: bool,
}

/// In whose words figures are written.
#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub(super) words: &'static DatasetWords,
    pub(super) numbers: Numbers,
}

impl Writer {
    fn value(self, raw: &RawValue, kind: ColumnKind) -> String {
        match Value::of(raw, kind) {
            Value::Text(text) if text.is_empty() => self.words.empty_text.to_owned(),
            Value::Flag(true) => self.words.word_true.to_owned(),
            Value::Flag(false) => self.words.word_false.to_owned(),
            value => value.figure(self.numbers, VALUE_CHARACTERS_MAX),
        }
    }

    /// A mean of numbers, rounded: it is no value of the data.
    fn mean(self, raw: &RawValue) -> String {
        let mean = raw.get().parse::<f64>().unwrap_or(f64::NAN);
        let text = if PLAIN_MEANS.contains(&mean.abs()) { rounded(mean) } else { raw.get().to_owned() };
        Value::Number(text).figure(self.numbers, VALUE_CHARACTERS_MAX)
    }

    fn count_with_share(self, count: u64, rows: u64) -> String {
        let written = self.numbers.integer(count);
        if count == 0 { written } else { format!("{written} ({})", self.numbers.share(count, rows)) }
    }
}

/// A number with at most [`MEAN_DIGITS`] digits, and all digits before the point.
fn rounded(number: f64) -> String {
    let whole = format!("{:.0}", number.abs().trunc());
    let before = if whole == "0" { 0 } else { whole.len() };
    let text = format!("{number:.*}", MEAN_DIGITS.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The statistics of the column with that number.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub(super) fn of_column(table: &Table, column: usize, writer: Writer) -> Result<Shown, FormatError> {
    let mut json = Vec::with_capacity(4096);
    write_column_statistics(table, column, &mut json)?;
    let figures: Figures<'_> = serde_json::from_slice(&json).map_err(|_| table.damaged(column))?;
    let kind = table.columns().get(column).map_or(ColumnKind::Text, |meta| meta.kind);
    Ok(shown(
        &figures,
        kind,
        table.row_count().into(),
        &format!("column-{}", column.saturating_add(1)),
        writer,
    ))
}

fn shown(figures: &Figures<'_>, kind: ColumnKind, rows: u64, id: &str, writer: Writer) -> Shown {
    let words = writer.words;
    let of_lengths = figures.histogram.as_ref().is_some_and(|histogram| histogram.of == "lengths");
    let top = figures.top_values.as_deref().unwrap_or_default();
    // If every value is among the frequent ones, their list says more than bins.
    let is_covered_by_top =
        figures.distinct.is_some_and(|distinct| distinct > 0 && distinct == top.len() as u64);
    let histogram =
        figures.histogram.as_ref().filter(|_| !is_covered_by_top && (!of_lengths || top.is_empty()));
    let bin_kind = if of_lengths { ColumnKind::Integer } else { kind };
    let bins: Vec<Bin> = histogram.map(|histogram| bins(histogram, bin_kind, writer)).unwrap_or_default();
    let histogram_title = if of_lengths { words.histogram_of_lengths } else { words.histogram_of_values };
    let lengths = figures.lengths.as_ref();
    let quantiles = figures.quantiles.as_ref().map(|quantiles| (quantiles, kind, false));
    let quantiles = quantiles.or_else(|| {
        lengths.and_then(|lengths| Some((lengths.quantiles.as_ref()?, ColumnKind::Integer, true)))
    });
    Shown {
        figures: listed(figures, kind, rows, writer),
        quantiles_are_lengths: quantiles.is_some_and(|(_, _, of_lengths)| of_lengths),
        quantiles: quantiles.map(|(quantiles, kind, _)| {
            [quantiles.p5, quantiles.p25, quantiles.p50, quantiles.p75, quantiles.p95]
                .map(|raw| writer.value(raw, kind))
        }),
        histogram: plot(&bins, histogram_title, id, writer),
        histogram_title,
        frequent: frequent(
            top,
            kind,
            rows,
            match top.first() {
                _ if bins.is_empty() => usize::MAX,
                Some(first) if first.count.saturating_mul(BESIDE_HISTOGRAM_PART) >= rows => {
                    BESIDE_HISTOGRAM_MAX
                }
                _ => 0,
            },
            writer,
        ),
        bins,
        is_incomplete: !figures.complete,
    }
}

fn plot(bins: &[Bin], title: &'static str, id: &str, writer: Writer) -> Option<Histogram> {
    let fullest = bins.iter().max_by_key(|bin| bin.count)?;
    let said = fill(writer.words.histogram_said, writer.numbers.integer(bins.len() as u64));
    let said = fill(&said, &fullest.count_text);
    // Bounds are numbers, days and moments, so none of them holds the placeholder of the next.
    let said = fill(&fill(&said, &fullest.from), &fullest.to);
    Some(Histogram::new(id.to_owned(), title.to_owned(), said, bins.to_vec()))
}

fn bins(histogram: &Bins<'_>, kind: ColumnKind, writer: Writer) -> Vec<Bin> {
    let bin = |bin: &StoredBin<'_>| Bin {
        from: writer.value(bin.from, kind),
        to: writer.value(bin.to, kind),
        count: bin.count,
        count_text: writer.numbers.integer(bin.count),
    };
    histogram.bins.iter().map(bin).collect()
}

fn frequent(
    top: &[TopValue<'_>],
    kind: ColumnKind,
    rows: u64,
    at_most: usize,
    writer: Writer,
) -> Vec<Frequent> {
    let most = top.iter().map(|value| value.count).max().unwrap_or(0);
    let one = |value: &TopValue<'_>| Frequent {
        value: writer.value(value.value, kind),
        count: writer.numbers.integer(value.count),
        share: writer.numbers.share(value.count, rows),
        bar: Tenths::share(value.count, most, BAR_LENGTH),
    };
    top.iter().take(at_most).map(one).collect()
}

fn listed(figures: &Figures<'_>, kind: ColumnKind, rows: u64, writer: Writer) -> Vec<Figure> {
    let words = writer.words;
    let value = |raw: Option<&RawValue>, kind: ColumnKind| raw.map(|raw| writer.value(raw, kind));
    let text = kind.logical() == LogicalType::String;
    let boolean = kind.logical() == LogicalType::Boolean;
    let extremes = if text { (words.first_text, words.last_text) } else { (words.smallest, words.largest) };
    let lengths = figures.lengths.as_ref();
    let mean = |raw: &RawValue| match kind.logical() {
        LogicalType::Datetime => writer.value(raw, kind),
        _ => writer.mean(raw),
    };
    [
        (words.nulls, Some(writer.count_with_share(figures.nulls, rows))),
        (words.nans, (figures.nans > 0).then(|| writer.count_with_share(figures.nans, rows))),
        (
            words.infinities,
            figures.infinities.filter(|count| *count > 0).map(|count| writer.count_with_share(count, rows)),
        ),
        (words.distinct, figures.distinct.map(|count| writer.numbers.integer(count))),
        (extremes.0, value(figures.min, kind).filter(|_| !boolean)),
        (extremes.1, value(figures.max, kind).filter(|_| !boolean)),
        (words.mean, figures.mean.map(mean)),
        (words.shortest, lengths.map(|lengths| writer.value(lengths.min, ColumnKind::Integer))),
        (words.longest, lengths.map(|lengths| writer.value(lengths.max, ColumnKind::Integer))),
        (words.mean_length, lengths.and_then(|lengths| lengths.mean).map(|raw| writer.mean(raw))),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| Figure { name, value }))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_catalog::Language;

    fn show(json: &str, kind: ColumnKind) -> Shown {
        let figures: Figures<'_> = serde_json::from_str(json).unwrap();
        let writer =
            Writer { words: DatasetWords::of(Language::English), numbers: Numbers::of(Language::English) };
        shown(&figures, kind, 100, "column-1", writer)
    }

    #[test]
    fn shows_all_of_few_values_without_bins() {
        let shown = show(
            r#"{"complete":true,"nulls":10,"nans":0,"infinities":0,"distinct":2,"min":1,"max":2,"mean":1.5,
                "quantiles":{"p5":1,"p25":1,"p50":1,"p75":2,"p95":2},
                "histogram":{"of":"values","bins":[{"from":1,"to":2,"count":60},{"from":2,"to":3,"count":30}]},
                "topValues":[{"value":1,"count":60},{"value":2,"count":30}]}"#,
            ColumnKind::Integer,
        );
        assert!(shown.histogram.is_none() && shown.bins.is_empty());
        assert_eq!(shown.frequent.len(), 2);
        assert_eq!((shown.frequent[0].share.as_str(), shown.frequent[0].bar.tenths()), ("60%", 1000));
        assert_eq!((shown.frequent[1].share.as_str(), shown.frequent[1].bar.tenths()), ("30%", 500));
        assert_eq!(
            shown.figures[0],
            Figure { name: DatasetWords::of(Language::English).nulls, value: "10 (10%)".into() }
        );
    }

    #[test]
    fn describes_histogram_in_words() {
        let shown = show(
            r#"{"complete":true,"nulls":0,"nans":1,"infinities":null,"distinct":50,"min":0,"max":10000,"mean":null,
                "quantiles":null,"histogram":{"of":"values","bins":[{"from":0,"to":5000,"count":2},{"from":5000,"to":10000.5,"count":97}]},
                "topValues":null}"#,
            ColumnKind::Float,
        );
        let svg = shown.histogram.unwrap().to_string();
        assert!(svg.contains("5000") && svg.contains("10,000.5") && svg.contains("97"), "{svg}");
        assert!(svg.contains("id=\"column-1-t\""), "{svg}");
    }

    #[test]
    fn rounds_mean_to_six_digits() {
        for (number, expected) in [
            (29_958.613_593, "29958.6"),
            (1_002.701_321, "1002.7"),
            (12_345_678.9, "12345679"),
            (0.049_95, "0.04995"),
            (-1.5, "-1.5"),
            (0.123_456_789, "0.123457"),
            (100.0, "100"),
        ] {
            assert_eq!(rounded(number), expected);
        }
    }

    #[test]
    fn shows_lengths_of_unique_texts() {
        let shown = show(
            r#"{"complete":true,"nulls":0,"nans":0,"infinities":0,"distinct":100,"min":"<a>","max":"","mean":null,"quantiles":null,
                "lengths":{"min":0,"max":3,"mean":1.5,"quantiles":{"p5":0,"p25":1,"p50":1,"p75":2,"p95":3}},
                "histogram":{"of":"lengths","bins":[{"from":0,"to":4,"count":100}]},"topValues":[]}"#,
            ColumnKind::Text,
        );
        assert!(shown.quantiles_are_lengths && shown.bins.len() == 1 && shown.frequent.is_empty());
        let values: Vec<&str> = shown.figures.iter().map(|figure| figure.value.as_str()).collect();
        assert_eq!(
            values,
            ["0", "100", "<a>", DatasetWords::of(Language::English).empty_text, "0", "3", "1.5"]
        );
    }
}
