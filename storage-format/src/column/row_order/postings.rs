//! Posting lists: the rows of each code of a dictionary.

use std::ops::Range;

use super::posting_list::{ListForm, PostingList, WORD_BYTES};
use crate::array::UintArray;
use crate::column::bits::BITS_PADDING;
use crate::column::partition_point;
use crate::layout::take;

/// The runs of a dictionary: the first rank of every code.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    offsets: &'a [u8],
    /// Number of distinct values; also the code of null.
    entries: u32,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(offsets: &'a [u8], entries: u32) -> Runs<'a> {
        Runs { offsets, entries }
    }

    /// The first rank of a code. For the code of null, the first rank of the nulls; for the code after it, the row count.
    #[inline]
    #[must_use]
    pub fn first_rank(&self, code: u32) -> Option<u32> {
        take(self.offsets, code as usize * 4).map(u32::from_le_bytes)
    }

    /// The ranks of a code.
    #[must_use]
    pub fn of(&self, code: u32) -> Option<Range<u32>> {
        Some(self.first_rank(code)?..self.first_rank(code.checked_add(1)?)?)
    }

    /// The code of the row at a rank.
    #[must_use]
    pub fn code_at(&self, rank: u32) -> Option<u32> {
        let code = partition_point(0..self.entries + 1, |code| Some(self.first_rank(code + 1)? <= rank))?;
        (code <= self.entries).then_some(code)
    }
}

/// How many lists have each form, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostingForms {
    /// Lists and bytes of runs that are counted by zone.
    pub counts: (u32, u64),
    /// Lists and bytes of runs with plain rows.
    pub plain: (u32, u64),
    /// Lists and bytes of runs in Elias-Fano form.
    pub elias_fano: (u32, u64),
}

/// The posting lists of a column.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'a> {
    pub(crate) codes: UintArray<'a>,
    pub(crate) runs: Runs<'a>,
    /// Start of each list, in words.
    pub(crate) starts: &'a [u8],
    /// All lists and [`BITS_PADDING`] bytes.
    pub(crate) padded: &'a [u8],
    /// Rows of the table.
    pub(crate) rows: u32,
}

impl<'a> Postings<'a> {
    pub(super) fn row_at(&self, rank: u32) -> Option<u32> {
        if rank >= self.rows {
            return None;
        }
        let code = self.runs.code_at(rank)?;
        let run = self.runs.of(code)?;
        self.list(code, &run)?.get(rank.checked_sub(run.start)?)
    }

    /// Appends the rows at `ranks`.
    pub(super) fn copy_rows(&self, ranks: Range<u32>, out: &mut Vec<u32>) -> Option<()> {
        if ranks.end > self.rows {
            return None;
        }
        let mut rank = ranks.start;
        let mut codes = if rank < ranks.end { self.runs.code_at(rank)?.. } else { 0.. };
        while rank < ranks.end {
            let code = codes.next()?;
            let run = self.runs.of(code)?;
            // Only a damaged file has a gap between two runs.
            let place = rank.checked_sub(run.start)?;
            let end = run.end.min(ranks.end);
            self.list(code, &run)?.copy(place, end.checked_sub(rank)?, out)?;
            rank = end;
        }
        Some(())
    }

    /// The first rank of `run` whose row is above `row`. `run` lies in the run of one code.
    pub(super) fn rank_after(&self, run: Range<u32>, row: u32) -> Option<u32> {
        if run.start >= run.end {
            return Some(run.start);
        }
        let code = self.runs.code_at(run.start)?;
        let whole = self.runs.of(code)?;
        let count = whole.end.checked_sub(whole.start)?;
        let rank = whole.start.checked_add(self.list(code, &whole)?.rows_through(row, count)?)?;
        Some(rank.clamp(run.start, run.end))
    }

    /// The start of a list, in words.
    pub(crate) fn start(&self, code: u32) -> Option<u32> {
        take(self.starts, code as usize * 4).map(u32::from_le_bytes)
    }

    /// The bytes of all lists.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.padded.get(..self.padded.len().saturating_sub(BITS_PADDING)).unwrap_or_default()
    }

    fn list(&self, code: u32, run: &Range<u32>) -> Option<PostingList<'a>> {
        let count = run.end.checked_sub(run.start)?;
        let form = ListForm::of(count, self.rows);
        let start = usize::try_from(self.start(code)?).ok()?.checked_mul(WORD_BYTES)?;
        let len = usize::try_from(form.words(count)).ok()?.checked_mul(WORD_BYTES)?;
        let padded = self.padded.get(start..start.checked_add(len)?.checked_add(BITS_PADDING)?)?;
        PostingList::new(form, padded, self.codes, code, count)
    }

    /// The forms of the lists. Reads the run offsets.
    #[must_use]
    pub fn forms(&self) -> PostingForms {
        let mut forms = PostingForms::default();
        for run in (0..=self.runs.entries).map_while(|code| self.runs.of(code)) {
            let count = run.end.saturating_sub(run.start);
            let form = ListForm::of(count, self.rows);
            let (lists, bytes) = match form {
                ListForm::Empty => continue,
                ListForm::Counts { .. } => &mut forms.counts,
                ListForm::Plain { .. } => &mut forms.plain,
                ListForm::EliasFano(_) => &mut forms.elias_fano,
            };
            *lists += 1;
            *bytes = bytes.saturating_add(form.words(count).saturating_mul(WORD_BYTES as u64));
        }
        forms
    }
}
