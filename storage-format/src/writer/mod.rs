//! Writing a store file: one [`ColumnBuilder`] a column, then one [`TableWriter`] that puts the finished segments
//! into a file, verifies it through the reader and gives it its name.

mod builder;
mod dictionary;
mod distinct_sketch;
mod number_column;
mod segment;
mod small_table;
mod sort;
mod spool;
mod table_writer;
mod temporary_file;
mod text_column;
mod text_sort;
mod text_source;
mod validity;

pub(crate) use number_column::push_json_number;

pub use builder::{BuildOptions, ColumnBuilder};
pub use segment::{ColumnReport, ColumnSegment};
pub use small_table::{Column, ColumnValues, temporary_table, write_table, write_table_and};
pub use table_writer::{TableMetadata, TableSummary, TableWriter};
