//! One module for each fuzz target: what is done with the bytes, and what must hold whatever they are.
//!
//! The naive engine and the plain model of the books are those of the property tests. Knows no fuzzer.

pub mod cursor;
#[path = "../../tests/books/desk.rs"]
mod desk;
pub mod ledger_ops;
#[path = "../../tests/books/model.rs"]
mod model;
#[path = "../../tests/engine/naive.rs"]
mod naive;
pub mod page_changes;
pub mod page_header;
pub mod parquet_convert;
pub mod query_body;
pub mod request_head;
mod resealed;
pub mod search_query;
pub mod store_file;
#[path = "../../tests/engine/stored.rs"]
mod stored;
mod table;
mod thrift_tree;
mod walk;
#[path = "../../tests/books/world.rs"]
mod world;
