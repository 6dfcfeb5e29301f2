//! The commands on the books: accounts, credits, keys, relations, usage, backups and entries.
//!
//! If a server has the books open, a command goes to its admin API; otherwise this process opens the books. Both return
//! the same response. Does not depend on routes of the public API.

mod account;
mod admin_client;
mod backend;
mod cluster;
mod database;
mod export;
mod key;
mod password;
mod payments;
mod relation;
mod text_output;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mercato::config::Secret;
use mercato::operator::{Backup, OperatorCommand};
use mercato_catalog::DataDirectory;
use mercato_database::DatabaseAddress;
use mercato_ledger::restore;
use serde_json::Value;

use crate::commands::print_json;
use crate::failure::Failure;
pub use account::AccountCommand;
use backend::Backend;
pub use cluster::ClusterCommand;
pub use database::DatabaseCommand;
pub use export::ExportFormat;
pub use key::KeyCommand;
pub use payments::PaymentsCommand;
pub use relation::RelationCommand;

/// The location of the books.
#[derive(Debug, Clone, Args)]
pub struct BooksLocation {
    /// The server's data directory.
    #[arg(long, value_name = "DIR", required_unless_present = "books")]
    data: Option<PathBuf>,
    /// Books in a database, in the place of those in the data directory: `postgres://user@host/database`, the password in
    /// PGPASSWORD or PGPASSFILE.
    #[arg(long, value_name = "URL", conflicts_with = "admin")]
    pub books: Option<Secret>,
    /// Address of the admin API of a running server. Default: the address that the server recorded.
    #[arg(long, value_name = "ADDR:PORT|unix:PATH")]
    pub admin: Option<String>,
}

impl BooksLocation {
    /// The data directory; the empty path where there are only books in a database.
    fn data(&self) -> &Path {
        self.data.as_deref().unwrap_or(Path::new(""))
    }

    /// Where the books are, for messages.
    fn place(&self) -> PathBuf {
        if self.books.is_some() { PathBuf::from("the database") } else { self.data().to_owned() }
    }

    /// The database of the books, if they are in one.
    fn database(&self) -> Result<Option<DatabaseAddress>, Failure> {
        self.books.as_ref().map(database::address).transpose()
    }
}

