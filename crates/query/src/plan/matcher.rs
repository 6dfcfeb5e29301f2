//! A filter compiled for a table: each test with its column, ranks and cost.

use std::ops::Range;

use mercato_format::{ColumnData, FormatError, Table};

use crate::plan::key_set::KeySet;
use crate::plan::predicate::{Filter, Leaf, Test, highest_key, nan_key};
use crate::work_limit::{SearchError, WorkLimit};

/// Dictionary entries up to which a test becomes a lookup table.
const LOOKUP_ENTRIES_MAX: u32 = 1 << 20;

/// A filter on a table.
#[derive(Debug)]
pub(crate) enum Node<'t> {
    All,
    Nothing,
    And(Vec<Node<'t>>),
    Or(Vec<Node<'t>>),
    Leaf(Box<LeafMatcher<'t>>),
}

/// A test on a column.
#[derive(Debug)]
pub(crate) struct LeafMatcher<'t> {
    pub(crate) table: &'t Table,
    pub(crate) work: &'t dyn WorkLimit,
    pub(crate) column: usize,
    pub(crate) data: ColumnData<'t>,
    pub(crate) test: Test,
    /// For several ranges of codes: 1 for each code that passes.
    pub(crate) lookup: Option<Vec<u8>>,
    /// The matching ranks in ascending order, where the column has a sort index and the test has keys.
    pub(crate) ranks: Option<Vec<Range<u32>>>,
    /// Whether the test passes NaN, which zone maps only count.
    pub(crate) takes_nan: bool,
    /// Matching rows, if the indexes give the count.
    count: Option<u64>,
}

impl<'t> Node<'t> {
    /// Compiles a filter: looks up its tests in the indexes.
    pub(crate) fn new(
        table: &'t Table,
        filter: &Filter,
        work: &'t dyn WorkLimit,
    ) -> Result<Node<'t>, SearchError> {
        let parts = |parts: &[Filter]| -> Result<Vec<Node<'t>>, SearchError> {
            let mut nodes: Vec<Node<'t>> =
                parts.iter().map(|part| Node::new(table, part, work)).collect::<Result<_, _>>()?;
            nodes.sort_by_key(Node::cost);
            Ok(nodes)
        };
        Ok(match filter {
            Filter::All => Node::All,
            Filter::Nothing => Node::Nothing,
            Filter::And(inner) => Node::And(parts(inner)?),
            Filter::Or(inner) => Node::Or(parts(inner)?),
            Filter::Leaf(leaf) => Node::Leaf(Box::new(LeafMatcher::new(table, leaf, work)?)),
        })
    }

    /// The evaluation order in a conjunction: cheap tests first, then selective ones.
    fn cost(&self) -> (u32, u64) {
        match self {
            Node::All | Node::Nothing => (0, 0),
            Node::And(parts) | Node::Or(parts) => {
                (parts.iter().map(|part| part.cost().0).sum::<u32>() + 1, u64::MAX)
            }
            Node::Leaf(leaf) => {
                (u32::from(matches!(leaf.test, Test::Text(_))) * 100, leaf.count().unwrap_or(u64::MAX))
            }
        }
    }

    /// The leaves of the conjunction, which every match passes.
    pub(crate) fn conjuncts(&self) -> impl Iterator<Item = &LeafMatcher<'t>> {
        let parts = match self {
            Node::And(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        parts.iter().filter_map(|part| if let Node::Leaf(leaf) = part { Some(leaf.as_ref()) } else { None })
    }

    /// The only test of the filter, if it has just one.
    pub(crate) fn only_leaf(&self) -> Option<&LeafMatcher<'t>> {
        if let Node::Leaf(leaf) = self { Some(leaf) } else { None }
    }

    pub(crate) fn leaf_count(&self) -> u64 {
        match self {
            Node::All | Node::Nothing => 0,
            Node::And(parts) | Node::Or(parts) => parts.iter().map(Node::leaf_count).sum(),
            Node::Leaf(_) => 1,
        }
    }

    /// The estimated share of matching rows: exact for one indexed test, a product or a sum for several, one half if
    /// unknown.
    pub(crate) fn density(&self) -> f64 {
        match self {
            Node::All => 1.0,
            Node::Nothing => 0.0,
            Node::And(parts) => parts.iter().map(Node::density).product(),
            Node::Or(parts) => parts.iter().map(Node::density).sum::<f64>().min(1.0),
            Node::Leaf(leaf) => {
                let rows = f64::from(leaf.table.row_count().max(1));
                leaf.count().map_or(0.5, |count| count as f64 / rows)
            }
        }
    }
}

