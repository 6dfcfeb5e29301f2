//! Every bound of the converter, with its unit. Knows no type of Parquet.

/// Bytes of one value as text, before it is escaped.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Rows of a record batch.
pub const BATCH_ROWS: usize = 8_192;
/// The part of the memory limit that one batch may take once it is decoded: one in so many.
pub const BATCH_SHARE: u64 = 8;
/// Most bytes that one batch may take whatever the memory limit; no value that fits its text takes more.
pub const BATCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes of printed values that are collected before they go into their column.
pub const ENCODED_BYTES: usize = 2 * 1024 * 1024;
/// Smallest memory budget of one column, bytes; below it the limit itself is refused.
pub const COLUMN_BUDGET_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Smallest `--memory-limit`, bytes.
pub const MEMORY_LIMIT_BYTES_MIN: u64 = 64 * 1024 * 1024;
