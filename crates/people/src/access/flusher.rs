//! The counter flusher: a thread that writes changed request counters to the books at a fixed interval, and does what is
//! handed to it beside that.
//!
//! Does not depend on the kinds of counters.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::AccessControl;
use mercato_base::clock::Clock;

/// Interval between two flushes.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Exchanges of counts with other servers in that interval: what one server counts, all others know after two.
const EXCHANGES_PER_FLUSH: u32 = 2;
/// From so many servers on, each leaves exchanges out: an exchange reads a row of every other server for a client that comes to
/// all of them, so the database would read as many rows as the square of the servers.
const SERVERS_AT_FULL_RATE: u64 = 20;

/// The running thread. Dropping the handle flushes once more and ends the thread.
pub struct CounterFlusher {
    // Dropping the sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CounterFlusher {
    pub(super) fn start(
        access: Arc<AccessControl>,
        clock: Arc<dyn Clock>,
        beside: impl Fn() + Send + 'static,
    ) -> io::Result<CounterFlusher> {
        let (stop, stopped) = bounded::<()>(0);
        let thread = thread::Builder::new().name("counter-flusher".to_owned()).spawn(move || {
            let exchanges = if access.ledger.shares_counts() { EXCHANGES_PER_FLUSH } else { 1 };
            let mut next_exchange = 0;
            for round in 0_u64.. {
                let is_last =
                    stopped.recv_timeout(FLUSH_INTERVAL / exchanges) != Err(RecvTimeoutError::Timeout);
                let is_whole = is_last || round.is_multiple_of(u64::from(exchanges));
                let is_exchange = is_last || round >= next_exchange;
                if is_exchange {
                    next_exchange = round.saturating_add(rounds_per_exchange(access.ledger.servers()));
                }
                let now = clock.now();
                let kept = match (is_whole, is_exchange) {
                    (true, true) => access.flush(now),
                    (true, false) => access.ledger.note_key_uses(),
                    (false, true) => access.share(now),
                    (false, false) => Ok(()),
                };
                if let Err(error) = kept {
                    tracing::debug!(%error, "request counters are kept in memory for now");
                }
                if is_last {
                    return;
                }
                if is_whole {
                    beside();
                }
            }
        })?;
        Ok(CounterFlusher { stop: Some(stop), thread: Some(thread) })
    }
}

/// Of how many possible exchanges one takes place.
const fn rounds_per_exchange(servers: u64) -> u64 {
    servers.div_ceil(SERVERS_AT_FULL_RATE)
}

impl Drop for CounterFlusher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_less_often_among_many_servers() {
        let rounds = [1, 3, 20, 21, 100, 1_000].map(rounds_per_exchange);
        assert_eq!(rounds, [1, 1, 1, 2, 5, 50]);
    }
}
