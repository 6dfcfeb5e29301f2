//! Bounds that several modules of the converter share, with their units. Does not depend on Parquet types.

/// Bytes of one value as text, before it is escaped.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Rows of a record batch.
pub const BATCH_ROWS: usize = 8_192;
/// A decoded batch may take one part in this many of the memory limit.
pub const BATCH_SHARE: u64 = 8;
/// The largest decoded batch under any memory limit, bytes. No valid value needs more.
pub const BATCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes of encoded values that are buffered before they go into their column.
pub const ENCODED_BYTES: usize = 2 * 1024 * 1024;
/// Smallest memory budget of one column, bytes. A lower memory limit is refused.
pub const COLUMN_BUDGET_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Smallest `--memory-limit`, bytes.
pub const MEMORY_LIMIT_BYTES_MIN: u64 = 64 * 1024 * 1024;
