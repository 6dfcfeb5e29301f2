//! The workers behind a private listener: each takes a request, answers it and takes the next.
//!
//! tiny_http listens only where nobody but the guard can reach it. There are as many workers as the guard has
//! connections, so nothing queues here. Knows threads and tiny_http; knows no route.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::service::Service;
use crate::fairness::step_back;
use crate::limits::edge::PROBE_HEADER;
use crate::limits::http::STRANGERS_NICENESS;

/// Pause of a worker whose listener failed.
const RECEIVE_PAUSE: Duration = Duration::from_millis(20);

/// Workers to be.
#[derive(Debug, Clone, Copy)]
pub struct WorkerPlan {
    /// Name of their threads.
    pub name: &'static str,
    /// How many.
    pub count: usize,
    /// Whether other threads of this machine go first where the processors do not suffice.
    pub steps_back: bool,
}

/// Workers that run.
pub struct Workers {
    server: Arc<tiny_http::Server>,
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Begins to answer what comes over `listener`.
    pub fn start(plan: &WorkerPlan, listener: UnixListener, service: &Arc<Service>) -> io::Result<Self> {
        // A thread begins with the name and the priority of the one that starts it. Those that tiny_http starts to read
        // requests can be given them in no other way.
        let starter = thread::Builder::new().name(format!("read-{}", plan.name));
        thread::scope(|scope| {
            let started = starter.spawn_scoped(scope, || {
                if plan.steps_back {
                    step_back(STRANGERS_NICENESS);
                }
                Self::start_here(plan, listener, service)
            })?;
            started.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts workers failed")))
        })
    }

