//! Files of the data directory: their paths, their identities, and texts of bounded size.

pub(super) mod data_directory;
pub(super) mod file_identity;
pub(super) mod parquet_file;
pub(super) mod text_file;
