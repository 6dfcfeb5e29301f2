//! The rows of a file in the order of its key columns, with their keys. Does not depend on a second file, but for its
//! types.

use std::borrow::Cow;
use std::path::Path;

use mercato_format::order::{float_key, wide_key};
use mercato_format::{ColumnData, ColumnKind, Table};

use super::{DiffOptions, Place, Version};
use crate::convert::dataset::store::RowSequence;
use crate::convert::sorted::{self, SORT_ROW_BYTES};
use crate::failure::Failure;

/// A value of a key column. The order is that of sort indexes: nulls last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// The order key of a number, date, timestamp or boolean.
    Number(u128),
    Text(Cow<'a, [u8]>),
    Null,
}

/// The rows of a file in the order of its keys.
pub(super) struct OrderedRows<'a> {
    pub(super) columns: Vec<usize>,
    table: &'a Table,
    path: &'a Path,
    sequence: RowSequence,
    data: Vec<(ColumnData<'a>, ColumnKind)>,
}

impl<'a> OrderedRows<'a> {
    /// Orders the rows of a file.
    pub(super) fn of(version: &Version<'a>, options: &DiffOptions) -> Result<OrderedRows<'a>, Failure> {
        let (table, path) = (version.table, version.path);
        let (mut columns, mut data) = (Vec::new(), Vec::new());
        for name in &options.key {
            let Some(column) = table.column_index(name) else {
                return Err(Failure::Usage(format!("--key {name}: {} has no such column", version.name)));
            };
            let values = table.column(column).map_err(Failure::store(path))?;
            if !values.order().is_known() {
                return Err(refusal(
                    version.name,
                    name,
                    "a sort index",
                    "none",
                    "convert the file with --sort-index all, or with this column in it",
                ));
            }
            columns.push(column);
            data.push((values, table.columns().get(column).map_or(ColumnKind::Text, |column| column.kind)));
        }
        let bytes = u64::from(table.row_count()) * SORT_ROW_BYTES;
        if columns.len() > 1 && bytes > options.memory_limit / 2 {
            let remedy =
                format!("pass --memory-limit {}MiB, or use one key column", (bytes * 2).div_ceil(1 << 20));
            let found = format!("{} rows", table.row_count());
            let expected = format!("{SORT_ROW_BYTES} bytes a row in half of this --memory-limit");
            return Err(refusal(version.name, &options.key.join(","), &expected, &found, &remedy));
        }
        let sequence = sorted::sequence(table, &columns, path, &|| Ok(()))?;
        Ok(OrderedRows { columns, table, path, sequence, data })
    }

    pub(super) fn first(&self) -> Result<Option<Place<'a>>, Failure> {
        self.at(0)
    }

    /// The row after another, which has a larger key.
    pub(super) fn after(&self, place: &Place<'a>) -> Result<Option<Place<'a>>, Failure> {
        let next = self.at(place.rank + 1)?;
        if let Some(next) = &next
            && next.key <= place.key
        {
            let column = self.columns.iter().filter_map(|column| self.table.columns().get(*column));
            let names: Vec<&str> = column.map(|column| column.name.as_str()).collect();
            return Err(refusal(
                &self.path.display().to_string(),
                &names.join(","),
                "a key that no two rows share",
                &format!("rows {} and {} with the same", place.row, next.row),
                "name more columns with --key",
            ));
        }
        Ok(next)
    }

    fn at(&self, rank: u32) -> Result<Option<Place<'a>>, Failure> {
        if rank >= self.table.row_count() {
            return Ok(None);
        }
        let damaged =
            || Failure::store(self.path)(self.table.damaged(self.columns.first().copied().unwrap_or(0)));
        let row = match &self.sequence {
            RowSequence::File => Some(rank),
            RowSequence::Index(_) => self.data.first().and_then(|(values, _)| values.order().row_at(rank)),
            RowSequence::Rows(rows) => rows.get(rank as usize).copied(),
        };
        let row = row.ok_or_else(damaged)?;
        let key = self.data.iter().map(|(values, kind)| key(values, *kind, row)).collect::<Option<Vec<_>>>();
        Ok(Some(Place { rank, row, key: key.ok_or_else(damaged)? }))
    }
}

/// The key of a row; `None` when the file is damaged.
fn key<'a>(values: &ColumnData<'a>, kind: ColumnKind, row: u32) -> Option<Key<'a>> {
    Some(match kind {
        ColumnKind::Text => values.text(row)?.map_or(Key::Null, Key::Text),
        ColumnKind::Float => {
            values.float(row)?.map_or(Key::Null, |value| Key::Number(float_key(value).into()))
        }
        _ => values.integer(row)?.map_or(Key::Null, |value| Key::Number(wide_key(value))),
    })
}

/// Refuses key columns whose values do not compare because their types differ.
pub(super) fn check_types(
    before: &Version<'_>,
    after: &Version<'_>,
    one: &OrderedRows<'_>,
    other: &OrderedRows<'_>,
) -> Result<(), Failure> {
    for ((_, from), ((_, to), column)) in one.data.iter().zip(other.data.iter().zip(&other.columns)) {
        let (from, to) = (super::describe(*from), super::describe(*to));
        if from != to {
            let name = after.table.columns().get(*column).map_or("", |column| column.name.as_str());
            let expected = format!("{from}, as in {}", before.name);
            return Err(refusal(
                after.name,
                name,
                &expected,
                &to,
                "name a key column whose type did not change",
            ));
        }
    }
    Ok(())
}

fn refusal(file: &str, column: &str, expected: &str, found: &str, remedy: &str) -> Failure {
    Failure::refused(file, format!("key `{column}`"), expected, found, remedy)
}
