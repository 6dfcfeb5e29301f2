//! Errors of the settings.

use std::path::PathBuf;

/// Why the settings cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot read the configuration: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        message: String,
    },
    /// The file is not as it should be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
        /// The message.
        message: String,
    },
    /// A required flag is missing.
    #[error("--{flag} is required; give it as a flag or in the configuration file")]
    Missing {
        /// Name of the flag.
        flag: &'static str,
    },
    /// A flag is of no use without another one.
    #[error("--{flag} needs --{needed}")]
    Needs {
        /// Name of the flag.
        flag: &'static str,
        /// Name of the missing one.
        needed: &'static str,
    },
    /// A value cannot be used.
    #[error("--{flag}: found `{found}`, expected {expected}")]
    Value {
        /// Name of the flag.
        flag: &'static str,
        /// The typed value.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
}
