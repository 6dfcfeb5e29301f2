//! How far a column can order rows, told before anybody asks.

use mercato_format::{ColumnData, FormatError, Table};

/// What a column can do for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortSupport {
    /// It carries a sort index: order and filters by it cost no look at every row.
    pub indexed: bool,
    /// Rows can be sorted by it: also without an index, down to a bounded depth, unless it is text.
    pub sortable: bool,
}

impl SortSupport {
    /// Of a column, by its number.
    ///
    /// # Errors
    /// When the store file is damaged there.
    pub fn of(table: &Table, column: usize) -> Result<SortSupport, FormatError> {
        let data = table.column(column)?;
        let indexed = data.order().is_known();
        Ok(SortSupport { indexed, sortable: indexed || !matches!(data, ColumnData::Texts(_)) })
    }
}
