//! What an operator can order, and how it is carried out on open books.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::answer::{
    Account, AccountCreated, AccountLine, Accounts, Answer, Backup, Balance, CreatedKey, Entries, EntryLine,
    Key, Usage, UsageDay, Verification,
};
use super::relation_answer::{RelationAdded, RelationLine, Relations};
use crate::clock::Moment;
use crate::ledger::{
    AccountHandle, AccountId, BackupError, ChargeError, IdError, KEY_RANDOM_BYTES, KeyId, Ledger, PaymentId,
    Relation, RelationKey,
};
use crate::limits::ledger::{RELATION_WEIGHT_DEFAULT, USAGE_DAYS_MAX};
use crate::limits::operator::{ACCOUNTS_PER_PAGE_MAX, ENTRIES_PER_PAGE_MAX, RELATIONS_PER_PAGE_MAX};

/// An order. As JSON: `{"order":"buyCredits","account":"acc_1","credits":1000}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "order",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields,
    expecting = "an order such as {\"order\":\"verify\"}"
)]
pub enum Order {
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
pub enum OrderError {
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

impl Order {
    /// Carries the order out. What it changed is on the disk when this returns.
    pub fn carry_out(&self, context: &Context<'_>) -> Result<Answer, OrderError> {
        let (ledger, now) = (context.ledger, context.now);
        Ok(match self {
            Order::CreateAccount { name } => create_account(context, name)?,
            Order::ListAccounts { after, limit } => list_accounts(context, after.as_deref(), *limit)?,
            Order::ShowAccount { account } => {
                Answer::Account(Account::of(&ledger.account_view(&find(ledger, account)?, now)))
            }
            Order::BuyCredits { account, credits, cents, reference, note } => {
                let id = find(ledger, account)?.id();
                let bought = match reference.as_str() {
                    "" => ledger.buy(id, *credits, *cents, &context.request_id, note, now)?,
                    reference => {
                        let (provider, reference) = (OPERATOR.to_owned(), reference.to_owned());
                        let payment = PaymentId { provider, id: reference };
                        ledger.buy_once(id, *credits, *cents, payment, note, now)?
                    }
                };
                Answer::Balance(Balance::bought(id, *credits, &bought))
            }
            Order::GrantCredits { account, credits, note } => {
                let id = find(ledger, account)?.id();
                let balance = ledger.grant(id, *credits, &context.request_id, note, now)?;
                Answer::Balance(Balance::granted(id, *credits, balance))
            }
            Order::CreateKey { account, label } => {
                let id = find(ledger, account)?.id();
                Answer::CreatedKey(CreatedKey::of(&ledger.create_key(id, label, context.random, now)?))
            }
            Order::ListKeys { account } => {
                let keys = ledger.keys(find(ledger, account)?.id());
                Answer::Keys { keys: keys.iter().map(Key::of).collect() }
            }
            Order::RevokeKey { key } => Answer::Key(Key::of(&ledger.revoke_key(parse_key(key)?, now)?)),
            Order::RotateKey { key, grace_seconds, label } => {
                let created =
                    ledger.rotate_key(parse_key(key)?, label, *grace_seconds, context.random, now)?;
                Answer::CreatedKey(CreatedKey::of(&created))
            }
            Order::Usage { account, days } => usage(context, account, *days)?,
            Order::ReadEntries { account, first, limit } => {
                read_entries(context, account.as_deref(), *first, *limit)?
            }
            Order::AddRelation { from, to, relation_type, description, weight } => {
                let [from, to, relation_type] = [from, to, relation_type].map(Clone::clone);
                let weight = weight.unwrap_or(RELATION_WEIGHT_DEFAULT);
                let key = RelationKey { from, to, relation_type };
                add_relation(context, Relation { key, description: description.clone(), weight, at: now })?
            }
            Order::RemoveRelation { from, to, relation_type } => {
                let removed = ledger.remove_relations(from, to, relation_type.as_deref(), now)?;
                Answer::RelationsRemoved { removed: removed.iter().map(RelationLine::of).collect() }
            }
            Order::ListRelations { dataset, offset, limit } => {
                list_relations(context, dataset.as_deref(), *offset, *limit)?
            }
            Order::Verify {} => Answer::Verification(Verification::of(&ledger.verify()?)),
            Order::Backup { directory } => {
                let summary = ledger.backup(directory, now).map_err(OrderError::Backup)?;
                Answer::Backup(Backup::of(&summary))
            }
        })
    }
}

fn create_account(context: &Context<'_>, name: &str) -> Result<Answer, OrderError> {
    let id = context.ledger.create_account(name, context.now)?;
    let (name, created_at) = (name.to_owned(), context.now.rfc3339());
    Ok(Answer::AccountCreated(AccountCreated { id: id.to_string(), name, created_at }))
}

fn list_accounts(
    context: &Context<'_>,
    after: Option<&str>,
    limit: Option<usize>,
) -> Result<Answer, OrderError> {
    let limit = limit.unwrap_or(ACCOUNTS_PER_PAGE_MAX);
    check_range("limit", limit as u64, ACCOUNTS_PER_PAGE_MAX as u64)?;
    let after: Option<AccountId> = after.map(str::parse).transpose()?;
    let all = context.ledger.accounts();
    let mut rest = all.iter().filter(|account| after.is_none_or(|after| account.id() > after));
    let accounts: Vec<_> = rest.by_ref().take(limit).map(AccountLine::of).collect();
    let next_after = rest.next().and(accounts.last()).map(|account| account.id.clone());
    Ok(Answer::Accounts(Accounts { accounts, total: all.len(), next_after }))
}

fn usage(context: &Context<'_>, account: &str, days: u32) -> Result<Answer, OrderError> {
    check_range("days", u64::from(days), u64::from(USAGE_DAYS_MAX))?;
    let id = find(context.ledger, account)?.id();
    let lines = context.ledger.usage(id, days, context.now)?;
    let usage = lines.iter().map(UsageDay::of).collect();
    Ok(Answer::Usage(Usage { account: id.to_string(), days, usage }))
}

fn read_entries(
    context: &Context<'_>,
    account: Option<&str>,
    first: u64,
    limit: usize,
) -> Result<Answer, OrderError> {
    check_range("limit", limit as u64, ENTRIES_PER_PAGE_MAX as u64)?;
    let account = account.map(|account| find(context.ledger, account)).transpose()?;
    let (entries, next) = context.ledger.entries(account.map(|account| account.id()), first, limit)?;
    Ok(Answer::Entries(Entries { entries: entries.iter().map(EntryLine::of).collect(), next }))
}

fn add_relation(context: &Context<'_>, relation: Relation) -> Result<Answer, OrderError> {
    let line = RelationLine::of(&relation);
    let replaced = context.ledger.add_relation(relation)?;
    Ok(Answer::RelationAdded(RelationAdded { relation: line, replaced }))
}

fn list_relations(
    context: &Context<'_>,
    dataset: Option<&str>,
    offset: usize,
    limit: Option<usize>,
) -> Result<Answer, OrderError> {
    let limit = limit.unwrap_or(RELATIONS_PER_PAGE_MAX);
    check_range("limit", limit as u64, RELATIONS_PER_PAGE_MAX as u64)?;
    let all = context.ledger.relations();
    let found: Vec<&Relation> = match dataset {
        Some(dataset) => all.of(dataset).collect(),
        None => all.all().iter().collect(),
    };
    let relations: Vec<RelationLine> =
        found.iter().skip(offset).take(limit).map(|relation| RelationLine::of(relation)).collect();
    let end = offset.saturating_add(relations.len());
    let next_offset = (end < found.len() && !relations.is_empty()).then_some(end);
    Ok(Answer::Relations(Relations { relations, total: found.len(), next_offset }))
}

fn find(ledger: &Ledger, account: &str) -> Result<AccountHandle, OrderError> {
    let id: AccountId = account.parse()?;
    Ok(ledger.account(id).ok_or(ChargeError::UnknownAccount { account: id })?)
}

fn parse_key(key: &str) -> Result<KeyId, OrderError> {
    Ok(key.parse()?)
}

fn check_range(field: &'static str, found: u64, most: u64) -> Result<(), OrderError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(OrderError::Range { field, expected: format!("1 to {most}"), found })
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
        for order in [
            Order::CreateAccount { name: "acme".to_owned() },
            Order::RotateKey { key: "key_1".to_owned(), grace_seconds: 60, label: String::new() },
            Order::Verify {},
            Order::AddRelation {
                from: "a".to_owned(),
                to: "b".to_owned(),
                relation_type: "x".to_owned(),
                description: String::new(),
                weight: Some(0.25),
            },
            Order::ListRelations { dataset: None, offset: 0, limit: None },
            Order::ReadEntries { account: None, first: 1, limit: 10 },
        ] {
            let text = serde_json::to_string(&order).unwrap();
            assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order, "{text}");
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
            assert!(serde_json::from_str::<Order>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_weight_that_json_cannot_carry_is_not_written() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let [from, to, relation_type] = ["a", "b", "x"].map(str::to_owned);
            let order = Order::AddRelation {
                from,
                to,
                relation_type,
                description: String::new(),
                weight: Some(weight),
            };
            assert!(serde_json::to_string(&order).unwrap_err().to_string().contains("finite"), "{weight}");
        }
    }
}
