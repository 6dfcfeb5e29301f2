//! Which columns a Parquet file has, told from its footer.

use std::path::Path;

use parquet::file::metadata::ParquetMetaDataReader;

use super::footer;
use super::plan::Refusal;
use super::source::Source;
use crate::failure::Failure;
use crate::interruption::Interruption;

/// The columns of a Parquet file by their paths.
#[derive(Debug)]
pub struct Outline {
    paths: Vec<String>,
}

impl Outline {
    /// Reads the footer.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn read(input: &Path) -> Result<Outline, Failure> {
        let source = Source::open(input, &Interruption::default())?;
        let footer = footer::read(&source)?;
        let refuse = Refusal::of(&source);
        let facts = refuse.decode("Parquet footer", || ParquetMetaDataReader::decode_metadata(&footer))?;
        let leaves = facts.file_metadata().schema_descr().columns();
        Ok(Outline { paths: leaves.iter().map(|leaf| leaf.path().string()).collect() })
    }

    /// Whether a column or group of this name is in the file.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.paths.iter().any(|path| is_within(path, name))
    }
}

/// Whether a column is the one named or lies in the group named.
#[must_use]
pub fn is_within(column: &str, named: &str) -> bool {
    column.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
