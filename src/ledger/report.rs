//! What the books tell: an account, its usage, the entries, and whether everything balances.
//!
//! Long readings go page by page through the queue, so that charging goes on between them. Knows no format
//! of output.

use std::path::Path;

use super::Ledger;
use super::account::AccountRecord;
use super::account::Plan;
use super::audit::{Audit, AuditReport};
use super::books::{check_format, for_each, read_entries};
use super::directory::{AccountHandle, KeyView};
use super::entry::Entry;
use super::error::{ChargeError, OpenError, Unavailable};
use super::hold::HoldRecord;
use super::id::{AccountId, ReservationId};
use super::key_space;
use super::store::{SledStore, Store};
use super::usage::{Usage, UsageLine};
use crate::clock::Moment;
use crate::limits::ledger::{ENTRIES_PER_PAGE_MAX, USAGE_DAYS_MAX, USAGE_LINES_MAX};

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
    /// Credits that running streams hold back.
    pub reserved: u64,
    /// Free queries left this month; nothing on a prepaid account.
    pub free_queries_remaining: Option<u32>,
    /// When the free queries begin anew; nothing on a prepaid account.
    pub free_queries_reset_at: Option<Moment>,
    /// When the account was created.
    pub created_at: Moment,
    /// Its keys, oldest first.
    pub keys: Vec<KeyView>,
}

impl Ledger {
    /// An account as it stands now, from memory.
    pub fn account_view(&self, account: &AccountHandle, now: Moment) -> AccountView {
        let purse = account.purse();
        let is_free = purse.plan() == Plan::Free;
        AccountView {
            id: account.id(),
            name: account.name().to_owned(),
            plan: purse.plan(),
            credits: purse.balance,
            reserved: account.reserved(),
            free_queries_remaining: is_free.then(|| purse.free_remaining(now)),
            free_queries_reset_at: is_free.then(|| purse.month_at(now).end()),
            created_at: account.created_at(),
            keys: self.keys(account.id()),
        }
    }

    /// What an account read in the last `days` UTC days, today included: oldest day first, by dataset within a day.
    pub fn usage(&self, account: AccountId, days: u32, now: Moment) -> Result<Vec<UsageLine>, ChargeError> {
        let days = i32::try_from(days.clamp(1, USAGE_DAYS_MAX)).unwrap_or(1);
        let first = now.day().plus_days(1 - days);
        self.queue
            .submit(move |books| {
                let prefix = key_space::usage_of(account);
                let from = key_space::usage_day(account, first);
                let records = books.page(&prefix, &from, USAGE_LINES_MAX).map_err(|_| Unavailable::Down)?;
                let lines = records.iter().map(|(key, value)| usage_line(key, value));
                lines.collect::<Option<Vec<_>>>().ok_or_else(|| Unavailable::Down.into())
            })?
            .wait()
    }

    /// At most `limit` entries, from this sequence on, of one account or of all.
    ///
    /// A page for one account may be shorter than `limit` and still not be the last: go on after the sequence that
    /// comes with it, until there is none.
    pub fn entries(
        &self,
        account: Option<AccountId>,
        first: u64,
        limit: usize,
    ) -> Result<(Vec<Entry>, Option<u64>), ChargeError> {
        let limit = limit.clamp(1, ENTRIES_PER_PAGE_MAX);
        self.queue
            .submit(move |books| {
                let from = key_space::entry(first);
                let page = books.page(key_space::ENTRY, &from, limit).map_err(|_| Unavailable::Down)?;
                let entries = page
                    .iter()
                    .map(|(key, value)| Entry::decode(key_space::number(key)?, value).ok())
                    .collect::<Option<Vec<_>>>()
                    .ok_or(Unavailable::Down)?;
                let next = entries.last().filter(|_| entries.len() == limit).map(|entry| entry.sequence + 1);
                let is_wanted = |entry: &Entry| account.is_none_or(|account| account == entry.account);
                Ok((entries.into_iter().filter(is_wanted).collect(), next))
            })?
            .wait()
    }

    /// Adds up every entry again and compares the sums with the accounts, while the books are in use.
    pub fn verify(&self) -> Result<AuditReport, ChargeError> {
        // The state that is compared is the one at this moment; entries are never changed, so they can be read later.
        let (last, accounts, holds) = self
            .queue
            .submit(|books| {
                let accounts: Vec<_> = books.accounts().cloned().collect();
                let holds: Vec<_> = books.holds().cloned().collect();
                Ok((books.last_sequence(), accounts, holds))
            })?
            .wait()?;
        let mut audit = Audit::new(1);
        let mut first = 1;
        while first <= last {
            let (entries, next) = self.entries(None, first, ENTRIES_PER_PAGE_MAX)?;
            entries.iter().filter(|entry| entry.sequence <= last).for_each(|entry| audit.add(entry));
            let Some(next) = next else { break };
            first = next;
        }
        Ok(audit.finish(accounts.iter(), holds.iter()))
    }
}

/// Adds up the books of a folder that no server has open. Changes nothing, and reports what opening would refuse.
pub fn inspect(path: &Path) -> Result<AuditReport, OpenError> {
    let mut store = SledStore::open(path)?;
    check_format(path, &mut store)?;
    inspect_store(path, &store)
}

pub(super) fn inspect_store(path: &Path, store: &dyn Store) -> Result<AuditReport, OpenError> {
    let (mut accounts, mut holds) = (Vec::new(), Vec::new());
    for_each(path, store, key_space::ACCOUNT, |number, value| {
        accounts.push(AccountRecord::decode(AccountId::from_number(number), value)?);
        Ok(())
    })?;
    for_each(path, store, key_space::RESERVATION, |number, value| {
        holds.push(HoldRecord::decode(ReservationId::from_number(number), value)?);
        Ok(())
    })?;
    let mut audit = Audit::new(1);
    read_entries(path, store, 1, |entry| audit.add(&entry))?;
    Ok(audit.finish(accounts.iter(), holds.iter()))
}

fn usage_line(key: &[u8], value: &[u8]) -> Option<UsageLine> {
    let (day, dataset) = key_space::split_usage(key)?;
    let Usage { requests, rows, credits } = Usage::decode(value).ok()?;
    Some(UsageLine { day, dataset: dataset.to_owned(), requests, rows, credits })
}
