//! The commands `payments list` and `reconcile`: what customers bought from the payment provider.
//!
//! The command line only. Only a running server speaks to a provider.

use clap::Subcommand;
use mercato::operator::OperatorCommand;
use serde_json::Value;

use super::backend::Backend;
use super::{BooksLocation, execute, show, text_output};
use crate::failure::Failure;

/// The commands for payments.
#[derive(Debug, Subcommand)]
pub enum PaymentsCommand {
    /// List what customers asked to buy, newest first, with its payment, refunds and disputes.
    #[command(after_help = "Example:
  mercato-tools payments list --account acc_2 --data /var/lib/mercato")]
    List {
        /// Only of this account.
        #[arg(long, value_name = "ID")]
        account: Option<String>,
        /// At most so many; all when absent.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Compare the books with the payment provider now, and enter what no notification told. A running server does it.
    Reconcile {
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
}

pub(super) fn run(command: &PaymentsCommand, json: bool) -> Result<(), Failure> {
    match command {
        PaymentsCommand::List { account, limit, location } => {
            show(&list(location, account.as_deref(), *limit)?, json, text_output::payments)
        }
        PaymentsCommand::Reconcile { location } => {
            execute(location, &OperatorCommand::ReconcilePayments {}, json, text_output::reconciliation)
        }
    }
}

fn list(location: &BooksLocation, account: Option<&str>, limit: Option<usize>) -> Result<Value, Failure> {
    let backend = Backend::open_existing(location)?;
    let limit = limit.unwrap_or(usize::MAX);
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let account = account.map(str::to_owned);
        let mut page = backend.execute(&OperatorCommand::ListPayments { account, before, limit: None })?;
        if let Some(Value::Array(payments)) = page.get_mut("payments") {
            all.append(payments);
        }
        before = page.get("nextBefore").and_then(Value::as_u64);
        if before.is_none() || all.len() >= limit {
            all.truncate(limit);
            return Ok(serde_json::json!({ "payments": all }));
        }
    }
}
