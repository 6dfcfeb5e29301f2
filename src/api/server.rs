//! The worker threads behind a private listener: each takes one request after the other.
//!
//! Only the event loop can connect to this tiny_http. There are as many workers as requests in service, so no request
//! waits here. Does not depend on routes.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::service::Service;

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
    pub fn start(count: usize, listener: UnixListener, service: &Arc<Service>) -> io::Result<Self> {
        let server = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
        let (server, stopping) = (Arc::new(server), Arc::new(AtomicBool::new(false)));
        let threads = (0..count)
            .map(|number| {
                let (server, stopping, service) =
                    (Arc::clone(&server), Arc::clone(&stopping), Arc::clone(service));
                thread::Builder::new()
                    .name(format!("worker-{number}"))
                    .spawn(move || work(&server, &stopping, &service))
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

fn work(server: &tiny_http::Server, stopping: &AtomicBool, service: &Arc<Service>) {
    loop {
        match server.recv() {
            Ok(raw) => service.answer(raw),
            Err(_) if stopping.load(Ordering::Acquire) => return,
            Err(error) => {
                tracing::error!(%error, "the private listener failed");
                thread::sleep(RECEIVE_PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{IpAddr, SocketAddr, TcpStream};
    use std::time::Instant;

    use super::*;
    use crate::access::{AccessControl, InFlight, InFlightLimits, RateLimits, TrustedProxies};
    use crate::api::errors::ApiError;
    use crate::api::framing::buffer::ResponseBuffer;
    use crate::api::incoming::{Incoming, Method};
    use crate::api::listener_kind::ListenerKind;
    use crate::api::response::Response;
    use crate::api::routing::router::{Guard, Route, Router};
    use crate::api::{AdminToken, App, Metrics};
    use crate::selections::SelectionCache;
    use mercato_base::clock::{Clock, SystemClock};
    use mercato_catalog::{Catalog, DataDirectory};
    use mercato_ledger::{ChargeDurability, Ledger, LedgerOptions, durable_after};
    use mercato_net::limits::REMAINING_BYTES_MAX;
    use mercato_net::{
        Bound, ClassPlan, Classified, Client, Head, ListenAddress, NetLimits, NetParts, NetServer,
        PrivateAddress, Refusal,
    };
    use mercato_query::render::ParallelEncoder;

    const ROUTES: &[Route] = &[
        Route::new(Method::Get, "/panic", Guard::Uncounted, |_, _| panic!("a handler may be wrong")),
        Route::new(Method::Get, "/slow", Guard::Uncounted, slow),
        Route::new(Method::Get, "/quick", Guard::Uncounted, |_, _| Response::data(&1)),
        Route::new(Method::Get, "/charged", Guard::Uncounted, |_, _| charged(true)),
        Route::new(Method::Get, "/large", Guard::Uncounted, large),
        Route::new(Method::Get, "/lost", Guard::Uncounted, |_, _| charged(false)),
    ];

    fn slow(_: &App, _: &mut Incoming) -> Result<Response, ApiError> {
        thread::sleep(Duration::from_millis(500));
        Response::data(&1)
    }

    /// More than the event loop keeps for a client.
    fn large(_: &App, _: &mut Incoming) -> Result<Response, ApiError> {
        let buffer = ResponseBuffer::from_body(&vec![b'x'; REMAINING_BYTES_MAX + 1]);
        Ok(Response::raw("text/plain", buffer).when(durable_after(Duration::from_millis(300), true)))
    }

    fn charged(succeeds: bool) -> Result<Response, ApiError> {
        Ok(Response::data(&1)?.when(durable_after(Duration::from_millis(300), succeeds)))
    }

    fn app(directory: &DataDirectory) -> App {
        let now = SystemClock.now();
        let options = LedgerOptions { durability: ChargeDurability::Process };
        let ledger = Arc::new(Ledger::open(&directory.ledger(), options, now).unwrap());
        let limits = RateLimits { per_minute: 0, per_day: 0 };
        let catalog = Arc::new(Catalog::open(directory.clone()).unwrap());
        App {
            search: Arc::new(mercato_search::Search::by_words(Arc::clone(&catalog)).unwrap()),
            catalog,
            access: Arc::new(AccessControl::open(Arc::clone(&ledger), limits, now).unwrap()),
            sign_ins: crate::access::SignInControl::new(Arc::clone(&ledger)),
            mailer: None,
            takes_sign_ups: true,
            ledger,
            in_flight: InFlight::new(InFlightLimits { requests: 0, streams: 0 }),
            clock: Arc::new(SystemClock),
            low_balance_credits: 0,
            work_limit: None,
            selections: Arc::new(SelectionCache::new(1024)),
            metrics: Metrics::default(),
            documents: crate::api::Documents::new(None, now),
            trusted_proxies: TrustedProxies::parse(&[]).unwrap(),
            admin_token: AdminToken::load_or_create(&directory.admin_token(), |_| Ok(())).unwrap(),
            graph: crate::api::GraphCache::default(),
            encoder: Arc::new(ParallelEncoder::new(1).unwrap()),
            exports: Arc::default(),
            payments: Arc::default(),
            branding: Arc::default(),
        }
    }

    struct Running {
        net: NetServer,
        workers: Workers,
        address: SocketAddr,
        _folder: tempfile::TempDir,
    }

    impl Running {
        fn start(count: usize) -> Running {
            let folder = tempfile::tempdir().unwrap();
            let app = Arc::new(app(&DataDirectory::new(folder.path())));
            let address = ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
            let classes = vec![ClassPlan { name: "test", workers: count }];
            let bound = Bound::new(&address, NetLimits::default(), classes).unwrap();
            let listener_kind = ListenerKind::public(&RateLimits { per_minute: 0, per_day: 0 });
            let slots = Arc::clone(bound.slots());
            let service = Arc::new(Service::new(app, Router::new(&[ROUTES]), listener_kind, slots));
            let mut random = [0; 8];
            getrandom::fill(&mut random).unwrap();
            let (listener, upstream) = PrivateAddress::open(u64::from_le_bytes(random)).unwrap();
            let workers = Workers::start(count, listener, &service).unwrap();
            let refuse = |_: &Refusal, _: IpAddr, _: bool| b"HTTP/1.1 503 No\r\n\r\n".to_vec();
            let net = bound
                .start(NetParts {
                    upstream,
                    classifier: Arc::new(|_: &Head<'_, '_>, peer| Classified::new(0, Client::Address(peer))),
                    refuse: Arc::new(refuse),
                    counted_as: Arc::new(|_| None),
                })
                .unwrap();
            let ListenAddress::Tcp(address) = net.address().clone() else { panic!("it listens on TCP") };
            Running { net, workers, address, _folder: folder }
        }

        fn stop(self) -> bool {
            let (ended, upstream) = self.net.drain(Instant::now() + Duration::from_secs(20));
            ended && self.workers.stop(true, || upstream.wake_listener())
        }
    }

    fn ask(address: SocketAddr, target: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn survives_panic_of_handler() {
        let running = Running::start(1);
        for _ in 0..3 {
            let answer = ask(running.address, "/panic");
            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("INTERNAL_ERROR"), "{answer}");
            assert!(answer.contains("X-Request-Id: ") && !answer.contains("may be wrong"));
        }
        assert!(ask(running.address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(running.stop());
    }

    #[test]
    fn finishes_running_requests_before_end() {
        let running = Running::start(2);
        let address = running.address;
        let client = thread::spawn(move || ask(address, "/slow"));
        thread::sleep(Duration::from_millis(100));
        assert!(running.stop());
        assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn frees_worker_while_charge_becomes_durable() {
        let running = Running::start(1);
        let address = running.address;
        let began = Instant::now();
        let charged: Vec<_> = (0..8).map(|_| thread::spawn(move || ask(address, "/charged"))).collect();
        thread::sleep(Duration::from_millis(100));
        assert!(ask(address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(charged.iter().all(|client| !client.is_finished()));
        for client in charged {
            assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
        }
        let elapsed = began.elapsed();
        assert!(
            elapsed >= Duration::from_millis(300) && elapsed < Duration::from_millis(8 * 300),
            "{elapsed:?}"
        );
        assert!(ask(address, "/lost").starts_with("HTTP/1.1 503 "));
        assert!(running.stop());
    }

    #[test]
    fn keeps_worker_for_charged_response_too_large_to_defer() {
        let running = Running::start(1);
        let address = running.address;
        let began = Instant::now();
        let client = thread::spawn(move || ask(address, "/large"));
        thread::sleep(Duration::from_millis(100));
        assert!(ask(address, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(began.elapsed() >= Duration::from_millis(300));
        assert!(client.join().unwrap().ends_with(&"x".repeat(REMAINING_BYTES_MAX + 1)));
        assert!(running.stop());
    }

    #[test]
    fn sends_deferred_responses_before_end() {
        let running = Running::start(1);
        let address = running.address;
        let clients: Vec<_> = (0..4).map(|_| thread::spawn(move || ask(address, "/charged"))).collect();
        thread::sleep(Duration::from_millis(100));
        assert!(running.stop());
        for client in clients {
            assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
        }
    }
}
