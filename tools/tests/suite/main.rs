//! Black-box tests of the tools: the command line, round trips of every type, and hostile input.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]
#![expect(clippy::indexing_slicing, reason = "a test that meets a missing element has failed")]

mod books;
mod cli;
mod convert;
mod documents;
mod inputs;
#[cfg(target_os = "linux")]
mod loadgen;
mod logins;
mod outputs;
mod parquet_out;
mod publish;
#[cfg(target_os = "linux")]
mod stub_server;
