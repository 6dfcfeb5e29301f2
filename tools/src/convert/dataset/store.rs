//! A store file as a part of the rows: its columns, in file order or in another order. Does not depend on other formats.

use std::borrow::Cow;

use mercato_format::{ColumnData, ColumnKind, RowOrder, Table};

use crate::convert::dataset::part::{Sink, extend_integers};
use crate::convert::dataset::widen::Step;
use crate::convert::limits::BATCH_ROWS;
use crate::convert::values::feeder::FeedError;
use crate::failure::Failure;

/// Bytes of texts of a batch that were decoded into memory.
const DECODED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The order in which the rows of a store file are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSequence {
    File,
    /// That of the sort index of a column.
    Index(usize),
    Rows(Vec<u32>),
}

/// A store file, and the order of its rows.
pub struct StorePart {
    pub table: Table,
    pub sequence: RowSequence,
    /// Bytes of the sections of each column.
    pub section_bytes: Vec<u64>,
}

impl StorePart {
    /// A store file that is read in an order.
    #[must_use]
    pub fn new(table: Table, sequence: RowSequence) -> StorePart {
        let mut section_bytes = vec![0_u64; table.columns().len()];
        for section in table.sections() {
            let column = section.column.and_then(|column| section_bytes.get_mut(column as usize));
            if let Some(bytes) = column {
                *bytes += section.len;
            }
        }
        StorePart { table, sequence, section_bytes }
    }

    /// Feeds the values of a column.
    pub(super) fn feed(&self, column: usize, step: Step, sink: &mut Sink<'_>) -> Result<(), Failure> {
        let damaged = || Failure::Store { file: "store file".into(), source: self.table.damaged(column) };
        let values = self.table.column(column).map_err(|_| damaged())?;
        let order = match &self.sequence {
            RowSequence::Index(index) => Some(self.table.column(*index).map_err(|_| damaged())?.order()),
            RowSequence::File | RowSequence::Rows(_) => None,
        };
        let (total, mut first) = (self.table.row_count(), 0);
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        while first < total {
            rows.clear();
            let end = total.min(first.saturating_add(BATCH_ROWS as u32));
            self.rows(first..end, order, &mut rows).ok_or_else(damaged)?;
            let fed = feed_rows(&values, self.kind(column), &rows, step, sink).ok_or_else(damaged)?;
            fed.map_err(|error| (sink.refuse)(first.into(), error))?;
            (sink.progress)(u64::from(end - first))?;
            first = end;
        }
        self.table.check_intact().map_err(|source| Failure::Store { file: "store file".into(), source })
    }

    fn kind(&self, column: usize) -> ColumnKind {
        self.table.columns().get(column).map_or(ColumnKind::Text, |column| column.kind)
    }

    /// The rows at some places of the sequence.
    fn rows(
        &self,
        places: std::ops::Range<u32>,
        order: Option<RowOrder<'_>>,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        match (&self.sequence, order) {
            (RowSequence::Rows(rows), _) => {
                out.extend_from_slice(rows.get(places.start as usize..places.end as usize)?);
            }
            (RowSequence::Index(_), Some(order)) => order.copy_rows(places, out).then_some(())?,
            _ => out.extend(places),
        }
        Some(())
    }
}

/// Feeds the values of some rows; `None` when the file is damaged.
fn feed_rows(
    values: &ColumnData<'_>,
    kind: ColumnKind,
    rows: &[u32],
    step: Step,
    sink: &mut Sink<'_>,
) -> Option<Result<(), FeedError>> {
    match kind {
        ColumnKind::Text => feed_texts(values, rows, sink),
        ColumnKind::Float => {
            let floats: Vec<Option<f64>> =
                rows.iter().map(|row| values.float(*row)).collect::<Option<_>>()?;
            Some(sink.builder.extend_floats(floats.into_iter()).map_err(Into::into))
        }
        _ => {
            let integers: Vec<Option<i128>> =
                rows.iter().map(|row| values.integer(*row)).collect::<Option<_>>()?;
            if kind == ColumnKind::Boolean {
                let booleans = integers.into_iter().map(|value| value.map(|value| value != 0));
                return Some(sink.builder.extend_booleans(booleans).map_err(Into::into));
            }
            Some(extend_integers(sink.builder, sink.kind, step, integers.into_iter().enumerate()))
        }
    }
}

fn feed_texts(values: &ColumnData<'_>, rows: &[u32], sink: &mut Sink<'_>) -> Option<Result<(), FeedError>> {
    let (mut texts, mut decoded) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        let value = values.text(*row)?;
        if let Some(Cow::Owned(text)) = &value {
            decoded += text.len();
        }
        texts.push(value);
        if decoded > DECODED_BYTES_MAX {
            if let Err(error) = flush_texts(&mut texts, sink)? {
                return Some(Err(error));
            }
            decoded = 0;
        }
    }
    flush_texts(&mut texts, sink)
}

fn flush_texts(texts: &mut Vec<Option<Cow<'_, [u8]>>>, sink: &mut Sink<'_>) -> Option<Result<(), FeedError>> {
    let valid: Vec<Option<&str>> = texts
        .iter()
        .map(|text| match text {
            None => Some(None),
            Some(bytes) => std::str::from_utf8(bytes).ok().map(Some),
        })
        .collect::<Option<_>>()?;
    let fed = sink.builder.extend_texts(valid.into_iter()).map_err(FeedError::from);
    texts.clear();
    Some(fed)
}
