//! The schema of a Parquet file: its columns as the store file has them, and the types that they are read as.

pub mod annotations;
pub mod arrow_types;
pub mod column_names;
pub mod flatten;
pub mod projection;
pub mod variant;
