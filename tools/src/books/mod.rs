//! Accounts, credits, keys, relations, usage, backups and the entries: what an operator does with the books.
//!
//! While a server has the books open, an order goes to its admin listener; otherwise the books are opened here. Both
//! give the same answer. Knows no HTTP route of the public API.

mod admin_client;
mod backend;
mod export;
mod key;
mod relation;
mod text_output;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mercato::catalog::DataDirectory;
use mercato::ledger::restore;
use mercato::operator::{Backup, Order};
use serde_json::Value;

use crate::commands::print_json;
use crate::failure::Failure;
use backend::Backend;
pub use export::ExportFormat;
pub use key::KeyCommand;
pub use relation::RelationCommand;

/// Where the books are.
#[derive(Debug, Clone, Args)]
pub struct BooksLocation {
    /// The server's data directory.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The admin listener of a running server. Default: where the server that has the books open says it is.
    #[arg(long, value_name = "ADDR:PORT|unix:PATH")]
    pub admin: Option<String>,
}

/// What can be done with the books.
#[derive(Debug, Subcommand)]
pub enum BooksCommand {
    /// Create, list and show accounts.
    #[command(subcommand)]
    Account(AccountCommand),
    /// Sell and give credits.
    #[command(subcommand)]
    Credits(CreditsCommand),
    /// Create, limit, list, revoke and rotate API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Add, remove and list relations between datasets.
    #[command(subcommand)]
    Relation(RelationCommand),
    /// Show what an account read, by day and dataset.
    #[command(after_help = "Example:
  mercato-tools usage --account acc_2 --days 7 --by-key --data /srv/mercato")]
    Usage {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// UTC days, today included.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=90))]
        days: u32,
        /// Tell the keys apart.
        #[arg(long)]
        by_key: bool,
        /// Only what was read with this key, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: Option<String>,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Write a consistent copy of the books, while they are in use.
    Backup {
        /// The folder that receives the file.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Make the books of a data directory, which must hold none, from a backup.
    Restore {
        /// The file, or the folder whose newest backup is taken.
        #[arg(value_name = "FOLDER|FILE")]
        backup: PathBuf,
        /// The data directory; no server may run on it.
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Check and export the entries, and move old ones away.
    #[command(subcommand)]
    Ledger(LedgerCommand),
}

/// What can be done with accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Create an account without credits.
    Create {
        /// Its name.
        #[arg(long)]
        name: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List all accounts.
    List {
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Show one account with its keys.
    Show {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// What can be done with credits.
#[derive(Debug, Subcommand)]
pub enum CreditsCommand {
    /// Enter a purchase: 5 EUR per 1,000 credits, VAT excluded. The account is a prepaid one from then on.
    Buy {
        /// Who bought them.
        #[arg(long, value_name = "ID")]
        account: String,
        /// How many.
        #[arg(long)]
        credits: u64,
        /// What was paid in cents of a euro, VAT excluded, if not the list price.
        #[arg(long)]
        cents: Option<u64>,
        /// Number of the invoice or payment: the same purchase under it is entered once.
        #[arg(long, default_value = "")]
        reference: String,
        /// Who took the payment: the same number of another provider is another payment. Default: `operator`.
        #[arg(
            long,
            value_name = "NAME",
            default_value = "",
            hide_default_value = true,
            requires = "reference"
        )]
        provider: String,
        /// A remark.
        #[arg(long, default_value = "")]
        note: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Give credits. The plan of the account stays as it is.
    Grant {
        /// Who receives them.
        #[arg(long, value_name = "ID")]
        account: String,
        /// How many.
        #[arg(long)]
        credits: u64,
        /// A remark.
        #[arg(long, default_value = "")]
        note: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// What can be done with entries.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Add up every entry again and compare the sums with the balances.
    Verify {
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Move the oldest segments of the log into another folder, also of a running server. Balances, keys and usage stay;
    /// `export` and `verify` see only the entries that are left.
    #[command(after_help = "Example:
  mercato-tools ledger archive --to /mnt/archive/mercato --data /srv/mercato")]
    Archive {
        /// The folder that receives them; it is created when it does not exist.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Write all entries for accounting: amounts in cents of a euro, VAT excluded.
    Export {
        /// The format.
        #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
        format: ExportFormat,
        /// Only the entries of this account.
        #[arg(long, value_name = "ID")]
        account: Option<String>,
        /// The file; standard output when absent. A symbolic link is followed; a device or pipe is written to.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file when it exists.
        #[arg(long, requires = "output")]
        force: bool,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// Asks the server of a data directory, if one runs, to look at the catalog now. A server that hears nothing finds the
/// change by itself, so that nobody needs to know whether this succeeded.
pub fn notify_server(data: &DataDirectory) {
    backend::notify_server(data);
}

/// Runs a command.
///
/// # Errors
/// When the books cannot be reached or refuse.
pub fn run(command: &BooksCommand, json: bool) -> Result<(), Failure> {
    match command {
        BooksCommand::Account(command) => run_account(command, json),
        BooksCommand::Credits(command) => run_credits(command, json),
        BooksCommand::Key(command) => key::run(command, json),
        BooksCommand::Ledger(command) => run_ledger(command, json),
        BooksCommand::Relation(command) => relation::run(command, json),
        BooksCommand::Usage { account, days, by_key, key, location } => {
            let (account, key) = (account.clone(), key.clone());
            order(
                location,
                &Order::Usage { account, days: *days, by_key: *by_key, key },
                json,
                text_output::usage,
            )
        }
        BooksCommand::Backup { folder, location } => {
            // The server may run in another folder.
            let directory = std::path::absolute(folder).map_err(Failure::io(folder, "find"))?;
            order(location, &Order::Backup { directory }, json, text_output::backup)
        }
        BooksCommand::Restore { backup, data } => run_restore(backup, data, json),
    }
}

fn run_account(command: &AccountCommand, json: bool) -> Result<(), Failure> {
    match command {
        AccountCommand::Create { name, location } => {
            let answer =
                Backend::open_or_create(location)?.carry_out(&Order::CreateAccount { name: name.clone() })?;
            show(&answer, json, text_output::created_account)
        }
        AccountCommand::List { location } => show(&list_accounts(location)?, json, text_output::accounts),
        AccountCommand::Show { account, location } => {
            order(location, &Order::ShowAccount { account: account.clone() }, json, text_output::account)
        }
    }
}

/// All pages in one document.
fn list_accounts(location: &BooksLocation) -> Result<Value, Failure> {
    let backend = Backend::open_existing(location)?;
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let mut page = backend.carry_out(&Order::ListAccounts { after, limit: None })?;
        if let Some(Value::Array(accounts)) = page.get_mut("accounts") {
            all.append(accounts);
        }
        match page.get("nextAfter").and_then(Value::as_str) {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(serde_json::json!({ "total": all.len(), "accounts": all })),
        }
    }
}

fn run_credits(command: &CreditsCommand, json: bool) -> Result<(), Failure> {
    let (location, ordered) = match command {
        CreditsCommand::Buy { account, credits, cents, reference, provider, note, location } => {
            let [account, reference, provider, note] = [account, reference, provider, note].map(Clone::clone);
            let (credits, cents) = (*credits, *cents);
            (location, Order::BuyCredits { account, credits, cents, reference, provider, note })
        }
        CreditsCommand::Grant { account, credits, note, location } => {
            let (account, note) = (account.clone(), note.clone());
            (location, Order::GrantCredits { account, credits: *credits, note })
        }
    };
    order(location, &ordered, json, text_output::balance)
}

fn run_ledger(command: &LedgerCommand, json: bool) -> Result<(), Failure> {
    match command {
        LedgerCommand::Verify { location } => {
            let report = Backend::verify(location)?;
            show(&report, json, text_output::verification)?;
            match report.get("balanced").and_then(Value::as_bool) {
                Some(true) => Ok(()),
                _ => Err(backend::books_failure(
                    &location.data,
                    "balance them",
                    text_output::first_difference(&report).to_owned(),
                )),
            }
        }
        LedgerCommand::Archive { to, location } => {
            // The server may run in another folder.
            let directory = std::path::absolute(to).map_err(Failure::io(to, "find"))?;
            order(location, &Order::Archive { directory }, json, text_output::archived)
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

/// Names carry the time, so the newest is the last.
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
    newest.ok_or_else(|| Failure::Refused {
        file: folder.display().to_string(),
        section: "backups".into(),
        expected: "a file that ends in .backup".into(),
        found: "none".into(),
        remedy: "name the file itself".into(),
    })
}

fn order(
    location: &BooksLocation,
    ordered: &Order,
    json: bool,
    print: fn(&Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    show(&Backend::open_existing(location)?.carry_out(ordered)?, json, print)
}

fn show(answer: &Value, json: bool, print: fn(&Value) -> Result<(), Failure>) -> Result<(), Failure> {
    if json { print_json(answer) } else { print(answer) }
}
