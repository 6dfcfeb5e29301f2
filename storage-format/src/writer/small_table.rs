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
    let mut writer = TableWriter::create(target, metadata())?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let options = BuildOptions {
        memory_budget_bytes: SMALL_BUDGET_BYTES,
        spill_directory: folder.to_path_buf(),
        sort_index: true,
    };
    append_all(&mut writer, columns, &options)?;
    derive(&mut writer)?;
    writer.commit(&|_| ())
}

fn metadata() -> TableMetadata {
    TableMetadata { source_schema: String::new(), created_by: "mercato-format".into() }
}

fn append_all(
    writer: &mut TableWriter,
    columns: &[Column],
    options: &BuildOptions,
) -> Result<(), FormatError> {
    for column in columns {
        let options = BuildOptions { sort_index: column.sort_index, ..options.clone() };
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
    Ok(())
}

/// Makes a table in memory, without statistics. The caller bounds the values. Packed texts of more than 4 MiB are spilled to an
/// unnamed temporary file.
///
/// # Errors
/// The errors of [`ColumnBuilder`] and [`TableWriter`].
pub fn memory_table(columns: &[Column]) -> Result<Table, FormatError> {
    let folder = std::env::temp_dir();
    let mut writer = TableWriter::in_memory(&folder.join("table.mcol"), metadata())?;
    let options = BuildOptions { memory_budget_bytes: u64::MAX, spill_directory: folder, sort_index: true };
    append_all(&mut writer, columns, &options)?;
    writer.into_table()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_in_memory_is_that_of_a_file() {
        let texts = (0..3_000).map(|row| (row % 7 > 0).then(|| format!("text {row}"))).collect();
        let columns = [
            Column::new("id", ColumnKind::Integer, ColumnValues::Integers((0..3_000).map(Some).collect())),
            Column::new("text", ColumnKind::Text, ColumnValues::Texts(texts)),
        ];
        let (in_memory, in_file) = (memory_table(&columns).unwrap(), temporary_table(&columns).unwrap());
        assert_eq!(in_memory.fingerprint(), in_file.fingerprint());
        in_memory.verify(&|_| ()).unwrap();
        assert_eq!(memory_table(&[]).unwrap().row_count(), 0);
    }
}
