//! Reads the configuration file.

use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

use super::{ConfigError, TypedFlags};

/// Largest configuration file.
const CONFIG_SIZE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads a configuration file as flags.
pub(super) fn read_file(path: &Path) -> Result<TypedFlags, ConfigError> {
    let unreadable =
        |error: Error| ConfigError::Unreadable { path: path.to_owned(), message: error.to_string() };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(CONFIG_SIZE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        ConfigError::File {
            path: path.to_owned(),
            line: before.matches('\n').count().saturating_add(1),
            column: before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1),
            message: error.message().replace('\n', "; "),
        }
    })
}
