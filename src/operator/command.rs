//! The commands of the operator and their execution on open books.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::account_commands;
use super::key_commands::{self, Wanted, WantedChange, change};
use super::key_output::{CreatedKey, Key};
use super::output::{
    ArchivedSegment, Backup, Balance, CommandOutput, Entries, EntryLine, Usage, UsageDay, Verification,
};
use super::relation_commands::{self, finite};
use crate::clock::Moment;
use crate::ledger::{
    AccountHandle, AccountId, BackupError, Change, ChargeError, IdError, KEY_RANDOM_BYTES, KeyId, Ledger,
    PaymentId, UsageAsked,
};
use crate::limits::ledger::USAGE_DAYS_MAX;
use crate::limits::operator::ENTRIES_PER_PAGE_MAX;

/// A command. As JSON: `{"order":"buyCredits","account":"acc_1","credits":1000}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "order",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields,
    expecting = "an order such as {\"order\":\"verify\"}"
)]
pub enum OperatorCommand {
    /// Creates an account without credits.
    CreateAccount {
        /// Its name.
        name: String,
    },
    /// Lists accounts by id, in pages.
    ListAccounts {
        /// The page begins after this id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// Accounts on the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Shows an account with its keys.
    ShowAccount {
        /// Its id.
        account: String,
    },
    /// Makes a one-time token with which the owner of an account sets a new password.
    ResetPassword {
        /// Its id.
        account: String,
    },
    /// Sets the password of an account, and ends its sessions.
    SetPassword {
        /// Its id.
        account: String,
        /// The argon2id hash of the password, as a PHC string. The password itself is not sent.
        password_hash: String,
    },
    /// Lists the open sessions of an account.
    ListSessions {
        /// Its id.
        account: String,
    },
    /// Ends all sessions of an account at once.
    EndSessions {
        /// Its id.
        account: String,
    },
    /// Enters a purchase of credits.
    BuyCredits {
        /// The buyer's account.
        account: String,
        /// The number of credits.
        credits: u64,
        /// The price in euro cents, VAT excluded; the list price when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cents: Option<u64>,
        /// The number of the invoice or payment. The same purchase with the same number is entered once.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
        /// The payment provider; `operator` when absent. Numbers of different providers are different payments.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Grants credits as a gift.
    GrantCredits {
        /// The receiving account.
        account: String,
        /// The number of credits.
        credits: u64,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Creates a key. Only the response to this command shows it in the clear.
    CreateKey {
        /// The owner's account.
        account: String,
        /// The owner's label.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
        /// Credits for each UTC day; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_day: Option<u64>,
        /// Credits for each UTC calendar month; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_month: Option<u64>,
        /// The datasets that the key may read; all when empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        datasets: Vec<String>,
        /// The expiry: RFC 3339, or a UTC day at whose end the key expires; never when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
    },
    /// Changes the limits of a key. An absent field keeps its limit, and `null` lifts it.
    LimitKey {
        /// The key's id.
        key: String,
        /// Credits for each UTC day.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_day: Change<u64>,
        /// Credits for each UTC calendar month.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_month: Change<u64>,
        /// The datasets that the key may read.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        datasets: Change<Vec<String>>,
        /// The expiry: RFC 3339, or a UTC day at whose end the key expires.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        expires_at: Change<String>,
    },
    /// Lists the keys of an account.
    ListKeys {
        /// Its id.
        account: String,
    },
    /// Revokes a key at once.
    RevokeKey {
        /// The key's id.
        key: String,
    },
    /// Replaces a key by a new one.
    RotateKey {
        /// The old key's id.
        key: String,
        /// How long the old key stays valid.
        grace_seconds: u64,
        /// The owner's label; the old label when absent.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
    },
    /// Reports the usage of an account, by day and dataset.
    Usage {
        /// Its id.
        account: String,
        /// UTC days, today included.
        days: u32,
        /// Whether each key has its own lines.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_key: bool,
        /// Only the usage of this key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Reads entries in order, in pages.
    ReadEntries {
        /// Only entries of this account.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
        /// The first sequence number of the page.
        first: u64,
        /// Entries to examine for the page.
        limit: usize,
    },
    /// Adds a relation between two datasets, or replaces the one of the same type.
    AddRelation {
        /// The source dataset.
        from: String,
        /// The target dataset.
        to: String,
        /// The type of the relation.
        #[serde(rename = "type")]
        relation_type: String,
        /// A description in one sentence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// The weight: 0 to 1,000,000; 1 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "finite")]
        weight: Option<f64>,
    },
    /// Removes the relations from one dataset to another.
    RemoveRelation {
        /// The source dataset.
        from: String,
        /// The target dataset.
        to: String,
        /// Only the relation of this type.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        relation_type: Option<String>,
    },
    /// Lists relations by the names of their datasets, in pages.
    ListRelations {
        /// Only relations from or to this dataset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dataset: Option<String>,
        /// Relations to skip.
        #[serde(default)]
        offset: usize,
        /// Relations on the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Verifies that every balance is the sum of its entries.
    Verify {},
    /// Writes a backup.
    Backup {
        /// The target folder on the server's machine.
        directory: PathBuf,
    },
    /// Moves old segments of the log away.
    Archive {
        /// The target folder on the server's machine.
        directory: PathBuf,
    },
}

/// The payment provider of purchases that the operator enters.
const OPERATOR: &str = "operator";

/// The context of a command.
#[derive(Clone)]
pub struct Context<'l> {
    /// The books.
    pub ledger: &'l Ledger,
    /// The current time.
    pub now: Moment,
    /// The id of the request.
    pub request_id: String,
    /// Random bytes from the operating system, for a new key or token.
    pub random: [u8; KEY_RANDOM_BYTES],
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A text is not the id of an account or key.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A number is out of range.
    #[error("{field}: expected {expected}, found {found}")]
    Range {
        /// The field.
        field: &'static str,
        /// The allowed range.
        expected: String,
        /// The value found.
        found: u64,
    },
    /// The books refused the operation.
    #[error(transparent)]
    Ledger(#[from] ChargeError),
    /// The backup failed.
    #[error(transparent)]
    Backup(BackupError),
}

impl OperatorCommand {
    /// Executes the command. Its changes are on disk when this returns.
    pub fn execute(&self, context: &Context<'_>) -> Result<CommandOutput, CommandError> {
        let (ledger, now) = (context.ledger, context.now);
        Ok(match self {
            Self::CreateAccount { name } => account_commands::create(context, name)?,
            Self::ListAccounts { after, limit } => account_commands::list(context, after.as_deref(), *limit)?,
            Self::ShowAccount { account } => account_commands::show(context, account)?,
            Self::ResetPassword { account } => account_commands::reset_password(context, account)?,
            Self::SetPassword { account, password_hash } => {
                account_commands::set_password(context, account, password_hash)?
            }
            Self::ListSessions { account } => account_commands::sessions(context, account)?,
            Self::EndSessions { account } => account_commands::end_sessions(context, account)?,
            Self::BuyCredits { account, credits, cents, reference, provider, note } => {
                let id = find(ledger, account)?.id();
                let bought = match payment(provider, reference)? {
                    None => ledger.buy(id, *credits, *cents, &context.request_id, note, now)?,
                    Some(payment) => ledger.buy_once(id, *credits, *cents, payment, note, now)?,
                };
                CommandOutput::Balance(Balance::bought(id, *credits, &bought))
            }
            Self::GrantCredits { account, credits, note } => {
                let id = find(ledger, account)?.id();
                let balance = ledger.grant(id, *credits, &context.request_id, note, now)?;
                CommandOutput::Balance(Balance::granted(id, *credits, balance))
            }
            Self::CreateKey { account, label, credits_per_day, credits_per_month, datasets, expires_at } => {
                let (credits_per_day, credits_per_month) = (*credits_per_day, *credits_per_month);
                let expires_at = expires_at.as_deref();
                let wanted = Wanted { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::create_key(context, find(ledger, account)?.id(), label, &wanted)?
            }
            Self::LimitKey { key, credits_per_day, credits_per_month, datasets, expires_at } => {
                let wanted = WantedChange { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::limit_key(context, parse_key(key)?, &wanted)?
            }
            Self::ListKeys { account } => key_commands::list_keys(context, find(ledger, account)?.id()),
            Self::RevokeKey { key } => {
                CommandOutput::Key(Key::of(ledger, &ledger.revoke_key(parse_key(key)?, now)?, now))
            }
            Self::RotateKey { key, grace_seconds, label } => {
                let created =
                    ledger.rotate_key(parse_key(key)?, label, *grace_seconds, context.random, now)?;
                CommandOutput::CreatedKey(CreatedKey::of(ledger, &created, now))
            }
            Self::Usage { account, days, by_key, key } => {
                usage(context, account, *days, *by_key, key.as_deref())?
            }
            Self::ReadEntries { account, first, limit } => {
                read_entries(context, account.as_deref(), *first, *limit)?
            }
            Self::Verify {} => CommandOutput::Verification(Verification::of(&ledger.verify()?)),
            Self::Backup { directory } => {
                let summary = ledger.backup(directory, now).map_err(CommandError::Backup)?;
                CommandOutput::Backup(Backup::of(&summary))
            }
            Self::Archive { directory } => {
                let moved = ledger.archive(directory)?;
                CommandOutput::Archived { segments: moved.iter().map(ArchivedSegment::of).collect() }
            }
            Self::AddRelation { from, to, relation_type, description, weight } => {
                relation_commands::add(context, [from, to, relation_type], description, *weight)?
            }
            Self::RemoveRelation { from, to, relation_type } => {
                relation_commands::remove(context, from, to, relation_type.as_deref())?
            }
            Self::ListRelations { dataset, offset, limit } => {
                relation_commands::list(context, dataset.as_deref(), *offset, *limit)?
            }
        })
    }
}

/// The number under which a purchase is entered once, if it has one.
fn payment(provider: &str, reference: &str) -> Result<Option<PaymentId>, CommandError> {
    let provider = match (provider, reference) {
        ("", "") => return Ok(None),
        (_, "") => {
            let rule = "stands beside a reference, which is missing".to_owned();
            return Err(ChargeError::Invalid { field: "provider", rule }.into());
        }
        ("", _) => OPERATOR,
        (named, _) => named,
    };
    Ok(Some(PaymentId { provider: provider.to_owned(), id: reference.to_owned() }))
}

fn usage(
    context: &Context<'_>,
    account: &str,
    days: u32,
    by_key: bool,
    key: Option<&str>,
) -> Result<CommandOutput, CommandError> {
    check_range("days", u64::from(days), u64::from(USAGE_DAYS_MAX))?;
    let id = find(context.ledger, account)?.id();
    let key = key.map(parse_key).transpose()?;
    if let Some(key) = key
        && context.ledger.key_view(key)?.account != id
    {
        let rule = format!("{key} is no key of {id}");
        return Err(ChargeError::Invalid { field: "key", rule }.into());
    }
    let lines = context.ledger.usage(&UsageAsked { account: id, days, key, by_key }, context.now)?;
    let usage = lines.iter().map(UsageDay::of).collect();
    Ok(CommandOutput::Usage(Usage { account: id.to_string(), days, usage }))
}

fn read_entries(
    context: &Context<'_>,
    account: Option<&str>,
    first: u64,
    limit: usize,
) -> Result<CommandOutput, CommandError> {
    check_range("limit", limit as u64, ENTRIES_PER_PAGE_MAX as u64)?;
    let account = account.map(|account| find(context.ledger, account)).transpose()?;
    let (entries, next) = context.ledger.entries(account.map(|account| account.id()), first, limit)?;
    Ok(CommandOutput::Entries(Entries { entries: entries.iter().map(EntryLine::of).collect(), next }))
}

pub(super) fn find(ledger: &Ledger, account: &str) -> Result<AccountHandle, CommandError> {
    let id: AccountId = account.parse()?;
    Ok(ledger.account(id).ok_or(ChargeError::UnknownAccount { account: id })?)
}

fn parse_key(key: &str) -> Result<KeyId, CommandError> {
    Ok(key.parse()?)
}

pub(super) fn check_range(field: &'static str, found: u64, most: u64) -> Result<(), CommandError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(CommandError::Range { field, expected: format!("1 to {most}"), found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_commands_and_rejects_unknown_fields() {
        for command in [
            OperatorCommand::CreateAccount { name: "acme".to_owned() },
            OperatorCommand::RotateKey { key: "key_1".to_owned(), grace_seconds: 60, label: String::new() },
            OperatorCommand::Verify {},
            OperatorCommand::AddRelation {
                from: "a".to_owned(),
                to: "b".to_owned(),
                relation_type: "x".to_owned(),
                description: String::new(),
                weight: Some(0.25),
            },
            OperatorCommand::ListRelations { dataset: None, offset: 0, limit: None },
            OperatorCommand::ReadEntries { account: None, first: 1, limit: 10 },
            OperatorCommand::LimitKey {
                key: "key_1".to_owned(),
                credits_per_day: Change::Lift,
                credits_per_month: Change::Set(5),
                datasets: Change::Set(vec!["a".to_owned()]),
                expires_at: Change::Keep,
            },
        ] {
            let text = serde_json::to_string(&command).unwrap();
            assert_eq!(serde_json::from_str::<OperatorCommand>(&text).unwrap(), command, "{text}");
        }
        for wrong in [
            r#"{"order":"verify","extra":1}"#,
            r#"{"order":"dropEverything"}"#,
            r#"{"order":"buyCredits","account":"acc_1","credits":-5}"#,
            r#"{"order":"buyCredits","account":"acc_1","credits":5,"cent":1}"#,
            r#"{"order":"addRelation","from":"a","to":"b","type":"x","weight":null}"#,
            r#"{"order":"addRelation","from":"a","to":"b","type":"x","weight":1e999}"#,
            r#"{"order":"addRelation","from":"a","to":"b","type":"x","weight":"nan"}"#,
        ] {
            assert!(serde_json::from_str::<OperatorCommand>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rejects_non_finite_weights() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let [from, to, relation_type] = ["a", "b", "x"].map(str::to_owned);
            let command = OperatorCommand::AddRelation {
                from,
                to,
                relation_type,
                description: String::new(),
                weight: Some(weight),
            };
            assert!(serde_json::to_string(&command).unwrap_err().to_string().contains("finite"), "{weight}");
        }
    }
}
