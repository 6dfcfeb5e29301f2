//! Background threads that end with their handle.
//!
//! Does not depend on the work of the threads.

use std::io;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

/// Threads with a common stop signal. Dropping the handle stops and joins them.
pub(super) struct BackgroundThreads {
    // Dropping the sender ends the threads.
    stop: Option<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl BackgroundThreads {
    /// Starts one thread for each of `works`. Each receives a channel that is disconnected to stop it.
    pub(super) fn start<W>(name: &str, works: impl IntoIterator<Item = W>) -> io::Result<Self>
    where
        W: FnOnce(Receiver<()>) + Send + 'static,
    {
        let (stop, stopped) = bounded(0);
        let start_one = |work: W| {
            let stopped = stopped.clone();
            thread::Builder::new().name(name.to_owned()).spawn(move || work(stopped))
        };
        let threads = works.into_iter().map(start_one).collect::<io::Result<_>>()?;
        Ok(Self { stop: Some(stop), threads })
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            // A panicked thread needs no further cleanup.
            drop(thread.join());
        }
    }
}
