//! Concurrency limits for each key, and for each person who is signed in: requests, and streams among them.
//!
//! One customer cannot occupy every worker. Does not depend on time or routes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::access::meter::METER_SHARDS;
use mercato_ledger::{AccountId, KeyId};

/// The unit whose concurrent requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Those with a key.
    Key(KeyId),
    /// Those of a person who is signed in to an account.
    Account(AccountId),
}

impl From<KeyId> for Holder {
    fn from(key: KeyId) -> Holder {
        Holder::Key(key)
    }
}

impl From<AccountId> for Holder {
    fn from(account: AccountId) -> Holder {
        Holder::Account(account)
    }
}

impl Holder {
    const fn number(self) -> u64 {
        match self {
            Holder::Key(key) => key.number(),
            Holder::Account(account) => account.number(),
        }
    }
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    Page,
    /// A stream or a download.
    Stream,
}

/// The most that one key may have in flight; 0 lifts a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlightLimits {
    /// Requests of all kinds.
    pub requests: usize,
    /// Streams and downloads among them.
    pub streams: usize,
}

/// A concurrency limit of the key is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InFlightRefusal {
    /// Too many requests.
    #[error("this key has as many requests under way as it may: {limit}")]
    Requests { limit: usize },
    /// Too many streams and downloads.
    #[error("this key runs as many streams and downloads as it may: {limit}")]
    Streams { limit: usize },
}

/// Requests in flight, by key.
#[derive(Debug)]
pub struct InFlight {
    limits: InFlightLimits,
    shards: [Mutex<HashMap<Holder, InFlightCounts>>; METER_SHARDS],
}

#[derive(Debug, Clone, Copy, Default)]
struct InFlightCounts {
    requests: usize,
    streams: usize,
}

impl InFlight {
    /// Counters without requests in flight.
    pub fn new(limits: InFlightLimits) -> Arc<Self> {
        let shards = std::array::from_fn(|_| Mutex::default());
        Arc::new(Self { limits, shards })
    }

    /// Takes a permit for one request, or refuses. The permit ends when it is dropped.
    pub fn acquire(
        self: &Arc<Self>,
        holder: impl Into<Holder>,
        kind: RequestKind,
    ) -> Result<Permit, InFlightRefusal> {
        let holder = holder.into();
        let streams = usize::from(kind == RequestKind::Stream);
        let limit = |limit: usize| if limit == 0 { usize::MAX } else { limit };
        self.with(holder, |running| {
            if running.requests >= limit(self.limits.requests) {
                return Err(InFlightRefusal::Requests { limit: self.limits.requests });
            }
            if streams > 0 && running.streams >= limit(self.limits.streams) {
                return Err(InFlightRefusal::Streams { limit: self.limits.streams });
            }
            running.requests = running.requests.saturating_add(1);
            running.streams = running.streams.saturating_add(streams);
            Ok(())
        })?;
        Ok(Permit { counts: Arc::clone(self), holder, streams })
    }

    fn with<T>(&self, holder: Holder, change: impl FnOnce(&mut InFlightCounts) -> T) -> T {
        let shard = usize::try_from(holder.number()).unwrap_or(0) % METER_SHARDS;
        let Some(shard) = self.shards.get(shard) else { return change(&mut InFlightCounts::default()) };
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let running = counts.entry(holder).or_default();
        let result = change(running);
        // A key without requests in flight takes no memory.
        if running.requests == 0 {
            counts.remove(&holder);
        }
        result
    }
}

/// The permit of one request in flight.
#[derive(Debug)]
pub struct Permit {
    counts: Arc<InFlight>,
    holder: Holder,
    streams: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.counts.with(self.holder, |running| {
            running.requests = running.requests.saturating_sub(1);
            running.streams = running.streams.saturating_sub(self.streams);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(requests: usize, streams: usize) -> Arc<InFlight> {
        InFlight::new(InFlightLimits { requests, streams })
    }

    #[test]
    fn limits_each_key_separately() {
        let counts = in_flight(3, 1);
        let acquire = |key, kind| counts.acquire(KeyId::from_number(key), kind);
        let stream = acquire(1, RequestKind::Stream).unwrap();
        assert_eq!(acquire(1, RequestKind::Stream).unwrap_err(), InFlightRefusal::Streams { limit: 1 });
        let _pages = [acquire(1, RequestKind::Page).unwrap(), acquire(1, RequestKind::Page).unwrap()];
        drop(acquire(2, RequestKind::Page).unwrap());
        assert_eq!(acquire(1, RequestKind::Page).unwrap_err(), InFlightRefusal::Requests { limit: 3 });
        let _other = acquire(2, RequestKind::Stream).unwrap();
        drop(stream);
        assert!(acquire(1, RequestKind::Stream).is_ok());
    }

    #[test]
    fn frees_ended_requests_and_lifts_limit_at_zero() {
        let counts = in_flight(0, 0);
        let held: Vec<_> =
            (0..100).map(|_| counts.acquire(KeyId::from_number(7), RequestKind::Stream).unwrap()).collect();
        drop(held);
        assert!(counts.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
