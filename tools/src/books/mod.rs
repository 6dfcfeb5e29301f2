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
mod relation;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mercato::config::Secret;
use mercato::operator::{
    Archive, Backup, BackupFile, BuyCredits, Command, GrantCredits, ListPayments, ReconcilePayments, Usage,
    Verify,
};
use mercato_catalog::DataDirectory;
use mercato_database::DatabaseAddress;
use mercato_ledger::restore;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::{print_json, to_stdout};
use crate::failure::Failure;
pub use account::AccountCommand;
use backend::Backend;
pub use cluster::ClusterCommand;
pub use database::DatabaseCommand;
pub use export::ExportFormat;
pub use key::KeyCommand;
pub use relation::RelationCommand;

// A command, and the books on which it runs. A documentation comment would be the help of each command.
#[derive(Debug, Args)]
pub struct Located<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    location: BooksLocation,
}

// The location of the books. A documentation comment would be the help of each command.
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
    #[command(after_help = "Example:
  mercato-tools usage --account acc_2 --days 7 --by-key --data /var/lib/mercato")]
    Usage(Located<Usage>),
    Backup(Located<Backup>),
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
    Buy(Located<BuyCredits>),
    Grant(Located<GrantCredits>),
}

/// The commands for payments. Only a running server speaks to a provider.
#[derive(Debug, Subcommand)]
pub enum PaymentsCommand {
    #[command(after_help = "Example:
  mercato-tools payments list --account acc_2 --data /var/lib/mercato")]
    List(Located<ListPayments>),
    Reconcile(Located<ReconcilePayments>),
}

/// The commands for entries.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    Verify(Located<Verify>),
    #[command(after_help = "Example:
  mercato-tools ledger archive --to /mnt/archive/mercato --data /var/lib/mercato")]
    Archive(Located<Archive>),
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
        BooksCommand::Credits(CreditsCommand::Buy(command)) => command.run(json),
        BooksCommand::Credits(CreditsCommand::Grant(command)) => command.run(json),
        BooksCommand::Key(command) => key::run(command, json),
        BooksCommand::Ledger(command) => run_ledger(command, json),
        BooksCommand::Payments(PaymentsCommand::List(command)) => list_payments(command, json),
        BooksCommand::Payments(PaymentsCommand::Reconcile(command)) => command.run(json),
        BooksCommand::Relation(command) => relation::run(command, json),
        BooksCommand::Usage(command) => command.run(json),
        BooksCommand::Books(command) => database::run(command, json),
        BooksCommand::Cluster(command) => cluster::run(command, json),
        BooksCommand::Backup(command) => command.run(json),
        BooksCommand::Restore { backup, data } => run_restore(backup, data, json),
    }
}

fn list_payments(Located { command, location }: &Located<ListPayments>, json: bool) -> Result<(), Failure> {
    let backend = Backend::open_existing(location)?;
    let limit = command.limit.unwrap_or(usize::MAX);
    let page = |before| backend.execute(&ListPayments { before, limit: None, ..command.clone() });
    let mut all = page(None)?;
    while let Some(before) = all.next_before.filter(|_| all.payments.len() < limit) {
        let next = page(Some(before))?;
        all.payments.extend(next.payments);
        all.next_before = next.next_before;
    }
    all.payments.truncate(limit);
    show(&json!({ "payments": all.payments }), &all, json)
}

fn run_ledger(command: &LedgerCommand, json: bool) -> Result<(), Failure> {
    match command {
        LedgerCommand::Verify(Located { location, .. }) => {
            let report = Backend::verify(location)?;
            show(&report, &report, json)?;
            if report.balanced {
                return Ok(());
            }
            let first = report.differences.first().map_or("the report is not complete", String::as_str);
            Err(backend::books_failure(&location.place(), "balance them", first.to_owned()))
        }
        LedgerCommand::Archive(command) => command.run(json),
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
    let restored = BackupFile::from(summary);
    show(&restored, &restored, json)
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

impl<C: Args + Command<Outcome: Display>> Located<C> {
    fn run(&self, json: bool) -> Result<(), Failure> {
        execute(&self.location, &self.command, json)
    }
}

fn execute<C: Command<Outcome: Display>>(
    location: &BooksLocation,
    command: &C,
    json: bool,
) -> Result<(), Failure> {
    let outcome = Backend::open_existing(location)?.execute(command)?;
    show(&outcome, &outcome, json)
}

/// The JSON of an outcome, with a field that only this program knows.
fn with_field(outcome: &impl Serialize, name: &str, value: Value) -> Result<Value, Failure> {
    let mut document = serde_json::to_value(outcome).map_err(|error| to_stdout(error.into()))?;
    if let Value::Object(fields) = &mut document {
        fields.insert(name.to_owned(), value);
    }
    Ok(document)
}

fn show(document: &impl Serialize, text: &impl Display, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(document);
    }
    write!(io::stdout(), "{text}").map_err(to_stdout)
}
