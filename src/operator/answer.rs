//! The answers to orders, as they are written in JSON.
//!
//! Mirrors of what the books return; the books themselves know no JSON.

use serde::Serialize;

use super::relation_answer::{RelationAdded, RelationLine, Relations};
use crate::clock::Moment;
use crate::ledger;

/// The answer to an order. Written without its kind: who ordered knows it.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To `createAccount`.
    AccountCreated(AccountCreated),
    /// To `listAccounts`.
    Accounts(Accounts),
    /// To `showAccount`.
    Account(Account),
    /// To `buyCredits` and `grantCredits`.
    Balance(Balance),
    /// To `createKey` and `rotateKey`.
    CreatedKey(CreatedKey),
    /// To `listKeys`.
    Keys {
        /// Oldest first.
        keys: Vec<Key>,
    },
    /// To `revokeKey` and `limitKey`.
    Key(Key),
    /// To `usage`.
    Usage(Usage),
    /// To `readEntries`.
    Entries(Entries),
    /// To `addRelation`.
    RelationAdded(RelationAdded),
    /// To `removeRelation`.
    RelationsRemoved {
        /// What there was.
        removed: Vec<RelationLine>,
    },
    /// To `listRelations`.
    Relations(Relations),
    /// To `verify`.
    Verification(Verification),
    /// To `backup`.
    Backup(Backup),
    /// To `archive`.
    Archived {
        /// What was moved, oldest first; empty when nothing could be.
        segments: Vec<ArchivedSegment>,
    },
}

/// An account that was created.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountCreated {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When.
    pub created_at: String,
}

/// A page of accounts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accounts {
    /// In the order of their ids.
    pub accounts: Vec<AccountLine>,
    /// How many there are altogether.
    pub total: usize,
    /// The id after which the next page begins, if there is one.
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
    /// Credits that can be spent.
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
    /// Credits that can be spent.
    pub credits: u64,
    /// Credits that running streams hold back.
    pub reserved: u64,
    /// Free queries left this month; null on a prepaid account.
    pub free_queries_remaining: Option<u32>,
    /// When they begin anew; null on a prepaid account.
    pub free_queries_reset_at: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// Oldest first.
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

/// Credits that an account received.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    /// The account.
    pub account: String,
    /// Credits after it.
    pub balance: u64,
    /// Credits that it received.
    pub credits: u64,
    /// What they cost; zero for a gift.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: &'static str,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// Whether the purchase was entered before under its reference; nothing was added then.
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

/// A key that was created.
#[derive(Serialize)]
pub struct CreatedKey {
    /// The key in the clear: shown here and never again.
    pub key: String,
    /// What is known about it later.
    #[serde(flatten)]
    pub about: Key,
}

impl CreatedKey {
    pub(super) fn of(books: &ledger::Ledger, created: &ledger::CreatedKey, now: Moment) -> CreatedKey {
        CreatedKey { key: created.plain.reveal().to_owned(), about: Key::of(books, &created.view, now) }
    }
}

/// A key, without the key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub account: String,
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it.
    pub label: String,
    /// When it was created.
    pub created_at: String,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it ends, if it was rotated or made for a time.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// What it may spend and read.
    pub limits: Limits,
    /// What it has spent; null on a key without caps, and while the books cannot say.
    pub spent: Option<Spent>,
}

/// What a key may spend and read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Credits in a UTC day; null without a cap.
    pub credits_per_day: Option<u64>,
    /// Credits in a UTC calendar month; null without a cap.
    pub credits_per_month: Option<u64>,
    /// The only datasets that it reads; all of them when there are none.
    pub datasets: Vec<String>,
}

