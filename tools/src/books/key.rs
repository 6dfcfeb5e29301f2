//! `key create`, `limit`, `list`, `revoke` and `rotate`: who may ask, for how many credits, of which datasets, until when.
//!
//! Knows the command line; the order goes the same way as every other. Warns of a dataset that is not there, because a typing
//! error would make a key that reads nothing.

use clap::{ArgGroup, Args, Subcommand};
use mercato::catalog::Slug;
use mercato::ledger::Change;
use mercato::operator::Order;
use serde_json::Value;

use super::backend::Backend;
use super::relation::absent;
use super::{BooksLocation, order, show, text_output};
use crate::failure::Failure;

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key. It is shown once.
    #[command(after_help = "Example:
  mercato-tools key create --account acc_2 --label notebook --credits-per-day 1000 --dataset sales \\
    --expires 2026-12-31 --data /srv/mercato")]
    Create {
        /// Whose it will be.
        #[arg(long, value_name = "ID")]
        account: String,
        /// What its owner calls it.
        #[arg(long, default_value = "")]
        label: String,
        /// What it may spend and read.
        #[command(flatten)]
        limits: LimitArguments,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Change what a key may spend and read, and when it ends. What is not given stays; what it has spent counts.
    #[command(
        after_help = "Examples:
  mercato-tools key limit key_5 --credits-per-day 2000 --no-expires --data /srv/mercato
  mercato-tools key limit key_5 --dataset sales --dataset stores --data /srv/mercato",
        group = ArgGroup::new("change").required(true).multiple(true).args([
            "credits_per_day", "credits_per_month", "datasets", "expires",
            "no_credits_per_day", "no_credits_per_month", "no_dataset", "no_expires",
        ])
    )]
    Limit {
        /// The key's id, like `key_5`.
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// What it may spend and read from now on.
        #[command(flatten)]
        limits: LimitArguments,
        /// What is lifted.
        #[command(flatten)]
        lifted: LiftArguments,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List the keys of an account, with their limits and what they have spent.
    List {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// End a key at once.
    Revoke {
        /// The key's id, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Put a new key with the same limits in place of another. The new one is shown once, and has spent nothing.
    Rotate {
        /// The old key's id, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: String,
        /// How long the old key stays valid.
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
        grace_seconds: u64,
        /// What its owner calls it; the old label when absent.
        #[arg(long, default_value = "")]
        label: String,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// What a key may spend and read.
#[derive(Debug, Args)]
pub struct LimitArguments {
    /// Credits that it may spend in a UTC day.
    #[arg(long, value_name = "N")]
    credits_per_day: Option<u64>,
    /// Credits that it may spend in a UTC calendar month.
    #[arg(long, value_name = "N")]
    credits_per_month: Option<u64>,
    /// A dataset that it reads, and no other one; may be given several times.
    #[arg(long = "dataset", value_name = "SLUG", value_parser = parse_slug)]
    datasets: Vec<String>,
    /// The moment up to which it works: RFC 3339 like `2026-12-31T18:00:00Z`, or a day like `2026-12-31`, which means the
    /// UTC midnight at the end of that day.
    #[arg(long, value_name = "DATE")]
    expires: Option<String>,
}

/// Limits that a key had.
#[derive(Debug, Args)]
pub struct LiftArguments {
    /// Lift the cap on credits a day.
    #[arg(long, conflicts_with = "credits_per_day")]
    no_credits_per_day: bool,
    /// Lift the cap on credits a month.
    #[arg(long, conflicts_with = "credits_per_month")]
    no_credits_per_month: bool,
    /// Let it read all datasets.
    #[arg(long, conflicts_with = "datasets")]
    no_dataset: bool,
    /// Let it work without end.
    #[arg(long, conflicts_with = "expires")]
    no_expires: bool,
}

fn parse_slug(text: &str) -> Result<String, String> {
    Slug::parse(text).map(|slug| slug.to_string()).map_err(|error| error.to_string())
}

pub(super) fn run(command: &KeyCommand, json: bool) -> Result<(), Failure> {
    match command {
        KeyCommand::Create { account, label, limits, location } => {
            let ordered = Order::CreateKey {
                account: account.clone(),
                label: label.clone(),
                credits_per_day: limits.credits_per_day,
                credits_per_month: limits.credits_per_month,
                datasets: limits.datasets.clone(),
                expires_at: limits.expires.clone(),
            };
            show(&limited(location, &ordered, limits, json)?, json, text_output::created_key)
        }
        KeyCommand::Limit { key, limits, lifted, location } => {
            let datasets = Some(limits.datasets.clone()).filter(|datasets| !datasets.is_empty());
            let ordered = Order::LimitKey {
                key: key.clone(),
                credits_per_day: change(limits.credits_per_day, lifted.no_credits_per_day),
                credits_per_month: change(limits.credits_per_month, lifted.no_credits_per_month),
                datasets: change(datasets, lifted.no_dataset),
                expires_at: change(limits.expires.clone(), lifted.no_expires),
            };
            show(&limited(location, &ordered, limits, json)?, json, text_output::key)
        }
        KeyCommand::List { account, location } => {
            order(location, &Order::ListKeys { account: account.clone() }, json, text_output::keys)
        }
        KeyCommand::Revoke { key, location } => {
            order(location, &Order::RevokeKey { key: key.clone() }, json, text_output::revoked_key)
        }
        KeyCommand::Rotate { key, grace_seconds, label, location } => {
            let (key, label) = (key.clone(), label.clone());
            let ordered = Order::RotateKey { key, grace_seconds: *grace_seconds, label };
            order(location, &ordered, json, text_output::created_key)
        }
    }
}

fn change<T>(typed: Option<T>, is_lifted: bool) -> Change<T> {
    match typed {
        Some(value) => Change::Set(value),
        None if is_lifted => Change::Lift,
        None => Change::Keep,
    }
}

/// Carries the order out; the answer says too which of the datasets are not there.
fn limited(
    location: &BooksLocation,
    ordered: &Order,
    limits: &LimitArguments,
    json: bool,
) -> Result<Value, Failure> {
    let mut answer = Backend::open_existing(location)?.carry_out(ordered)?;
    let absent = absent(location, limits.datasets.iter());
    if !json {
        for slug in &absent {
            eprintln!(
                "mercato-tools: warning: no dataset `{slug}` is published; the key reads it once it is"
            );
        }
    }
    if let Value::Object(fields) = &mut answer {
        fields.insert("absent".to_owned(), Value::from(absent));
    }
    Ok(answer)
}
