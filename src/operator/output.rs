//! The output of commands in JSON: accounts, credits and keys.
//!
//! JSON views of results of the books, which do not depend on JSON.

use serde::Serialize;

use super::relation_output::{RelationAdded, RelationLine, Relations};
use super::report_output::{ArchivedSegment, Backup, Entries, Usage, Verification};
use crate::clock::Moment;
use crate::ledger;

/// The output of a command. The JSON has no tag: the caller knows its command.
#[derive(Serialize)]
#[serde(untagged)]
pub enum CommandOutput {
    /// Output of `createAccount`.
    AccountCreated(AccountCreated),
    /// Output of `listAccounts`.
    Accounts(Accounts),
    /// Output of `showAccount`.
    Account(Account),
    /// Output of `buyCredits` and `grantCredits`.
    Balance(Balance),
    /// Output of `createKey` and `rotateKey`.
    CreatedKey(CreatedKey),
    /// Output of `listKeys`.
    Keys {
        /// The keys, oldest first.
        keys: Vec<Key>,
    },
    /// Output of `revokeKey` and `limitKey`.
    Key(Key),
    /// Output of `usage`.
    Usage(Usage),
    /// Output of `readEntries`.
    Entries(Entries),
    /// Output of `addRelation`.
    RelationAdded(RelationAdded),
    /// Output of `removeRelation`.
    RelationsRemoved {
        /// The removed relations.
        removed: Vec<RelationLine>,
    },
    /// Output of `listRelations`.
    Relations(Relations),
    /// Output of `verify`.
    Verification(Verification),
    /// Output of `backup`.
    Backup(Backup),
    /// Output of `archive`.
    Archived {
        /// The moved segments, oldest first.
        segments: Vec<ArchivedSegment>,
    },
}

/// A new account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountCreated {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The time.
    pub created_at: String,
}

/// A page of accounts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accounts {
    /// Accounts by id.
    pub accounts: Vec<AccountLine>,
    /// The number of all accounts.
    pub total: usize,
    /// The id after which the next page begins, if any.
    pub next_after: Option<String>,
}

/// An account in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLine {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its plan.
    pub plan: &'static str,
    /// Credits available.
    pub credits: u64,
    /// When it was created.
    pub created_at: String,
}

impl AccountLine {
    pub(super) fn of(account: &ledger::AccountHandle) -> AccountLine {
        AccountLine {
            id: account.id().to_string(),
            name: account.name().to_owned(),
            plan: account.plan().as_str(),
            credits: account.credits(),
            created_at: account.created_at().rfc3339(),
        }
    }
}

/// An account with its keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its plan.
    pub plan: &'static str,
    /// Credits available.
    pub credits: u64,
    /// Credits reserved by running streams.
    pub reserved: u64,
    /// Free queries left this month; null on a prepaid account.
    pub free_queries_remaining: Option<u32>,
    /// When the free queries reset; null on a prepaid account.
    pub free_queries_reset_at: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// The keys, oldest first.
    pub keys: Vec<Key>,
}

impl Account {
    pub(super) fn of(books: &ledger::Ledger, view: &ledger::AccountView, now: Moment) -> Account {
        Account {
            id: view.id.to_string(),
            name: view.name.clone(),
            plan: view.plan.as_str(),
            credits: view.credits,
            reserved: view.reserved,
            free_queries_remaining: view.free_queries_remaining,
            free_queries_reset_at: view.free_queries_reset_at.map(Moment::rfc3339),
            created_at: view.created_at.rfc3339(),
            keys: view.keys.iter().map(|key| Key::of(books, key, now)).collect(),
        }
    }
}

/// Credits added to an account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    /// The account.
    pub account: String,
    /// The new balance.
    pub balance: u64,
    /// The added credits.
    pub credits: u64,
    /// The price; zero for a gift.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: &'static str,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// Whether the purchase was entered before under its reference. Then nothing was added.
    pub replayed: bool,
}

impl Balance {
    pub(super) fn bought(account: ledger::AccountId, credits: u64, bought: &ledger::Purchase) -> Balance {
        Balance {
            cents: bought.cents,
            replayed: bought.is_replayed,
            ..Balance::granted(account, credits, bought.balance)
        }
    }

    pub(super) fn granted(account: ledger::AccountId, credits: u64, balance: u64) -> Balance {
        let account = account.to_string();
        Balance { account, balance, credits, cents: 0, currency: "EUR", vat_included: false, replayed: false }
    }
}

/// A new key.
#[derive(Serialize)]
pub struct CreatedKey {
    /// The key in the clear: shown here and never again.
    pub key: String,
    /// The key's record.
    #[serde(flatten)]
    pub about: Key,
}

impl CreatedKey {
    pub(super) fn of(books: &ledger::Ledger, created: &ledger::CreatedKey, now: Moment) -> CreatedKey {
        CreatedKey { key: created.plain.reveal().to_owned(), about: Key::of(books, &created.view, now) }
    }
}

/// The record of a key, without the key itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its id.
    pub id: String,
    /// The owner's account.
    pub account: String,
    /// Its first characters.
    pub prefix: String,
    /// The owner's label.
    pub label: String,
    /// When it was created.
    pub created_at: String,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it expires, if ever.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// Its limits.
    pub limits: Limits,
    /// The credits spent; null on a key without caps, and while the books cannot tell.
    pub spent: Option<Spent>,
}

/// The limits of a key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Credits for each UTC day; null without a cap.
    pub credits_per_day: Option<u64>,
    /// Credits for each UTC calendar month; null without a cap.
    pub credits_per_month: Option<u64>,
    /// The datasets that the key may read; all when empty.
    pub datasets: Vec<String>,
}

/// Credits spent of the caps of a key, including those reserved by its running streams.
#[derive(Serialize)]
pub struct Spent {
    /// In the current UTC day; null without a cap.
    pub day: Option<u64>,
    /// In the current UTC calendar month; null without a cap.
    pub month: Option<u64>,
}

impl Spent {
    fn of(standings: &[ledger::CapStanding]) -> Option<Spent> {
        let of = |period| standings.iter().find(|cap| cap.period == period).map(|cap| cap.spent);
        let spent = Spent { day: of(ledger::CapPeriod::Day), month: of(ledger::CapPeriod::Month) };
        (!standings.is_empty()).then_some(spent)
    }
}

impl Key {
    /// The record of a key at a moment.
    pub fn of(books: &ledger::Ledger, view: &ledger::KeyView, now: Moment) -> Key {
        let standings = books.cap_standings(view.account, view.id, &view.limits, now);
        Key {
            id: view.id.to_string(),
            account: view.account.to_string(),
            prefix: view.prefix.clone(),
            label: view.label.clone(),
            created_at: view.created_at.rfc3339(),
            last_used_at: view.last_used_at.map(Moment::rfc3339),
            expires_at: view.expires_at.map(Moment::rfc3339),
            revoked_at: view.revoked_at.map(Moment::rfc3339),
            limits: Limits {
                credits_per_day: view.limits.credits_per_day,
                credits_per_month: view.limits.credits_per_month,
                datasets: view.limits.datasets.to_vec(),
            },
            spent: standings.ok().as_deref().and_then(Spent::of),
        }
    }
}
