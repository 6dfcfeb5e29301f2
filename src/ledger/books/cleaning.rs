//! Takes away what has expired: idempotency claims, paid downloads and the request counters of past days.
//!
//! A round is short, so that it fits between two batches. Entries are never taken away. Knows no clock: the latest
//! moment that an operation brought along is the present.

use super::super::claim::Remembered;
use super::super::counter::CounterNote;
use super::super::error::ChargeError;
use super::super::key_space;
use super::Books;
use crate::limits::ledger::EXPIRED_PER_ROUND_MAX;

impl Books {
    /// One round. The changes go with the next commit.
    pub(in super::super) fn clean(&mut self) -> Result<(), ChargeError> {
        self.clean_remembered()?;
        self.clean_counters()
    }

    fn clean_remembered(&mut self) -> Result<(), ChargeError> {
        let due = self.store.scan(key_space::EXPIRY, key_space::EXPIRY, EXPIRED_PER_ROUND_MAX);
        for (expiry, _) in due.map_err(|error| self.fail(error))? {
            let Some((until, key)) = key_space::split_expiry(&expiry) else {
                return Err(self.fail_damaged("an expiry record without a moment".to_owned()));
            };
            if until > self.latest {
                break;
            }
            // A later payment may have moved the end; then another expiry record stands for it.
            if let Some(value) = self.get(key)? {
                let decoded = Remembered::decode(&value);
                let remembered = decoded.map_err(|error| self.fail_damaged(error.to_string()))?;
                if remembered.until <= until {
                    self.changes.remove(key.to_vec());
                }
            }
            self.changes.remove(expiry);
        }
        Ok(())
    }

    /// Goes once around all counters, a part in each round, and takes away those of days before yesterday.
    fn clean_counters(&mut self) -> Result<(), ChargeError> {
        let from = self.counters_cleaned_until.clone();
        let page = self.store.scan(key_space::COUNTER, &from, EXPIRED_PER_ROUND_MAX);
        let page = page.map_err(|error| self.fail(error))?;
        let oldest_kept = self.latest.day().plus_days(-1);
        for (key, value) in &page {
            let note =
                CounterNote::decode(key, value).map_err(|error| self.fail_damaged(error.to_string()))?;
            if note.day < oldest_kept && self.changes.get(key).is_none() {
                self.changes.remove(key.clone());
            }
        }
        self.counters_cleaned_until = match page.last() {
            Some((last, _)) if page.len() == EXPIRED_PER_ROUND_MAX => [last.as_slice(), &[0]].concat(),
            _ => Vec::new(),
        };
        Ok(())
    }
}
