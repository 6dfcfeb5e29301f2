//! Predicates on columns, as key sets where the storage has keys. Nulls match none; NaN matches only its own key.

use memchr::memmem::Finder;
use mercato_format::ColumnData;
use mercato_format::column::TextReader;

use crate::plan::key_set::KeySet;
use crate::work_limit::{Stop, WorkLimit};

/// A resolved filter: columns by number, negations at the leaves.
#[derive(Debug, Clone)]
pub enum Filter {
    All,
    /// No row.
    Nothing,
    /// Rows that match all.
    And(Vec<Filter>),
    /// Rows that match at least one.
    Or(Vec<Filter>),
    /// Rows whose value passes a test.
    Leaf(Leaf),
}

/// A test of one column.
#[derive(Debug, Clone)]
pub struct Leaf {
    pub column: usize,
    pub test: Test,
}

/// The test of a value.
#[derive(Debug, Clone)]
pub enum Test {
    /// The key is in the set.
    Keys(KeySet),
    IsNull,
    /// The value is not null.
    NotNull,
    /// The text matches, for texts without keys.
    Text(Box<TextTest>),
}

/// A test of a text itself.
#[derive(Debug, Clone)]
pub struct TextTest {
    pub pattern: TextPattern,
    /// Whether the pattern is negated.
    pub negated: bool,
}

/// A pattern over the bytes of a text.
#[derive(Debug, Clone)]
pub enum TextPattern {
    Contains(Box<Finder<'static>>),
    /// Begins with it.
    StartsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    /// Is one of them; sorted.
    OneOf(Vec<Vec<u8>>),
    /// Lies between bounds; each says whether it is included.
    Between(Option<(Vec<u8>, bool)>, Option<(Vec<u8>, bool)>),
}

impl TextPattern {
    /// Whether a text matches.
    #[must_use]
    pub fn fits(&self, text: &[u8]) -> bool {
        match self {
            TextPattern::Contains(finder) => finder.find(text).is_some(),
            TextPattern::StartsWith(start) => text.starts_with(start),
            TextPattern::EndsWith(end) => text.ends_with(end),
            TextPattern::OneOf(texts) => texts.binary_search_by(|probe| probe.as_slice().cmp(text)).is_ok(),
            TextPattern::Between(low, high) => {
                let above = |(bound, included): &(Vec<u8>, bool)| {
                    text > bound.as_slice() || (*included && text == bound.as_slice())
                };
                let below = |(bound, included): &(Vec<u8>, bool)| {
                    text < bound.as_slice() || (*included && text == bound.as_slice())
                };
                low.as_ref().is_none_or(above) && high.as_ref().is_none_or(below)
            }
        }
    }
}

impl TextTest {
    /// Whether the row's text passes; null never does.
    #[must_use]
    pub fn passes(&self, texts: &mut TextReader<'_>, row: u32) -> Option<bool> {
        let text = texts.text(row)?;
        Some(text.is_some_and(|text| self.pattern.fits(&text) != self.negated))
    }
}

impl Filter {
    /// A conjunction that merges tests of one column.
    ///
    /// # Errors
    /// The stop of `work`: sets may have as many ranges as a dictionary has entries.
    pub fn all_of(parts: Vec<Filter>, work: &dyn WorkLimit) -> Result<Filter, Stop> {
        let mut merged: Vec<Filter> = Vec::with_capacity(parts.len());
        for part in parts {
            work.check()?;
            match part {
                Filter::All => (),
                Filter::Nothing => return Ok(Filter::Nothing),
                Filter::And(inner) => {
                    inner.into_iter().for_each(|part| push_merged(&mut merged, part, KeySet::intersection))
                }
                other => push_merged(&mut merged, other, KeySet::intersection),
            }
        }
        if merged.iter().any(Filter::is_nothing) {
            return Ok(Filter::Nothing);
        }
        Ok(match merged.len() {
            0 => Filter::All,
            1 => merged.remove(0),
            _ => Filter::And(merged),
        })
    }

    /// A disjunction that merges tests of one column.
    ///
    /// # Errors
    /// As [`Filter::all_of`].
    pub fn any_of(parts: Vec<Filter>, work: &dyn WorkLimit) -> Result<Filter, Stop> {
        let mut merged: Vec<Filter> = Vec::with_capacity(parts.len());
        for part in parts {
            work.check()?;
            match part {
                Filter::Nothing => (),
                Filter::All => return Ok(Filter::All),
                Filter::Or(inner) => {
                    inner.into_iter().for_each(|part| push_merged(&mut merged, part, KeySet::union))
                }
                other => push_merged(&mut merged, other, KeySet::union),
            }
        }
        Ok(match merged.len() {
            0 => Filter::Nothing,
            1 => merged.remove(0),
            _ => Filter::Or(merged),
        })
    }

    fn is_nothing(&self) -> bool {
        match self {
            Filter::Nothing => true,
            Filter::Leaf(Leaf { test: Test::Keys(keys), .. }) => keys.is_empty(),
            _ => false,
        }
    }
}

fn push_merged(merged: &mut Vec<Filter>, part: Filter, combine: fn(&KeySet, &KeySet) -> KeySet) {
    if let Filter::Leaf(Leaf { column, test: Test::Keys(keys) }) = &part {
        for other in merged.iter_mut() {
            if let Filter::Leaf(Leaf { column: same, test: Test::Keys(found) }) = other
                && same == column
            {
                *found = combine(found, keys);
                return;
            }
        }
    }
    merged.push(part);
}

/// The largest key of a value that is not NaN.
#[must_use]
pub fn highest_key(data: &ColumnData<'_>) -> Option<u128> {
    match data {
        ColumnData::Dictionary(column) => {
            let last = column.entries.checked_sub(1)?;
            if column.value_is_nan(last) { last.checked_sub(1).map(u128::from) } else { Some(last.into()) }
        }
        ColumnData::Numbers(column) if column.is_float() => {
            Some(mercato_format::order::float_key(f64::INFINITY).into())
        }
        ColumnData::Numbers(column) if column.width == 16 => Some(u128::MAX),
        ColumnData::Numbers(_) => Some(u64::MAX.into()),
        ColumnData::Texts(column) => column.valid_ranks().checked_sub(1).map(u128::from),
    }
}

/// The key of NaN, if the column can hold it.
#[must_use]
pub fn nan_key(data: &ColumnData<'_>) -> Option<u128> {
    match data {
        ColumnData::Dictionary(column) => {
            let last = column.entries.checked_sub(1)?;
            column.value_is_nan(last).then(|| last.into())
        }
        ColumnData::Numbers(column) if column.is_float() => Some(mercato_format::order::NAN_KEY.into()),
        _ => None,
    }
}
