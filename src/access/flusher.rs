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
            loop {
                let is_last = stopped.recv_timeout(FLUSH_INTERVAL) != Err(RecvTimeoutError::Timeout);
                if let Err(error) = access.flush(clock.now()) {
                    tracing::debug!(%error, "the counters of the day are kept in memory for now");
                }
                if is_last {
                    return;
                }
                beside();
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
