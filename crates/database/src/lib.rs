//! A database that speaks PostgreSQL's protocol: its address, connections to it, and the schema of all its tables.
//!
//! Only this folder and `ledger/postgres/` name the crate `postgres`. Does not depend on what the tables mean.

mod address;
mod connection;
mod schema;
mod tls;

pub use address::{AddressError, DatabaseAddress};
pub use connection::{Arguments, Connection, Trouble};
pub use schema::{Migrated, SchemaFault, check, migrate, version};
