//! The commands `key create`, `limit`, `list`, `revoke` and `rotate`: API keys and their limits on credits, datasets
//! and time.
//!
//! The command line only. Warns of an unknown dataset, because a typing error would create a key that reads
//! nothing.

use clap::{ArgGroup, Args, Subcommand};
use mercato::operator::OperatorCommand;
use mercato_catalog::Slug;
use mercato_ledger::Change;
use serde_json::Value;

use super::backend::Backend;
use super::relation::absent;
use super::{BooksLocation, execute, show, text_output};
use crate::failure::Failure;

/// The commands for keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key. It is printed only once.
    #[command(after_help = "Example:
  mercato-tools key create --account acc_2 --label notebook --credits-per-day 1000 --dataset sales \\
    --expires 2026-12-31 --data /var/lib/mercato")]
    Create {
        /// The account of the key.
        #[arg(long, value_name = "ID")]
        account: String,
        /// A label for its owner.
        #[arg(long, default_value = "")]
        label: String,
        /// The limits of the key.
        #[command(flatten)]
        limits: LimitArguments,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Change the limits and the expiry of a key. Other limits stay, and spent credits count.
    #[command(
        after_help = "Examples:
  mercato-tools key limit key_2 --credits-per-day 2000 --no-expires --data /var/lib/mercato
  mercato-tools key limit key_2 --dataset sales --dataset stores --data /var/lib/mercato",
        group = ArgGroup::new("change").required(true).multiple(true).args([
            "credits_per_day", "credits_per_month", "datasets", "expires",
            "no_credits_per_day", "no_credits_per_month", "no_dataset", "no_expires",
        ])
    )]
    Limit {
        /// The key's id, like `key_5`.
        #[arg(value_name = "KEY_ID")]
        key: String,
        /// The new limits.
        #[command(flatten)]
        limits: LimitArguments,
        /// The limits to lift.
        #[command(flatten)]
        lifted: LiftArguments,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List the keys of an account, with their limits and spent credits.
    List {
        /// The account.
        #[arg(long, value_name = "ID")]
        account: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Revoke a key at once.
    Revoke {
        /// The key's id, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Replace a key by a new one with the same limits. The new key is printed only once, and has no spent credits.
    Rotate {
        /// The old key's id, like `key_5`.
        #[arg(long, value_name = "KEY_ID")]
        key: String,
        /// Time for which the old key stays valid.
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
        grace_seconds: u64,
        /// A label for its owner. Default: the old label.
        #[arg(long, default_value = "")]
        label: String,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
}

/// The limits of a key.
#[derive(Debug, Args)]
pub struct LimitArguments {
    /// Credits a UTC day.
    #[arg(long, value_name = "N")]
    credits_per_day: Option<u64>,
    /// Credits a UTC calendar month.
    #[arg(long, value_name = "N")]
    credits_per_month: Option<u64>,
    /// Restrict the key to this dataset. May be repeated.
    #[arg(long = "dataset", value_name = "SLUG", value_parser = parse_slug)]
    datasets: Vec<String>,
    /// Expiry: RFC 3339 like `2026-12-31T18:00:00Z`, or a day like `2026-12-31`, which means the UTC midnight at the
    /// end of that day.
    #[arg(long, value_name = "DATE")]
    expires: Option<String>,
}

/// Limits to lift from a key.
#[derive(Debug, Args)]
pub struct LiftArguments {
    /// Lift the cap on credits a day.
    #[arg(long, conflicts_with = "credits_per_day")]
    no_credits_per_day: bool,
    /// Lift the cap on credits a month.
    #[arg(long, conflicts_with = "credits_per_month")]
    no_credits_per_month: bool,
    /// Allow all datasets.
    #[arg(long, conflicts_with = "datasets")]
    no_dataset: bool,
    /// Remove the expiry.
    #[arg(long, conflicts_with = "expires")]
    no_expires: bool,
}

fn parse_slug(text: &str) -> Result<String, String> {
    Slug::parse(text).map(|slug| slug.to_string()).map_err(|error| error.to_string())
}

pub(super) fn run(command: &KeyCommand, json: bool) -> Result<(), Failure> {
    match command {
        KeyCommand::Create { account, label, limits, location } => {
            let request = OperatorCommand::CreateKey {
                account: account.clone(),
                label: label.clone(),
                credits_per_day: limits.credits_per_day,
                credits_per_month: limits.credits_per_month,
                datasets: limits.datasets.clone(),
                expires_at: limits.expires.clone(),
            };
            show(&limited(location, &request, limits, json)?, json, text_output::created_key)
        }
        KeyCommand::Limit { key, limits, lifted, location } => {
            let datasets = Some(limits.datasets.clone()).filter(|datasets| !datasets.is_empty());
            let request = OperatorCommand::LimitKey {
                key: key.clone(),
                credits_per_day: change(limits.credits_per_day, lifted.no_credits_per_day),
                credits_per_month: change(limits.credits_per_month, lifted.no_credits_per_month),
                datasets: change(datasets, lifted.no_dataset),
                expires_at: change(limits.expires.clone(), lifted.no_expires),
            };
            show(&limited(location, &request, limits, json)?, json, text_output::key)
        }
        KeyCommand::List { account, location } => execute(
            location,
            &OperatorCommand::ListKeys { account: account.clone() },
            json,
            text_output::keys,
        ),
        KeyCommand::Revoke { key, location } => execute(
            location,
            &OperatorCommand::RevokeKey { key: key.clone() },
            json,
            text_output::revoked_key,
        ),
        KeyCommand::Rotate { key, grace_seconds, label, location } => {
            let (key, label) = (key.clone(), label.clone());
            let request = OperatorCommand::RotateKey { key, grace_seconds: *grace_seconds, label };
            execute(location, &request, json, text_output::created_key)
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

/// Executes a command, and adds the unknown datasets to the response.
fn limited(
    location: &BooksLocation,
    request: &OperatorCommand,
    limits: &LimitArguments,
    json: bool,
) -> Result<Value, Failure> {
    let mut response = Backend::open_existing(location)?.execute(request)?;
    let absent = absent(location, limits.datasets.iter());
    if !json {
        for slug in &absent {
            eprintln!(
                "mercato-tools: warning: no dataset `{slug}` is published; the key reads it once it is"
            );
        }
    }
    if let Value::Object(fields) = &mut response {
        fields.insert("absent".to_owned(), Value::from(absent));
    }
    Ok(response)
}
