//! Errors of the settings.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The command line is wrong, or asks for help.
    #[error("{0}")]
    Usage(clap::Error),
    #[error("{}: cannot read the configuration: {message}", path.display())]
    Unreadable { path: PathBuf, message: String },
    #[error("{}:{line}: {message}", path.display())]
    File { path: PathBuf, line: usize, message: String },
    #[error(
        "--payments: `demo` sells by a click, so it needs a --listen of this machine alone (loopback), found {listen}"
    )]
    DemoPayments { listen: SocketAddr },
}
