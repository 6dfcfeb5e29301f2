//! Usage by day, key and dataset, and the caps of keys.
//!
//! Usage lies in the checkpoint and the log. For keys with a cap on credits, memory holds the sums of the current
//! month, so that a charge does not add up a month.

use std::collections::{BTreeMap, HashMap};

use crate::codec::Record;
use crate::error::{BooksError, ChargeError};
use crate::id::{AccountId, KeyId};
use crate::key_limits::{CapPeriod, CapStanding, KeyLimits};
use crate::key_space;
use crate::limits::ENTRIES_PER_PAGE_MAX;
use crate::operation::{Operation, Reads};
use crate::request::Undo;
use crate::reservation_record::ReservationRecord;
use crate::state::State;
use crate::usage::Usage;
use mercato_base::clock::{Moment, UtcDay, UtcMonth};

/// Credits that a key has spent in a month, by day.
pub struct Spent {
    pub month: UtcMonth,
    pub by_day: BTreeMap<UtcDay, u64>,
}

/// Asks how a key stands to each of its caps on credits.
pub struct Caps {
    pub account: AccountId,
    pub key: KeyId,
    pub at: Moment,
}

impl Operation for Caps {
    type Outcome = Vec<CapStanding>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads { capped: vec![(self.key, self.at)], ..Reads::account(self.account) }
    }

    fn decide(&self, books: &mut State) -> Result<Vec<CapStanding>, BooksError> {
        books.caps(self.account, Some(self.key), self.at)
    }
}

impl State {
    /// Counts a response.
    pub fn count_usage(&mut self, given: &Undo) -> Result<(), BooksError> {
        self.change_usage(given, Usage::plus, u64::checked_add)
    }

    /// Takes back a counted response.
    pub fn discount_usage(&mut self, given: &Undo) -> Result<(), BooksError> {
        self.change_usage(given, Usage::minus, u64::checked_sub)
    }

    fn change_usage(
        &mut self,
        given: &Undo,
        change: fn(Usage, Usage) -> Option<Usage>,
        change_spent: fn(u64, u64) -> Option<u64>,
    ) -> Result<(), BooksError> {
        let day = given.at.day();
        let line = key_space::usage(given.account, day, given.key, &given.dataset);
        let counted: Usage = self.read(&line)?.unwrap_or_default();
        let usage = change(counted, Usage { requests: 1, rows: given.rows, credits: given.credits });
        let spent = self.change_spent(given.key, day, |spent| change_spent(spent, given.credits));
        let (Some(usage), Some(())) = (usage, spent) else {
            return Err(self.fail_damaged(format!("the usage of {} on {day} does not add up", given.account)));
        };
        self.written.changes.put(line, usage.encode());
        Ok(())
    }

    fn change_spent(
        &mut self,
        key: Option<KeyId>,
        day: UtcDay,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<()> {
        let spent = key.and_then(|key| self.spent_by_key.get_mut(&key));
        if let Some(spent) = spent.filter(|spent| spent.month == day.start().month()) {
            let sum = spent.by_day.entry(day).or_default();
            *sum = change(*sum)?;
        }
        Some(())
    }

    /// Refuses a price above a cap of the key. Credits of its open reservations count as spent.
    pub fn check_caps(
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
    pub fn caps(
        &mut self,
        account: AccountId,
        key: Option<KeyId>,
        at: Moment,
    ) -> Result<Vec<CapStanding>, BooksError> {
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
        let open = self.reservations_of(account).filter(|record| record.key == key);
        let held: u64 = open.map(ReservationRecord::credits).sum();
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
    fn spent(&mut self, account: AccountId, key: KeyId, at: Moment) -> Result<(u64, u64), BooksError> {
        let (day, month) = (at.day(), at.month());
        if self.spent_by_key.get(&key).is_none_or(|spent| spent.month != month) {
            let read = self.read_spent(account, key, month.start().day())?;
            let read = read.into_iter().map(|(key, by_day)| (key, Spent { month, by_day }));
            self.spent_by_key.extend(read);
        }
        let by_day = self.spent_by_key.get(&key).map(|spent| &spent.by_day);
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
    ) -> Result<HashMap<KeyId, BTreeMap<UtcDay, u64>>, BooksError> {
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
}
