//! The errors of commands, in one line each: file, section, expected and found value, remedy.

use std::io;
use std::path::Path;

use mercato_catalog::CatalogError;
use mercato_catalog::releases::ReleaseError;
use mercato_format::FormatError;
use mercato_search::models::{InferenceError, ModelError};

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input is unsupported, damaged, or exceeds a limit.
    #[error("{file}: {section}: expected {expected}, found {found}; {remedy}")]
    Refused {
        file: String,
        /// Its part: a column, a row group, the footer.
        section: String,
        expected: String,
        found: String,
        remedy: String,
    },
    #[error("{file}: cannot {action}: {source}")]
    Io { file: String, action: &'static str, source: io::Error },
    /// A store file could not be written, opened or read.
    #[error("{file}: {source}")]
    Store { file: String, source: FormatError },
    /// A store file could not be written because of one column.
    #[error("{file}: column `{column}`: {source}")]
    Column { file: String, column: String, source: FormatError },
    /// The catalog refused the operation, or its files cannot be read or written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{folder}: {source}")]
    Inference { folder: String, source: InferenceError },
    /// The books cannot be opened or written.
    #[error("books in {directory}: cannot {action}: {reason}")]
    Books { directory: String, action: &'static str, reason: String },
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// It is published, and servers do not serve it yet.
    #[error("{slug} is published, but after {seconds} s these servers do not serve it yet: {servers}")]
    Lagging {
        slug: String,
        /// How long they were waited for.
        seconds: u32,
        servers: String,
    },
    #[error("server: {0}")]
    Start(String),
    /// The cluster of the demo did not start, or can serve no more.
    #[error("cluster: {0}")]
    Cluster(String),
    /// Requests of a load failed.
    #[error("{url}: {failure_summary}")]
    Load {
        url: String,
        /// The number of failures, the first one, and the remedy.
        failure_summary: String,
    },
    #[error("{message}")]
    Worker { message: String, exit_code: u8 },
    /// A signal ended the command before it was done.
    #[error("{file}: ended by a signal; nothing was written")]
    Cancelled { file: String },
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    pub fn refused(
        file: impl Into<String>,
        section: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Failure {
        Failure::Refused {
            file: file.into(),
            section: section.into(),
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }

    /// Wraps an operating-system error with the file and the attempted operation.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Failure {
        let file = path.display().to_string();
        move |source| Failure::Io { file, action, source }
    }

    /// Wraps a store-file error with its file.
    pub fn store(path: &Path) -> impl FnOnce(FormatError) -> Failure {
        let file = path.display().to_string();
        move |source| match source {
            // Some format errors already name the file.
            FormatError::File { path, source } => {
                Failure::Store { file: path.display().to_string(), source: *source }
            }
            source => Failure::Store { file, source },
        }
    }

    /// 2 for usage errors, 3 for servers that lag, 1 for all others.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Lagging { .. } => 3,
            Failure::Worker { exit_code, .. } => *exit_code,
            _ => 1,
        }
    }

    /// The message on one line: control characters, including line breaks, become spaces.
    #[must_use]
    pub fn one_line(&self) -> String {
        self.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}
