//! The schema of the tables, and its version, which this program needs.
//!
//! It is made in one transaction, in which the row of its version comes first: of two programs that make it at the same time,
//! one waits for the other and then finds its work done. Does not depend on what the tables mean.

use super::address::DatabaseAddress;
use super::connection::{Connection, Trouble};

/// The tables of version 1. Nothing is released: a change of them is made here.
const SCHEMA: &str = include_str!("schema.sql");
/// The version that this program works with.
const VERSION: i32 = 1;

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, \
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp())";

/// The first schema of the search path, where it does not exist. Names without quotes are in lower case, as elsewhere.
const MISSING_SCHEMA: &str = "SELECT quote_ident(CASE WHEN left(name, 1) = '\"' THEN btrim(name, '\"') ELSE lower(name) END) \
    FROM (SELECT btrim(split_part(current_setting('search_path'), ',', 1)) AS name) AS first WHERE current_schema() IS NULL";

/// Why the schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaFault {
    /// It is not the one that this program works with.
    #[error("{0}")]
    Version(String),
    #[error(transparent)]
    Database(#[from] Trouble),
}

/// The outcome of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before it; zero for a database without books.
    pub from: i32,
    /// The version after it.
    pub to: i32,
}

/// Makes the tables. Does nothing where that is done.
pub fn migrate(address: &DatabaseAddress) -> Result<Migrated, SchemaFault> {
    let connection = &mut Connection::open(address)?;
    make_schema(connection)?;
    connection.run(VERSIONS).or_else(|trouble| made_by_another(connection, trouble))?;
    let from = version(connection)?.unwrap_or(0);
    refuse_newer(from)?;
    if from < VERSION {
        apply(connection)?;
    }
    Ok(Migrated { from, to: VERSION })
}

/// Makes sure that the schema is the one that this program works with.
pub fn check(connection: &mut Connection) -> Result<(), SchemaFault> {
    let known = connection.first("SELECT to_regclass('schema_version') IS NOT NULL", &[])?;
    let is_there = known.is_some_and(|row| row.get(0));
    let found = if is_there { version(connection)?.unwrap_or(0) } else { 0 };
    refuse_newer(found)?;
    if found < VERSION {
        let advice = "it holds no books yet; run `mercato-tools books migrate --books URL` first";
        return Err(SchemaFault::Version(advice.to_owned()));
    }
    Ok(())
}

fn refuse_newer(found: i32) -> Result<(), SchemaFault> {
    if found > VERSION {
        return Err(SchemaFault::Version(format!(
            "its books have schema version {found}, this program works with {VERSION}; use the program that migrated them, \
             or a newer one"
        )));
    }
    Ok(())
}

/// The version of the schema; nothing before its first migration.
pub fn version(connection: &mut Connection) -> Result<Option<i32>, Trouble> {
    let row = connection.first("SELECT max(version) FROM schema_version", &[])?;
    Ok(row.and_then(|row| row.get(0)))
}

/// Makes the schema that the address chooses by `search_path`, where it does not exist.
fn make_schema(connection: &mut Connection) -> Result<(), Trouble> {
    let row = connection.first(MISSING_SCHEMA, &[])?;
    match row {
        Some(row) => {
            let schema = format!("CREATE SCHEMA IF NOT EXISTS {}", row.get::<_, String>(0));
            // Another program may have been quicker by a moment.
            connection.run(&schema).or_else(|_| connection.run(&schema))
        }
        None => Ok(()),
    }
}

/// Two programs that create one table at the same time meet in the catalogue of the database.
fn made_by_another(connection: &mut Connection, trouble: Trouble) -> Result<(), Trouble> {
    match trouble {
        Trouble::Taken(_) | Trouble::Conflict(_) | Trouble::Refused(_) => connection.run(VERSIONS),
        other => Err(other),
    }
}

fn apply(connection: &mut Connection) -> Result<(), Trouble> {
    connection.run("BEGIN")?;
    let applied = connection
        .execute("INSERT INTO schema_version (version) VALUES ($1)", &[&VERSION])
        .and_then(|_| connection.run(SCHEMA))
        .and_then(|()| connection.run("COMMIT"));
    match applied {
        Ok(()) => {
            tracing::info!(version = VERSION, "the schema of the books is made");
            Ok(())
        }
        // Another program was quicker.
        Err(Trouble::Taken(_)) => {
            connection.roll_back();
            Ok(())
        }
        Err(trouble) => {
            connection.roll_back();
            Err(trouble)
        }
    }
}
