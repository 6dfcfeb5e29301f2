//! The sort support of a column, for schemas.

use mercato_format::{ColumnData, FormatError, Table};

/// The sort support of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortSupport {
    /// Whether it has a sort index: sorting and filtering by it need no full scan.
    pub indexed: bool,
    /// Whether rows can be sorted by it: with an index, or without one to a bounded depth unless it is text.
    pub sortable: bool,
}

impl SortSupport {
    /// The support of a column, by number.
    ///
    /// # Errors
    /// When the store file is damaged there.
    pub fn of(table: &Table, column: usize) -> Result<SortSupport, FormatError> {
        let data = table.column(column)?;
        let indexed = data.order().is_known();
        Ok(SortSupport { indexed, sortable: indexed || !matches!(data, ColumnData::Texts(_)) })
    }
}
