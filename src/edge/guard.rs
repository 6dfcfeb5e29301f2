//! A running guard: its listener, its pools, and how it ends.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use socket2::{SockAddr, Socket};

use super::addresses::{Addresses, Entered};
use super::assembly::Chooser;
use super::budget::Budget;
use super::buffers::Shelf;
use super::connection::Connection;
use super::counters::{Counters, Sample, count};
use super::idle;
use super::limits::EdgeLimits;
use super::listener::{ListenAddress, listen};
use super::pool::{Pool, QueueLimits};
use super::private::PrivateDoor;
use super::refusal::Refusal;
use super::registry::{Client, Registered, Registry};
use super::riser::Riser;
use super::standby::Standby;
use crate::fairness::step_back;
use crate::limits::edge::{
    ACCEPT_PAUSE, ANSWER_BYTES_HELD_MAX, BODY_BYTES_HELD_MAX, CONNECTION_STACK_BYTES, DESCRIPTORS_RESERVED,
};
use crate::outlets::{Outlets, Owner};

/// Connections of a process that may open few descriptors, at least.
const CONNECTIONS_MIN: usize = 16;

/// Makes the answer to what was refused: to whom, and whether with a body.
pub type Refuser = dyn Fn(&Refusal, IpAddr, bool) -> Vec<u8> + Send + Sync;

/// One pool of workers behind a private listener.
pub struct PoolPlan {
    /// Its name in metrics.
    pub name: &'static str,
    /// The way to its private listener.
    pub door: Arc<PrivateDoor>,
    /// Workers behind it.
    pub workers: usize,
    /// Whether its answers may take long, so that clients that leave are to be noticed meanwhile.
    pub is_long: bool,
}

/// What a guard is made of.
pub struct GuardParts {
    /// Where it listens.
    pub address: ListenAddress,
    /// What it lets in.
    pub limits: EdgeLimits,
    /// Who answers; the chooser gives places in this list.
    pub pools: Vec<PoolPlan>,
    /// Which pool answers a method and a target.
    pub chooser: Arc<Chooser>,
    /// How refusals are said.
    pub refuse: Arc<Refuser>,
    /// Where sockets are offered to whoever answers.
    pub outlets: Arc<Outlets>,
    /// Addresses that speak for many clients, so that the limit of one address is not theirs.
    pub is_exempt: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// By how much connections, and what opens and ends them, stand back on the processors (`nice`) until it is known
    /// who asks.
    pub strangers_niceness: i32,
}

/// A pool that is open.
pub(super) struct OpenPool {
    pub(super) name: &'static str,
    pub(super) pool: Arc<Pool>,
    pub(super) is_long: bool,
}

/// What all connections of a guard share.
pub(super) struct Shared {
    pub(super) limits: EdgeLimits,
    pub(super) pools: Vec<OpenPool>,
    pub(super) chooser: Arc<Chooser>,
    pub(super) refuse: Arc<Refuser>,
    pub(super) is_exempt: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    pub(super) counters: Counters,
    pub(super) registry: Arc<Registry>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) bodies: Arc<Budget>,
    pub(super) answers: Arc<Budget>,
    pub(super) shelf: Shelf,
    pub(super) outlets: Arc<Outlets>,
    /// Where connections of customers go on; none where they do not differ from those of strangers.
    pub(super) riser: Option<Riser>,
    stopping: AtomicBool,
}

/// A guard that listens.
pub struct Guard {
    address: ListenAddress,
    listener: Arc<Socket>,
    shared: Arc<Shared>,
    acceptor: JoinHandle<()>,
    idle_watch: JoinHandle<()>,
    riser: Option<JoinHandle<()>>,
    keepers: Vec<JoinHandle<()>>,
}

impl Guard {
    /// Opens the private connections, then listens.
    pub fn start(parts: GuardParts) -> io::Result<Self> {
        let (listener, address) = listen(&parts.address)?;
        let mut limits = parts.limits;
        limits.connections = limits.connections.min(connections_possible(limits.connections));
        let queue = QueueLimits {
            wait: limits.queue_wait,
            length: limits.queue_length,
            answer_wait: limits.answer_wait,
        };
        let mut pools = Vec::with_capacity(parts.pools.len());
        let mut keepers = Vec::with_capacity(parts.pools.len());
        for plan in parts.pools {
            let (pool, keeper) = Pool::open(plan.name, plan.door, plan.workers, queue)?;
            pools.push(OpenPool { name: plan.name, pool, is_long: plan.is_long });
            keepers.push(keeper);
        }
        let (riser, riser_thread) =
            if parts.strangers_niceness == 0 { None } else { Some(Riser::start()?) }.unzip();
        let shared = Arc::new(Shared {
            limits,
            pools,
            chooser: parts.chooser,
            refuse: parts.refuse,
            is_exempt: parts.is_exempt,
            counters: Counters::default(),
            registry: Arc::default(),
            addresses: Arc::default(),
            bodies: Budget::new(BODY_BYTES_HELD_MAX),
            answers: Budget::new(ANSWER_BYTES_HELD_MAX),
            shelf: Shelf::default(),
            outlets: parts.outlets,
            riser,
            stopping: AtomicBool::new(false),
        });
        let listener = Arc::new(listener);
        let (accepting, with) = (Arc::clone(&listener), Arc::clone(&shared));
        let acceptor = start_behind(parts.strangers_niceness, "accept", move || accept(&accepting, &with))?;
        let (registry, limit) = (Arc::clone(&shared.registry), shared.limits.idle_time);
        let idle_watch =
            start_behind(parts.strangers_niceness, "idle-watch", move || idle::watch(&registry, limit))?;
        Ok(Self { address, listener, shared, acceptor, idle_watch, riser: riser_thread, keepers })
    }

