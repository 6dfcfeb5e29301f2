//! One thread of a run: hands requests to its connections as they fall due, and counts what comes of them.
//!
//! Knows neither what a request says nor how bytes are framed.

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

/// Bytes that are read at one time.
pub(in crate::loadgen) const READ_BYTES: usize = 256 * 1024;
/// How long a connection rests that could not be opened.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);
/// Connections in a row that could not be opened, after which no more are tried.
const CONNECT_FAILURE_COUNT_MAX: u32 = 50;
/// How often it is looked for requests that take too long and for the end of the run.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The seed of the warm-up differs from that of what counts, and is as fixed.
const WARM_UP_SEED: u64 = 0x6d65_7263_6174_6f00;

/// A thread and its connections.
pub(in crate::loadgen) struct Worker {
    pub(in crate::loadgen) context: ThreadContext,
    pub(in crate::loadgen) tickets: Tickets,
    pub(in crate::loadgen) shared: Arc<Shared>,
    pub(in crate::loadgen) mix: Mix,
    pub(in crate::loadgen) seed: u64,
    pub(in crate::loadgen) timeout: Duration,
    connections: Vec<WorkerConnection>,
    idle: VecDeque<usize>,
    /// Connections that rest, and until when, in that order.
    resting: VecDeque<(u64, usize)>,
    /// The moment to which the timer is set.
    armed: u64,
    busy: usize,
    gone: usize,
    result: WorkerResult,
}

/// A connection and how often in a row it could not be opened.
struct WorkerConnection {
    connection: Connection,
    connect_failures: u32,
}

/// What a thread found.
pub(in crate::loadgen) struct WorkerResult {
    /// By work.
    pub(in crate::loadgen) tallies: Vec<Tally>,
    /// Requests that were due and were never sent.
    pub(in crate::loadgen) unsent: u64,
    /// Connections that were opened.
    pub(in crate::loadgen) opened: u64,
    /// Connections that could not be opened again and again, until they were given up.
    pub(in crate::loadgen) gone: usize,
    /// When the last request that counts ended, in nanoseconds since the beginning.
    pub(in crate::loadgen) last_end: u64,
}

impl Worker {
    pub(in crate::loadgen) fn new(
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

    /// Runs to the end.
    pub(in crate::loadgen) fn run(mut self) -> io::Result<WorkerResult> {
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

    /// Sets the timer to the next request of an open loop, where a connection is free for it.
    fn arm_timer(&mut self, due: Next) -> io::Result<()> {
        let Next::At(moment) = due else { return Ok(()) };
        let wait = moment.saturating_sub(self.context.now());
        if moment == self.armed || self.idle.is_empty() || wait >= nanos(CHECK_INTERVAL) {
            return Ok(());
        }
        self.armed = moment;
        self.context.poller.wake_after(Duration::from_nanos(wait))
    }

    /// Gives what is due to connections that have nothing to do; what to do next.
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
        // All are at work: the first that is done asks again.
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

    /// Ends what takes too long, and wakes what has rested.
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
        self.busy = self.busy.saturating_sub(1);
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
