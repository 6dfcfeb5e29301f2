//! Accounts, credits, keys, relations, usage, backups and the entries: what an operator does with the books.
//!
//! While a server has the books open, an order goes to its admin listener; otherwise the books are opened here. Both
//! give the same answer. Knows no HTTP route of the public API.

mod admin_client;
mod desk;
mod export;
mod key;
mod print;
mod relation;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mercato::catalog::DataDirectory;
use mercato::ledger::restore;
use mercato::operator::{Backup, OperatorCommand};
use serde_json::Value;

use crate::commands::print_json;
use crate::failure::Failure;
use desk::Desk;
pub use export::ExportFormat;
pub use key::KeyCommand;
pub use relation::RelationCommand;

/// Where the books are.
#[derive(Debug, Clone, Args)]
pub struct Place {
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
        place: Place,
    },
    /// Write a consistent copy of the books, while they are in use.
    Backup {
        /// The folder that receives the file.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Where the books are.
        #[command(flatten)]
        place: Place,
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
        place: Place,
    },
    /// List all accounts.
    List {
        /// Where the books are.
        #[command(flatten)]
        place: Place,
    },
    /// Show one account with its keys.
    Show {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Where the books are.
        #[command(flatten)]
        place: Place,
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
        place: Place,
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
        place: Place,
    },
}

/// What can be done with entries.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Add up every entry again and compare the sums with the balances.
    Verify {
        /// Where the books are.
        #[command(flatten)]
        place: Place,
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
        place: Place,
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
        place: Place,
    },
}

/// Asks the server of a data directory, if one runs, to look at the catalog now. A server that hears nothing finds the
/// change by itself, so that nobody needs to know whether this succeeded.
pub fn tell_server(data: &DataDirectory) {
    desk::tell_server(data);
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
        BooksCommand::Usage { account, days, by_key, key, place } => {
            let (account, key) = (account.clone(), key.clone());
            execute(
                place,
                &OperatorCommand::Usage { account, days: *days, by_key: *by_key, key },
                json,
                print::usage,
            )
        }
        BooksCommand::Backup { folder, place } => {
            // The server may run in another folder.
            let directory = std::path::absolute(folder).map_err(Failure::io(folder, "find"))?;
            execute(place, &OperatorCommand::Backup { directory }, json, print::backup)
        }
        BooksCommand::Restore { backup, data } => run_restore(backup, data, json),
    }
}

fn run_account(command: &AccountCommand, json: bool) -> Result<(), Failure> {
    match command {
        AccountCommand::Create { name, place } => {
            let answer =
                Desk::create(place)?.execute(&OperatorCommand::CreateAccount { name: name.clone() })?;
            show(&answer, json, print::created_account)
        }
        AccountCommand::List { place } => show(&list_accounts(place)?, json, print::accounts),
        AccountCommand::Show { account, place } => {
            execute(place, &OperatorCommand::ShowAccount { account: account.clone() }, json, print::account)
        }
    }
}

/// All pages in one document.
fn list_accounts(place: &Place) -> Result<Value, Failure> {
    let desk = Desk::find(place)?;
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let mut page = desk.execute(&OperatorCommand::ListAccounts { after, limit: None })?;
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
    let (place, command) = match command {
        CreditsCommand::Buy { account, credits, cents, reference, provider, note, place } => {
            let [account, reference, provider, note] = [account, reference, provider, note].map(Clone::clone);
            let (credits, cents) = (*credits, *cents);
            (place, OperatorCommand::BuyCredits { account, credits, cents, reference, provider, note })
        }
        CreditsCommand::Grant { account, credits, note, place } => {
            let (account, note) = (account.clone(), note.clone());
            (place, OperatorCommand::GrantCredits { account, credits: *credits, note })
        }
    };
    execute(place, &command, json, print::balance)
}

fn run_ledger(command: &LedgerCommand, json: bool) -> Result<(), Failure> {
    match command {
        LedgerCommand::Verify { place } => {
            let report = Desk::verify(place)?;
            show(&report, json, print::verification)?;
            match report.get("balanced").and_then(Value::as_bool) {
                Some(true) => Ok(()),
                _ => Err(desk::books_failure(
                    &place.data,
                    "balance them",
                    print::first_difference(&report).to_owned(),
                )),
            }
        }
        LedgerCommand::Archive { to, place } => {
            // The server may run in another folder.
            let directory = std::path::absolute(to).map_err(Failure::io(to, "find"))?;
            execute(place, &OperatorCommand::Archive { directory }, json, print::archived)
        }
        LedgerCommand::Export { format, account, output, force, place } => {
            export::run(&Desk::find(place)?, *format, account.as_deref(), output.as_deref(), *force)
        }
    }
}

fn run_restore(backup: &Path, data: &Path, json: bool) -> Result<(), Failure> {
    let file = if backup.is_dir() { newest_backup(backup)? } else { backup.to_owned() };
    let folder = DataDirectory::new(data).ledger();
    let summary = restore(&file, &folder)
        .map_err(|error| desk::books_failure(data, "restore them", error.to_string()))?;
    show(&desk::to_value(data, &Backup::of(&summary))?, json, print::backup)
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

fn execute(
    place: &Place,
    command: &OperatorCommand,
    json: bool,
    print: fn(&Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    show(&Desk::find(place)?.execute(command)?, json, print)
}

fn show(answer: &Value, json: bool, print: fn(&Value) -> Result<(), Failure>) -> Result<(), Failure> {
    if json { print_json(answer) } else { print(answer) }
}
