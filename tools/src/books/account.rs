//! The commands `account create`, `list`, `show`, `reset-password`, `sessions` and `close`.
//!
//! Depends on the command line only. A password is read from the terminal or from standard input, never from an argument,
//! which every user of the machine can see; only its hash is passed on.

use clap::Subcommand;
use mercato::operator::OperatorCommand;
use serde_json::Value;

use super::backend::Backend;
use super::{BooksLocation, execute, password, show, text_output};
use crate::failure::Failure;

/// The commands for accounts.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Create an account without credits.
    Create {
        /// Its name.
        #[arg(long)]
        name: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List all accounts.
    List {
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Show one account with its login and its keys.
    Show {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Print a token with which the owner of an account sets a new password, once and within an hour. It is printed only
    /// once.
    #[command(after_help = "Examples:
  mercato-tools account reset-password --account acc_2 --data /var/lib/mercato
  mercato-tools account reset-password --account acc_2 --set --data /var/lib/mercato < password.txt")]
    ResetPassword {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Set the password now, and end all sessions: read from the terminal, or the first line of standard input.
        #[arg(long)]
        set: bool,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List the open sessions of an account, or end them.
    Sessions {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// End all of them at once.
        #[arg(long)]
        end: bool,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Close an account for ever: its login and sessions go, and its keys are revoked. Entries and balance stay in the books.
    Close {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Confirm that it cannot be undone.
        #[arg(long, required = true)]
        yes: bool,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// A wrong --data would otherwise be noticed when the server does not know the account.
fn tell_new_books(response: &mut Value, location: &BooksLocation, json: bool) {
    if !json {
        eprintln!(
            "mercato-tools: warning: {} had no books, and new ones were made there; where a server has others, compare --data",
            location.data().display()
        );
    }
    if let Value::Object(fields) = response {
        fields.insert("newBooks".to_owned(), true.into());
    }
}

pub(super) fn run(command: &AccountCommand, json: bool) -> Result<(), Failure> {
    match command {
        AccountCommand::Create { name, location } => {
            let makes_books = Backend::makes_books(location);
            let mut response = Backend::open_or_create(location)?
                .execute(&OperatorCommand::CreateAccount { name: name.clone() })?;
            if makes_books {
                tell_new_books(&mut response, location, json);
            }
            show(&response, json, text_output::created_account)
        }
        AccountCommand::List { location } => show(&list(location)?, json, text_output::accounts),
        AccountCommand::Show { account, location } => execute(
            location,
            &OperatorCommand::ShowAccount { account: account.clone() },
            json,
            text_output::account,
        ),
        AccountCommand::ResetPassword { account, set: false, location } => execute(
            location,
            &OperatorCommand::ResetPassword { account: account.clone() },
            json,
            text_output::password_reset,
        ),
        AccountCommand::ResetPassword { account, set: true, location } => {
            let (account, password_hash) = (account.clone(), password::read_hash()?);
            let request = OperatorCommand::SetPassword { account, password_hash };
            execute(location, &request, json, text_output::password_set)
        }
        AccountCommand::Sessions { account, end: false, location } => execute(
            location,
            &OperatorCommand::ListSessions { account: account.clone() },
            json,
            text_output::sessions,
        ),
        AccountCommand::Sessions { account, end: true, location } => execute(
            location,
            &OperatorCommand::EndSessions { account: account.clone() },
            json,
            text_output::ended_sessions,
        ),
        AccountCommand::Close { account, yes: _, location } => execute(
            location,
            &OperatorCommand::CloseAccount { account: account.clone() },
            json,
            text_output::closed_account,
        ),
    }
}

fn list(location: &BooksLocation) -> Result<Value, Failure> {
    let backend = Backend::open_existing(location)?;
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let mut page = backend.execute(&OperatorCommand::ListAccounts { after, limit: None })?;
        if let Some(Value::Array(accounts)) = page.get_mut("accounts") {
            all.append(accounts);
        }
        match page.get("nextAfter").and_then(Value::as_str) {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(serde_json::json!({ "total": all.len(), "accounts": all })),
        }
    }
}
