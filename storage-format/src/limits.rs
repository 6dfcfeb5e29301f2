//! The bounds of the format, with units. FORMAT.md has the same table.

/// Rows of a table. Row ids are 32 bits wide and the largest value is kept free.
pub const ROWS_MAX: u64 = u32::MAX as u64 - 1;
/// Columns of a table.
pub const COLUMNS_MAX: usize = 16_384;
/// Bytes of a column name.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Bytes of one text value before it is escaped.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Entries of a dictionary of numbers. More distinct values are stored as packed numbers.
pub const NUMBER_DICTIONARY_ENTRIES_MAX: usize = 65_536;
/// Memory of the distinct texts of a column during its build, with 64 bytes for each. A column with more is stored as
/// texts.
pub const TEXT_DICTIONARY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Sections of a file.
pub const SECTIONS_MAX: usize = COLUMNS_MAX * 16 + 16;
/// Bytes of the text that describes the source.
pub const SOURCE_SCHEMA_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Passes over a column's values to build its sort index inside the memory budget.
pub const SORT_PASSES_MAX: usize = 4_096;
