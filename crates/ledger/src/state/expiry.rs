//! Removes expired records from the checkpoint: idempotency claims, paid downloads and views, request counters of past days,
//! sessions and one-time tokens.
//!
//! Readers check the expiry of a record, so removals need no log. Entries never expire. The current time is the
//! latest time of any operation.

use super::State;
use crate::changes::Changes;
use crate::claim::expires_at;
use crate::codec::Record;
use crate::counter::CounterNote;
use crate::error::BooksError;
use crate::key_space;
use crate::limits::EXPIRED_PER_ROUND_MAX;

impl State {
    /// Removes expired records, at most `EXPIRED_PER_ROUND_MAX` of each kind, with the next checkpoint.
    pub fn expire(&mut self) -> Result<(), BooksError> {
        let mut gone = Changes::default();
        for (expiry, _) in self.scan(key_space::EXPIRY, key_space::EXPIRY, EXPIRED_PER_ROUND_MAX)? {
            let Some((until, key)) = key_space::split_expiry(&expiry) else {
                return Err(self.fail_damaged("an expiry record without a moment".to_owned()));
            };
            if until > self.latest {
                break;
            }
            // A later payment may have moved the end; then another expiry record stands for it.
            if let Some(value) = self.get(key)?
                && self.decoded(expires_at(key, &value))?.is_none_or(|end| end <= until)
            {
                gone.remove(key.to_vec());
            }
            gone.remove(expiry);
        }
        let oldest_kept = self.latest.day().plus_days(-1);
        for (key, value) in self.scan(key_space::COUNTER, key_space::COUNTER, EXPIRED_PER_ROUND_MAX)? {
            if self.decoded(CounterNote::decode(&value))?.day >= oldest_kept {
                break;
            }
            gone.remove(key);
        }
        self.memtable.absorb(gone);
        self.expire_tokens();
        Ok(())
    }
}
