//! Black-box tests of the tools: the command line, round trips of every type, and hostile input.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod cli;
mod corrupt;
mod files;
