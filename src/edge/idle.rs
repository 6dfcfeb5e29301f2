//! Connections between two requests, and how those that stay too long are ended: a few at a time.
//!
//! The kernel rounds a socket's time-out of a minute to seconds, so that thousands of connections opened within seconds
//! would wake at one instant and keep the processors from everybody else. Here nothing wakes but what is ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::registry::{Client, Registry};
use crate::limits::edge::{IDLE_ENDED_AT_ONCE, IDLE_ENDED_PAUSE, IDLE_LOOK_PAUSE};

const BUSY: u64 = 0;
const ENDED: u64 = u64::MAX;

/// Since when a connection waits for the first byte of a request.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// [`BUSY`], [`ENDED`], or milliseconds on the clock of the registry.
    since: AtomicU64,
}

impl Idle {
    /// Begins to wait, unless it does already. `now` is not zero.
    pub(super) fn begin(&self, now: u64) {
        // Where it waits or was ended, that stands.
        let _ = self.since.compare_exchange(BUSY, now, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Stops to wait. Says whether the connection was ended meanwhile: what it sent before can still be answered.
    pub(super) fn leave(&self) -> bool {
        self.since.swap(BUSY, Ordering::SeqCst) == ENDED
    }

    /// Since when, if it waits.
    pub(super) fn since(&self) -> Option<u64> {
        Some(self.since.load(Ordering::SeqCst)).filter(|since| *since != BUSY && *since != ENDED)
    }

    /// Ends it if it has waited since then, and not asked in between.
    pub(super) fn end(&self, since: u64) -> bool {
        self.since.compare_exchange(since, ENDED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Connections that have waited for too long, and when the next one will have.
pub(super) struct Expired {
    pub(super) clients: Vec<(Arc<Client>, u64)>,
    pub(super) next: u64,
}

/// Ends connections that wait for longer than `limit`, until the registry ends.
pub(super) fn watch(registry: &Registry, limit: Duration) {
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    while !registry.is_stopping() {
        let began = Instant::now();
        let expired = registry.expired(limit);
        for some in expired.clients.chunks(IDLE_ENDED_AT_ONCE) {
            for (client, since) in some {
                if client.idle().end(*since) {
                    client.stop_reading();
                }
            }
            if registry.is_stopping() {
                return;
            }
            thread::sleep(IDLE_ENDED_PAUSE);
        }
        let wait = Duration::from_millis(expired.next.saturating_sub(registry.now()));
        thread::park_timeout(wait.max(IDLE_LOOK_PAUSE.saturating_sub(began.elapsed())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_in_time_is_not_ended() {
        let idle = Idle::default();
        assert_eq!(idle.since(), None);
        idle.begin(5);
        idle.begin(6);
        assert_eq!(idle.since(), Some(5));
        assert!(!idle.leave());
        assert!(!idle.end(5), "it is busy");
        idle.begin(9);
        assert!(!idle.end(5), "it has asked since");
        assert!(idle.end(9));
        assert_eq!(idle.since(), None);
        assert!(!idle.end(9), "once is enough");
        idle.begin(10);
        assert_eq!(idle.since(), None, "its end stands");
        assert!(idle.leave());
        assert!(!idle.leave());
    }
}
