//! The load generator: sends requests to a server and measures latency and throughput. In a closed loop, each response
//! is followed by the next request at once. In an open loop, requests have a fixed rate, independent of the responses.
//!
//! Depends on HTTP only, not on datasets or internals of the server.

pub mod client;
mod random;
pub mod requests;
pub mod results;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use client::connection::ThreadContext;
use client::poller::Poller;
use client::schedule::{Plan, Shared, Tickets, nanos};
use client::target::Target;
use client::worker::{READ_BYTES, Worker, WorkerResult};
use mercato_net::raise_descriptor_limit;
use requests::mix::Mix;
use requests::prepared_work::PreparedWork;
use results::process::{ProcessMonitor, ProcessUse};
use results::tally::Tally;

use crate::failure::Failure;
use crate::progress;

/// Connections of a run.
pub const CONNECTION_COUNT_MAX: usize = 10_000;
/// Threads of a run.
pub const THREAD_COUNT_MAX: usize = 64;
/// Highest rate of an open loop, requests a second.
pub const RATE_MAX: f64 = 1e6;
/// Longest run and longest warm-up, in seconds: a day.
pub const SECONDS_MAX: u64 = 86_400;
/// Requests of a run.
pub const REQUEST_COUNT_MAX: u64 = 1_000_000_000;
/// Interval of progress updates and of memory samples.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// File descriptors besides those of connections.
const DESCRIPTORS_RESERVED: u64 = 64;

#[derive(Debug, Clone)]
pub struct Load {
    /// Requests a second of an open loop; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Connections, at least one for each thread.
    pub connections: usize,
    pub threads: usize,
    /// Duration of the warm-up, whose requests are not counted.
    pub warm_up: Duration,
    pub duration: Option<Duration>,
    /// Most counted requests.
    pub requests: Option<u64>,
    pub timeout: Duration,
    /// Seed of the random choices.
    pub seed: u64,
    /// The process of the server, whose resource usage is measured.
    pub server_pid: Option<u32>,
}

#[derive(Debug)]
pub struct Outcome {
    /// Counts by work, in the order of the works.
    pub tallies: Vec<Tally>,
    /// From the end of the warm-up to the end of the last request.
    pub elapsed: Duration,
    /// Requests of an open loop that were due but never sent.
    pub unsent: u64,
    /// Opened connections, including the warm-up.
    pub opened: u64,
    /// Abandoned connections.
    pub gone: usize,
    pub stopped: bool,
    pub server: Option<ProcessUse>,
    pub own: Option<ProcessUse>,
}

/// Runs the load to its end, or until `stop` is set.
pub fn run(
    load: &Load,
    target: Target,
    works: Vec<PreparedWork>,
    stop: Arc<AtomicBool>,
) -> Result<Outcome, Failure> {
    let failed = |action| Failure::io(Path::new("load generator"), action);
    let descriptors = load.connections as u64 + DESCRIPTORS_RESERVED;
    let allowed = raise_descriptor_limit(descriptors);
    if allowed < descriptors {
        return Err(Failure::Usage(format!(
            "--connections {}: this process may open {allowed} descriptors; raise the limit with `ulimit -n {descriptors}`",
            load.connections
        )));
    }
    let mut monitors = ResourceMonitors::new(load.server_pid)?;
    let shared = Arc::new(Shared::new(stop));
    let began = Instant::now();
    let plan = plan_of(load);
    let threads =
        start(load, &plan, began, target, &works.into(), &shared).map_err(failed("start threads of"))?;
    let warm = Duration::from_nanos(plan.warm_until);
    watch(load, &threads, &shared, began + warm, &mut monitors);
    let mut outcome = Outcome {
        tallies: Vec::new(),
        elapsed: Duration::ZERO,
        unsent: 0,
        opened: 0,
        gone: 0,
        stopped: shared.stop.load(Ordering::Relaxed),
        server: None,
        own: None,
    };
    let mut last_end = plan.warm_until;
    for thread in threads {
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of it panicked")));
        let result = ended.map_err(failed("run"))?;
        last_end = last_end.max(result.last_end);
        outcome.add(&result).map_err(|error| failed("add up")(io::Error::other(error)))?;
    }
    // A run that used its full duration lasted that long, even if its last request ended earlier.
    let counted = shared.ended.load(Ordering::Relaxed);
    let had_its_time =
        !outcome.stopped && outcome.gone == 0 && plan.requests.is_none_or(|most| counted < most);
    let end = plan.until.filter(|_| had_its_time).map_or(last_end, |until| last_end.max(until));
    outcome.elapsed = Duration::from_nanos(end - plan.warm_until);
    (outcome.own, outcome.server) = monitors.end();
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, result: &WorkerResult) -> Result<(), hdrhistogram::AdditionError> {
        self.unsent += result.unsent;
        self.opened += result.opened;
        self.gone += result.gone;
        if self.tallies.is_empty() {
            self.tallies.clone_from(&result.tallies);
            return Ok(());
        }
        self.tallies.iter_mut().zip(&result.tallies).try_for_each(|(sum, tally)| sum.add(tally))
    }
}

