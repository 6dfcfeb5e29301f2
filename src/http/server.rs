//! A listener, its acceptor, a bounded queue and a pool of workers; and how they end.
//!
//! Knows threads and tiny_http; knows no route.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::listener::{ListenAddress, listen};
use super::queue::BoundedQueue;
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
        let queue = Arc::new(BoundedQueue::<Queued>::new(workers.saturating_mul(QUEUE_DEPTH_PER_WORKER)));
        let overflow = Arc::new(BoundedQueue::<Queued>::new(SHED_QUEUE_DEPTH));
        let (alive, running) = bounded::<()>(0);
        for number in 0..workers {
            let (queue, service, alive) = (Arc::clone(&queue), Arc::clone(&service), alive.clone());
            spawn(&format!("worker-{number}"), move || {
                work(&queue, |raw, at| service.answer(raw, at));
                drop(alive);
            })?;
        }
        let refused = Arc::clone(&overflow);
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
    queue: &BoundedQueue<Queued>,
    overflow: &BoundedQueue<Queued>,
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
    queue.close();
    overflow.close();
}

fn dispatch(raw: tiny_http::Request, queue: &BoundedQueue<Queued>, overflow: &BoundedQueue<Queued>) {
    if let Err(refused) = queue.try_push((raw, Instant::now())) {
        // A full overflow makes the acceptor wait, which holds back the listener as a whole.
        drop(overflow.push(refused));
    }
}

fn work(queue: &BoundedQueue<Queued>, answer: impl Fn(tiny_http::Request, Instant)) {
    while let Some((raw, queued_at)) = queue.pop() {
        answer(raw, queued_at);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    use super::*;
    use crate::access::{Gate, RateLimits, TrustedProxies};
    use crate::catalog::{Catalog, DataDirectory};
    use crate::clock::{Clock, SystemClock};
    use crate::http::errors::ApiError;
    use crate::http::incoming::{Incoming, Method};
    use crate::http::response::Response;
    use crate::http::router::{Guard, Route, Router};
    use crate::http::surface::Surface;
    use crate::http::{AdminToken, App, Metrics, Slots};
    use crate::ledger::{ChargeDurability, Ledger, LedgerOptions};
    use crate::selections::SelectionCache;

    const ROUTES: &[Route] = &[
        Route::new(Method::Get, "/panic", Guard::Uncounted, |_, _| panic!("a handler may be wrong")),
        Route::new(Method::Get, "/slow", Guard::Uncounted, slow),
        Route::new(Method::Get, "/quick", Guard::Uncounted, |_, _| Response::data(&1)),
    ];

    fn slow(_: &App, _: &mut Incoming) -> Result<Response, ApiError> {
        thread::sleep(Duration::from_millis(700));
        Response::data(&1)
    }

    fn start(workers: usize) -> (Server, SocketAddr, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::new(folder.path());
        let now = SystemClock.now();
        let options = LedgerOptions { durability: ChargeDurability::Process };
        let ledger = Arc::new(Ledger::open(&directory.ledger(), options, now).unwrap());
        let limits = RateLimits { per_minute: 0, per_day: 0 };
        let app = Arc::new(App {
            catalog: Arc::new(Catalog::open(directory.clone()).unwrap()),
            gate: Arc::new(Gate::open(Arc::clone(&ledger), limits, now).unwrap()),
            ledger,
            clock: Arc::new(SystemClock),
            selections: Arc::new(SelectionCache::new(1024)),
            metrics: Metrics::default(),
            trusted_proxies: TrustedProxies::parse(&[]).unwrap(),
            admin_token: AdminToken::load_or_create(&directory.admin_token(), |_| Ok(())).unwrap(),
            streams: Slots::new(1),
        });
        let service = Arc::new(Service::new(app, Router::new(&[ROUTES]), Surface::public(&limits)));
        let anywhere = ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let server = Server::start(&anywhere, workers, service).unwrap();
        let ListenAddress::Tcp(address) = server.address().clone() else { panic!("it listens on TCP") };
        (server, address, folder)
    }

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_panic_costs_one_answer_and_no_worker() {
        let (server, address, _folder) = start(1);
        for _ in 0..3 {
            let answer = ask(address, "/panic");
            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("INTERNAL_ERROR"), "{answer}");
            assert!(answer.contains("X-Request-Id: ") && !answer.contains("may be wrong"));
        }
        assert!(ask(address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(server.drain(Instant::now() + Duration::from_secs(5)));
    }

    #[test]
    fn what_finds_no_place_is_refused_at_once_and_told_to_come_back() {
        let (server, address, _folder) = start(1);
        let running = thread::spawn(move || ask(address, "/slow"));
        thread::sleep(Duration::from_millis(200));
        let clients: Vec<_> =
            (0..QUEUE_DEPTH_PER_WORKER + 3).map(|_| thread::spawn(move || ask(address, "/slow"))).collect();
        let answers: Vec<String> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        let refused: Vec<_> = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 ")).collect();
        assert_eq!(refused.len(), 3);
        assert!(
            refused.iter().all(|answer| answer.contains("Retry-After: 1\r\n") && answer.contains("BUSY"))
        );
        assert!(running.join().unwrap().starts_with("HTTP/1.1 200 "));
        assert!(server.drain(Instant::now() + Duration::from_secs(5)));
    }

    #[test]
    fn what_runs_is_finished_and_a_deadline_ends_the_waiting() {
        let (server, address, _folder) = start(2);
        let client = thread::spawn(move || ask(address, "/slow"));
        thread::sleep(Duration::from_millis(200));
        assert!(server.drain(Instant::now() + Duration::from_secs(5)));
        assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
        let (server, address, _folder) = start(2);
        let client = thread::spawn(move || ask(address, "/slow"));
        thread::sleep(Duration::from_millis(200));
        assert!(!server.drain(Instant::now()));
        client.join().unwrap();
    }
}
