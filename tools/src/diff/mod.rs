//! The difference between two store files: columns, and rows by key columns. The rows are merged in the order of the keys'
//! sort indexes, so memory does not grow with the rows for one key column. Does not depend on data directories.

mod keys;
pub mod report;

use std::path::Path;

use indicatif::ProgressBar;
use mercato_format::{ColumnData, ColumnKind, Table};
use mercato_query::render::{Format, render_rows};
use serde_json::value::RawValue;

use crate::failure::Failure;
use keys::{Key, OrderedRows};
use report::{ChangedCell, ChangedRow, ColumnChange, ColumnLine, Difference, RowChanges, Side};

/// Rows between two reports of progress.
const PROGRESS_ROWS: u64 = 65_536;

/// One of the two files.
pub struct Version<'a> {
    pub name: &'a str,
    pub path: &'a Path,
    pub table: &'a Table,
}

#[derive(Debug, Clone)]
pub struct DiffOptions {
    /// The key columns, which no two rows share. Without any, only the columns are compared.
    pub key: Vec<String>,
    /// Examples of each kind of change.
    pub examples: usize,
    /// Memory limit, bytes.
    pub memory_limit: u64,
}

/// Compares two files.
///
/// # Errors
/// When a key column is missing, has no sort index, changed its type or is not unique; when a file is damaged.
pub fn compare(
    before: &Version<'_>,
    after: &Version<'_>,
    options: &DiffOptions,
    bar: &ProgressBar,
) -> Result<Difference, Failure> {
    let side = |version: &Version<'_>| Side {
        name: version.name.to_owned(),
        rows: version.table.row_count(),
        fingerprint: version.table.fingerprint().to_string(),
    };
    let mut difference = Difference {
        before: side(before),
        after: side(after),
        identical: before.table.fingerprint() == after.table.fingerprint(),
        added_columns: lines(after.table, before.table),
        removed_columns: lines(before.table, after.table),
        changed_columns: changed_columns(before.table, after.table),
        key: options.key.clone(),
        rows: None,
    };
    if !options.key.is_empty() {
        let ordered = (OrderedRows::of(before, options)?, OrderedRows::of(after, options)?);
        keys::check_types(before, after, &ordered.0, &ordered.1)?;
        let merge =
            Merge { before, after, ordered, options, common: common_columns(before.table, after.table) };
        difference.rows = Some(merge.run(bar)?);
    }
    Ok(difference)
}

/// The columns of `table` that `other` does not have.
fn lines(table: &Table, other: &Table) -> Vec<ColumnLine> {
    let missing = table.columns().iter().filter(|column| other.column_index(&column.name).is_none());
    missing.map(|column| ColumnLine { name: column.name.clone(), r#type: describe(column.kind) }).collect()
}

fn changed_columns(before: &Table, after: &Table) -> Vec<ColumnChange> {
    let common = common_columns(before, after).into_iter();
    let changes = common.filter_map(|(one, other)| {
        let (one, other) = (before.columns().get(one)?, after.columns().get(other)?);
        let (from, to) = (describe(one.kind), describe(other.kind));
        (from != to).then(|| ColumnChange { name: one.name.clone(), from, to })
    });
    changes.collect()
}

/// The numbers of the columns that both have.
fn common_columns(before: &Table, after: &Table) -> Vec<(usize, usize)> {
    let numbers = before.columns().iter().enumerate();
    numbers.filter_map(|(number, column)| Some((number, after.column_index(&column.name)?))).collect()
}

/// The type as people know it: with the scale of a decimal and the digits of a timestamp.
fn describe(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Decimal { scale, .. } => format!("decimal of scale {scale}"),
        ColumnKind::Timestamp { unit } => format!("datetime of {} digits", unit.digits()),
        ColumnKind::Float => "number".into(),
        ColumnKind::Date => "date".into(),
        kind => kind.logical().name().into(),
    }
}

/// A merge of two files in the order of their keys.
struct Merge<'a> {
    before: &'a Version<'a>,
    after: &'a Version<'a>,
    ordered: (OrderedRows<'a>, OrderedRows<'a>),
    options: &'a DiffOptions,
    common: Vec<(usize, usize)>,
}

