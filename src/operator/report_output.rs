//! The output of reports in JSON: usage, entries, verification, backups and archived segments.

use serde::Serialize;

/// The usage of an account.
#[derive(Serialize)]
pub struct Usage {
    /// The account.
    pub account: String,
    /// UTC days, today included.
    pub days: u32,
    /// Oldest first, by dataset within a day. Days without requests are left out.
    pub usage: Vec<UsageDay>,
}

/// The usage of a dataset on a day.
#[derive(Serialize)]
pub struct UsageDay {
    /// The UTC day.
    pub day: String,
    /// The slug of the dataset.
    pub dataset: String,
    /// The key, in a report by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Responses.
    pub requests: u64,
    /// Rows in them.
    pub rows: u64,
    /// Credits that they cost.
    pub credits: u64,
}

impl UsageDay {
    /// The JSON view of a line.
    pub fn of(line: &mercato_ledger::UsageLine) -> UsageDay {
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
    /// Entries in order. The page of one account may be empty although more follow.
    pub entries: Vec<EntryLine>,
    /// The first sequence number of the next page, if any.
    pub next: Option<u64>,
}

/// An entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryLine {
    /// Its sequence number.
    pub sequence: u64,
    /// The time.
    pub at: String,
    /// The account.
    pub account: String,
    /// The reason.
    pub kind: &'static str,
    /// The change in credits.
    pub amount: i64,
    /// The balance after it.
    pub balance: u64,
    /// Rows sold.
    pub rows: u64,
    /// The price of a purchase in cents.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: &'static str,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// The entry that this one settles or reverses; zero without one.
    pub related: u64,
    /// The request that caused it, or the reference of a purchase.
    pub request_id: String,
    /// The dataset.
    pub dataset: String,
    /// A remark.
    pub note: String,
    /// The key that bought it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl EntryLine {
    pub(super) fn of(entry: &mercato_ledger::Entry) -> EntryLine {
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

/// The result of verifying all entries.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Whether every balance is the sum of its entries.
    pub balanced: bool,
    /// Entries examined.
    pub entries: u64,
    /// Accounts compared.
    pub accounts: u64,
    /// Open reservations.
    pub open_reservations: u64,
    /// The sum of all balances.
    pub credits: u64,
    /// The number of differences.
    pub difference_count: u64,
    /// The first differences.
    pub differences: Vec<String>,
}

impl Verification {
    /// The JSON view of a report.
    pub fn of(report: &mercato_ledger::AuditReport) -> Verification {
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

/// A backup that was written or restored.
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
    /// The JSON view of a summary.
    pub fn of(summary: &mercato_ledger::BackupSummary) -> Backup {
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
    /// Its new path.
    pub path: String,
}

impl ArchivedSegment {
    pub(super) fn of(moved: &mercato_ledger::MovedSegment) -> ArchivedSegment {
        ArchivedSegment {
            number: moved.number,
            first_record: moved.first,
            last_record: moved.last,
            bytes: moved.bytes,
            path: moved.path.display().to_string(),
        }
    }
}
