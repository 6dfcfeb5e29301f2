//! A listener that runs: made, started, stopped, drained.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::unix::SourceFd;
use mio::{Interest, Poll, Waker};
use rustix::process::{Resource, getrlimit, setrlimit};
use socket2::Socket;

use crate::body_memory::BodyMemory;
use crate::budget::Budget;
use crate::class::{Class, Stop};
use crate::connection::addresses::Addresses;
use crate::connection::connections::Connections;
use crate::connection::deadlines::Deadlines;
use crate::connection::listener::{ListenAddress, listen};
use crate::connection::{Context, Refuser};
use crate::counters::Counters;
use crate::event_loop::{EventLoop, LANE, LISTENER, WAKER};
use crate::fair_queue::FairQueue;
use crate::limits::{DESCRIPTORS_RESERVED, NetLimits, REMAINING_BYTES_HELD_MAX};
use crate::parse::request_parser::Classifier;
use crate::workers::lane::Lane;
use crate::workers::private::PrivateAddress;
use crate::workers::slots::{Completion, Slots};
use mercato_base::sample::Sample;

/// Connections of a process that may open few descriptors, at least.
const CONNECTIONS_MIN: usize = 16;
/// Memory of the large request bodies of all clients; one client has at most a half of it (`body_memory.rs`).
const BODY_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
/// Bytes read at a time from a connection whose bytes are dropped.
const LINGER_READ_BYTES: usize = 64 * 1024;
/// Stop requests in the channel to the event loop.
const STOPS_MAX: usize = 16;
/// Deferred responses of one class: they wait for their charge to become durable without a worker. They are rendered,
/// so this bounds their memory.
const DEFERRED_RESPONSES_MAX: usize = 48;

/// Workers of one kind.
#[derive(Debug, Clone, Copy)]
pub struct ClassPlan {
    /// Their name in metrics.
    pub name: &'static str,
    /// How many of its requests may be in service at one time.
    pub workers: usize,
}

impl ClassPlan {
    /// Its slots: for requests with a worker, and for responses that wait for a charge.
    const fn slots(&self) -> usize {
        self.workers.saturating_add(DEFERRED_RESPONSES_MAX)
    }
}

/// Callbacks about requests.
pub struct NetParts {
    /// The private address on which tiny_http listens.
    pub upstream: PrivateAddress,
    /// Determines class and client.
    pub classifier: Arc<Classifier>,
    /// Renders refusals.
    pub refuse: Arc<Refuser>,
    /// Maps an address to the one under which its connections are counted; `None` for a trusted proxy, which has no
    /// limit.
    pub counted_as: Arc<CountedAs>,
}

/// Maps an address to the one under which its connections are counted.
pub type CountedAs = dyn Fn(IpAddr) -> Option<IpAddr> + Send + Sync;

/// A listener with address and slots that does not accept yet.
pub struct Bound {
    poll: Poll,
    listener: Socket,
    address: ListenAddress,
    limits: NetLimits,
    classes: Vec<ClassPlan>,
    slots: Arc<Slots>,
    completions: Receiver<Completion>,
}

impl Bound {
    /// Takes the address.
    ///
    /// # Errors
    /// Fails where the address cannot be had.
    pub fn new(address: &ListenAddress, mut limits: NetLimits, classes: Vec<ClassPlan>) -> io::Result<Self> {
        let (listener, address) = listen(address)?;
        listener.set_nonblocking(true)?;
        limits.connections = limits.connections.min(connections_possible(limits.connections));
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let counters = Arc::new(Counters::new(&classes));
        let count = classes.iter().map(ClassPlan::slots).sum();
        let budget = Budget::new(REMAINING_BYTES_HELD_MAX);
        let (slots, completions) = Slots::new(count, waker, budget, counters, limits.write_time);
        Ok(Self { poll, listener, address, limits, classes, slots, completions })
    }

