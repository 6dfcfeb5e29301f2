//! The commands `books migrate` and `books move`: books in a database, and their way there and back.
//!
//! The command line only.

use std::path::Path;

use clap::Subcommand;
use mercato::config::Secret;
use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_database::{DatabaseAddress, Migrated, migrate};
use mercato_ledger::{BooksPlace, MoveError, MoveStep, MovedBooks, move_books};
use serde_json::json;

use super::backend::database_failure;
use super::show;
use crate::failure::Failure;
use crate::progress;

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
    /// Copy whole books from files into a database, or back, and compare both sides. No server may have either open. The source
    /// stays as it is; start no server on it afterwards.
    #[command(after_help = "Examples:
  mercato-tools books move --from /var/lib/mercato --to postgres://mercato@db.example/mercato
  mercato-tools books move --from postgres://mercato@db.example/mercato --to /var/lib/mercato")]
    Move {
        /// Where the books are: a data directory, or a database.
        #[arg(long, value_name = "DIR|URL")]
        from: Secret,
        /// Where they shall be; there must be no books.
        #[arg(long, value_name = "DIR|URL")]
        to: Secret,
    },
}

pub(super) fn run(command: &DatabaseCommand, json: bool) -> Result<(), Failure> {
    match command {
        DatabaseCommand::Migrate { books } => {
            let address = address(books)?;
            let Migrated { from, to } = migrate(&address)
                .map_err(|error| database_failure(&address, "migrate them", error.to_string()))?;
            let database = address.to_string();
            let text = match from {
                0 => format!("{database}: made the tables of the books, schema version {to}\n"),
                from if from == to => format!("{database}: the books have schema version {to} already\n"),
                from => format!("{database}: schema version {from} → {to}\n"),
            };
            show(&json!({ "database": database, "from": from, "to": to }), &text, json)
        }
        DatabaseCommand::Move { from, to } => copy(&place(from)?, &place(to)?, json),
    }
}

/// A place of books that was typed.
fn place(typed: &Secret) -> Result<BooksPlace, Failure> {
    if DatabaseAddress::is_one(typed.reveal()) {
        return Ok(BooksPlace::Database(Box::new(address(typed)?)));
    }
    Ok(BooksPlace::Folder(DataDirectory::new(Path::new(typed.reveal())).ledger()))
}

fn name(place: &BooksPlace) -> String {
    match place {
        BooksPlace::Folder(path) => path.display().to_string(),
        BooksPlace::Database(address) => address.to_string(),
    }
}

fn copy(from: &BooksPlace, to: &BooksPlace, json: bool) -> Result<(), Failure> {
    let bar = progress::bar("copying", 0, "entries and records");
    let moved = move_books(from, to, SystemClock.now(), |step| match step {
        MoveStep::Copying(items) => {
            bar.set_length(items);
            bar.set_position(items);
        }
        MoveStep::Comparing(items, all) => {
            bar.set_message("comparing");
            bar.set_length(all);
            bar.set_position(items);
        }
    });
    bar.finish_and_clear();
    let failed = |error: MoveError| Failure::Books {
        directory: format!("{} to {}", name(from), name(to)),
        action: "move them",
        reason: error.to_string(),
    };
    let MovedBooks { accounts, entries, records, credits, last_sequence } = moved.map_err(failed)?;
    let (from, to) = (name(from), name(to));
    let text = format!(
        "{from}: {entries} entries, {accounts} accounts, {credits} credits, {records} records\n\
         {to}: the same, read back and added up\n\
         start no server on {from} any more: what it sold there would be missing here\n"
    );
    let document = json!({
        "from": from, "to": to, "accounts": accounts, "entries": entries, "records": records,
        "credits": credits, "lastEntry": last_sequence,
    });
    show(&document, &text, json)
}

pub(super) fn address(url: &Secret) -> Result<DatabaseAddress, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    DatabaseAddress::parse(url.reveal(), variable).map_err(|error| Failure::Books {
        directory: "--books".to_owned(),
        action: "understand its address",
        reason: error.to_string(),
    })
}
