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
/// Files of one conversion.
pub const INPUT_FILES_MAX: usize = 4_096;
/// Folders inside one another.
pub const FOLDER_DEPTH_MAX: usize = 16;
/// Names in all folders of one conversion, hidden ones among them.
pub const FOLDER_ENTRIES_MAX: usize = 65_536;
/// Files times columns of one conversion. It bounds the memory of all footers together.
pub const FILE_COLUMNS_MAX: usize = 4_000_000;
/// Bytes of one CSV record or one NDJSON line under any memory limit.
pub const RECORD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A record may take one part in this many of the memory limit.
pub const RECORD_SHARE: u64 = 16;
/// Objects and arrays inside one another in an NDJSON value.
pub const JSON_DEPTH_MAX: usize = 64;
/// A compressed input may grow to this size at any ratio, bytes.
pub const DECODED_RATIO_FREE_BYTES: u64 = 1024 * 1024 * 1024;
/// Beyond it, bytes of text for one byte of compressed input.
pub const DECODED_RATIO_MAX: u64 = 1_000;