fn plan_of(load: &Load) -> Plan {
    let warm_until = nanos(load.warm_up);
    Plan {
        rate: load.rate,
        warm_until,
        until: load.duration.map(|duration| warm_until.saturating_add(nanos(duration))),
        requests: load.requests,
        threads: load.threads as u64,
    }
}

type Threads = Vec<JoinHandle<io::Result<WorkerResult>>>;

fn start(
    load: &Load,
    plan: &Plan,
    began: Instant,
    target: Target,
    works: &Arc<[PreparedWork]>,
    shared: &Arc<Shared>,
) -> io::Result<Threads> {
    let (target, mix) = (Arc::new(target), Mix::new(works.iter().map(|work| work.weight)));
    let mut workers = Vec::new();
    for thread in 0..load.threads {
        let context = ThreadContext {
            poller: Poller::new()?,
            target: Arc::clone(&target),
            works: Arc::clone(works),
            began,
            buffer: vec![0; READ_BYTES],
            room: Vec::new(),
            opened: 0,
        };
        let tickets = Tickets::new(plan.clone(), Arc::clone(shared), thread as u64);
        // The first threads get the remainder.
        let connections =
            load.connections / load.threads + usize::from(thread < load.connections % load.threads);
        let bounds = (load.seed, load.timeout, connections);
        workers.push(Worker::new(context, tickets, Arc::clone(shared), mix.clone(), bounds)?);
    }
    let spawn = |(number, worker): (usize, Worker)| {
        thread::Builder::new().name(format!("load-{number}")).spawn(move || worker.run())
    };
    let mut threads = Vec::new();
    for worker in workers.into_iter().enumerate() {
        match spawn(worker) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    }
    Ok(threads)
}

/// Monitors the resource usage of this program and of the server.
struct ResourceMonitors {
    own: ProcessMonitor,
    server: Option<ProcessMonitor>,
}

impl ResourceMonitors {
    fn new(server: Option<u32>) -> Result<ResourceMonitors, Failure> {
        let of = |process| {
            ProcessMonitor::new(process)
                .ok_or_else(|| Failure::Usage(format!("--server-pid: there is no process {process}")))
        };
        Ok(ResourceMonitors { own: of(std::process::id())?, server: server.map(of).transpose()? })
    }

    fn each(&mut self, act: impl Fn(&mut ProcessMonitor)) {
        std::iter::once(&mut self.own).chain(&mut self.server).for_each(act);
    }

    fn end(&self) -> (Option<ProcessUse>, Option<ProcessUse>) {
        (self.own.used(), self.server.as_ref().and_then(ProcessMonitor::used))
    }
}

/// Shows the progress of the run until its threads end.
fn watch(
    load: &Load,
    threads: &Threads,
    shared: &Shared,
    warm_until: Instant,
    monitors: &mut ResourceMonitors,
) {
    let bar = match (load.requests, load.duration) {
        (Some(requests), _) => progress::bar("load", requests, "requests"),
        (None, duration) => progress::bar("load", duration.unwrap_or_default().as_secs().max(1), "s"),
    };
    let mut warm = false;
    loop {
        let until_warm = warm_until.saturating_duration_since(Instant::now());
        if !warm && until_warm.is_zero() {
            warm = true;
            monitors.each(ProcessMonitor::begin);
        }
        let ended = shared.ended.load(Ordering::Relaxed);
        bar.set_position(match load.requests {
            Some(_) => ended,
            None => warm_until.elapsed().as_secs(),
        });
        bar.set_message(if warm { format!("load, {ended} requests") } else { "warm-up".to_owned() });
        monitors.each(ProcessMonitor::sample);
        if threads.iter().all(JoinHandle::is_finished) {
            break;
        }
        thread::sleep(if warm {
            PROGRESS_INTERVAL
        } else {
            until_warm.clamp(Duration::from_micros(1), PROGRESS_INTERVAL)
        });
    }
    monitors.each(ProcessMonitor::finish);
    bar.finish_and_clear();
}
