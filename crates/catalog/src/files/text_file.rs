//! Reads small text files within a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::CatalogError;

/// Reads a text file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<String, CatalogError> {
    let file = File::open(path).map_err(|error| CatalogError::io(path, "open it", error))?;
    let found = file.metadata().map_err(|error| CatalogError::io(path, "look at it", error))?.len();
    if found > limit {
        return Err(CatalogError::TooLarge { path: path.to_owned(), found, limit });
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(|error| CatalogError::io(path, "read it", error))?;
    String::from_utf8(bytes).map_err(|_| CatalogError::NotText { path: path.to_owned() })
}

/// Reads a text file that may be absent.
pub fn read_optional(path: &Path, limit: u64) -> Result<Option<String>, CatalogError> {
    match read(path, limit) {
        Ok(text) => Ok(Some(text)),
        Err(CatalogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