impl Merge<'_> {
    fn run(&self, bar: &ProgressBar) -> Result<RowChanges, Failure> {
        let (one, other) = (&self.ordered.0, &self.ordered.1);
        let pairs = self.pairs()?;
        let mut changes = RowChanges { changed_by_column: vec![0; pairs.len()], ..RowChanges::default() };
        let (mut left, mut right) = (one.first()?, other.first()?);
        let mut steps = 0_u64;
        while left.is_some() || right.is_some() {
            steps += 1;
            if steps.is_multiple_of(PROGRESS_ROWS) {
                bar.set_position(steps);
            }
            let order = match (&left, &right) {
                (Some(left), Some(right)) => left.key.cmp(&right.key),
                (Some(_), None) => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            };
            match (order, left.take(), right.take()) {
                (std::cmp::Ordering::Less, Some(gone), kept) => {
                    changes.removed += 1;
                    self.note(&mut changes.removed_examples, self.before, one, gone.row)?;
                    (left, right) = (one.after(&gone)?, kept);
                }
                (std::cmp::Ordering::Greater, kept, Some(new)) => {
                    changes.added += 1;
                    self.note(&mut changes.added_examples, self.after, other, new.row)?;
                    (left, right) = (kept, other.after(&new)?);
                }
                (_, Some(old), Some(new)) => {
                    self.compare(&pairs, old.row, new.row, &mut changes)?;
                    (left, right) = (one.after(&old)?, other.after(&new)?);
                }
                _ => break,
            }
        }
        bar.finish_and_clear();
        changes.set_columns(pairs.iter().map(|pair| pair.name.clone()));
        Ok(changes)
    }

    /// The columns whose values are compared: those of one type in both files.
    fn pairs(&self) -> Result<Vec<Pair<'_>>, Failure> {
        let mut pairs = Vec::new();
        for (one, other) in &self.common {
            let metas = (self.before.table.columns().get(*one), self.after.table.columns().get(*other));
            let (Some(old), Some(new)) = metas else { continue };
            if describe(old.kind) != describe(new.kind) || self.options.key.contains(&old.name) {
                continue;
            }
            pairs.push(Pair {
                name: old.name.clone(),
                kind: old.kind,
                numbers: (*one, *other),
                before: self.before.table.column(*one).map_err(Failure::store(self.before.path))?,
                after: self.after.table.column(*other).map_err(Failure::store(self.after.path))?,
            });
        }
        Ok(pairs)
    }

    fn compare(
        &self,
        pairs: &[Pair<'_>],
        old: u32,
        new: u32,
        changes: &mut RowChanges,
    ) -> Result<(), Failure> {
        let mut cells = Vec::new();
        let wants_example = changes.changed_examples.len() < self.options.examples;
        let mut is_changed = false;
        for (pair, count) in pairs.iter().zip(&mut changes.changed_by_column) {
            let Some(same) = pair.is_same(old, new) else {
                return Err(Failure::store(self.before.path)(self.before.table.damaged(pair.numbers.0)));
            };
            if same {
                continue;
            }
            (*count, is_changed) = (*count + 1, true);
            if wants_example {
                cells.push(ChangedCell {
                    column: pair.name.clone(),
                    from: cell(self.before, pair.numbers.0, old)?,
                    to: cell(self.after, pair.numbers.1, new)?,
                });
            }
        }
        if !is_changed {
            changes.unchanged += 1;
            return Ok(());
        }
        changes.changed += 1;
        if wants_example {
            let key = self.key_cells(self.after, &self.ordered.1, new)?;
            changes.changed_examples.push(ChangedRow { key, cells });
        }
        Ok(())
    }

    fn note(
        &self,
        examples: &mut Vec<Vec<Box<RawValue>>>,
        version: &Version<'_>,
        ordered: &OrderedRows<'_>,
        row: u32,
    ) -> Result<(), Failure> {
        if examples.len() < self.options.examples {
            examples.push(self.key_cells(version, ordered, row)?);
        }
        Ok(())
    }

    fn key_cells(
        &self,
        version: &Version<'_>,
        ordered: &OrderedRows<'_>,
        row: u32,
    ) -> Result<Vec<Box<RawValue>>, Failure> {
        ordered.columns.iter().map(|column| cell(version, *column, row)).collect()
    }
}

struct Pair<'a> {
    name: String,
    kind: ColumnKind,
    numbers: (usize, usize),
    before: ColumnData<'a>,
    after: ColumnData<'a>,
}

impl Pair<'_> {
    /// Whether two rows have the same value; `None` when a file is damaged.
    fn is_same(&self, old: u32, new: u32) -> Option<bool> {
        Some(match self.kind {
            ColumnKind::Text => self.before.text(old)? == self.after.text(new)?,
            ColumnKind::Float => {
                let bits = |value: Option<f64>| value.map(mercato_format::order::float_key);
                bits(self.before.float(old)?) == bits(self.after.float(new)?)
            }
            _ => self.before.integer(old)? == self.after.integer(new)?,
        })
    }
}

fn cell(version: &Version<'_>, column: usize, row: u32) -> Result<Box<RawValue>, Failure> {
    let mut line = Vec::new();
    let damaged = || Failure::store(version.path)(version.table.damaged(column));
    render_rows(Format::Ndjson, version.table, &[column], &[row], &mut line)
        .map_err(Failure::store(version.path))?;
    let members: std::collections::HashMap<String, Box<RawValue>> =
        serde_json::from_slice(&line).map_err(|_| damaged())?;
    members.into_values().next().ok_or_else(damaged)
}

/// A row in the order of the keys.
pub struct Place<'a> {
    rank: u32,
    row: u32,
    key: Vec<Key<'a>>,
}
