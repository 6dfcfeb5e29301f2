//! Writes a table from values in memory, in one call.

use std::path::Path;

use crate::error::FormatError;
use crate::reader::Table;
use crate::schema::{ColumnKind, ColumnSpec};
use crate::writer::{BuildOptions, ColumnBuilder, TableMetadata, TableSummary, TableWriter};

/// The values of one column.
#[derive(Debug, Clone)]
pub enum ColumnValues {
    /// Integers, scaled decimals, days or time units.
    Integers(Vec<Option<i64>>),
    /// Integers or scaled decimals of up to 128 bits.
    Wide(Vec<Option<i128>>),
    /// Doubles.
    Floats(Vec<Option<f64>>),
    Booleans(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

/// A column and its values.
#[derive(Debug, Clone)]
pub struct Column {
    /// The specification of the column.
    pub spec: ColumnSpec,
    pub values: ColumnValues,
    /// Whether to build a sort index.
    pub sort_index: bool,
}

impl Column {
    /// A nullable column with a sort index.
    #[must_use]
    pub fn new(name: &str, kind: ColumnKind, values: ColumnValues) -> Column {
        let spec = ColumnSpec { name: name.into(), kind, nullable: true, source_type: kind.name().into() };
        Column { spec, values, sort_index: true }
    }
}

/// Memory budget of a column of a small table.
const SMALL_BUDGET_BYTES: u64 = 64 << 20;

/// Writes a table from values in memory.
///
/// # Errors
/// The errors of [`ColumnBuilder`] and [`TableWriter`].
pub fn write_table(target: &Path, columns: &[Column]) -> Result<TableSummary, FormatError> {
    write_table_and(target, columns, |_| Ok(()))
}

/// Like [`write_table`]; `derive` appends further sections before the commit.
///
/// # Errors
/// As [`write_table`], and the errors of `derive`.
pub fn write_table_and(
    target: &Path,
    columns: &[Column],
    derive: impl FnOnce(&mut TableWriter) -> Result<(), FormatError>,
) -> Result<TableSummary, FormatError> {
    let metadata = TableMetadata { source_schema: String::new(), created_by: "mercato-format".into() };
    let mut writer = TableWriter::create(target, metadata)?;
    for column in columns {
        let options = BuildOptions {
            memory_budget_bytes: SMALL_BUDGET_BYTES,
            spill_directory: target.parent().unwrap_or(Path::new(".")).to_path_buf(),
            sort_index: column.sort_index,
        };
        let mut builder = ColumnBuilder::new(column.spec.clone(), options);
        match &column.values {
            ColumnValues::Integers(values) => builder.extend_integers(values.iter().copied())?,
            ColumnValues::Wide(values) => builder.extend_wide(values.iter().copied())?,
            ColumnValues::Floats(values) => builder.extend_floats(values.iter().copied())?,
            ColumnValues::Booleans(values) => builder.extend_booleans(values.iter().copied())?,
            ColumnValues::Texts(values) => builder.extend_texts(values.iter().map(Option::as_deref))?,
        }
        writer.append(builder.finish()?)?;
    }
    derive(&mut writer)?;
    writer.commit(&|_| ())
}

/// Writes a table into a temporary folder and opens it. The file exists while the table is open.
///
/// # Errors
/// As [`write_table`] and [`Table::open`].
pub fn temporary_table(columns: &[Column]) -> Result<Table, FormatError> {
    let folder = tempfile::tempdir().map_err(FormatError::io("create a temporary folder"))?;
    let path = folder.path().join("table.mcol");
    write_table(&path, columns)?;
    Table::open(&path)
}
