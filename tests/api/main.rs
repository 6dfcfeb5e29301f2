//! The API as a client meets it: over a real socket, against a server of its own for each test.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod admin;
mod arrow;
mod catalog;
mod discovery;
mod download;
mod exchange;
mod faults;
mod harness;
mod key_limits;
mod mcp;
mod net;
mod object_stores;
mod observability;
mod openapi;
mod parquet;
mod payments;
mod process;
mod publishing;
mod query;
mod releases;
mod responses;
#[path = "../books/schema.rs"]
mod schema;
mod shared_directory;
mod site;
#[path = "../books/failures/small_disk.rs"]
mod small_disk;
mod smtp;
mod xlsx;