/// Credits that a key has spent of its caps, and those that its running streams hold.
#[derive(Serialize)]
pub struct Spent {
    /// In the present UTC day; null without a cap on it.
    pub day: Option<u64>,
    /// In the present UTC calendar month; null without a cap on it.
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
    /// The mirror of what the books know about a key at a moment.
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

/// What an account read.
#[derive(Serialize)]
pub struct Usage {
    /// The account.
    pub account: String,
    /// UTC days, today included.
    pub days: u32,
    /// Oldest first, by dataset within a day. Days without requests are left out.
    pub usage: Vec<UsageDay>,
}

/// What was read of a dataset on a day.
#[derive(Serialize)]
pub struct UsageDay {
    /// The UTC day.
    pub day: String,
    /// The slug of the dataset.
    pub dataset: String,
    /// The key, where keys are told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Answers.
    pub requests: u64,
    /// Rows in them.
    pub rows: u64,
    /// Credits that they cost.
    pub credits: u64,
}

impl UsageDay {
    /// The mirror of a line.
    pub fn of(line: &ledger::UsageLine) -> UsageDay {
        UsageDay {
            day: line.day.to_string(),
            dataset: line.dataset.clone(),
            key: line.key.map(|key| key.to_string()),
            requests: line.requests,
            rows: line.rows,
            credits: line.credits,
        }
    }
}

/// A page of entries.
#[derive(Serialize)]
pub struct Entries {
    /// In their order. May be empty although more follow, when one account is asked for.
    pub entries: Vec<EntryLine>,
    /// The sequence with which the next page begins, if there is one.
    pub next: Option<u64>,
}

/// An entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryLine {
    /// Its place among all entries.
    pub sequence: u64,
    /// When.
    pub at: String,
    /// Whose balance changed.
    pub account: String,
    /// Why.
    pub kind: &'static str,
    /// By how many credits.
    pub amount: i64,
    /// The balance after it.
    pub balance: u64,
    /// Rows that were sold.
    pub rows: u64,
    /// What a purchase cost, in cents.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: &'static str,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// The entry that this one settles or takes back; zero when there is none.
    pub related: u64,
    /// The request that caused it, or the reference of a purchase.
    pub request_id: String,
    /// The dataset that was sold.
    pub dataset: String,
    /// A remark.
    pub note: String,
    /// The key with which it was bought, if with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl EntryLine {
    pub(super) fn of(entry: &ledger::Entry) -> EntryLine {
        EntryLine {
            sequence: entry.sequence,
            at: entry.at.rfc3339(),
            account: entry.account.to_string(),
            kind: entry.kind.as_str(),
            amount: entry.amount,
            balance: entry.balance,
            rows: entry.rows,
            cents: entry.cents,
            currency: "EUR",
            vat_included: false,
            related: entry.related,
            request_id: entry.request_id.clone(),
            dataset: entry.dataset.clone(),
            note: entry.note.clone(),
            key: entry.key.map(|key| key.to_string()),
        }
    }
}

/// What adding up all entries showed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Whether every balance is the sum of its entries.
    pub balanced: bool,
    /// Entries that were added up.
    pub entries: u64,
    /// Accounts that were compared.
    pub accounts: u64,
    /// Reservations that are open.
    pub open_reservations: u64,
    /// The sum of all balances.
    pub credits: u64,
    /// How many differences there are.
    pub difference_count: u64,
    /// The first of them.
    pub differences: Vec<String>,
}

impl Verification {
    /// The mirror of a report.
    pub fn of(report: &ledger::AuditReport) -> Verification {
        Verification {
            balanced: report.is_balanced(),
            entries: report.entries,
            accounts: report.accounts,
            open_reservations: report.open_reservations,
            credits: report.credits,
            difference_count: report.difference_count,
            differences: report.differences.clone(),
        }
    }
}

/// A backup that was written or taken back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The file.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// The newest entry in it.
    pub last_sequence: u64,
}

impl Backup {
    /// The mirror of a summary.
    pub fn of(summary: &ledger::BackupSummary) -> Backup {
        Backup {
            path: summary.path.display().to_string(),
            bytes: summary.bytes,
            records: summary.records,
            last_sequence: summary.last_sequence,
        }
    }
}

/// A segment of the log that was moved away.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedSegment {
    /// Its number.
    pub number: u64,
    /// The number of its first record.
    pub first_record: u64,
    /// The number of its last record.
    pub last_record: u64,
    /// Its size.
    pub bytes: u64,
    /// Where it lies now.
    pub path: String,
}

impl ArchivedSegment {
    pub(super) fn of(moved: &ledger::MovedSegment) -> ArchivedSegment {
        ArchivedSegment {
            number: moved.number,
            first_record: moved.first,
            last_record: moved.last,
            bytes: moved.bytes,
            path: moved.path.display().to_string(),
        }
    }
}
