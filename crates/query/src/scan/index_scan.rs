//! Scans a table in the order of a sort column. A descending scan visits runs of equal values in
//! reverse and the rows of a run forward, so ties stay in row order. NaN and then nulls come last in both directions.
//! Starting anywhere costs a binary search.

use std::collections::VecDeque;
use std::ops::Range;

use mercato_format::column::partition_point;
use mercato_format::{ColumnData, FormatError, RowOrder, Table};

use crate::plan::position::{KeyPlace, Place, Position};
use crate::request::SortDirection;

/// Remaining ranks.
#[derive(Debug, Clone)]
enum Span {
    /// In ascending order.
    Forward(Range<u32>),
    /// Runs in reverse, each run forward.
    RunsBackward(Range<u32>),
}

impl Span {
    fn is_empty(&self) -> bool {
        let (Span::Forward(ranks) | Span::RunsBackward(ranks)) = self;
        ranks.start >= ranks.end
    }
}

#[derive(Debug, Clone)]
pub(crate) struct IndexScan<'t> {
    table: &'t Table,
    column: usize,
    data: ColumnData<'t>,
    order: RowOrder<'t>,
    /// First rank of NaN, and first rank of null.
    nans: u32,
    valid: u32,
    ahead: VecDeque<Span>,
}

impl<'t> IndexScan<'t> {
    /// A scan over all ranks, or over `allowed` ranks (ascending, each made of whole runs).
    pub(crate) fn new(
        table: &'t Table,
        column: usize,
        direction: SortDirection,
        allowed: Option<&[Range<u32>]>,
    ) -> Result<IndexScan<'t>, FormatError> {
        let data = table.column(column)?;
        let counts = table.columns().get(column).map(|meta| (meta.null_count, meta.nan_count));
        let (nulls, nan_count) = counts.unwrap_or_default();
        let before = |end: u32, count: u64| end.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        let valid = before(table.row_count(), nulls);
        let nans = before(valid, nan_count);
        let all = [0..valid, valid..table.row_count()];
        let ranges = allowed.unwrap_or(&all).iter().filter(|range| range.start < range.end).cloned();
        let ahead = match direction {
            SortDirection::Ascending => ranges.map(Span::Forward).collect(),
            SortDirection::Descending => {
                let ranges: Vec<Range<u32>> = ranges.collect();
                let below = |range: &Range<u32>| range.start.min(nans)..range.end.min(nans);
                let from = |range: &Range<u32>| range.start.max(nans)..range.end.max(nans);
                let values = ranges.iter().rev().map(below).map(Span::RunsBackward);
                let last = ranges.iter().map(from).map(Span::Forward);
                values.chain(last).filter(|span| !span.is_empty()).collect()
            }
        };
        Ok(IndexScan { table, column, data, order: data.order(), nans, valid, ahead })
    }

    /// Appends up to `max` rows; fewer only at the end.
    pub(crate) fn fill(&mut self, max: usize, rows: &mut Vec<u32>) -> Result<(), FormatError> {
        let mut wanted = max;
        while wanted > 0
            && let Some(span) = self.ahead.pop_front()
        {
            match span {
                Span::Forward(ranks) => {
                    let end =
                        ranks.end.min(ranks.start.saturating_add(u32::try_from(wanted).unwrap_or(u32::MAX)));
                    if !self.order.copy_rows(ranks.start..end, rows) {
                        return Err(self.table.damaged(self.column));
                    }
                    wanted -= (end - ranks.start) as usize;
                    self.put_back(Span::Forward(end..ranks.end));
                }
                Span::RunsBackward(ranks) => {
                    let start = self.run_start(ranks.end - 1)?.max(ranks.start);
                    self.put_back(Span::RunsBackward(ranks.start..start));
                    self.put_back(Span::Forward(start..ranks.end));
                }
            }
        }
        Ok(())
    }

    /// Skips `count` rows by one binary search.
    pub(crate) fn skip(&mut self, count: u64) -> Result<(), FormatError> {
        let mut left = count;
        while left > 0
            && let Some(span) = self.ahead.pop_front()
        {
            let (Span::Forward(ranks) | Span::RunsBackward(ranks)) = &span;
            let length = u64::from(ranks.end - ranks.start);
            let Ok(skipped) = u32::try_from(left.min(length)) else { break };
            left -= u64::from(skipped);
            if u64::from(skipped) == length {
                continue;
            }
            match span {
                Span::Forward(ranks) => self.put_back(Span::Forward(ranks.start + skipped..ranks.end)),
                Span::RunsBackward(ranks) => {
                    let landed = ranks.end - 1 - skipped;
                    let start = self.run_start(landed)?.max(ranks.start);
                    let end = self.run_end(landed)?.min(ranks.end);
                    let inside = skipped - (ranks.end - end);
                    self.put_back(Span::RunsBackward(ranks.start..start));
                    self.put_back(Span::Forward(start + inside..end));
                }
            }
        }
        Ok(())
    }

    /// Skips everything up to and including a position.
    pub(crate) fn seek(&mut self, position: &Position) -> Result<(), FormatError> {
        let run = match position.place {
            Place::Null => self.valid..self.table.row_count(),
            Place::Nan => self.nans..self.valid,
            Place::Value(place) => self.run_of(&place)?,
        };
        let is_value = matches!(position.place, Place::Value(_));
        let next = self.order.rank_after(run.clone(), position.row).ok_or_else(|| self.damaged())?;
        let trimmed = std::mem::take(&mut self.ahead);
        for span in trimmed {
            match span {
                // In a descending scan, these are NaN and nulls, which follow all values.
                Span::Forward(ranks) => self.push(Span::Forward(ranks.start.max(next)..ranks.end)),
                Span::RunsBackward(_) if !is_value => (),
                Span::RunsBackward(ranks) => {
                    self.push(Span::Forward(ranks.start.max(next)..ranks.end.min(run.end)));
                    self.push(Span::RunsBackward(ranks.start..ranks.end.min(run.start)));
                }
            }
        }
        Ok(())
    }

    /// Whether the scan is at its end.
    pub(crate) fn is_over(&self) -> bool {
        self.ahead.is_empty()
    }

    fn put_back(&mut self, span: Span) {
        if !span.is_empty() {
            self.ahead.push_front(span);
        }
    }

    fn push(&mut self, span: Span) {
        if !span.is_empty() {
            self.ahead.push_back(span);
        }
    }

    fn damaged(&self) -> FormatError {
        self.table.damaged(self.column)
    }

    /// The ranks of the rows with a value; empty without such rows.
    fn run_of(&self, place: &KeyPlace) -> Result<Range<u32>, FormatError> {
        let first_of = |key: u128| -> Option<u32> {
            match &self.data {
                ColumnData::Dictionary(column) => {
                    column.first_rank(u32::try_from(key).ok()?.min(column.entries))
                }
                ColumnData::Texts(column) => Some(u32::try_from(key).ok()?.min(column.valid_ranks())),
                ColumnData::Numbers(column) => column.lower_bound(key, 0),
            }
        };
        let start = first_of(place.smaller_before).ok_or_else(|| self.damaged())?;
        let end = match (&self.data, place.larger_from) {
            (ColumnData::Texts(_), _) if start < self.valid => {
                // The key of a text is the first rank of its run, so the run's end gives the next key.
                let present = place.larger_from.is_none_or(|from| from > u128::from(start));
                if present { self.run_end(start)? } else { start }
            }
            (_, Some(key)) if self.key_exists(key) => first_of(key).ok_or_else(|| self.damaged())?,
            _ => self.valid,
        };
        Ok(start..end.max(start))
    }

    /// Whether a key is in the key space of the column.
    fn key_exists(&self, key: u128) -> bool {
        match &self.data {
            ColumnData::Numbers(column) => column.width == 16 || key <= u128::from(u64::MAX),
            _ => key <= u128::from(u32::MAX),
        }
    }

    /// The first rank of the run of a rank with a value.
    fn run_start(&self, rank: u32) -> Result<u32, FormatError> {
        let find = || -> Option<u32> {
            match &self.data {
                ColumnData::Dictionary(column) => column.first_rank(column.code_at(rank)?),
                ColumnData::Texts(column) => column.ranks?.get(self.order.row_at(rank)? as usize),
                ColumnData::Numbers(column) => {
                    let key = column.wide_order_key(self.order.row_at(rank)?)?;
                    let before = rank.checked_sub(1);
                    let same = before.and_then(|before| column.wide_order_key(self.order.row_at(before)?));
                    if same == Some(key) { column.lower_bound(key, 0) } else { Some(rank) }
                }
            }
        };
        find().filter(|start| *start <= rank).ok_or_else(|| self.damaged())
    }

    /// The rank after the run of a rank with a value.
    fn run_end(&self, rank: u32) -> Result<u32, FormatError> {
        let find = || -> Option<u32> {
            match &self.data {
                ColumnData::Dictionary(column) => column.first_rank(column.code_at(rank)?.checked_add(1)?),
                ColumnData::Texts(column) => {
                    let ranks = column.ranks?;
                    let run = ranks.get(self.order.row_at(rank)? as usize)?;
                    partition_point(rank..self.valid, |rank| {
                        Some(ranks.get(self.order.row_at(rank)? as usize)? <= run)
                    })
                }
                ColumnData::Numbers(column) => {
                    let key = column.wide_order_key(self.order.row_at(rank)?)?;
                    match key.checked_add(1).filter(|after| self.key_exists(*after)) {
                        Some(after) => column.lower_bound(after, 0),
                        None => Some(self.valid),
                    }
                }
            }
        };
        find().filter(|end| *end > rank).ok_or_else(|| self.damaged())
    }
}