    fn start_here(plan: &WorkerPlan, listener: UnixListener, service: &Arc<Service>) -> io::Result<Self> {
        let server = tiny_http::Server::from_listener(listener, None).map_err(io::Error::other)?;
        let (server, stopping) = (Arc::new(server), Arc::new(AtomicBool::new(false)));
        let name = plan.name;
        let threads = (0..plan.count)
            .map(|number| {
                let (server, stopping, service) =
                    (Arc::clone(&server), Arc::clone(&stopping), Arc::clone(service));
                thread::Builder::new()
                    .name(format!("{name}-{number}"))
                    .spawn(move || work(&server, &stopping, &service))
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { server, stopping, threads })
    }

    /// Ends the workers when they have answered what they are at. `knock` connects once to the listener, which makes
    /// it see that it is over. Says whether all workers have ended; those that are still busy are left alone.
    pub fn stop(self, wait: bool, knock: impl FnOnce()) -> bool {
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
        knock();
        busy.is_empty()
    }
}

fn work(server: &tiny_http::Server, stopping: &AtomicBool, service: &Service) {
    loop {
        match server.recv() {
            Ok(raw) if is_probe(&raw) => prove(raw),
            Ok(raw) => service.answer(raw),
            Err(_) if stopping.load(Ordering::Acquire) => return,
            Err(error) => {
                tracing::error!(%error, "the private listener failed");
                thread::sleep(RECEIVE_PAUSE);
            }
        }
    }
}

/// The guard strips that header from what clients send.
fn is_probe(raw: &tiny_http::Request) -> bool {
    raw.headers().iter().any(|header| header.field.equiv(PROBE_HEADER))
}

fn prove(raw: tiny_http::Request) {
    let mut writer = raw.into_writer();
    // Whoever asked has gone if this fails.
    drop(writer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").and_then(|()| writer.flush()));
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    use super::*;
    use crate::access::{Gate, InFlight, InFlightLimits, RateLimits, TrustedProxies};
    use crate::catalog::{Catalog, DataDirectory};
    use crate::clock::{Clock, SystemClock};
    use crate::http::errors::ApiError;
    use crate::http::incoming::{Incoming, Method};
    use crate::http::response::Response;
    use crate::http::router::{Guard, Route, Router};
    use crate::http::surface::Surface;
    use crate::http::{AdminToken, App, Metrics, WorkTurns};
    use crate::ledger::{ChargeDurability, Ledger, LedgerOptions};
    use crate::render::Press;
    use crate::selections::SelectionCache;

    const ROUTES: &[Route] = &[
        Route::new(Method::Get, "/panic", Guard::Uncounted, |_, _| panic!("a handler may be wrong")),
        Route::new(Method::Get, "/slow", Guard::Uncounted, slow),
        Route::new(Method::Get, "/quick", Guard::Uncounted, |_, _| Response::data(&1)),
    ];

    fn slow(_: &App, _: &mut Incoming) -> Result<Response, ApiError> {
        thread::sleep(Duration::from_millis(500));
        Response::data(&1)
    }

    fn start(count: usize) -> (Workers, PathBuf, tempfile::TempDir) {
        start_as(&WorkerPlan { name: "test", count, steps_back: false })
    }

    fn start_as(plan: &WorkerPlan) -> (Workers, PathBuf, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::new(folder.path());
        let now = SystemClock.now();
        let options = LedgerOptions { durability: ChargeDurability::Process };
        let ledger = Arc::new(Ledger::open(&directory.ledger(), options, now).unwrap());
        let limits = RateLimits { per_minute: 0, per_day: 0 };
        let catalog = Arc::new(Catalog::open(directory.clone()).unwrap());
        let app = Arc::new(App {
            search: Arc::new(crate::search::Search::by_words(Arc::clone(&catalog)).unwrap()),
            catalog,
            gate: Arc::new(Gate::open(Arc::clone(&ledger), limits, now).unwrap()),
            ledger,
            in_flight: InFlight::new(InFlightLimits { requests: 0, streams: 0 }),
            turns: WorkTurns::new(1),
            clock: Arc::new(SystemClock),
            selections: Arc::new(SelectionCache::new(1024)),
            metrics: Metrics::default(),
            documents: crate::http::Documents::new(None, now),
            trusted_proxies: TrustedProxies::parse(&[]).unwrap(),
            admin_token: AdminToken::load_or_create(&directory.admin_token(), |_| Ok(())).unwrap(),
            graph: crate::http::GraphCache::default(),
            press: Arc::new(Press::new(1).unwrap()),
            exports: Arc::default(),
        });
        let service = Arc::new(Service::new(app, Router::new(&[ROUTES]), Surface::public(&limits)));
        let path = folder.path().join("private");
        let listener = UnixListener::bind(&path).unwrap();
        (Workers::start(plan, listener, &service).unwrap(), path, folder)
    }

    fn ask(path: &PathBuf, target: &str) -> String {
        let mut stream = UnixStream::connect(path).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_panic_costs_one_answer_and_no_worker() {
        let (workers, path, _folder) = start(1);
        for _ in 0..3 {
            let answer = ask(&path, "/panic");
            assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("INTERNAL_ERROR"), "{answer}");
            assert!(answer.contains("X-Request-Id: ") && !answer.contains("may be wrong"));
        }
        assert!(ask(&path, "/quick").starts_with("HTTP/1.1 200 "));
        assert!(workers.stop(true, || ()));
    }

    /// How the threads of this process whose names begin so stand (`nice`).
    fn niceness_of(prefix: &str) -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let named = tasks.filter(|task| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(prefix))
        });
        let stats = named.filter_map(|task| std::fs::read_to_string(task.join("stat")).ok());
        // The name may hold blanks; behind its bracket niceness is the seventeenth field.
        stats
            .map(|stat| stat.rsplit(')').next().unwrap().split(' ').nth(17).unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn workers_that_step_back_do_so_with_those_that_read_for_them() {
        let mine = rustix::process::getpriority_process(None).unwrap();
        for (name, steps_back) in [("ahead", false), ("aside", true)] {
            let (workers, path, _folder) = start_as(&WorkerPlan { name, count: 2, steps_back });
            assert!(ask(&path, "/quick").starts_with("HTTP/1.1 200 "));
            let expected = if steps_back { (mine + STRANGERS_NICENESS).min(19) } else { mine };
            assert_eq!(niceness_of(&format!("{name}-")), [expected; 2]);
            let readers = niceness_of(&format!("read-{name}"));
            assert!(
                !readers.is_empty() && readers.iter().all(|niceness| *niceness == expected),
                "{readers:?}"
            );
            assert!(workers.stop(true, || ()));
        }
    }

    #[test]
    fn what_runs_is_finished_before_the_end() {
        let (workers, path, _folder) = start(2);
        let asked = path.clone();
        let client = thread::spawn(move || ask(&asked, "/slow"));
        thread::sleep(Duration::from_millis(100));
        assert!(workers.stop(true, || ()));
        assert!(client.join().unwrap().starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn the_request_that_proves_a_connection_is_answered_without_a_route() {
        let (workers, path, _folder) = start(1);
        let mut stream = UnixStream::connect(&path).unwrap();
        write!(stream, "GET / HTTP/1.1\r\n{PROBE_HEADER}: 1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "HTTP/1.1 204 No Content\r\n\r\n");
        assert!(workers.stop(true, || ()));
    }
}
