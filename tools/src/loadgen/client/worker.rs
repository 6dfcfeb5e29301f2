//! A worker thread: sends requests over its connections when they are due, and counts the results.
//!
//! Does not depend on the contents or framing of requests.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::loadgen::client::connection::{Connection, InFlight, Outcome, ThreadContext};
use crate::loadgen::client::poller::{self, Events, Poller};
use crate::loadgen::client::schedule::{Next, Shared, Tickets, nanos};
use crate::loadgen::random::Random;
use crate::loadgen::requests::mix::Mix;
use crate::loadgen::results::tally::{FailureKind, Tally};

/// Size of the read buffer, bytes.
pub const READ_BYTES: usize = 256 * 1024;
/// Delay before a failed connect is retried.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);
/// Consecutive failed connects after which a connection is abandoned.
const CONNECT_FAILURE_COUNT_MAX: u32 = 50;
/// Interval of the checks for timeouts and for the end of the run.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Changes the seed for the warm-up, so that it draws other numbers.
const WARM_UP_SEED: u64 = 0x6d65_7263_6174_6f00;

pub struct Worker {
    pub context: ThreadContext,
    pub tickets: Tickets,
    pub shared: Arc<Shared>,
    pub mix: Mix,
    pub seed: u64,
    pub timeout: Duration,
    connections: Vec<WorkerConnection>,
    idle: VecDeque<usize>,
    /// Connections that wait for a retry, by its time.
    resting: VecDeque<(u64, usize)>,
    /// The time to which the timer is set.
    armed: u64,
    busy: usize,
    gone: usize,
    result: WorkerResult,
}

/// A connection and its number of consecutive failed connects.
struct WorkerConnection {
    connection: Connection,
    connect_failures: u32,
}

pub struct WorkerResult {
    pub tallies: Vec<Tally>,
    /// Requests that were due but never sent.
    pub unsent: u64,
    pub opened: u64,
    /// Abandoned connections.
    pub gone: usize,
    /// End of the last counted request, nanoseconds since the start.
    pub last_end: u64,
}

impl Worker {
    pub fn new(
        context: ThreadContext,
        tickets: Tickets,
        shared: Arc<Shared>,
        mix: Mix,
        (seed, timeout, connections): (u64, Duration, usize),
    ) -> io::Result<Worker> {
        let tallies =
            context.works.iter().map(|_| Tally::new()).collect::<Result<_, _>>().map_err(io::Error::other)?;
        let slot = |token: usize| WorkerConnection {
            connection: Connection::new(token as u64),
            connect_failures: 0,
        };
        Ok(Worker {
            context,
            tickets,
            shared,
            mix,
            seed,
            timeout,
            connections: (0..connections).map(slot).collect(),
            idle: (0..connections).collect(),
            resting: VecDeque::with_capacity(connections),
            armed: u64::MAX,
            busy: 0,
            gone: 0,
            result: WorkerResult { tallies, unsent: 0, opened: 0, gone: 0, last_end: 0 },
        })
    }

    /// Runs until the schedule ends.
    pub fn run(mut self) -> io::Result<WorkerResult> {
        let mut events = Poller::events();
        let mut next_check = 0;
        loop {
            let now = self.context.now();
            if now >= next_check {
                self.check(now);
                next_check = now + nanos(CHECK_INTERVAL);
            }
            let due = self.dispatch();
            let over = due == Next::Over || self.gone == self.connections.len();
            if over && self.busy == 0 {
                break;
            }
            self.arm_timer(due)?;
            self.context.poller.wait(&mut events, CHECK_INTERVAL)?;
            self.serve(&events);
        }
        let now = self.context.now();
        self.result.unsent = self.tickets.unsent(now);
        self.result.opened = self.context.opened;
        self.result.gone = self.gone;
        Ok(self.result)
    }

