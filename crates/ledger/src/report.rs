//! Reports of the books: accounts, entries and the audit.
//!
//! Does not depend on output formats.

use std::path::Path;

use super::Ledger;
use super::account::Plan;
use super::audit::AuditReport;
use super::backup::{BackupError, BackupSummary, MovedSegment};
use super::directory::{AccountHandle, KeyView};
use super::entry::Entry;
use super::error::BooksError;
use super::id::AccountId;
use super::id::KeyId;
use super::key_limits::{CapStanding, KeyLimits};
use super::operations::charges::Caps;
use mercato_base::clock::Moment;

/// An account as its owner may see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountView {
    pub id: AccountId,
    pub name: String,
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
    ) -> Result<Vec<CapStanding>, BooksError> {
        if limits.has_caps() { self.store.ask(&Caps { account, key, at: now }) } else { Ok(Vec::new()) }
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
    ) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        let (mut entries, next) = self.store.entries(first, limit)?;
        entries.retain(|entry| account.is_none_or(|account| account == entry.account));
        Ok((entries, next))
    }

    /// Adds up every entry again and compares the sums with the accounts, while the books are in use.
    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        self.store.verify()
    }

    /// Writes a backup into a folder. The file carries the time in its name and appears only when it is whole.
    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        self.store.backup(folder, now)
    }

    /// Moves the oldest segments of the log, which the checkpoint has made dispensable for a start, into a folder.
    pub fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        self.store.archive(to)
    }
}
