//! Who may pass now: from a presented key to a caller, and from a caller or an address to a yes or a no.
//!
//! Both are answered from memory. Knows keys, accounts and time; knows no route, no header and no status code.

mod client_address;
mod client_block;
mod in_flight;
mod keeper;
mod meter;
mod rate;
mod window;

use std::net::IpAddr;
use std::sync::Arc;

pub use client_address::{CidrError, TrustedProxies};
pub use client_block::client_block;
pub use in_flight::{Effort, Held, InFlight, InFlightLimits, InFlightRefusal};
pub use keeper::Keeper;
pub use rate::{Admission, RateLimits, RateReason, RateRefusal, Scope, Standing};

use crate::clock::{Clock, Moment};
use crate::ledger::{
    AccountHandle, ChargeError, CounterNote, CounterSubject, KeyHandle, KeyHash, KeyId, Ledger, NotAKey,
};
use crate::limits::access::{
    COUNTERS_PER_ROUND_MAX, PRESENTED_KEY_BYTES_MAX, TRACKED_ADDRESSES_MAX, TRACKED_KEYS_MAX,
};
use client_address::client_key;
use meter::{Meter, MeterTable};

/// Who asks, after the key was recognised.
#[derive(Clone)]
pub struct Caller {
    /// Who pays.
    pub account: AccountHandle,
    /// The key that was presented.
    pub key: KeyHandle,
}

/// Whose requests are counted.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A caller with a valid key.
    Key(&'a Caller),
    /// Anybody else.
    Address(IpAddr),
}

/// Why a key lets nobody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// None was presented.
    #[error("an API key is required")]
    Missing,
    /// It is not formed like a key.
    #[error("this is not an API key")]
    Malformed,
    /// It is formed like a key, and its checksum is wrong.
    #[error("this API key was mistyped: its checksum is wrong")]
    Mistyped,
    /// No such key exists.
    #[error("this API key is not known")]
    Unknown,
    /// It was revoked.
    #[error("this API key was revoked")]
    Revoked,
    /// It was replaced and its grace is over, or it was made for a time that is over.
    #[error("this API key has expired")]
    Expired,
}

/// The access control. Shared by all threads.
pub struct Gate {
    ledger: Arc<Ledger>,
    limits: RateLimits,
    keys: MeterTable<KeyId>,
    addresses: MeterTable<[u8; 16]>,
}

impl Gate {
    /// Takes up the counters of the present day.
    pub fn open(ledger: Arc<Ledger>, limits: RateLimits, now: Moment) -> Result<Gate, ChargeError> {
        let gate = Gate {
            limits,
            keys: MeterTable::new(TRACKED_KEYS_MAX),
            addresses: MeterTable::new(TRACKED_ADDRESSES_MAX),
            ledger,
        };
        for note in gate.ledger.counters()? {
            if note.day >= now.day() {
                gate.resume(&note, now);
            }
        }
        Ok(gate)
    }

    fn resume(&self, note: &CounterNote, now: Moment) {
        let set = |meter: &mut Meter| {
            meter.day = note.day;
            meter.day_count = note.count;
        };
        match note.subject {
            CounterSubject::Key(id) => self.keys.with(id, now, set),
            CounterSubject::Address(block) => self.addresses.with(block, now, set),
        };
    }

    /// The number of the account whose valid key this is. Counts as no use of the key. The clock is read only for a key
    /// that has an end.
    pub fn account_of(&self, presented: Option<&str>, clock: &dyn Clock) -> Option<u64> {
        let key = self.valid_key(presented, |end| clock.now() >= end).ok()?;
        Some(key.account().id().number())
    }

    /// From what was presented as a key to a caller. A typing error costs no look-up, and nothing costs a disk access.
    pub fn authenticate(&self, presented: Option<&str>, now: Moment) -> Result<Caller, KeyRefusal> {
        let key = self.valid_key(presented, |end| now >= end)?;
        key.touch(now);
        Ok(Caller { account: key.account().clone(), key })
    }

    fn valid_key(
        &self,
        presented: Option<&str>,
        has_passed: impl FnOnce(Moment) -> bool,
    ) -> Result<KeyHandle, KeyRefusal> {
        let presented = presented.ok_or(KeyRefusal::Missing)?;
        if presented.len() > PRESENTED_KEY_BYTES_MAX {
            return Err(KeyRefusal::Malformed);
        }
        let hash = KeyHash::of_presented(presented).map_err(|why| match why {
            NotAKey::Form => KeyRefusal::Malformed,
            NotAKey::Checksum => KeyRefusal::Mistyped,
        })?;
        let key = self.ledger.find_key(&hash).ok_or(KeyRefusal::Unknown)?;
        if key.revoked_at().is_some() {
            return Err(KeyRefusal::Revoked);
        }
        if key.expires_at().is_some_and(has_passed) {
            return Err(KeyRefusal::Expired);
        }
        Ok(key)
    }

    /// Counts a request, or says when one will be let in. What is refused is not counted.
    pub fn admit(&self, subject: Subject<'_>, now: Moment) -> Result<Admission, RateRefusal> {
        self.meter(subject, now, |meter, scope| self.limits.admit(meter, scope, now))
            .unwrap_or_else(|| Ok(self.limits.untouched(subject.scope(), now)))
    }

    /// How a subject stands, without counting anything.
    pub fn peek(&self, subject: Subject<'_>, now: Moment) -> Admission {
        self.meter(subject, now, |meter, scope| self.limits.standing(meter, scope, now))
            .unwrap_or_else(|| self.limits.untouched(subject.scope(), now))
    }

    /// The limits in force.
    pub const fn limits(&self) -> RateLimits {
        self.limits
    }

    /// Addresses that are tracked, and the bytes that they take.
    pub fn tracked_addresses(&self) -> (usize, usize) {
        self.addresses.size()
    }

    /// Starts the thread that has counters and times of last use written down, about once a second.
    pub fn start_keeper(self: &Arc<Self>, clock: Arc<dyn Clock>) -> std::io::Result<Keeper> {
        Keeper::start(Arc::clone(self), clock)
    }

    /// Hands the counters that have changed to the books. What does not fit into a round waits for the next one.
    pub fn write_down(&self, now: Moment) -> Result<(), ChargeError> {
        let mut notes = Vec::new();
        let mut note = |subject: CounterSubject, meter: &mut Meter| {
            if !meter.is_noted && meter.day >= now.day() && notes.len() < COUNTERS_PER_ROUND_MAX {
                meter.is_noted = true;
                notes.push(CounterNote { subject, day: meter.day, count: meter.day_count });
            }
        };
        self.keys.for_each(|id, meter| note(CounterSubject::Key(id), meter));
        self.addresses.for_each(|block, meter| note(CounterSubject::Address(block), meter));
        if !notes.is_empty() {
            self.ledger.note_counters(&notes)?;
        }
        self.ledger.note_key_uses()
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
