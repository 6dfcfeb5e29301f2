//! Commands that read usage and entries.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_ledger::limits::USAGE_DAYS_MAX;
use mercato_ledger::{Entry, KeyId, UsageLine, UsageQuery};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context, check_range};

const ENTRIES_PER_PAGE_MAX: usize = 1_000;

/// Show the usage of an account, by day and dataset.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
    /// UTC days, including today.
    #[arg(
        long,
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(USAGE_DAYS_MAX))
    )]
    pub days: u32,
    /// Group by key.
    #[arg(long)]
    #[serde(default)]
    pub by_key: bool,
    /// Only the usage of this key, like `key_5`.
    #[arg(long, value_name = "KEY_ID")]
    pub key: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct UsageReport {
    pub account: String,
    /// UTC days, today included.
    pub days: u32,
    /// Oldest first, by dataset within a day. Days without requests are left out.
    pub usage: Vec<UsageDay>,
}

/// The usage of a dataset on a day.
#[derive(Serialize, Deserialize)]
pub struct UsageDay {
    pub day: String,
    pub dataset: String,
    /// In a report by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub requests: u64,
    pub rows: u64,
    pub credits: u64,
}

impl Command for Usage {
    type Outcome = UsageReport;

    fn execute(&self, context: &Context<'_>) -> Result<UsageReport, CommandError> {
        let Self { days, by_key, .. } = *self;
        check_range("days", u64::from(days), u64::from(USAGE_DAYS_MAX))?;
        let account = context.account(&self.account)?.id();
        let key: Option<KeyId> = self.key.as_deref().map(str::parse).transpose()?;
        if let Some(key) = key
            && context.ledger.key_view(key)?.account != account
        {
            return Err(CommandError::invalid("key", format!("{key} is no key of {account}")));
        }
        let lines = context.ledger.usage(&UsageQuery { account, days, key, by_key }, context.now)?;
        let usage = lines.iter().map(UsageDay::from).collect();
        Ok(UsageReport { account: account.to_string(), days, usage })
    }
}

impl From<&UsageLine> for UsageDay {
    fn from(line: &UsageLine) -> Self {
        Self {
            day: line.day.to_string(),
            dataset: line.dataset.clone(),
            key: line.key.map(|key| key.to_string()),
            requests: line.requests,
            rows: line.rows,
            credits: line.credits,
        }
    }
}

impl Display for UsageReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.usage.iter().try_for_each(|UsageDay { day, dataset, key, requests, rows, credits }| {
            let key = key.as_ref().map(|key| format!("{key:10} ")).unwrap_or_default();
            writeln!(
                out,
                "{day}  {key}{dataset:32} {requests:>8} requests {rows:>12} rows {credits:>12} credits"
            )
        })
    }
}

/// Read entries in order, in pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadEntries {
    /// Only entries of this account.
    pub account: Option<String>,
    /// The first sequence number of the page.
    pub first: u64,
    /// Entries to examine for the page.
    pub limit: usize,
}

#[derive(Serialize, Deserialize)]
pub struct EntryPage {
    /// Entries in order. The page of one account may be empty although more follow.
    pub entries: Vec<EntryLine>,
    /// The first sequence number of the next page, if any.
    pub next: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryLine {
    pub sequence: u64,
    pub at: String,
    pub account: String,
    pub kind: String,
    /// The change in credits.
    pub amount: i64,
    /// The balance after it.
    pub balance: u64,
    /// Rows sold.
    pub rows: u64,
    /// The price of a purchase.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: String,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// The entry that this one settles or reverses; zero without one.
    pub related: u64,
    /// The request that caused it, or the reference of a purchase.
    pub request_id: String,
    pub dataset: String,
    pub note: String,
    /// The key that bought it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Command for ReadEntries {
    type Outcome = EntryPage;

    fn execute(&self, context: &Context<'_>) -> Result<EntryPage, CommandError> {
        check_range("limit", self.limit as u64, ENTRIES_PER_PAGE_MAX as u64)?;
        let account = self.account.as_ref().map(|account| context.account(account)).transpose()?;
        let account = account.map(|account| account.id());
        let (entries, next) = context.ledger.entries(account, self.first, self.limit)?;
        Ok(EntryPage { entries: entries.iter().map(EntryLine::from).collect(), next })
    }
}

impl From<&Entry> for EntryLine {
    fn from(entry: &Entry) -> Self {
        Self {
            sequence: entry.sequence,
            at: entry.at.rfc3339(),
            account: entry.account.to_string(),
            kind: entry.kind.as_str().to_owned(),
            amount: entry.amount,
            balance: entry.balance,
            rows: entry.rows,
            cents: entry.cents,
            currency: "EUR".to_owned(),
            vat_included: false,
            related: entry.related,
            request_id: entry.request_id.clone(),
            dataset: entry.dataset.clone(),
            note: entry.note.clone(),
            key: entry.key.map(|key| key.to_string()),
        }
    }
}
