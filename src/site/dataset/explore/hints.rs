//! Values that a condition on a column can take: its most frequent ones and its extremes, out of the public statistics.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::site::dataset::Opened;
use crate::site::dataset::values::{Value, shortened};
use crate::site::words::fill;
use mercato_catalog::{ColumnMeta, FormatError, Table};
use mercato_query::render::write_column_statistics;

use super::conditions::VALUE_CHARS_MAX;
use super::notation::shown;

/// Frequent values that a condition offers.
const OFFERED_VALUES_MAX: usize = 10;
/// Characters of an offered value that its button shows.
const LABEL_CHARS_MAX: usize = 40;
/// Characters of a text in statistics; one with more is the beginning of a value only.
const WHOLE_TEXT_CHARS_MAX: usize = 256;

/// What the statistics tell of a column.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// The most frequent values first.
    pub(super) offers: Vec<OfferedValue>,
    /// The extremes in words.
    pub(super) range: Option<String>,
}

/// A value that a condition can take.
#[derive(Debug)]
pub(super) struct OfferedValue {
    /// As addresses have it.
    pub(super) canonical: String,
    /// As the field takes it.
    pub(super) typed: String,
    pub(super) label: String,
    /// Rows that have it.
    pub(super) count: String,
}

#[derive(Debug, Deserialize)]
struct Known<'a> {
    #[serde(borrow)]
    min: Option<&'a RawValue>,
    #[serde(borrow)]
    max: Option<&'a RawValue>,
    #[serde(borrow, rename = "topValues")]
    top_values: Option<Vec<TopValue<'a>>>,
}

#[derive(Debug, Deserialize)]
struct TopValue<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
    count: u64,
}

impl Hints {
    /// The hints for a column, by number.
    ///
    /// # Errors
    /// The damage of the store file.
    pub(super) fn of(opened: &Opened<'_>, column: usize, meta: &ColumnMeta) -> Result<Self, FormatError> {
        let table: &Table = &opened.dataset.current.table;
        let mut json = Vec::with_capacity(4096);
        write_column_statistics(table, column, &mut json)?;
        let known: Known<'_> = serde_json::from_slice(&json).map_err(|_| table.damaged(column))?;
        let offer = |top: &TopValue<'_>| offer(opened, meta, top);
        let top = known.top_values.unwrap_or_default();
        let offers = top.iter().filter_map(offer).take(OFFERED_VALUES_MAX).collect();
        let extremes =
            known.min.zip(known.max).map(|(min, max)| [min, max].map(|raw| Value::of(raw, meta.kind)));
        let range = extremes.and_then(|extremes| range(opened, &extremes));
        Ok(Self { offers, range })
    }
}

fn offer(opened: &Opened<'_>, meta: &ColumnMeta, top: &TopValue<'_>) -> Option<OfferedValue> {
    let canonical = match Value::of(top.value, meta.kind) {
        Value::Null | Value::Flag(_) => return None,
        value => value.plain(),
    };
    let characters = canonical.chars().count();
    let is_whole = (1..=WHOLE_TEXT_CHARS_MAX.min(VALUE_CHARS_MAX)).contains(&characters);
    let typed = shown(&canonical, meta.kind, opened.visit.language);
    let label = shortened(&typed, LABEL_CHARS_MAX);
    let count = opened.visit.numbers.integer(top.count);
    is_whole.then_some(OfferedValue { canonical, typed, label, count })
}

fn range(opened: &Opened<'_>, extremes: &[Value; 2]) -> Option<String> {
    let is_ordered = extremes.iter().all(|value| matches!(value, Value::Number(_) | Value::Moment(_)));
    let [least, most] = extremes.each_ref().map(|value| value.figure(opened.visit.numbers, LABEL_CHARS_MAX));
    is_ordered.then(|| fill(&fill(opened.words.values_range, least), most))
}
