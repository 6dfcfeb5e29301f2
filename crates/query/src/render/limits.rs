//! Bounds of rendering.

/// Bytes that a unit of rows should have: enough to be worth a hand-over, few enough to stay in the caches, and less
/// than buffers that are returned to the system when freed.
pub const UNIT_BYTES: u64 = 448 * 1024;
/// A unit is handed over in pieces of about this size where its rows are longer than expected; one row may be longer.
pub const UNIT_BYTES_MAX: usize = 1024 * 1024;
/// Rows of an Arrow record batch at most.
pub const ARROW_BATCH_ROWS_MAX: usize = 65_536;
/// Rows of a sheet that are encoded together at most. A row is much longer as XML than as it is sent.
pub const XLSX_UNIT_ROWS_MAX: usize = 2_048;
/// Bytes of an Arrow record batch at most, if it has more than one row.
pub const ARROW_BATCH_BYTES: usize = UNIT_BYTES_MAX;
/// Entries of a dictionary in an Arrow stream at most. A column with more is sent as plain texts.
pub const ARROW_DICTIONARY_ENTRIES_MAX: u32 = 65_536;
/// Bytes of a dictionary in an Arrow stream at most.
pub const ARROW_DICTIONARY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of all dictionaries of an Arrow stream at most; columns behind them are sent as plain texts.
pub const ARROW_DICTIONARIES_BYTES_MAX: usize = 4 * 1024 * 1024;
