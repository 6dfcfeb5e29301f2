//! Reports of the books: accounts, usage, entries and the audit.
//!
//! Does not depend on output formats.

use std::collections::BTreeMap;
use std::path::Path;

use super::Ledger;
use super::account::Plan;
use super::audit::AuditReport;
use super::backup::{BackupError, BackupSummary, MovedSegment};
use super::directory::{AccountHandle, KeyView};
use super::entry::Entry;
use super::error::ChargeError;
use super::id::AccountId;
use super::id::KeyId;
use super::key_limits::{CapStanding, KeyLimits};

use super::usage::{Usage, UsageLine, UsageQuery};
use crate::limits::{ENTRIES_PER_PAGE_MAX, USAGE_DAYS_MAX};
use mercato_base::clock::{Moment, UtcDay};

/// Lines of one usage report (days × datasets, or days × datasets × keys).
const USAGE_LINES_MAX: usize = 100_000;

/// An account as its owner may see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountView {
    /// The id.
    pub id: AccountId,
    /// The name.
    pub name: String,
    /// The plan.
    pub plan: Plan,
    /// Credits that can be spent.
    pub credits: u64,
    /// Credits that running streams have set aside.
    pub reserved: u64,
    /// Free queries left this month.
    pub free_queries_remaining: u32,
    /// When the free queries begin anew.
    pub free_queries_reset_at: Moment,
    /// When the account was created.
    pub created_at: Moment,
    /// When it was closed, if it was.
    pub closed_at: Option<Moment>,
    /// Its keys, oldest first.
    pub keys: Vec<KeyView>,
}

impl Ledger {
    /// An account as it stands now, from memory.
    pub fn account_view(&self, account: &AccountHandle, now: Moment) -> AccountView {
        let balance = account.balance();
        AccountView {
            id: account.id(),
            name: account.name().to_owned(),
            plan: balance.plan(),
            credits: balance.credits,
            reserved: account.reserved(),
            free_queries_remaining: self.free_queries_remaining(account, now),
            free_queries_reset_at: balance.month_at(now).end(),
            created_at: account.created_at(),
            closed_at: account.closed_at(),
            keys: self.keys(account.id()),
        }
    }

    /// How a key with these limits stands to its caps on credits; a key without caps is no question to the books.
    pub fn cap_standings(
        &self,
        account: AccountId,
        key: KeyId,
        limits: &KeyLimits,
        now: Moment,
    ) -> Result<Vec<CapStanding>, ChargeError> {
        if limits.has_caps() { self.books.caps(account, key, now) } else { Ok(Vec::new()) }
    }

    /// The usage of an account in the last days: oldest day first, by dataset within a day, then by key if requested.
    pub fn usage(&self, query: &UsageQuery, now: Moment) -> Result<Vec<UsageLine>, ChargeError> {
        let days = i32::try_from(query.days.clamp(1, USAGE_DAYS_MAX)).unwrap_or(1);
        let first = now.day().plus_days(1 - days);
        let mut sums: BTreeMap<(UtcDay, String, Option<KeyId>), Usage> = BTreeMap::new();
        let mut after: Option<UsageLine> = None;
        loop {
            let page = self.books.usage(query.account, first, after.as_ref(), ENTRIES_PER_PAGE_MAX)?;
            for line in page.iter().filter(|line| query.key.is_none() || line.key == query.key) {
                let key = line.key.filter(|_| query.by_key);
                let sum = sums.entry((line.day, line.dataset.clone(), key)).or_default();
                sum.add(Usage { requests: line.requests, rows: line.rows, credits: line.credits });
            }
            if sums.len() > USAGE_LINES_MAX {
                let rule = format!("fewer days: the report has more than {USAGE_LINES_MAX} lines");
                return Err(ChargeError::Invalid { field: "days", rule });
            }
            let is_last = page.len() < ENTRIES_PER_PAGE_MAX;
            after = page.into_iter().next_back();
            if is_last {
                break;
            }
        }
        let line = |((day, dataset, key), Usage { requests, rows, credits })| UsageLine {
            day,
            key,
            dataset,
            requests,
            rows,
            credits,
        };
        Ok(sums.into_iter().map(line).collect())
    }

    /// At most `limit` entries, from this sequence number on, of one account or of all.
    ///
    /// A page for one account may be shorter than `limit` and still not be the last: go on after the number that comes with
    /// it, until there is none. Entries of segments that were moved away are not there.
    pub fn entries(
        &self,
        account: Option<AccountId>,
        first: u64,
        limit: usize,
    ) -> Result<(Vec<Entry>, Option<u64>), ChargeError> {
        let (mut entries, next) = self.books.entries(first, limit)?;
        entries.retain(|entry| account.is_none_or(|account| account == entry.account));
        Ok((entries, next))
    }

    /// Adds up every entry again and compares the sums with the accounts, while the books are in use.
    pub fn verify(&self) -> Result<AuditReport, ChargeError> {
        self.books.verify()
    }

    /// Writes a backup into a folder. The file carries the time in its name and appears only when it is whole.
    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        self.books.backup(folder, now)
    }

    /// Moves the oldest segments of the log, which the checkpoint has made dispensable for a start, into a folder.
    pub fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, ChargeError> {
        self.books.archive(to)
    }
}
