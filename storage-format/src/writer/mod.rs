//! Writes a store file: one [`ColumnBuilder`] for each column, and one [`TableWriter`] that writes the segments,
//! verifies the file through the reader and renames it into place.

pub(crate) mod blocks;
mod builder;
mod dictionary;
mod distinct_sketch;
mod number_column;
mod number_order;
mod postings;
mod segment;
mod small_table;
mod sort;
mod spool;
mod table_writer;
mod target;
mod temporary_file;
mod texts;
mod validity;

pub(crate) use number_column::push_json_number;
pub(crate) use postings::{TakeZone, build as build_postings};

pub use builder::{BuildOptions, ColumnBuilder};
pub use segment::{ColumnReport, ColumnSegment};
pub use small_table::{Column, ColumnValues, memory_table, temporary_table, write_table, write_table_and};
pub use table_writer::{TableMetadata, TableSummary, TableWriter};
