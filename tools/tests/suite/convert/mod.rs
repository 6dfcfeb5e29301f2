//! The converter: round trips of every type, old and hostile files, and the memory limit.

mod annotations;
mod corrupt;
mod edge_cases;
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
mod variants;
