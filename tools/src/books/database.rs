//! The commands `books migrate` and `books move`: books in a database, and their way there and back.
//!
//! The command line only.

use clap::Subcommand;
use mercato::config::Secret;
use mercato::database::{DatabaseAddress, migrate};
use serde_json::{Value, json};

use super::backend::database_failure;
use super::show;
use crate::failure::Failure;

/// The commands for books in a database.
#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Make the tables of books in a database, or bring them to the version of this program. Run it before the servers of a
    /// new version start; run again, it changes nothing.
    #[command(after_help = "Example:
  mercato-tools books migrate --books postgres://mercato@db.example/mercato")]
    Migrate {
        /// The database: `postgres://user@host/database`, the password in PGPASSWORD or PGPASSFILE.
        #[arg(long, value_name = "URL")]
        books: Secret,
    },
}

pub(super) fn run(command: &DatabaseCommand, json: bool) -> Result<(), Failure> {
    match command {
        DatabaseCommand::Migrate { books } => {
            let address = address(books)?;
            let migrated = migrate(&address)
                .map_err(|error| database_failure(&address, "migrate them", error.to_string()))?;
            let response =
                json!({ "database": address.to_string(), "from": migrated.from, "to": migrated.to });
            show(&response, json, print_migrated)
        }
    }
}

/// The database that a URL names.
pub(super) fn address(url: &Secret) -> Result<DatabaseAddress, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    DatabaseAddress::parse(url.reveal(), variable).map_err(|error| Failure::Books {
        directory: "--books".to_owned(),
        action: "understand its address",
        reason: error.to_string(),
    })
}

fn print_migrated(response: &Value) -> Result<(), Failure> {
    let version = |field: &str| response.get(field).and_then(Value::as_i64).unwrap_or_default();
    let database = response.get("database").and_then(Value::as_str).unwrap_or_default();
    match (version("from"), version("to")) {
        (from, to) if from == to => println!("{database}: the books have schema version {to} already"),
        (0, to) => println!("{database}: made the tables of the books, schema version {to}"),
        (from, to) => println!("{database}: schema version {from} → {to}"),
    }
    Ok(())
}
