//! The report of a comparison: as text, as JSON, and as a draft for a changelog. Does not depend on files.

use std::fmt::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    pub before: Side,
    /// The second file.
    pub after: Side,
    pub identical: bool,
    /// Columns of the second file only.
    pub added_columns: Vec<ColumnLine>,
    /// Columns of the first file only.
    pub removed_columns: Vec<ColumnLine>,
    pub changed_columns: Vec<ColumnChange>,
    pub key: Vec<String>,
    /// Changed rows; `None` without a key.
    pub rows: Option<RowChanges>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    pub name: String,
    pub rows: u32,
    pub fingerprint: String,
}

#[derive(Debug, Serialize)]
pub struct ColumnLine {
    pub name: String,
    pub r#type: String,
}

#[derive(Debug, Serialize)]
pub struct ColumnChange {
    pub name: String,
    /// Type in the first file.
    pub from: String,
    /// Type in the second file.
    pub to: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowChanges {
    /// Keys of the second file only.
    pub added: u64,
    /// Keys of the first file only.
    pub removed: u64,
    /// Keys of both with other values in columns of one type.
    pub changed: u64,
    /// Keys of both with the same values.
    pub unchanged: u64,
    /// Rows with another value, by column.
    pub columns: Vec<ColumnCount>,
    /// Keys of the first added rows.
    pub added_examples: Vec<Vec<Box<RawValue>>>,
    /// Keys of the first removed rows.
    pub removed_examples: Vec<Vec<Box<RawValue>>>,
    pub changed_examples: Vec<ChangedRow>,
    /// Counts by compared column, before they have names.
    #[serde(skip)]
    pub changed_by_column: Vec<u64>,
}

/// Rows with another value in a column.
#[derive(Debug, Serialize)]
pub struct ColumnCount {
    pub column: String,
    pub rows: u64,
}

#[derive(Debug, Serialize)]
pub struct ChangedRow {
    pub key: Vec<Box<RawValue>>,
    pub cells: Vec<ChangedCell>,
}

#[derive(Debug, Serialize)]
pub struct ChangedCell {
    pub column: String,
    /// The value in the first file.
    pub from: Box<RawValue>,
    /// The value in the second file.
    pub to: Box<RawValue>,
}

impl RowChanges {
    /// Names the counted columns, and keeps those with changes.
    pub(super) fn set_columns(&mut self, names: impl Iterator<Item = String>) {
        let counts = names.zip(std::mem::take(&mut self.changed_by_column));
        let changed = counts.filter(|(_, rows)| *rows > 0);
        self.columns = changed.map(|(column, rows)| ColumnCount { column, rows }).collect();
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (&self.before, &self.after);
        write!(out, "{}: {} rows → {}: {} rows", before.name, before.rows, after.name, after.rows)?;
        if self.identical {
            return write!(out, "\nno change: the contents are the same");
        }
        for column in &self.added_columns {
            write!(out, "\n+ column {} ({})", column.name, column.r#type)?;
        }
        for column in &self.removed_columns {
            write!(out, "\n- column {} ({})", column.name, column.r#type)?;
        }
        for column in &self.changed_columns {
            write!(out, "\n~ column {}: {} → {}", column.name, column.from, column.to)?;
        }
        let Some(rows) = &self.rows else {
            return write!(out, "\nrows are not compared without --key");
        };
        write!(
            out,
            "\nrows by {}: {} added, {} removed, {} changed, {} unchanged",
            self.key.join(","),
            rows.added,
            rows.removed,
            rows.changed,
            rows.unchanged
        )?;
        for count in &rows.columns {
            write!(out, "\n  {} in {} rows", count.column, count.rows)?;
        }
        for (mark, examples) in [('+', &rows.added_examples), ('-', &rows.removed_examples)] {
            for key in examples {
                write!(out, "\n{mark} {}", joined(key))?;
            }
        }
        for row in &rows.changed_examples {
            write!(out, "\n~ {}:", joined(&row.key))?;
            for cell in &row.cells {
                write!(out, " {} {} → {}", cell.column, cell.from, cell.to)?;
            }
        }
        Ok(())
    }
}

fn joined(key: &[Box<RawValue>]) -> String {
    key.iter().map(|value| value.get()).collect::<Vec<_>>().join(",")
}

impl Difference {
    /// A draft for `changelog.md`: the entry of `version` on `day`.
    #[must_use]
    pub fn markdown(&self, version: &str, day: &str) -> String {
        let mut text = format!("## [{version}] - {day}\n");
        let mut lines = Vec::new();
        let columns =
            self.removed_columns.iter().map(|column| format!("- Column `{}` is gone.", column.name));
        lines.extend(columns);
        let columns = self.changed_columns.iter();
        lines.extend(columns.map(|column| {
            format!("- Column `{}` changes from {} to {}.", column.name, column.from, column.to)
        }));
        let columns = self.added_columns.iter();
        lines.extend(columns.map(|column| format!("- New column `{}` ({}).", column.name, column.r#type)));
        match &self.rows {
            None if self.identical => lines.push("- No change of the data.".into()),
            None => lines.push(format!("- {} rows; {} before.", self.after.rows, self.before.rows)),
            Some(rows) => {
                let key = self.key.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                lines.push(format!(
                    "- {} rows added, {} removed, {} changed (by {key}); {} rows now.",
                    rows.added, rows.removed, rows.changed, self.after.rows
                ));
                let columns = rows.columns.iter();
                lines.extend(
                    columns.map(|count| format!("- `{}` changed in {} rows.", count.column, count.rows)),
                );
            }
        }
        // Writing into a string cannot fail.
        let _ = write!(text, "\n{}", lines.join("\n"));
        text
    }
}
