//! What has expired is left out of the checkpoint: idempotency claims, paid downloads, the request counters of past days,
//! sessions and one-time tokens.
//!
//! Nobody misses it, because readers of a record check its end; so nothing of this goes to the log. Entries never
//! expire. Knows no clock: the latest moment that an operation brought along is the present.

use super::super::changes::Changes;
use super::super::claim::Remembered;
use super::super::codec::Record;
use super::super::counter::CounterNote;
use super::super::error::ChargeError;
use super::super::key_space;
use super::State;
use crate::limits::ledger::EXPIRED_PER_ROUND_MAX;

impl State {
    /// Removes what has expired, at most `EXPIRED_PER_ROUND_MAX` records of each kind, with the next checkpoint.
    pub(in super::super) fn expire(&mut self) -> Result<(), ChargeError> {
        let mut gone = Changes::default();
        for (expiry, _) in self.scan(key_space::EXPIRY, key_space::EXPIRY, EXPIRED_PER_ROUND_MAX)? {
            let Some((until, key)) = key_space::split_expiry(&expiry) else {
                return Err(self.fail_damaged("an expiry record without a moment".to_owned()));
            };
            if until > self.latest {
                break;
            }
            // A later payment may have moved the end; then another expiry record stands for it.
            if self.read::<Remembered>(key)?.is_some_and(|remembered| remembered.until <= until) {
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
