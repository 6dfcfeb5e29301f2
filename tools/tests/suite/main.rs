//! Black-box tests of the tools: the command line, round trips of every type, and hostile input.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]
#![expect(clippy::indexing_slicing, reason = "a test that meets a missing element has failed")]

mod annotations;
mod books;
mod cli;
mod corrupt;
mod documents;
mod files;
mod hand_laid;
mod hostile;
#[cfg(target_os = "linux")]
mod loadgen;
mod many_columns;
mod memory;
mod nested_types;
mod old_files;
mod outputs;
mod publish;
mod read_back;
mod round_trip;
#[cfg(target_os = "linux")]
mod stub;
