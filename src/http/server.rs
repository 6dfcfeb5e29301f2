//! A listener, its acceptor, a bounded queue and a pool of workers; and how they end.
//!
//! Knows threads and tiny_http; knows no route.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::listener::{ListenAddress, listen};
use super::service::Service;
use crate::limits::http::{ACCEPT_POLL, QUEUE_DEPTH_PER_WORKER, SHED_QUEUE_DEPTH};

/// A request on its way to a worker, with the time at which it was received.
type Queued = (tiny_http::Request, Instant);

/// A running listener.
pub struct Server {
    address: ListenAddress,
    stopping: Arc<AtomicBool>,
    acceptor: JoinHandle<()>,
    /// Every thread that may be answering holds the other end until it has ended.
    running: Receiver<()>,
}

impl Server {
    /// Begins to listen and to answer.
    pub fn start(address: &ListenAddress, workers: usize, service: Arc<Service>) -> io::Result<Self> {
        let (listener, taken) = listen(address)?;
        let server = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
        let workers = workers.max(1);
        let (queue, requests) = bounded::<Queued>(workers.saturating_mul(QUEUE_DEPTH_PER_WORKER));
        let (overflow, refused) = bounded::<Queued>(SHED_QUEUE_DEPTH);
        let (alive, running) = bounded::<()>(0);
        for number in 0..workers {
            let (requests, service, alive) = (requests.clone(), Arc::clone(&service), alive.clone());
            spawn(&format!("worker-{number}"), move || {
                work(&requests, |raw, at| service.answer(raw, at));
                drop(alive);
            })?;
        }
        spawn("refuse", move || {
            work(&refused, |raw, at| service.refuse_busy(raw, at));
            drop(alive);
        })?;
        let stopping = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stopping);
        let acceptor = spawn("accept", move || {
            accept(&server, &told, &queue, &overflow);
            // Dropping it closes the listening socket.
            drop(server);
        })?;
        Ok(Self { address: taken, stopping, acceptor, running })
    }

    /// Where it listens.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Stops accepting at once; what was received before is still answered.
    pub fn stop_accepting(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Waits until everything received is answered, at most until `deadline`. Says whether all of it was.
    pub fn drain(self, deadline: Instant) -> bool {
        self.stop_accepting();
        let remaining = deadline.saturating_duration_since(Instant::now());
        let ended = matches!(self.running.recv_timeout(remaining), Err(RecvTimeoutError::Disconnected));
        if ended {
            drop(self.acceptor.join());
        }
        ended
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Hands requests to the workers; when their queue is full, to the thread that refuses.
fn accept(
    server: &tiny_http::Server,
    stopping: &AtomicBool,
    queue: &Sender<Queued>,
    overflow: &Sender<Queued>,
) {
    while !stopping.load(Ordering::Acquire) {
        match server.recv_timeout(ACCEPT_POLL) {
            Ok(Some(raw)) => dispatch(raw, queue, overflow),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "the listener cannot accept");
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
    while let Ok(Some(raw)) = server.try_recv() {
        dispatch(raw, queue, overflow);
    }
}

fn dispatch(raw: tiny_http::Request, queue: &Sender<Queued>, overflow: &Sender<Queued>) {
    if let Err(TrySendError::Full(refused)) = queue.try_send((raw, Instant::now())) {
        // A full overflow makes the acceptor wait, which holds back the listener as a whole.
        drop(overflow.send(refused));
    }
}

fn work(requests: &Receiver<Queued>, answer: impl Fn(tiny_http::Request, Instant)) {
    while let Ok((raw, queued_at)) = requests.recv() {
        answer(raw, queued_at);
    }
}
