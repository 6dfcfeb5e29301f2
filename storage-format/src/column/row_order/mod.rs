//! The order of a column's rows: the file's own, a permutation, or a posting list for each code.

mod elias_fano;
mod equal_codes;
mod posting_list;
mod postings;

use std::ops::Range;

use crate::array::UintArray;
use crate::column::bits::BitArray;

pub(crate) use posting_list::{ListForm, WORD_BYTES, encode_counts, encode_rows};
pub use postings::{PostingForms, Postings, Runs};

/// The sort order of a column: ascending values, equal values by row, nulls last.
#[derive(Clone, Copy, Debug)]
pub enum RowOrder<'a> {
    /// The column has no sort index.
    Unknown,
    /// The rows are sorted in file order.
    FileOrder {
        /// Rows of the table.
        rows: u32,
    },
    /// Rank to row.
    Permutation(BitArray<'a>),
    /// The rows of each code.
    Postings(Postings<'a>),
}

/// How an order is stored. A column keeps it without its codes and runs, which it has anyway.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredOrder<'a> {
    Unknown,
    FileOrder,
    Permutation(BitArray<'a>),
    /// Starts of the lists in words; all lists and their padding.
    Postings {
        starts: &'a [u8],
        padded: &'a [u8],
    },
}

impl<'a> StoredOrder<'a> {
    /// The order of a table of `rows`. Only a dictionary has posting lists.
    pub(crate) fn of(self, rows: u32, dictionary: Option<(UintArray<'a>, Runs<'a>)>) -> RowOrder<'a> {
        match (self, dictionary) {
            (StoredOrder::FileOrder, _) => RowOrder::FileOrder { rows },
            (StoredOrder::Permutation(rows), _) => RowOrder::Permutation(rows),
            (StoredOrder::Postings { starts, padded }, Some((codes, runs))) => {
                RowOrder::Postings(Postings { codes, runs, starts, padded, rows })
            }
            (StoredOrder::Unknown | StoredOrder::Postings { .. }, _) => RowOrder::Unknown,
        }
    }
}

impl RowOrder<'_> {
    /// Whether the order is available.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, RowOrder::Unknown)
    }

    /// The row at a rank; `None` beyond the end, or when the file is damaged. For many ranks in a row,
    /// [`RowOrder::copy_rows`] is faster.
    #[inline]
    #[must_use]
    pub fn row_at(&self, rank: u32) -> Option<u32> {
        match self {
            RowOrder::Unknown => None,
            RowOrder::FileOrder { rows } => (rank < *rows).then_some(rank),
            RowOrder::Permutation(rows) => rows.get(rank as usize),
            RowOrder::Postings(lists) => lists.row_at(rank),
        }
    }

    /// Appends the rows at `ranks`. Returns false when they exceed the end, or when the file is damaged.
    #[must_use]
    pub fn copy_rows(&self, ranks: Range<u32>, out: &mut Vec<u32>) -> bool {
        let count = ranks.end.saturating_sub(ranks.start) as usize;
        match self {
            RowOrder::Unknown => false,
            RowOrder::FileOrder { rows } => {
                let inside = ranks.end <= *rows;
                if inside {
                    out.extend(ranks);
                }
                inside
            }
            RowOrder::Permutation(rows) => rows.copy_range(ranks.start as usize, count, out),
            RowOrder::Postings(lists) => lists.copy_rows(ranks, out).is_some(),
        }
    }

    /// The first rank of `run` whose row is above `row`; the end of the run without one. `run` has the ranks of one value,
    /// whose rows ascend. `None` when the file is damaged.
    #[must_use]
    pub fn rank_after(&self, run: Range<u32>, row: u32) -> Option<u32> {
        match self {
            RowOrder::Postings(lists) => lists.rank_after(run, row),
            _ => partition_point(run, |rank| Some(self.row_at(rank)? <= row)),
        }
    }
}

/// The first number of the range for which `before` is false; `None` when `before` fails.
pub fn partition_point(range: Range<u32>, mut before: impl FnMut(u32) -> Option<bool>) -> Option<u32> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}