    /// Sets the timer for the next request of an open loop, if a connection is idle.
    fn arm_timer(&mut self, due: Next) -> io::Result<()> {
        let Next::At(moment) = due else { return Ok(()) };
        let wait = moment.saturating_sub(self.context.now());
        if moment == self.armed || self.idle.is_empty() || wait >= nanos(CHECK_INTERVAL) {
            return Ok(());
        }
        self.armed = moment;
        self.context.poller.wake_after(Duration::from_nanos(wait))
    }

    /// Sends due requests over idle connections. Returns the next action.
    fn dispatch(&mut self) -> Next {
        while let Some(&token) = self.idle.front() {
            let ticket = match self.tickets.next(self.context.now()) {
                Next::Now(ticket) => ticket,
                next => return next,
            };
            self.idle.pop_front();
            let seed = if ticket.measured { self.seed } else { self.seed ^ WARM_UP_SEED };
            let mut random = Random::of(seed, ticket.index);
            let work = self.mix.draw(&mut random);
            let Some(slot) = self.connections.get_mut(token) else { continue };
            self.busy += 1;
            let outcome = slot.connection.begin(work, ticket, &mut random, &mut self.context);
            self.record_outcome(token, outcome);
        }
        // No connection is idle: the next completed request dispatches again.
        Next::At(u64::MAX)
    }

    fn serve(&mut self, events: &Events) {
        for event in events {
            let Some(token) = poller::token(event) else {
                self.armed = u64::MAX;
                continue;
            };
            let Some(slot) = self.connections.get_mut(token) else { continue };
            let outcome = slot.connection.on_ready(&mut self.context);
            if !matches!(outcome, Outcome::Waiting) {
                self.record_outcome(token, outcome);
                self.dispatch();
            }
        }
    }

    /// Fails requests after their timeout, and retries connections after their delay.
    fn check(&mut self, now: u64) {
        while let Some((_, token)) = self.resting.front().copied().filter(|(until, _)| *until <= now) {
            self.resting.pop_front();
            self.idle.push_back(token);
        }
        for token in 0..self.connections.len() {
            let Some(slot) = self.connections.get_mut(token) else { continue };
            let late = slot
                .connection
                .in_flight()
                .is_some_and(|in_flight| now.saturating_sub(in_flight.taken) > nanos(self.timeout));
            if late {
                let outcome = slot.connection.time_out(self.timeout);
                self.record_outcome(token, outcome);
            }
        }
    }

    fn record_outcome(&mut self, token: usize, outcome: Outcome) {
        let Some(slot) = self.connections.get_mut(token) else { return };
        let (in_flight, failure) = match outcome {
            Outcome::Waiting => return,
            Outcome::Good(in_flight, bytes, times) => {
                if let Some(tally) =
                    self.result.tallies.get_mut(in_flight.work).filter(|_| in_flight.ticket.measured)
                {
                    tally.succeed(bytes, times);
                }
                (in_flight, None)
            }
            Outcome::Failed(in_flight, kind) => {
                if let Some(tally) =
                    self.result.tallies.get_mut(in_flight.work).filter(|_| in_flight.ticket.measured)
                {
                    tally.fail(kind, || slot.connection.sample(kind));
                }
                (in_flight, Some(kind))
            }
        };
        let unreachable = failure == Some(FailureKind::Connect);
        slot.connect_failures = if unreachable { slot.connect_failures + 1 } else { 0 };
        let gone = slot.connect_failures >= CONNECT_FAILURE_COUNT_MAX;
        self.busy -= 1;
        self.count_end(&in_flight);
        match (unreachable, gone) {
            (false, _) => self.idle.push_back(token),
            (true, false) => self.resting.push_back((self.context.now() + nanos(RECONNECT_DELAY), token)),
            (true, true) => self.gone += 1,
        }
    }

    fn count_end(&mut self, in_flight: &InFlight) {
        if in_flight.ticket.measured {
            self.shared.ended.fetch_add(1, Ordering::Relaxed);
            self.result.last_end = self.context.now();
        }
    }
}
