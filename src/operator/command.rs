//! What an operator can order, and how it is carried out on open books.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::key_commands::{self, Wanted, WantedChange, change};
use super::output::{
    Account, AccountCreated, AccountLine, Accounts, ArchivedSegment, Backup, Balance, CommandOutput,
    CreatedKey, Entries, EntryLine, Key, Usage, UsageDay, Verification,
};
use super::relation_commands;
use crate::clock::Moment;
use crate::ledger::{
    AccountHandle, AccountId, BackupError, Change, ChargeError, IdError, KEY_RANDOM_BYTES, KeyId, Ledger,
    PaymentId, UsageAsked,
};
use crate::limits::ledger::USAGE_DAYS_MAX;
use crate::limits::operator::{ACCOUNTS_PER_PAGE_MAX, ENTRIES_PER_PAGE_MAX};

/// An order. As JSON: `{"order":"buyCredits","account":"acc_1","credits":1000}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "order",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields,
    expecting = "an order such as {\"order\":\"verify\"}"
)]
pub enum OperatorCommand {
    /// A new account without credits.
    CreateAccount {
        /// Its name.
        name: String,
    },
    /// Accounts in the order of their ids, a page at a time.
    ListAccounts {
        /// The id after which the page begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// Accounts of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// One account with its keys.
    ShowAccount {
        /// Its id.
        account: String,
    },
    /// Credits that were paid for.
    BuyCredits {
        /// Who bought them.
        account: String,
        /// How many.
        credits: u64,
        /// What they cost in cents of a euro, VAT excluded; the list price when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cents: Option<u64>,
        /// The number of the invoice or payment: the same purchase under it is entered once.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
        /// Who took the payment; `operator` when absent. The same number of another provider is another payment.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Credits as a gift.
    GrantCredits {
        /// Who receives them.
        account: String,
        /// How many.
        credits: u64,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A new key. The answer is the only place where it stands in the clear.
    CreateKey {
        /// Whose it will be.
        account: String,
        /// What its owner calls it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
        /// Credits that it may spend in a UTC day; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_day: Option<u64>,
        /// Credits that it may spend in a UTC calendar month; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_month: Option<u64>,
        /// The only datasets that it reads; all of them when there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        datasets: Vec<String>,
        /// When it ends: RFC 3339, or a UTC day with whose end it ends; never when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
    },
    /// Changes what a key may spend and read. What is absent stays, and `null` lifts a limit.
    LimitKey {
        /// The key's id.
        key: String,
        /// Credits that it may spend in a UTC day.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_day: Change<u64>,
        /// Credits that it may spend in a UTC calendar month.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_month: Change<u64>,
        /// The only datasets that it reads.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        datasets: Change<Vec<String>>,
        /// When it ends: RFC 3339, or a UTC day with whose end it ends.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        expires_at: Change<String>,
    },
    /// The keys of an account.
    ListKeys {
        /// Its id.
        account: String,
    },
    /// Ends a key at once.
    RevokeKey {
        /// The key's id.
        key: String,
    },
    /// A new key in the place of another.
    RotateKey {
        /// The old key's id.
        key: String,
        /// How long the old one stays valid.
        grace_seconds: u64,
        /// What its owner calls it; the old label when absent.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
    },
    /// What an account read, by day and dataset.
    Usage {
        /// Its id.
        account: String,
        /// UTC days, today included.
        days: u32,
        /// Whether each key has lines of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_key: bool,
        /// Only what was read with this key of the account.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Entries in their order, a page at a time.
    ReadEntries {
        /// Of this account only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
        /// The sequence with which the page begins.
        first: u64,
        /// Entries that are looked at for the page.
        limit: usize,
    },
    /// A relation between two datasets, in the place of the one of the same datasets and type.
    AddRelation {
        /// The dataset that it begins at.
        from: String,
        /// The dataset that it leads to.
        to: String,
        /// What kind of relation it is.
        #[serde(rename = "type")]
        relation_type: String,
        /// A sentence about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// How strong it is: 0 to 1,000,000; 1 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "finite")]
        weight: Option<f64>,
    },
    /// Removes the relations from one dataset to another.
    RemoveRelation {
        /// The dataset that they begin at.
        from: String,
        /// The dataset that they lead to.
        to: String,
        /// Only the one of this type.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        relation_type: Option<String>,
    },
    /// Relations by the names of their datasets, a page at a time.
    ListRelations {
        /// Only those at one end of which this dataset stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dataset: Option<String>,
        /// How many are passed over.
        #[serde(default)]
        offset: usize,
        /// Relations of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Adds up all entries again.
    Verify {},
    /// Writes a backup.
    Backup {
        /// The folder on the server's machine that receives it.
        directory: PathBuf,
    },
    /// Moves old segments of the log away.
    Archive {
        /// The folder on the server's machine that receives them.
        directory: PathBuf,
    },
}

/// The payment provider of purchases that the operator enters.
const OPERATOR: &str = "operator";

/// What an order needs beside itself.
#[derive(Clone)]
pub struct Context<'l> {
    /// The books.
    pub ledger: &'l Ledger,
    /// The present moment.
    pub now: Moment,
    /// The request that brought the order.
    pub request_id: String,
    /// Random bytes from the operating system, for a key that may be created.
    pub random: [u8; KEY_RANDOM_BYTES],
}

/// Why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A text names no account or key.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A number is out of range.
    #[error("{field}: expected {expected}, found {found}")]
    Range {
        /// The field.
        field: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        found: u64,
    },
    /// The books refuse.
    #[error(transparent)]
    Ledger(#[from] ChargeError),
    /// The backup failed.
    #[error(transparent)]
    Backup(BackupError),
}

impl OperatorCommand {
    /// Carries the order out. What it changed is on the disk when this returns.
    pub fn execute(&self, context: &Context<'_>) -> Result<CommandOutput, CommandError> {
        let (ledger, now) = (context.ledger, context.now);
        Ok(match self {
            OperatorCommand::CreateAccount { name } => create_account(context, name)?,
            OperatorCommand::ListAccounts { after, limit } => {
                list_accounts(context, after.as_deref(), *limit)?
            }
            OperatorCommand::ShowAccount { account } => CommandOutput::Account(Account::of(
                ledger,
                &ledger.account_view(&find(ledger, account)?, now),
                now,
            )),
            OperatorCommand::BuyCredits { account, credits, cents, reference, provider, note } => {
                let id = find(ledger, account)?.id();
                let bought = match payment(provider, reference)? {
                    None => ledger.buy(id, *credits, *cents, &context.request_id, note, now)?,
                    Some(payment) => ledger.buy_once(id, *credits, *cents, payment, note, now)?,
                };
                CommandOutput::Balance(Balance::bought(id, *credits, &bought))
            }
            OperatorCommand::GrantCredits { account, credits, note } => {
                let id = find(ledger, account)?.id();
                let balance = ledger.grant(id, *credits, &context.request_id, note, now)?;
                CommandOutput::Balance(Balance::granted(id, *credits, balance))
            }
            OperatorCommand::CreateKey {
                account,
                label,
                credits_per_day,
                credits_per_month,
                datasets,
                expires_at,
            } => {
                let (credits_per_day, credits_per_month) = (*credits_per_day, *credits_per_month);
                let expires_at = expires_at.as_deref();
                let wanted = Wanted { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::create_key(context, find(ledger, account)?.id(), label, &wanted)?
            }
            OperatorCommand::LimitKey { key, credits_per_day, credits_per_month, datasets, expires_at } => {
                let wanted = WantedChange { credits_per_day, credits_per_month, datasets, expires_at };
                key_commands::limit_key(context, parse_key(key)?, &wanted)?
            }
            OperatorCommand::ListKeys { account } => {
                let keys = ledger.keys(find(ledger, account)?.id());
                CommandOutput::Keys { keys: keys.iter().map(|key| Key::of(ledger, key, now)).collect() }
            }
            OperatorCommand::RevokeKey { key } => {
                CommandOutput::Key(Key::of(ledger, &ledger.revoke_key(parse_key(key)?, now)?, now))
            }
            OperatorCommand::RotateKey { key, grace_seconds, label } => {
                let created =
                    ledger.rotate_key(parse_key(key)?, label, *grace_seconds, context.random, now)?;
                CommandOutput::CreatedKey(CreatedKey::of(ledger, &created, now))
            }
            OperatorCommand::Usage { account, days, by_key, key } => {
                usage(context, account, *days, *by_key, key.as_deref())?
            }
            OperatorCommand::ReadEntries { account, first, limit } => {
                read_entries(context, account.as_deref(), *first, *limit)?
            }
            OperatorCommand::Verify {} => CommandOutput::Verification(Verification::of(&ledger.verify()?)),
            OperatorCommand::Backup { directory } => {
                let summary = ledger.backup(directory, now).map_err(CommandError::Backup)?;
                CommandOutput::Backup(Backup::of(&summary))
            }
            OperatorCommand::Archive { directory } => {
                let moved = ledger.archive(directory)?;
                CommandOutput::Archived { segments: moved.iter().map(ArchivedSegment::of).collect() }
            }
            OperatorCommand::AddRelation { from, to, relation_type, description, weight } => {
                relation_commands::add(context, [from, to, relation_type], description, *weight)?
            }
            OperatorCommand::RemoveRelation { from, to, relation_type } => {
                relation_commands::remove(context, from, to, relation_type.as_deref())?
            }
            OperatorCommand::ListRelations { dataset, offset, limit } => {
                relation_commands::list(context, dataset.as_deref(), *offset, *limit)?
            }
        })
    }
}

/// Under which number a purchase is entered only once; nothing when it has none.
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

fn create_account(context: &Context<'_>, name: &str) -> Result<CommandOutput, CommandError> {
    let id = context.ledger.create_account(name, context.now)?;
    let (name, created_at) = (name.to_owned(), context.now.rfc3339());
    Ok(CommandOutput::AccountCreated(AccountCreated { id: id.to_string(), name, created_at }))
}

fn list_accounts(
    context: &Context<'_>,
    after: Option<&str>,
    limit: Option<usize>,
) -> Result<CommandOutput, CommandError> {
    let limit = limit.unwrap_or(ACCOUNTS_PER_PAGE_MAX);
    check_range("limit", limit as u64, ACCOUNTS_PER_PAGE_MAX as u64)?;
    let after: Option<AccountId> = after.map(str::parse).transpose()?;
    let all = context.ledger.accounts();
    let mut rest = all.iter().filter(|account| after.is_none_or(|after| account.id() > after));
    let accounts: Vec<_> = rest.by_ref().take(limit).map(AccountLine::of).collect();
    let next_after = rest.next().and(accounts.last()).map(|account| account.id.clone());
    Ok(CommandOutput::Accounts(Accounts { accounts, total: all.len(), next_after }))
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

fn find(ledger: &Ledger, account: &str) -> Result<AccountHandle, CommandError> {
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

/// A number that JSON can carry: NaN and infinity would arrive as `null`, which is taken for no number at all.
mod finite {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) if !number.is_finite() => {
                Err(S::Error::custom(format!("expected a finite number, found {number}")))
            }
            number => number.serialize(out),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        let number = Option::<f64>::deserialize(from)?;
        number.map(Some).ok_or_else(|| D::Error::custom("expected a number, found null; leave the field out"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_back_what_it_writes_and_refuses_what_it_does_not_know() {
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
    fn a_weight_that_json_cannot_carry_is_not_written() {
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
