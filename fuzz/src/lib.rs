//! The fuzz targets, one module each: how the bytes are used, and which properties must hold.
//!
//! The naive engine and the model of the books come from the property tests. Does not depend on fuzzers.

mod checksum_fixup;
pub mod cursor;
#[path = "../../tests/books/desk.rs"]
mod desk;
pub mod ledger_ops;
#[path = "../../tests/books/model.rs"]
mod model;
#[path = "../../tests/engine/naive.rs"]
mod naive;
pub mod parquet_convert;
pub mod query_body;
pub mod release_head;
pub mod request_head;
#[path = "../../tests/books/schema.rs"]
mod schema;
pub mod search_query;
pub mod store_file;
#[path = "../../tests/engine/stored.rs"]
mod stored;
mod table;
pub mod text_convert;
mod walk;
#[path = "../../tests/books/world.rs"]
mod world;
