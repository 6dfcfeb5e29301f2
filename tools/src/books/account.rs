//! The commands `account create`, `list`, `show`, `reset-password`, `sessions` and `close`.
//!
//! A password is read from the terminal or from standard input, never from an argument, which every user of the machine can
//! see; only its hash is passed on.

use clap::Subcommand;
use mercato::operator::{
    CloseAccount, CreateAccount, EndSessions, ListAccounts, ListSessions, ResetPassword, SetPassword,
    ShowAccount,
};
use serde_json::json;

use super::backend::Backend;
use super::{BooksLocation, Located, execute, password, show, with_field};
use crate::failure::Failure;

/// The commands for accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    Create(Located<CreateAccount>),
    List(Located<ListAccounts>),
    Show(Located<ShowAccount>),
    #[command(after_help = "Examples:
  mercato-tools account reset-password --account acc_2 --data /var/lib/mercato
  mercato-tools account reset-password --account acc_2 --set --data /var/lib/mercato < password.txt")]
    #[group(skip)]
    ResetPassword {
        #[command(flatten)]
        command: ResetPassword,
        /// Set the password now, and end all sessions: read from the terminal, or the first line of standard input.
        #[arg(long)]
        set: bool,
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List the open sessions of an account, or end them.
    Sessions {
        #[command(flatten)]
        command: ListSessions,
        /// End all of them at once.
        #[arg(long)]
        end: bool,
        #[command(flatten)]
        location: BooksLocation,
    },
    Close {
        #[command(flatten)]
        command: CloseAccount,
        /// Confirm that it cannot be undone.
        #[arg(long, required = true)]
        yes: bool,
        #[command(flatten)]
        location: BooksLocation,
    },
}

pub(super) fn run(command: &AccountCommand, json: bool) -> Result<(), Failure> {
    match command {
        AccountCommand::Create(command) => create(command, json),
        AccountCommand::List(command) => list(command, json),
        AccountCommand::Show(command) => command.run(json),
        AccountCommand::ResetPassword { command, set: false, location } => execute(location, command, json),
        AccountCommand::ResetPassword { command: ResetPassword { account }, set: true, location } => {
            let (account, password_hash) = (account.clone(), password::read_hash()?);
            execute(location, &SetPassword { account, password_hash }, json)
        }
        AccountCommand::Sessions { command, end: false, location } => execute(location, command, json),
        AccountCommand::Sessions { command: ListSessions { account }, end: true, location } => {
            execute(location, &EndSessions { account: account.clone() }, json)
        }
        AccountCommand::Close { command, yes: _, location } => execute(location, command, json),
    }
}

/// Warns of new books: a wrong --data would otherwise be noticed when the server does not know the account.
fn create(Located { command, location }: &Located<CreateAccount>, json: bool) -> Result<(), Failure> {
    if !Backend::makes_books(location) {
        return execute(location, command, json);
    }
    let created = Backend::open_or_create(location)?.execute(command)?;
    if !json {
        eprintln!(
            "mercato-tools: warning: {} had no books, and new ones were made there; where a server has others, compare --data",
            location.data().display()
        );
    }
    show(&with_field(&created, "newBooks", true.into())?, &created, json)
}

fn list(Located { command, location }: &Located<ListAccounts>, json: bool) -> Result<(), Failure> {
    let backend = Backend::open_existing(location)?;
    let mut all = backend.execute(command)?;
    while let Some(after) = all.next_after {
        let page = backend.execute(&ListAccounts { after: Some(after), limit: None })?;
        all.accounts.extend(page.accounts);
        all.next_after = page.next_after;
    }
    show(&json!({ "total": all.accounts.len(), "accounts": all.accounts }), &all, json)
}
