//! The commands, one file each: arguments, work and output. Does not depend on exit codes.

pub mod catalog_location;
pub mod convert;
pub mod datasets;
pub mod demo;
pub mod diff;
pub mod export;
pub mod inspect;
#[cfg(target_os = "linux")]
pub mod loadgen;
pub mod models;
pub mod packaging;
mod publication_options;
pub mod publish;
pub mod search;
pub mod verify;

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints one JSON document and a line break on standard output.
pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(document).map_err(|error| to_stdout(error.into()))?;
    text.push(b'\n');
    io::stdout().write_all(&text).map_err(to_stdout)
}

/// Prints text and a line break on standard output.
pub fn print_text(text: &str) -> Result<(), Failure> {
    writeln!(io::stdout(), "{text}").map_err(to_stdout)
}

pub fn to_stdout(source: io::Error) -> Failure {
    Failure::Io { file: "standard output".into(), action: "write", source }
}