    /// The slots from which workers claim the sockets of clients.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Opens the lane to the running workers and begins to accept.
    ///
    /// # Errors
    /// When the private address has no listener, or a thread cannot be started.
    pub fn start(self, parts: NetParts) -> io::Result<NetServer> {
        let Self { poll, listener, address, limits, classes, slots, completions } = self;
        let upstream = Arc::new(parts.upstream);
        let lane = Lane::open(Arc::clone(&upstream), poll.registry(), LANE)?;
        poll.registry().register(&mut SourceFd(&listener.as_raw_fd()), LISTENER, Interest::READABLE)?;
        let (stops, received) = bounded(STOPS_MAX);
        let mut count = 0_usize;
        let mut class_of = |plan: ClassPlan| {
            let first = count;
            count = count.saturating_add(plan.slots());
            let queue = FairQueue::new(limits.queue_length, plan.workers);
            let free = (first..count).collect();
            Class { queue, free, workers: plan.workers }
        };
        let classes = classes.into_iter().map(&mut class_of).collect();
        let event_loop = EventLoop {
            poll,
            listener: Some(listener),
            connections: Connections::default(),
            refused: 0,
            classes,
            services: vec![None; count],
            slots: Arc::clone(&slots),
            completions,
            stops: received,
            lane,
            deadlines: Deadlines::new(),
            again: Vec::new(),
            addresses: Addresses::default(),
            bodies: BodyMemory::new(BODY_BYTES_HELD_MAX),
            classifier: parts.classifier,
            counted_as: parts.counted_as,
            context: Context {
                limits,
                counters: Arc::clone(&slots.counters),
                refuse: parts.refuse,
                scratch: vec![0; LINGER_READ_BYTES],
                now: Instant::now(),
                stopping_since: None,
            },
            accept_from: Some(Instant::now()),
            drained_by: None,
        };
        let thread = thread::Builder::new().name("net".to_owned()).spawn(move || run(event_loop))?;
        Ok(NetServer { address, thread, stops, slots, upstream })
    }
}

/// A listener that accepts.
pub struct NetServer {
    address: ListenAddress,
    thread: JoinHandle<bool>,
    stops: Sender<Stop>,
    slots: Arc<Slots>,
    upstream: Arc<PrivateAddress>,
}

impl NetServer {
    /// The bound address.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// A source of metrics that outlives the server.
    pub fn sampler(&self) -> impl Fn() -> Vec<Sample> + Send + Sync + 'static {
        let counters = Arc::clone(&self.slots.counters);
        move || counters.samples()
    }

    /// Accepts no further connection. Each open one is closed after its next answer, or after a second without a request.
    pub fn stop_accepting(&self) {
        self.tell(Stop { drained_by: None });
    }

    /// Waits until every running request is answered, at most until `deadline`. Returns whether all were, and the
    /// address of tiny_http, which ends next.
    pub fn drain(self, deadline: Instant) -> (bool, Arc<PrivateAddress>) {
        self.tell(Stop { drained_by: Some(deadline) });
        (matches!(self.thread.join(), Ok(true)), self.upstream)
    }

    fn tell(&self, stop: Stop) {
        // The receiver is gone only when the event loop has ended.
        drop(self.stops.send(stop));
        self.slots.wake();
    }
}

/// Runs to the end. An abandoned listener looks healthy from outside, so the process exits when the event loop fails,
/// and its supervisor restarts it.
fn run(event_loop: EventLoop) -> bool {
    match catch_unwind(AssertUnwindSafe(|| event_loop.run())) {
        Ok(Ok(ended)) => return ended,
        Ok(Err(error)) => tracing::error!(%error, "the event loop cannot wait for events"),
        Err(_) => tracing::error!("the event loop panicked"),
    }
    std::process::abort()
}

/// How many connections fit below the limit of descriptors, which is raised for them as far as it goes.
fn connections_possible(wanted: usize) -> usize {
    let wanted = u64::try_from(wanted.saturating_add(DESCRIPTORS_RESERVED)).unwrap_or(u64::MAX);
    let allowed = usize::try_from(raise_descriptor_limit(wanted)).unwrap_or(usize::MAX);
    // If the system allows few descriptors, connections get half of them.
    allowed.saturating_sub(DESCRIPTORS_RESERVED.min(allowed / 2)).max(CONNECTIONS_MIN)
}

/// Raises the limit of open descriptors to `wanted`, as far as allowed, and returns the new limit.
pub fn raise_descriptor_limit(wanted: u64) -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    if let Some(current) = limit.current.filter(|current| *current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)).max(current));
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "the limit of file descriptors cannot be raised");
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