/// The commands on the books.
#[derive(Debug, Subcommand)]
pub enum BooksCommand {
    /// Create, list and show accounts; reset passwords and end sessions.
    #[command(subcommand)]
    Account(AccountCommand),
    /// Sell and give credits.
    #[command(subcommand)]
    Credits(CreditsCommand),
    /// Create, limit, list, revoke and rotate API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// List what customers bought from the payment provider, and compare the books with it.
    #[command(subcommand)]
    Payments(PaymentsCommand),
    /// Add, remove and list relations between datasets.
    #[command(subcommand)]
    Relation(RelationCommand),
    /// Show the usage of an account, by day and dataset.
    #[command(after_help = "Example:
  mercato-tools usage --account acc_2 --days 7 --by-key --data /var/lib/mercato")]
    Usage {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// UTC days, including today.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
        days: u32,
        /// Group by key.
        #[arg(long)]
        by_key: bool,
        /// Only the usage of this key, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: Option<String>,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Write a consistent backup of the books, also while they are in use.
    Backup {
        /// The folder for the backup file.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Restore books from a backup into a data directory without books.
    Restore {
        /// The backup file, or a folder, whose newest backup is restored.
        #[arg(value_name = "FOLDER|FILE")]
        backup: PathBuf,
        /// The data directory; no server may run on it.
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Verify, export and archive the entries.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Prepare books in a database, and move books there and back.
    #[command(subcommand)]
    Books(DatabaseCommand),
    /// Look at the servers that share books in a database.
    #[command(subcommand)]
    Cluster(ClusterCommand),
}

/// The commands for credits.
#[derive(Debug, Subcommand)]
pub enum CreditsCommand {
    /// Record a purchase: 5 EUR per 1,000 credits, VAT excluded. The account becomes a prepaid one.
    Buy {
        /// The account of the buyer.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Number of credits.
        #[arg(long)]
        credits: u64,
        /// The paid amount in euro cents, VAT excluded. Default: the list price.
        #[arg(long)]
        cents: Option<u64>,
        /// Number of the invoice or payment. A purchase with the same number is recorded only once.
        #[arg(long, default_value = "")]
        reference: String,
        /// Provider of the payment. Numbers are unique for each provider. Default: `operator`.
        #[arg(
            long,
            value_name = "NAME",
            default_value = "",
            hide_default_value = true,
            requires = "reference"
        )]
        provider: String,
        /// A note.
        #[arg(long, default_value = "")]
        note: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Grant credits. The plan of the account does not change.
    Grant {
        /// The account that receives the credits.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Number of credits.
        #[arg(long)]
        credits: u64,
        /// A note.
        #[arg(long, default_value = "")]
        note: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// The commands for entries.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Recompute all balances from the entries and compare them.
    Verify {
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Move the oldest log segments into another folder, also while a server runs. Balances, keys and usage stay;
    /// `export` and `verify` read only the remaining entries.
    #[command(after_help = "Example:
  mercato-tools ledger archive --to /mnt/archive/mercato --data /var/lib/mercato")]
    Archive {
        /// The target folder, which is created if missing.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Export all entries for accounting: amounts in euro cents, VAT excluded.
    Export {
        /// The format.
        #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
        format: ExportFormat,
        /// Only the entries of this account.
        #[arg(long, value_name = "ID")]
        account: Option<String>,
        /// The output file; by default, standard output. A symbolic link is followed; a device or pipe is written to.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace an existing file.
        #[arg(long, requires = "output")]
        force: bool,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
}

pub fn database_address(url: &Secret) -> Result<DatabaseAddress, Failure> {
    database::address(url)
}

/// Asks the server of a data directory, if one runs, to reload its catalog now. A failure is ignored, because the
/// server also finds changes by itself.
pub fn notify_server(data: &DataDirectory) {
    backend::notify_server(data);
}

pub fn run(command: &BooksCommand, json: bool) -> Result<(), Failure> {
    match command {
        BooksCommand::Account(command) => account::run(command, json),
        BooksCommand::Credits(command) => run_credits(command, json),
        BooksCommand::Key(command) => key::run(command, json),
        BooksCommand::Ledger(command) => run_ledger(command, json),
        BooksCommand::Payments(command) => payments::run(command, json),
        BooksCommand::Relation(command) => relation::run(command, json),
        BooksCommand::Usage { account, days, by_key, key, location } => {
            let (account, key) = (account.clone(), key.clone());
            execute(
                location,
                &OperatorCommand::Usage { account, days: *days, by_key: *by_key, key },
                json,
                text_output::usage,
            )
        }
        BooksCommand::Books(command) => database::run(command, json),
        BooksCommand::Cluster(command) => cluster::run(command, json),
        BooksCommand::Backup { folder, location } => {
            // The server may have another working directory.
            let directory = std::path::absolute(folder).map_err(Failure::io(folder, "find"))?;
            execute(location, &OperatorCommand::Backup { directory }, json, text_output::backup)
        }
        BooksCommand::Restore { backup, data } => run_restore(backup, data, json),
    }
}

fn run_credits(command: &CreditsCommand, json: bool) -> Result<(), Failure> {
    let (location, request) = match command {
        CreditsCommand::Buy { account, credits, cents, reference, provider, note, location } => {
            let [account, reference, provider, note] = [account, reference, provider, note].map(Clone::clone);
            let (credits, cents) = (*credits, *cents);
            (location, OperatorCommand::BuyCredits { account, credits, cents, reference, provider, note })
        }
        CreditsCommand::Grant { account, credits, note, location } => {
            let (account, note) = (account.clone(), note.clone());
            (location, OperatorCommand::GrantCredits { account, credits: *credits, note })
        }
    };
    execute(location, &request, json, text_output::balance)
}

fn run_ledger(command: &LedgerCommand, json: bool) -> Result<(), Failure> {
    match command {
        LedgerCommand::Verify { location } => {
            let report = Backend::verify(location)?;
            show(&report, json, text_output::verification)?;
            match report.get("balanced").and_then(Value::as_bool) {
                Some(true) => Ok(()),
                _ => Err(backend::books_failure(
                    &location.place(),
                    "balance them",
                    text_output::first_difference(&report).to_owned(),
                )),
            }
        }
        LedgerCommand::Archive { to, location } => {
            // The server may have another working directory.
            let directory = std::path::absolute(to).map_err(Failure::io(to, "find"))?;
            execute(location, &OperatorCommand::Archive { directory }, json, text_output::archived)
        }
        LedgerCommand::Export { format, account, output, force, location } => export::run(
            &Backend::open_existing(location)?,
            *format,
            account.as_deref(),
            output.as_deref(),
            *force,
        ),
    }
}

fn run_restore(backup: &Path, data: &Path, json: bool) -> Result<(), Failure> {
    let file = if backup.is_dir() { newest_backup(backup)? } else { backup.to_owned() };
    let folder = DataDirectory::new(data).ledger();
    let summary = restore(&file, &folder)
        .map_err(|error| backend::books_failure(data, "restore them", error.to_string()))?;
    show(&backend::to_value(data, &Backup::of(&summary))?, json, text_output::backup)
}

/// File names contain the time, so the newest one sorts last.
fn newest_backup(folder: &Path) -> Result<PathBuf, Failure> {
    let mut newest: Option<PathBuf> = None;
    for entry in std::fs::read_dir(folder).map_err(Failure::io(folder, "list"))? {
        let path = entry.map_err(Failure::io(folder, "list"))?.path();
        if path.extension().is_some_and(|extension| extension == "backup")
            && newest.as_ref().is_none_or(|best| *best < path)
        {
            newest = Some(path);
        }
    }
    newest.ok_or_else(|| {
        Failure::refused(
            folder.display().to_string(),
            "backups",
            "a file that ends in .backup",
            "none",
            "name the file itself",
        )
    })
}

fn execute(
    location: &BooksLocation,
    request: &OperatorCommand,
    json: bool,
    print: fn(&Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    show(&Backend::open_existing(location)?.execute(request)?, json, print)
}

fn show(response: &Value, json: bool, print: fn(&Value) -> Result<(), Failure>) -> Result<(), Failure> {
    if json { print_json(response) } else { print(response) }
}
