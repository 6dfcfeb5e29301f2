//! The names of the columns and groups of a Parquet file, from its footer.

use std::collections::HashSet;
use std::path::Path;

use parquet::file::metadata::ParquetMetaDataReader;

use crate::convert::footer;
use crate::convert::plan::ErrorContext;
use crate::convert::source::Source;
use crate::failure::Failure;
use crate::interruption::Interruption;

/// The columns and groups of a Parquet file by their dotted names.
#[derive(Debug)]
pub struct ColumnNames {
    names: HashSet<String>,
}

impl ColumnNames {
    /// Reads the footer.
    ///
    /// # Errors
    /// When the footer is damaged.
    pub fn read(input: &Path) -> Result<ColumnNames, Failure> {
        let source = Source::open(input, &Interruption::default())?;
        let footer = footer::read(&source)?;
        let context = ErrorContext::of(&source);
        let metadata =
            context.decode("Parquet footer", || ParquetMetaDataReader::decode_metadata(&footer))?;
        let leaves = metadata.file_metadata().schema_descr().columns();
        let mut names = HashSet::new();
        for path in leaves.iter().map(|leaf| leaf.path().string()) {
            names.extend(with_groups_above(&path).map(str::to_owned));
        }
        Ok(ColumnNames { names })
    }

    /// Whether the file has a column or group of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// The name of a column and of the groups around it, the outermost first.
pub fn with_groups_above(column: &str) -> impl Iterator<Item = &str> {
    let groups = column.match_indices('.').filter_map(|(dot, _)| column.get(..dot));
    groups.chain([column])
}

#[cfg(test)]
mod tests {
    use super::with_groups_above;

    #[test]
    fn lists_column_with_its_groups() {
        let names = |column| with_groups_above(column).collect::<Vec<_>>();
        assert_eq!(names("a"), ["a"]);
        assert_eq!(names("a.bc.d"), ["a", "a.bc", "a.bc.d"]);
        assert_eq!(names("a..b."), ["a", "a.", "a..b", "a..b."]);
        assert_eq!(names("è.é"), ["è", "è.é"]);
    }
}
