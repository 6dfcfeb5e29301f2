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
use crate::clock::Clock;

/// Interval between two flushes.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Exchanges of counts with other servers in that interval: what one server counts, all others know after two.
const EXCHANGES_PER_FLUSH: u32 = 2;

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
            for turn in (0..exchanges).cycle() {
                let is_last =
                    stopped.recv_timeout(FLUSH_INTERVAL / exchanges) != Err(RecvTimeoutError::Timeout);
                let is_whole = is_last || turn == 0;
                let now = clock.now();
                if let Err(error) = if is_whole { access.flush(now) } else { access.share(now) } {
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

impl Drop for CounterFlusher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
