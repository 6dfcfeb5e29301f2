//! The API as a client meets it: over a real socket, against a server of its own for each test.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod accept;
mod admin;
mod arrow;
mod catalog;
mod compression;
mod conditional;
mod counts;
mod departures;
mod discovery;
mod download;
mod envelope;
mod faults;
mod free_answers;
mod harness;
mod idempotency;
mod key_limits;
mod links;
mod metadata;
mod net;
mod observability;
mod openapi;
mod process;
mod provenance;
mod publishing;
mod publishing_under_load;
mod query;
mod query_faults;
mod query_formats;
mod query_money;
mod query_stream;
mod relations;
mod search;
mod search_models;
mod site;
#[path = "../books/small_disk.rs"]
mod small_disk;
mod stats;
mod store_files;
mod versions;
mod wording;
