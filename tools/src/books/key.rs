//! The commands `key create`, `limit`, `list`, `revoke` and `rotate`.
//!
//! Warns of an unknown dataset, because a typing error would create a key that reads nothing.

use std::fmt::Display;

use clap::Subcommand;
use mercato::operator::{
    Command, CreateKey, LimitKey, LimitKeyArguments, ListKeys, NewLimits, RevokeKey, RotateKey,
};

use super::backend::Backend;
use super::relation::unpublished;
use super::{BooksLocation, Located, show, with_field};
use crate::failure::Failure;

/// The commands for keys.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    #[command(after_help = "Example:
  mercato-tools key create --account acc_2 --label notebook --credits-per-day 1000 --dataset sales \\
    --expires 2026-12-31 --data /var/lib/mercato")]
    Create(Located<CreateKey>),
    #[command(after_help = "Examples:
  mercato-tools key limit key_2 --credits-per-day 2000 --no-expires --data /var/lib/mercato
  mercato-tools key limit key_2 --dataset sales --dataset stores --data /var/lib/mercato")]
    Limit(Located<LimitKeyArguments>),
    List(Located<ListKeys>),
    Revoke(Located<RevokeKey>),
    Rotate(Located<RotateKey>),
}

pub(super) fn run(command: &KeyCommand, json: bool) -> Result<(), Failure> {
    match command {
        KeyCommand::Create(Located { command, location }) => {
            execute_limited(location, command, &command.limits, json)
        }
        KeyCommand::Limit(Located { command, location }) => {
            execute_limited(location, &LimitKey::from(command), &command.limits, json)
        }
        KeyCommand::List(command) => command.run(json),
        KeyCommand::Revoke(command) => command.run(json),
        KeyCommand::Rotate(command) => command.run(json),
    }
}

/// Executes a command, and names the unknown datasets.
fn execute_limited<C: Command<Outcome: Display>>(
    location: &BooksLocation,
    command: &C,
    limits: &NewLimits,
    json: bool,
) -> Result<(), Failure> {
    let key = Backend::open_existing(location)?.execute(command)?;
    let absent = unpublished(location, &limits.datasets);
    if !json {
        for slug in &absent {
            eprintln!(
                "mercato-tools: warning: no dataset `{slug}` is published; the key reads it once it is"
            );
        }
    }
    show(&with_field(&key, "absent", absent.into())?, &key, json)
}
