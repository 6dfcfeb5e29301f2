//! Authenticates API keys, and limits request rates. Answers come from memory.

mod flusher;
pub mod meter;
mod others;
mod rate;
mod sharing;
mod window;

use std::net::IpAddr;
use std::sync::Arc;

pub use flusher::CounterFlusher;
pub use rate::{Admission, LimitStatus, RateLimits, RateReason, RateRefusal, Scope};

use crate::client_address::client_key;
use mercato_base::clock::{Clock, Moment};
use mercato_ledger::limits::TRACKED_ADDRESSES_MAX;
use mercato_ledger::{
    AccountHandle, BooksError, CounterNote, CounterSubject, KeyHandle, KeyHash, KeyId, Ledger, NotAKey,
};
use meter::{Meter, MeterTable};
use others::Others;

const TRACKED_KEYS_MAX: usize = mercato_ledger::limits::KEYS_MAX;
/// Counters written in one round of the flusher.
const COUNTERS_PER_ROUND_MAX: usize = 4_096;
/// Longest header value accepted as a key.
const PRESENTED_KEY_BYTES_MAX: usize = 128;

/// An authenticated caller.
#[derive(Clone)]
pub struct Caller {
    /// The account that pays.
    pub account: AccountHandle,
    /// The presented key.
    pub key: KeyHandle,
}

impl Caller {
    /// Whether the key is valid. The clock is read only for a key that has an end.
    pub fn check(&self, now: impl FnOnce() -> Moment) -> Result<(), KeyRefusal> {
        if self.key.revoked_at().is_some() {
            return Err(KeyRefusal::Revoked);
        }
        match self.key.expires_at() {
            Some(end) if now() >= end => Err(KeyRefusal::Expired),
            _ => Ok(()),
        }
    }

    /// Notes a use of the key, if it is valid.
    pub fn use_key(&self, now: Moment) -> Result<(), KeyRefusal> {
        self.check(|| now)?;
        self.key.touch(now);
        Ok(())
    }
}

/// The subject of a rate limit.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A caller with a valid key.
    Key(&'a Caller),
    /// A client without a valid key.
    Address(IpAddr),
}

/// Why a key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// The request has no key.
    #[error("an API key is required")]
    Missing,
    /// The text does not have the format of a key.
    #[error("this is not an API key")]
    Malformed,
    /// The checksum of the key is wrong.
    #[error("this API key was mistyped: its checksum is wrong")]
    Mistyped,
    /// The books have no such key.
    #[error("this API key is not known")]
    Unknown,
    /// The key was revoked.
    #[error("this API key was revoked")]
    Revoked,
    /// The grace period after a rotation, or the key's own lifetime, is over.
    #[error("this API key has expired")]
    Expired,
}

/// Authentication and admission, shared by all threads.
pub struct AccessControl {
    ledger: Arc<Ledger>,
    limits: RateLimits,
    keys: MeterTable<KeyId>,
    addresses: MeterTable<[u8; 16]>,
}

impl AccessControl {
    /// Opens the access control with the stored counters of the current day.
    pub fn open(ledger: Arc<Ledger>, limits: RateLimits, now: Moment) -> Result<AccessControl, BooksError> {
        let access = AccessControl {
            limits,
            keys: MeterTable::new(TRACKED_KEYS_MAX),
            addresses: MeterTable::new(TRACKED_ADDRESSES_MAX),
            ledger,
        };
        for note in access.ledger.counters()? {
            if note.day >= now.day() {
                access.resume(&note, now);
            }
        }
        Ok(access)
    }

    fn resume(&self, note: &CounterNote, now: Moment) {
        let set = |meter: &mut Meter| {
            // Other servers have counted it, or this one before its start.
            if self.ledger.shares_counts() {
                meter.others = Some(Box::new(Others::new(note.day, note.count, Vec::new())));
            } else {
                meter.day = note.day;
                meter.day_count = note.count;
            }
        };
        match note.subject {
            CounterSubject::Key(id) => self.keys.with(id, now, set),
            CounterSubject::Address(block) => self.addresses.with(block, now, set),
        };
    }