    /// Where it listens.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Gives what is counted, also after the guard itself has ended.
    pub fn sampler(&self) -> impl Fn() -> Vec<Sample> + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.samples()
    }

    /// Accepts no further connection, and of those that are open no request that was not sent before.
    pub fn stop_accepting(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor; a listener that is shut down already is no fault.
        drop(self.listener.shutdown(Shutdown::Both));
        self.shared.registry.stop();
        self.idle_watch.thread().unpark();
    }

    /// Waits until every request that runs is answered, at most until `deadline`. Says whether all of them were.
    pub fn drain(self, deadline: Instant) -> bool {
        self.stop_accepting();
        drop(self.acceptor.join());
        drop(self.idle_watch.join());
        if let Some(riser) = &self.shared.riser {
            riser.end();
        }
        drop(self.riser.map(JoinHandle::join));
        drop(self.listener);
        let ended = self.shared.registry.drain(deadline);
        for open in &self.shared.pools {
            open.pool.close();
        }
        for keeper in self.keepers {
            drop(keeper.join());
        }
        ended
    }
}

impl Shared {
    fn samples(&self) -> Vec<Sample> {
        let mut samples = self.counters.samples();
        for open in &self.pools {
            let (size, free, waiting) = open.pool.standing();
            let label = format!("pool=\"{}\"", open.name);
            let gauges = [
                ("mercato_workers", "Workers of a pool.", size),
                ("mercato_workers_free", "Workers that have nothing to do.", free),
                ("mercato_requests_waiting", "Requests that wait for a worker.", waiting),
            ];
            samples.push(Sample {
                name: "mercato_private_replaced_total",
                help: "Private connections that were replaced.",
                is_counter: true,
                label: label.clone(),
                value: open.pool.replaced(),
            });
            samples.extend(gauges.map(|(name, help, value)| Sample {
                name,
                help,
                is_counter: false,
                label: label.clone(),
                value: u64::try_from(value).unwrap_or(u64::MAX),
            }));
        }
        samples
    }
}

/// Starts a thread that stands back by so much, and with it all that it starts.
fn start_behind(
    niceness: i32,
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        if niceness != 0 {
            step_back(niceness);
        }
        work();
    })
}

/// How many connections fit below the limit of descriptors, which is raised for them as far as it goes.
fn connections_possible(wanted: usize) -> usize {
    let wanted = u64::try_from(wanted.saturating_add(DESCRIPTORS_RESERVED)).unwrap_or(u64::MAX);
    let allowed = usize::try_from(raise_descriptor_limit(wanted)).unwrap_or(usize::MAX);
    // Where there are few, connections get half of them.
    allowed.saturating_sub(DESCRIPTORS_RESERVED.min(allowed / 2)).max(CONNECTIONS_MIN)
}

/// Raises the number of descriptors that this process may open to `wanted`, as far as it goes; gives what it is then.
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

/// Accepts until the end. A failure, for instance for want of descriptors, is waited out.
fn accept(listener: &Socket, shared: &Arc<Shared>) {
    while !shared.stopping.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((socket, peer)) => admit(socket, &peer, shared),
            Err(_) if shared.stopping.load(Ordering::SeqCst) => return,
            Err(error) => {
                count(&shared.counters.accept_errors);
                tracing::warn!(%error, "a connection cannot be accepted");
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

/// Starts the thread of a connection that is let in.
fn admit(socket: Socket, peer: &SockAddr, shared: &Arc<Shared>) {
    count(&shared.counters.accepted);
    let address = peer.as_socket().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
    let standby = Standby::new(&shared.registry);
    let owner: Arc<dyn Owner> = Arc::clone(&standby) as _;
    let outlet = shared.outlets.open(socket, Arc::clone(&shared.counters.bytes_out), Some(owner));
    let client = Client::new(outlet, address, standby);
    if shared.registry.count() >= shared.limits.connections {
        return turn_away(&client, &Refusal::ConnectionsFull, shared);
    }
    let limit = match shared.limits.connections_per_address {
        0 => usize::MAX,
        _ if (shared.is_exempt)(address) => usize::MAX,
        limit => limit,
    };
    let Some(entered) = shared.addresses.enter(address, limit) else {
        return turn_away(&client, &Refusal::AddressFull, shared);
    };
    if client.socket().set_write_timeout(Some(shared.limits.write_time)).is_err() {
        return;
    }
    let open =
        Open { registered: shared.registry.enter(Arc::clone(&client)), entered, shared: Arc::clone(shared) };
    shared.counters.open.fetch_add(1, Ordering::Relaxed);
    let served = Arc::clone(&client);
    let builder = thread::Builder::new().name("connection".to_owned()).stack_size(CONNECTION_STACK_BYTES);
    let spawned = builder.spawn(move || {
        let shared = Arc::clone(&open.shared);
        Connection::new(served, shared).run(open);
    });
    if spawned.is_err() {
        turn_away(&client, &Refusal::ConnectionsFull, shared);
    }
}

/// Everything that says that a connection is open; it ends with this.
pub(super) struct Open {
    #[expect(dead_code, reason = "held until the connection ends")]
    registered: Registered,
    #[expect(dead_code, reason = "held until the connection ends")]
    entered: Entered,
    shared: Arc<Shared>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Says no without waiting for anything.
fn turn_away(client: &Client, refusal: &Refusal, shared: &Shared) {
    shared.counters.refuse(refusal);
    let answer = (shared.refuse)(refusal, client.address, true);
    if client.socket().set_write_timeout(Some(Duration::from_millis(1))).is_ok() {
        // A client that does not take it now is only disconnected.
        drop(super::relay::send_answer(client, &answer, false, shared));
    }
    drop(client.socket().shutdown(Shutdown::Write));
}
