//! Why a command stopped, in one line: which file, which part of it, what was expected, what was found, what to
//! do. Knows nothing of exit codes; `main` maps them.

use std::io;
use std::path::Path;

use mercato::catalog::CatalogError;
use mercato::search::models::{InferenceError, ModelError};
use mercato_format::FormatError;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input cannot be carried, is damaged, or is larger than a limit.
    #[error("{file}: {section}: expected {expected}, found {found}; {remedy}")]
    Refused {
        /// The file at fault.
        file: String,
        /// Which part of it: a column, a row group, the footer.
        section: String,
        /// What would have been right.
        expected: String,
        /// What is there.
        found: String,
        /// What to do about it.
        remedy: String,
    },
    /// The operating system refused an operation.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What was attempted.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A store file could not be written, opened or read.
    #[error("{file}: {source}")]
    Store {
        /// The file.
        file: String,
        /// What is wrong.
        source: FormatError,
    },
    /// A store file could not be written because of one column.
    #[error("{file}: column `{column}`: {source}")]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What is wrong.
        source: FormatError,
    },
    /// The catalog refused, or its files cannot be read or written.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A loaded model gives no answer.
    #[error("{folder}: {source}")]
    Inference {
        /// The model's folder.
        folder: String,
        /// What went wrong.
        source: InferenceError,
    },
    /// The books cannot be opened or written.
    #[error("books in {directory}: cannot {action}: {reason}")]
    Books {
        /// Where they are.
        directory: String,
        /// What was attempted.
        action: &'static str,
        /// What the books said.
        reason: String,
    },
    /// The server did not start.
    #[error("server: {0}")]
    Start(String),
    /// Requests of a load failed.
    #[error("{url}: {failure_summary}")]
    Load {
        /// The server.
        url: String,
        /// How many failed, the first of them, and what to do.
        failure_summary: String,
    },
    /// A signal ended the command before it was done.
    #[error("{file}: ended by a signal; nothing was written")]
    Cancelled {
        /// What was to be written.
        file: String,
    },
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// An operating-system error with the file and what was attempted.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Failure {
        let file = path.display().to_string();
        move |source| Failure::Io { file, action, source }
    }

    /// A store-file error with the file it belongs to.
    pub fn store(path: &Path) -> impl FnOnce(FormatError) -> Failure {
        let file = path.display().to_string();
        move |source| match source {
            // The format names the file itself where it knows it, and once is enough.
            FormatError::File { path, source } => {
                Failure::Store { file: path.display().to_string(), source: *source }
            }
            source => Failure::Store { file, source },
        }
    }

    /// 2 for a wrong command line, 1 for everything else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            _ => 1,
        }
    }

    /// The message with every control character, line breaks too, replaced by a space, so that it stays one
    /// line whatever names an input carries.
    #[must_use]
    pub fn one_line(&self) -> String {
        self.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}
