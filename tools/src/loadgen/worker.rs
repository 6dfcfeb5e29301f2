//! One thread of a run: hands requests to its connections as they fall due, and counts what comes of them.
//!
//! Knows neither what a request says nor how bytes are framed.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::connection::{Connection, Job, Outcome, Surroundings};
use super::mix::Mix;
use super::poller::{self, Events, Poller};
use super::random::Random;
use super::schedule::{Next, Shared, Tickets, nanos};
use super::tally::{FailureKind, Tally};

/// Bytes that are read at one time.
pub(super) const READ_BYTES: usize = 256 * 1024;
/// How long a connection rests that could not be opened.
const REST: Duration = Duration::from_millis(100);
/// Connections in a row that could not be opened, after which no more are tried.
const CONNECT_FAILURE_COUNT_MAX: u32 = 50;
/// How often it is looked for requests that take too long and for the end of the run.
const TICK: Duration = Duration::from_millis(50);
/// The seed of the warm-up differs from that of what counts, and is as fixed.
const WARM_UP_SEED: u64 = 0x6d65_7263_6174_6f00;

/// A thread and its connections.
pub(super) struct Worker {
    pub(super) around: Surroundings,
    pub(super) tickets: Tickets,
    pub(super) shared: Arc<Shared>,
    pub(super) mix: Mix,
    pub(super) seed: u64,
    pub(super) timeout: Duration,
    connections: Vec<Line>,
    idle: VecDeque<usize>,
    /// Connections that rest, and until when, in that order.
    resting: VecDeque<(u64, usize)>,
    /// The moment to which the timer is set.
    armed: u64,
    busy: usize,
    gone: usize,
    finding: Finding,
}

/// A connection and how often in a row it could not be opened.
struct Line {
    connection: Connection,
    connect_failures: u32,
}

/// What a thread found.
pub(super) struct Finding {
    /// By work.
    pub(super) tallies: Vec<Tally>,
    /// Requests that were due and were never sent.
    pub(super) unsent: u64,
    /// Connections that were opened.
    pub(super) opened: u64,
    /// Connections that could not be opened again and again, until they were given up.
    pub(super) gone: usize,
    /// When the last request that counts ended, in nanoseconds since the beginning.
    pub(super) last_end: u64,
}

impl Worker {
    pub(super) fn new(
        around: Surroundings,
        tickets: Tickets,
        shared: Arc<Shared>,
        mix: Mix,
        (seed, timeout, connections): (u64, Duration, usize),
    ) -> io::Result<Worker> {
        let tallies =
            around.works.iter().map(|_| Tally::new()).collect::<Result<_, _>>().map_err(io::Error::other)?;
        let line = |token: usize| Line { connection: Connection::new(token as u64), connect_failures: 0 };
        Ok(Worker {
            around,
            tickets,
            shared,
            mix,
            seed,
            timeout,
            connections: (0..connections).map(line).collect(),
            idle: (0..connections).collect(),
            resting: VecDeque::with_capacity(connections),
            armed: u64::MAX,
            busy: 0,
            gone: 0,
            finding: Finding { tallies, unsent: 0, opened: 0, gone: 0, last_end: 0 },
        })
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> io::Result<Finding> {
        let mut events = Poller::events();
        let mut next_check = 0;
        loop {
            let now = self.around.now();
            if now >= next_check {
                self.check(now);
                next_check = now + nanos(TICK);
            }
            let due = self.hand_out();
            let over = due == Next::Over || self.gone == self.connections.len();
            if over && self.busy == 0 {
                break;
            }
            self.arm(due)?;
            self.around.poller.wait(&mut events, TICK)?;
            self.serve(&events);
        }
        let now = self.around.now();
        self.finding.unsent = self.tickets.unsent(now);
        self.finding.opened = self.around.opened;
        self.finding.gone = self.gone;
        Ok(self.finding)
    }

    /// Sets the timer to the next request of an open loop, where a connection is free for it.
    fn arm(&mut self, due: Next) -> io::Result<()> {
        let Next::At(moment) = due else { return Ok(()) };
        let wait = moment.saturating_sub(self.around.now());
        if moment == self.armed || self.idle.is_empty() || wait >= nanos(TICK) {
            return Ok(());
        }
        self.armed = moment;
        self.around.poller.wake_after(Duration::from_nanos(wait))
    }

    /// Gives what is due to connections that have nothing to do; what to do next.
    fn hand_out(&mut self) -> Next {
        while let Some(&token) = self.idle.front() {
            let ticket = match self.tickets.next(self.around.now()) {
                Next::Now(ticket) => ticket,
                next => return next,
            };
            self.idle.pop_front();
            let seed = if ticket.measured { self.seed } else { self.seed ^ WARM_UP_SEED };
            let mut random = Random::of(seed, ticket.index);
            let work = self.mix.draw(&mut random);
            let Some(line) = self.connections.get_mut(token) else { continue };
            self.busy += 1;
            let outcome = line.connection.begin(work, ticket, &mut random, &mut self.around);
            self.settle(token, outcome);
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
            let Some(line) = self.connections.get_mut(token) else { continue };
            let outcome = line.connection.turn(&mut self.around);
            if !matches!(outcome, Outcome::Waiting) {
                self.settle(token, outcome);
                self.hand_out();
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
            let Some(line) = self.connections.get_mut(token) else { continue };
            let late =
                line.connection.job().is_some_and(|job| now.saturating_sub(job.taken) > nanos(self.timeout));
            if late {
                let outcome = line.connection.give_up(self.timeout);
                self.settle(token, outcome);
            }
        }
    }

    fn settle(&mut self, token: usize, outcome: Outcome) {
        let Some(line) = self.connections.get_mut(token) else { return };
        let (job, failure) = match outcome {
            Outcome::Waiting => return,
            Outcome::Good(job, bytes, times) => {
                if let Some(tally) = self.finding.tallies.get_mut(job.work).filter(|_| job.ticket.measured) {
                    tally.succeed(bytes, times);
                }
                (job, None)
            }
            Outcome::Failed(job, kind) => {
                if let Some(tally) = self.finding.tallies.get_mut(job.work).filter(|_| job.ticket.measured) {
                    tally.fail(kind, || line.connection.sample(kind));
                }
                (job, Some(kind))
            }
        };
        let unreachable = failure == Some(FailureKind::Connect);
        line.connect_failures = if unreachable { line.connect_failures + 1 } else { 0 };
        let gone = line.connect_failures >= CONNECT_FAILURE_COUNT_MAX;
        self.busy = self.busy.saturating_sub(1);
        self.count_end(&job);
        match (unreachable, gone) {
            (false, _) => self.idle.push_back(token),
            (true, false) => self.resting.push_back((self.around.now() + nanos(REST), token)),
            (true, true) => self.gone += 1,
        }
    }

    fn count_end(&mut self, job: &Job) {
        if job.ticket.measured {
            self.shared.ended.fetch_add(1, Ordering::Relaxed);
            self.finding.last_end = self.around.now();
        }
    }
}
