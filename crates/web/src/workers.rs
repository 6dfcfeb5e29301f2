//! The worker threads behind a private listener: each takes one request after the other.
//!
//! Only the event loop can connect to this tiny_http. There are as many workers as requests in service, so no request
//! waits here.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::pipeline::{Application, Pipeline};

/// Pause of a worker whose listener failed.
const RECEIVE_PAUSE: Duration = Duration::from_millis(20);

/// Workers that run.
pub struct Workers {
    server: Arc<tiny_http::Server>,
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` worker threads on `listener`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start<A: Application>(
        count: usize,
        listener: UnixListener,
        pipeline: &Arc<Pipeline<A>>,
    ) -> io::Result<Self> {
        let server = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
        let (server, stopping) = (Arc::new(server), Arc::new(AtomicBool::new(false)));
        let threads = (0..count)
            .map(|number| {
                let (server, stopping, pipeline) =
                    (Arc::clone(&server), Arc::clone(&stopping), Arc::clone(pipeline));
                thread::Builder::new()
                    .name(format!("worker-{number}"))
                    .spawn(move || work(&server, &stopping, &pipeline))
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { server, stopping, threads })
    }

    /// Ends the workers after their present requests. `wake_listener` connects once to the listener to wake it.
    /// Returns whether all workers have ended; busy ones are left alone.
    pub fn stop(self, wait: bool, wake_listener: impl FnOnce()) -> bool {
        self.stopping.store(true, Ordering::Release);
        for _ in &self.threads {
            self.server.unblock();
        }
        let (ended, busy): (Vec<_>, Vec<_>) =
            self.threads.into_iter().partition(|thread| wait || thread.is_finished());
        for thread in ended {
            drop(thread.join());
        }
        drop(self.server);
        wake_listener();
        busy.is_empty()
    }
}

fn work<A: Application>(server: &tiny_http::Server, stopping: &AtomicBool, pipeline: &Arc<Pipeline<A>>) {
    loop {
        match server.recv() {
            Ok(raw) => {
                let name = raw.url().trim_start_matches('/').to_owned();
                // The response goes out through the client's own socket.
                drop(raw.into_writer());
                pipeline.answer_slot(&name);
            }
            Err(_) if stopping.load(Ordering::Acquire) => return,
            Err(error) => {
                tracing::error!(%error, "the private listener failed");
                thread::sleep(RECEIVE_PAUSE);
            }
        }
    }
}
