//! Sorts the rows of a conversion by columns. The rows are first written as they come, into a store file with sort
//! indexes on these columns alone, built and spilled inside the memory limit. Its indexes give the order in which the
//! final file reads it. Does not depend on inputs.
//!
//! One column needs no memory: its index is the order. More columns take sixteen bytes a row: a stable sort by each column,
//! the last one first.

use std::path::{Path, PathBuf};

use mercato_format::{ColumnData, Table};

use crate::convert::Conversion;
use crate::convert::dataset::Dataset;
use crate::convert::dataset::store::RowSequence;
use crate::convert::unknown_column;
use crate::failure::Failure;

/// Bytes a row that a sort by several columns takes: the order, the next order, and by row and by
/// run where it goes.
pub const SORT_ROW_BYTES: u64 = 16;
/// The order may take half of the memory; columns are built in the rest.
const SORT_SHARE: u64 = 2;
const MEBIBYTE: u64 = 1 << 20;
/// Ranks whose rows are found together.
const BLOCK_RANKS: u32 = 8192;

/// The numbers of the columns to sort by.
///
/// # Errors
/// A usage error for an unknown or repeated column; a refusal when the order does not fit the memory limit.
pub fn keys(conversion: &Conversion, dataset: &Dataset) -> Result<Vec<usize>, Failure> {
    let mut keys = Vec::with_capacity(conversion.sort_by.len());
    for name in &conversion.sort_by {
        let Some(key) = dataset.columns.iter().position(|column| column.spec.name == *name) else {
            let names = dataset.columns.iter().map(|column| column.spec.name.as_str());
            return Err(unknown_column::refuse("--sort-by", name, &dataset.name, names));
        };
        if keys.contains(&key) {
            return Err(Failure::Usage(format!("--sort-by {name}: the column is named twice")));
        }
        keys.push(key);
    }
    let bytes = if keys.len() > 1 { dataset.row_count.saturating_mul(SORT_ROW_BYTES) } else { 0 };
    if bytes > conversion.memory_limit / SORT_SHARE {
        return Err(Failure::refused(
            dataset.name.clone(),
            "--sort-by",
            format!("{SORT_ROW_BYTES} bytes a row in half of this --memory-limit"),
            format!("{} rows", dataset.row_count),
            format!(
                "pass --memory-limit {}MiB, or sort by one column, which takes no memory",
                bytes.saturating_mul(SORT_SHARE).div_ceil(MEBIBYTE)
            ),
        ));
    }
    Ok(keys)
}

/// The hidden file beside the output that holds the rows as they come.
#[must_use]
pub fn unsorted_path(target: &Path) -> PathBuf {
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    target.with_file_name(format!(".{name}.unsorted-{}", std::process::id()))
}

/// Opens a file and removes its name. The open file stays until it is closed.
pub fn open_and_remove(path: &Path) -> Result<Table, Failure> {
    let table = Table::open(path).map_err(Failure::store(path));
    std::fs::remove_file(path).map_err(Failure::io(path, "remove"))?;
    table
}

/// The order of the rows by `keys`, whose columns have sort indexes. Equal rows keep their order. `check` runs between two
/// columns and may end the work; `file` is named in errors.
pub fn sequence(
    table: &Table,
    keys: &[usize],
    file: &Path,
    check: &dyn Fn() -> Result<(), Failure>,
) -> Result<RowSequence, Failure> {
    let damaged = |key: usize| Failure::store(file)(table.damaged(key));
    match keys {
        [] => Ok(RowSequence::File),
        [key] => Ok(RowSequence::Index(*key)),
        [others @ .., last] => {
            let mut order = Vec::with_capacity(table.row_count() as usize);
            let column = table.column(*last).map_err(|_| damaged(*last))?;
            if !column.order().copy_rows(0..table.row_count(), &mut order) {
                return Err(damaged(*last));
            }
            for key in others.iter().rev() {
                check()?;
                let column = table.column(*key).map_err(|_| damaged(*key))?;
                order = stable_by(&column, table.row_count(), &order).ok_or_else(|| damaged(*key))?;
            }
            Ok(RowSequence::Rows(order))
        }
    }
}

/// Sorts rows by a column, stably. A row goes to the next free place of its run: of the rows with the same value.
/// `None` when the file is damaged.
fn stable_by(column: &ColumnData<'_>, rows: u32, order: &[u32]) -> Option<Vec<u32>> {
    let mut run_of = vec![0_u32; rows as usize];
    let (mut first, mut before, mut block) = (0, None, Vec::new());
    for start in (0..rows).step_by(BLOCK_RANKS as usize) {
        block.clear();
        let end = rows.min(start.saturating_add(BLOCK_RANKS));
        column.order().copy_rows(start..end, &mut block).then_some(())?;
        for (rank, row) in (start..).zip(&block) {
            if let Some(before) = before.replace(*row)
                && !is_same(column, before, *row)?
            {
                first = rank;
            }
            *run_of.get_mut(*row as usize)? = first;
        }
    }
    // The next free place of a run, by its first rank.
    let mut next: Vec<u32> = (0..rows).collect();
    let mut sorted = vec![0_u32; rows as usize];
    for row in order {
        let place = next.get_mut(*run_of.get(*row as usize)? as usize)?;
        *sorted.get_mut(*place as usize)? = *row;
        *place += 1;
    }
    Some(sorted)
}

/// Whether two rows have equal values. All NaNs are equal, and so are all nulls.
fn is_same(column: &ColumnData<'_>, one: u32, other: u32) -> Option<bool> {
    Some(match column {
        ColumnData::Dictionary(column) => {
            let (one, other) = (column.codes.get(one as usize)?, column.codes.get(other as usize)?);
            let key = |code| if code < column.entries { column.number_key(code) } else { None };
            // Both zeros of doubles are equal.
            one == other || key(one).is_some_and(|one| Some(one) == key(other))
        }
        ColumnData::Numbers(column) => match (column.is_valid(one), column.is_valid(other)) {
            (true, true) => column.wide_order_key(one)? == column.wide_order_key(other)?,
            (one, other) => one == other,
        },
        ColumnData::Texts(column) => column.json(one)? == column.json(other)?,
    })
}
