//! Encoders whose rows can be read only batch by batch: an Arrow stream, and the sheet of a workbook.

use mercato_format::FormatError;

/// Encodes rows in batches, on any thread. They are sent in their order, between `begin` and `end`.
pub trait BatchEncoder: Send + Sync {
    /// Rows that are worth encoding together at most.
    fn rows_max(&self) -> usize;

    /// Appends what stands before the rows.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged.
    fn begin(&self, out: &mut Vec<u8>) -> Result<(), FormatError>;

    /// Appends one batch with as many of `rows` as fit: at least one, if there is one. `before` rows come before them.
    /// Returns their number.
    ///
    /// # Errors
    /// As [`BatchEncoder::begin`]. Then discard the appended bytes.
    fn batch(&self, rows: &[u32], before: u64, out: &mut Vec<u8>) -> Result<usize, FormatError>;

    /// Appends what stands behind the last batch. A reader that misses it knows that the answer was cut.
    fn end(&self, out: &mut Vec<u8>);
}
