//! Usage: what accounts have read, by day, key and dataset, and how many requests keys and addresses make.
//!
//! The counters of requests are no part of the books: a crash may lose the latest.

mod line;
mod notes;

use std::collections::BTreeMap;

pub use line::{Usage, UsageLine, UsageQuery};

use crate::counter::{CounterNote, CounterSubject, SharedCount};
use crate::error::BooksError;
use crate::id::KeyId;
use crate::ledger::Ledger;
use crate::limits::{ENTRIES_PER_PAGE_MAX, USAGE_DAYS_MAX};
use crate::operations::charges::UsageLines;
use mercato_base::clock::{Moment, UtcDay};

/// Lines of one usage report (days × datasets, or days × datasets × keys).
const USAGE_LINES_MAX: usize = 100_000;

impl Ledger {
    /// The usage of an account in the last days: oldest day first, by dataset within a day, then by key if requested.
    pub fn usage(&self, query: &UsageQuery, now: Moment) -> Result<Vec<UsageLine>, BooksError> {
        let days = i32::try_from(query.days.clamp(1, USAGE_DAYS_MAX)).unwrap_or(1);
        let first = now.day().plus_days(1 - days);
        let mut sums: BTreeMap<(UtcDay, String, Option<KeyId>), Usage> = BTreeMap::new();
        let (account, mut after): (_, Option<UsageLine>) = (query.account, None);
        loop {
            let page = self.store.ask(&UsageLines {
                account,
                first,
                after: after.as_ref(),
                limit: ENTRIES_PER_PAGE_MAX,
            })?;
            for line in page.iter().filter(|line| query.key.is_none() || line.key == query.key) {
                let key = line.key.filter(|_| query.by_key);
                let sum = sums.entry((line.day, line.dataset.clone(), key)).or_default();
                sum.requests += line.requests;
                sum.rows += line.rows;
                sum.credits += line.credits;
            }
            if sums.len() > USAGE_LINES_MAX {
                let rule = format!("fewer days: the report has more than {USAGE_LINES_MAX} lines");
                return Err(BooksError::Invalid { field: "days", rule });
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

    /// Hands in day counters to be kept. Nobody waits for it.
    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        self.store.note_counters(notes)
    }

    /// Whether other servers may count requests in the same books.
    pub fn shares_counts(&self) -> bool {
        self.store.is_shared()
    }

    /// How many servers have the same books open, this one among them. Known some seconds after they start or go.
    pub fn servers(&self) -> u64 {
        self.store.servers()
    }

    /// Tells other servers with the same books what this one has counted: of each subject everything of today and of the last
    /// minute, which takes the place of what was told before. Returns what all others have counted of the subjects that are
    /// asked for, as far as they have told. Subjects that none of them knows are missing; books without other servers return
    /// nothing.
    pub fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, BooksError> {
        self.store.exchange_counts(own, asked, now)
    }

    /// Hands in when keys were last used, as far as that is not kept yet. Nobody waits for it.
    pub fn note_key_uses(&self) -> Result<(), BooksError> {
        let keys = self.directory.all_keys();
        let uses: Vec<_> =
            keys.iter().filter_map(|key| Some((key.id(), key.take_unwritten_use()?))).collect();
        if uses.is_empty() {
            return Ok(());
        }
        self.store.note_key_uses(&uses)
    }

    /// The counters of the present day, as far as they are kept; those of all servers together.
    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        self.store.counters()
    }
}