    pub fn authenticate(&self, presented: Option<&str>, now: Moment) -> Result<Caller, KeyRefusal> {
        let caller = self.find_caller(presented)?;
        caller.use_key(now)?;
        Ok(caller)
    }

    /// Looks a presented key up, whether it is still valid or not. A typing error costs no lookup; nothing costs a disk
    /// access.
    pub fn find_caller(&self, presented: Option<&str>) -> Result<Caller, KeyRefusal> {
        let presented = presented.ok_or(KeyRefusal::Missing)?;
        if presented.len() > PRESENTED_KEY_BYTES_MAX {
            return Err(KeyRefusal::Malformed);
        }
        let hash = KeyHash::of_presented(presented).map_err(|why| match why {
            NotAKey::Form => KeyRefusal::Malformed,
            NotAKey::Checksum => KeyRefusal::Mistyped,
        })?;
        let key = self.ledger.find_key(&hash).ok_or(KeyRefusal::Unknown)?;
        Ok(Caller { account: key.account().clone(), key })
    }

    /// Counts and admits a request, or refuses it with the time of the next admission. A refused request is not
    /// counted.
    pub fn admit(&self, subject: Subject<'_>, now: Moment) -> Result<Admission, RateRefusal> {
        self.meter(subject, now, |meter, scope| self.limits.admit(meter, scope, now))
            .unwrap_or_else(|| Ok(self.limits.unused(subject.scope(), now)))
    }

    /// The limit status of a subject, without counting a request.
    pub fn peek(&self, subject: Subject<'_>, now: Moment) -> Admission {
        self.meter(subject, now, |meter, scope| self.limits.status(meter, scope, now))
            .unwrap_or_else(|| self.limits.unused(subject.scope(), now))
    }

    /// The configured limits.
    pub const fn limits(&self) -> RateLimits {
        self.limits
    }

    /// The number of tracked addresses and their memory in bytes.
    pub fn tracked_addresses(&self) -> (usize, usize) {
        self.addresses.size()
    }

    /// Starts the thread that flushes counters and times of last use, about once a second, and then calls `beside`, which
    /// is short. Counts that are shared with other servers are exchanged twice as often.
    pub fn start_flusher(
        self: &Arc<Self>,
        clock: Arc<dyn Clock>,
        beside: impl Fn() + Send + 'static,
    ) -> std::io::Result<CounterFlusher> {
        CounterFlusher::start(Arc::clone(self), clock, beside)
    }

    /// Writes changed counters to the books, and the times when keys were last used. Where other servers count in the same
    /// books, hears what they have counted. A round is bounded; the rest follows in the next round.
    pub fn flush(&self, now: Moment) -> Result<(), BooksError> {
        if self.ledger.shares_counts() {
            self.share(now)?;
        } else {
            self.note_days(now)?;
        }
        self.ledger.note_key_uses()
    }

    fn note_days(&self, now: Moment) -> Result<(), BooksError> {
        let mut notes = Vec::new();
        let mut note = |subject: CounterSubject, meter: &mut Meter| {
            if !meter.is_flushed && meter.day >= now.day() && notes.len() < COUNTERS_PER_ROUND_MAX {
                meter.is_flushed = true;
                notes.push(CounterNote { subject, day: meter.day, count: meter.day_count });
            }
        };
        self.keys.for_each(|id, meter| note(CounterSubject::Key(id), meter));
        self.addresses.for_each(|block, meter| note(CounterSubject::Address(block), meter));
        if notes.is_empty() { Ok(()) } else { self.ledger.note_counters(&notes) }
    }

    fn meter<T>(
        &self,
        subject: Subject<'_>,
        now: Moment,
        look: impl FnOnce(&mut Meter, Scope) -> T,
    ) -> Option<T> {
        let scope = subject.scope();
        match subject {
            Subject::Key(caller) => self.keys.with(caller.key.id(), now, |meter| look(meter, scope)),
            Subject::Address(address) => {
                self.addresses.with(client_key(address), now, |meter| look(meter, scope))
            }
        }
    }
}

impl Subject<'_> {
    const fn scope(&self) -> Scope {
        match self {
            Subject::Key(_) => Scope::Key,
            Subject::Address(_) => Scope::Address,
        }
    }
}
