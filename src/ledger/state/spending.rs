//! What accounts and their keys have read and spent: usage by day, key and dataset, and the caps of keys.
//!
//! Usage lives in the checkpoint and the log; here are the lines of the present day and, for keys with a cap on credits, the
//! sums of the present month. Knows no route.

use std::collections::{BTreeMap, HashMap};

use super::super::codec::Record;
use super::super::error::ChargeError;
use super::super::hold::HoldRecord;
use super::super::id::{AccountId, KeyId};
use super::super::key_limits::{CapPeriod, CapStanding, KeyLimits};
use super::super::key_space;
use super::super::usage::{Usage, UsageLine};
use super::State;
use crate::clock::{Moment, UtcDay, UtcMonth};
use crate::limits::ledger::{ENTRIES_PER_PAGE_MAX, USAGE_LINES_CACHED_MAX};

/// Whose usage of what is counted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsageOf {
    pub(super) account: AccountId,
    pub(super) key: Option<KeyId>,
    pub(super) dataset: String,
}

/// Usage that is kept in memory.
pub(super) struct UsageCache {
    day: UtcDay,
    lines: HashMap<UsageOf, Usage>,
    spent: HashMap<KeyId, Spent>,
}

/// Credits that a key has spent in a month, by day.
struct Spent {
    month: UtcMonth,
    by_day: BTreeMap<UtcDay, u64>,
}

impl UsageCache {
    pub(super) fn new(day: UtcDay) -> UsageCache {
        UsageCache { day, lines: HashMap::new(), spent: HashMap::new() }
    }
}

impl State {
    /// Counts an answer that was given.
    pub(super) fn count_usage(&mut self, of: UsageOf, day: UtcDay, given: Usage) -> Result<(), ChargeError> {
        let mut usage = self.usage_line(&of, day)?;
        usage.add(given);
        self.add_spent(of.key, day, |spent| spent.saturating_add(given.credits));
        self.put_usage(of, day, usage);
        Ok(())
    }

    /// Takes an answer back that was counted.
    pub(super) fn discount_usage(
        &mut self,
        of: UsageOf,
        day: UtcDay,
        given: Usage,
    ) -> Result<(), ChargeError> {
        let mut usage = self.usage_line(&of, day)?;
        usage.subtract(given);
        self.add_spent(of.key, day, |spent| spent.saturating_sub(given.credits));
        self.put_usage(of, day, usage);
        Ok(())
    }

    fn usage_line(&mut self, of: &UsageOf, day: UtcDay) -> Result<Usage, ChargeError> {
        if day > self.usage.day || self.usage.lines.len() >= USAGE_LINES_CACHED_MAX {
            self.usage.lines.clear();
            self.usage.day = self.usage.day.max(day);
        }
        if day == self.usage.day
            && let Some(usage) = self.usage.lines.get(of)
        {
            return Ok(*usage);
        }
        Ok(self.read(&key_space::usage(of.account, day, of.key, &of.dataset))?.unwrap_or_default())
    }

    fn put_usage(&mut self, of: UsageOf, day: UtcDay, usage: Usage) {
        self.written.changes.put(key_space::usage(of.account, day, of.key, &of.dataset), usage.encode());
        if day == self.usage.day {
            self.usage.lines.insert(of, usage);
        }
    }

    fn add_spent(&mut self, key: Option<KeyId>, day: UtcDay, change: impl FnOnce(u64) -> u64) {
        let spent = key.and_then(|key| self.usage.spent.get_mut(&key));
        if let Some(spent) = spent.filter(|spent| spent.month == day.start().month()) {
            let sum = spent.by_day.entry(day).or_default();
            *sum = change(*sum);
        }
    }

    /// Refuses what would bring a key above one of its caps. What its open reservations hold counts as spent.
    pub(super) fn check_caps(
        &mut self,
        account: AccountId,
        key: Option<KeyId>,
        cost: u64,
        at: Moment,
    ) -> Result<(), ChargeError> {
        let over = |standing: &CapStanding| cost > standing.cap.saturating_sub(standing.spent);
        match self.caps(account, key, at)?.into_iter().find(over) {
            Some(standing) if cost > 0 => Err(ChargeError::KeyCapReached { required: cost, standing }),
            _ => Ok(()),
        }
    }

