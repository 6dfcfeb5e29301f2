//! The converter: round trips of every type, old and hostile files, and the memory limit.

mod annotations;
mod corners;
mod corrupt;
pub mod files;
pub mod hostile;
mod isolation;
mod many_columns;
pub mod memory;
mod nested_types;
mod old_files;
mod raw_parquet;
mod read_back;
mod round_trip;
