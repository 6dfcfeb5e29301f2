//! Marks of rows in encoded bytes: the encoder sets them, and who sends the bytes counts rows by them.

/// Where the bytes of some rows end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMark {
    /// Bytes up to the end of the rows.
    pub end: usize,
    /// Rows up to there, from the first row of the same bytes.
    pub rows: usize,
}