impl<'t> LeafMatcher<'t> {
    fn new(table: &'t Table, leaf: &Leaf, work: &'t dyn WorkLimit) -> Result<LeafMatcher<'t>, SearchError> {
        work.check()?;
        let data = table.column(leaf.column)?;
        let ranks =
            ranks_of(table, leaf.column, &data, &leaf.test).ok_or_else(|| table.damaged(leaf.column))?;
        let count =
            ranks.as_ref().map(|ranks| ranks.iter().map(|range| u64::from(range.end - range.start)).sum());
        // Without a sort index, ranks give counts but no rows.
        let ranks = ranks.filter(|_| data.order().is_known());
        let lookup = match (&data, &leaf.test) {
            (ColumnData::Dictionary(column), Test::Keys(keys)) if keys.ranges().len() > 1 => (column.entries
                <= LOOKUP_ENTRIES_MAX)
                .then(|| (0..=column.entries).map(|code| keys.contains(code.into()).into()).collect()),
            _ => None,
        };
        let takes_nan = match &leaf.test {
            Test::Keys(keys) => nan_key(&data).is_some_and(|nan| keys.contains(nan)),
            _ => false,
        };
        let test = leaf.test.clone();
        Ok(LeafMatcher { table, work, column: leaf.column, data, test, lookup, ranks, takes_nan, count })
    }

    /// The number of matching rows, if the indexes give it.
    pub(crate) fn count(&self) -> Option<u64> {
        self.count
    }

    pub(crate) fn damaged(&self) -> FormatError {
        self.table.damaged(self.column)
    }
}

/// The ranks of the matching rows. The inner `None` means no index, the outer one a damaged file.
#[expect(clippy::option_option, reason = "damage and absence of an index are different things")]
fn ranks_of(
    table: &Table,
    column: usize,
    data: &ColumnData<'_>,
    test: &Test,
) -> Option<Option<Vec<Range<u32>>>> {
    let meta = table.columns().get(column)?;
    let rows = table.row_count();
    let valid = rows.checked_sub(u32::try_from(meta.null_count).ok()?)?;
    // The runs of a dictionary and the counts of nulls and NaNs need no sort index.
    let counted = matches!(data, ColumnData::Dictionary(_)) || matches!(test, Test::IsNull | Test::NotNull);
    if !data.order().is_known() && !counted {
        let nan_start = valid.checked_sub(u32::try_from(meta.nan_count).ok()?)?;
        return Some(ranks_by_nan(data, test, nan_start, valid).map(|ranks| vec![ranks]));
    }
    let ranges = match test {
        Test::Text(_) => return Some(None),
        Test::IsNull => std::iter::once(valid..rows).collect(),
        Test::NotNull => std::iter::once(0..valid).collect(),
        Test::Keys(keys) => key_ranks(data, keys)?,
    };
    Some(Some(
        ranges
            .into_iter()
            .filter(|range: &Range<u32>| range.start < range.end && range.end <= rows)
            .collect(),
    ))
}

/// The ranks of all NaNs, or of all other values, if the test is exactly that.
fn ranks_by_nan(data: &ColumnData<'_>, test: &Test, nan_start: u32, valid: u32) -> Option<Range<u32>> {
    let (Test::Keys(keys), Some(nan)) = (test, nan_key(data)) else { return None };
    match keys.ranges() {
        [(low, high)] if (*low, *high) == (nan, nan) => Some(nan_start..valid),
        [(0, high)] if Some(*high) == highest_key(data) => Some(0..nan_start),
        _ => None,
    }
}

fn key_ranks(data: &ColumnData<'_>, keys: &KeySet) -> Option<Vec<Range<u32>>> {
    let narrow = |key: u128| u32::try_from(key).ok();
    keys.ranges()
        .iter()
        .map(|(low, high)| match data {
            ColumnData::Dictionary(column) => column.ranks(narrow(*low)?..narrow(*high)?.checked_add(1)?),
            ColumnData::Texts(_) => Some(narrow(*low)?..narrow(*high)?.checked_add(1)?),
            ColumnData::Numbers(column) => {
                let end = match high.checked_add(1) {
                    Some(after) if column.width == 16 || after <= u128::from(u64::MAX) => {
                        column.lower_bound(after, 0)?
                    }
                    _ => column.valid_ranks(),
                };
                Some(column.lower_bound(*low, 0)?..end)
            }
        })
        .collect()
}
