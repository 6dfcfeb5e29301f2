//! The library of `mercato-tools`: converts data into store files, publishes datasets, manages the books, and
//! generates load. Works on files and on the libraries of the server.

pub mod books;
pub mod command_line;
pub mod commands;
pub mod convert;
pub mod demo;
pub mod destination;
pub mod diff;
pub mod evaluation;
pub mod failure;
pub mod interruption;
#[cfg(target_os = "linux")]
pub mod loadgen;
pub mod models;
pub mod panic_guard;
pub mod parquet_file;
pub mod progress;
mod split_mix;
