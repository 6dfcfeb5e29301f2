//! The thread that has the counters of the day written down from time to time.
//!
//! Knows when, not what.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::Gate;
use crate::clock::Clock;
use crate::limits::access::KEEPER_INTERVAL_MILLIS;

/// The running thread. Dropping it writes everything down once more and ends it.
pub struct Keeper {
    // Dropping the sender is the sign to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(gate: Arc<Gate>, clock: Arc<dyn Clock>) -> io::Result<Keeper> {
        let (stop, stopped) = bounded::<()>(0);
        let thread = thread::Builder::new().name("keeper".to_owned()).spawn(move || {
            let pause = Duration::from_millis(KEEPER_INTERVAL_MILLIS);
            loop {
                let is_last = stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
                if let Err(error) = gate.write_down(clock.now()) {
                    tracing::debug!(%error, "the counters of the day are kept in memory for now");
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(Keeper { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
