//! The way to the database: its address, connections, transactions with a known outcome, and the schema.

pub(super) mod address;
pub(super) mod connection;
pub(super) mod schema;
pub(super) mod transaction;
