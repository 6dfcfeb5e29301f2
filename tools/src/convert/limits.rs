//! Every bound of the converter, with its unit. Knows no type of Parquet.

/// Rows of a Parquet file, the same as a store file holds.
pub const ROWS_MAX: u64 = u32::MAX as u64 - 1;
/// Columns after flattening.
pub const COLUMNS_MAX: usize = 16_384;
/// Bytes of one value as text, before it is escaped.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Levels of groups in a Parquet schema.
pub const NESTING_DEPTH_MAX: usize = 64;
/// Elements of a Parquet schema, groups and leaves together.
pub const SCHEMA_ELEMENTS_MAX: usize = 65_536;
/// Bytes of a Parquet footer.
pub const FOOTER_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of a page header; statistics inside it may carry long texts.
pub const PAGE_HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Row groups of a Parquet file.
pub const ROW_GROUPS_MAX: usize = 1_000_000;
/// Bytes of store file for one byte of Parquet; a few bytes that unfold into terabytes are a bomb.
pub const OUTPUT_RATIO_MAX: u64 = 1_000;
/// Bytes of store file that are accepted whatever the ratio.
pub const OUTPUT_RATIO_FREE_BYTES: u64 = 1024 * 1024 * 1024;
/// Rows of a record batch.
pub const BATCH_ROWS: usize = 8_192;
/// The part of the memory limit that one batch may take once it is decoded: one in so many.
pub const BATCH_SHARE: u64 = 8;
/// Most bytes that one batch may take whatever the memory limit; no value that fits its text takes more.
pub const BATCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes that a batch of texts may take if the memory limit allows it, however little the footer promises.
pub const TEXT_BATCH_BYTES: u64 = 48 * 1024 * 1024;
/// Bytes of printed values that are collected before they go into their column.
pub const PRINTED_BYTES: usize = 2 * 1024 * 1024;
/// Smallest memory budget of one column, bytes; below it the limit itself is refused.
pub const COLUMN_BUDGET_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Smallest `--memory-limit`, bytes.
pub const MEMORY_LIMIT_BYTES_MIN: u64 = 64 * 1024 * 1024;