    /// How a key stands to each of its caps on credits.
    pub(in super::super) fn caps(
        &mut self,
        account: AccountId,
        key: Option<KeyId>,
        at: Moment,
    ) -> Result<Vec<CapStanding>, ChargeError> {
        let Some(id) = key else { return Ok(Vec::new()) };
        let Some(KeyLimits { credits_per_day, credits_per_month, .. }) =
            self.keys.get(&id).map(|key| key.limits.clone())
        else {
            return Ok(Vec::new());
        };
        if credits_per_day.is_none() && credits_per_month.is_none() {
            return Ok(Vec::new());
        }
        let (today, this_month) = self.spent(account, id, at)?;
        let open = self.holds_of(account).filter(|record| record.key == key);
        let held: u64 = open.map(HoldRecord::credits).sum();
        let day = credits_per_day.map(|cap| (CapPeriod::Day, cap, today));
        let month = credits_per_month.map(|cap| (CapPeriod::Month, cap, this_month));
        let caps = day.into_iter().chain(month);
        let standing = |(period, cap, spent): (CapPeriod, u64, u64)| CapStanding {
            period,
            cap,
            spent: spent.saturating_add(held),
            resets_at: period.end(at),
        };
        Ok(caps.map(standing).collect())
    }

    /// Credits that a key has spent on the day of a moment, and in its month.
    fn spent(&mut self, account: AccountId, key: KeyId, at: Moment) -> Result<(u64, u64), ChargeError> {
        let (day, month) = (at.day(), at.month());
        if self.usage.spent.get(&key).is_none_or(|spent| spent.month != month) {
            let read = self.read_spent(account, key, month.start().day())?;
            let read = read.into_iter().map(|(key, by_day)| (key, Spent { month, by_day }));
            self.usage.spent.extend(read);
        }
        let by_day = self.usage.spent.get(&key).map(|spent| &spent.by_day);
        let today = by_day.and_then(|by_day| by_day.get(&day)).copied().unwrap_or(0);
        let this_month = by_day.into_iter().flat_map(BTreeMap::values).sum();
        Ok((today, this_month))
    }

    /// Adds up the usage of a key in the month that begins on this day, and of all capped keys of its account, which the same
    /// lines tell: an account with many of them is read once. The lines of the present operation count.
    fn read_spent(
        &mut self,
        account: AccountId,
        key: KeyId,
        first: UtcDay,
    ) -> Result<HashMap<KeyId, BTreeMap<UtcDay, u64>>, ChargeError> {
        let month = first.start().month();
        let mut all = HashMap::from([(key, BTreeMap::new())]);
        let prefix = key_space::usage_of(account);
        let mut from = key_space::usage_day(account, first);
        loop {
            let page = self.scan(&prefix, &from, ENTRIES_PER_PAGE_MAX)?;
            for (record, value) in &page {
                let Some((day, of, _)) = key_space::split_usage(record) else {
                    return Err(self.fail_damaged("a usage record without a day".to_owned()));
                };
                let is_capped = |id: &KeyId| self.keys.get(id).is_some_and(|key| key.limits.has_caps());
                if day.start().month() == month
                    && let Some(of) = of.filter(is_capped)
                {
                    let usage = self.decoded(Usage::decode(value))?;
                    let sum: &mut u64 = all.entry(of).or_default().entry(day).or_default();
                    *sum = sum.saturating_add(usage.credits);
                }
            }
            match page.last() {
                Some((last, _)) if page.len() == ENTRIES_PER_PAGE_MAX => {
                    from = [last.as_slice(), &[0]].concat()
                }
                _ => return Ok(all),
            }
        }
    }

    /// At most `limit` usage lines of an account, from this day on or behind a line of it.
    pub(in super::super) fn usage_lines(
        &mut self,
        account: AccountId,
        first: UtcDay,
        after: Option<&UsageLine>,
        limit: usize,
    ) -> Result<Vec<UsageLine>, ChargeError> {
        let from = after.map_or_else(
            || key_space::usage_day(account, first),
            |line| {
                let line = key_space::usage(account, line.day, line.key, &line.dataset);
                [line.as_slice(), &[0]].concat()
            },
        );
        let page = self.scan(&key_space::usage_of(account), &from, limit)?;
        let line = |(record, value): &(Vec<u8>, Vec<u8>)| {
            let (day, key, dataset) = key_space::split_usage(record)?;
            let Usage { requests, rows, credits } = Usage::decode(value).ok()?;
            Some(UsageLine { day, key, dataset: dataset.to_owned(), requests, rows, credits })
        };
        let lines = page.iter().map(line).collect::<Option<Vec<_>>>();
        lines.ok_or_else(|| self.fail_damaged("a usage record that cannot be read".to_owned()))
    }
}
