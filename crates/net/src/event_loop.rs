//! The event loop: one thread that owns the listener, all client connections, their deadlines and the queue for workers.
//!
//! An iteration has a fixed order: events, completions, connections, requests to workers, the lane, deadlines, new connections.
//! Nothing in it blocks, and nothing it owns is locked. Does not depend on routes or accounts.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use mio::unix::SourceFd;
use mio::{Events, Poll, Token};
use socket2::Socket;

use crate::body_memory::BodyMemory;
use crate::class::{Class, Service, Stop};
use crate::connection::addresses::Addresses;
use crate::connection::connections::Connections;
use crate::connection::deadlines::Deadlines;
use crate::connection::{Context, Verdict};
use crate::counters::count;
use crate::fair_queue::Client;
use crate::parse::request_parser::{Classifier, Request};
use crate::refusal::Refusal;
use crate::server::CountedAs;
use crate::workers::lane::Lane;
use crate::workers::slots::{AbortReason, Assignment, Completion, Outcome, RequestFacts, Slots};

/// Longest sleep of the event loop while requests are in service, because most completions do not wake it.
const COMPLETIONS_PAUSE: Duration = Duration::from_secs(1);
/// Events that one iteration of the event loop takes.
const EVENTS_PER_ITERATION: usize = 1024;

pub(super) const LISTENER: Token = Token(0);
pub(super) const WAKER: Token = Token(1);
pub(super) const LANE: Token = Token(2);

/// The event loop and its state.
pub(super) struct EventLoop {
    pub(super) poll: Poll,
    pub(super) listener: Option<Socket>,
    pub(super) connections: Connections,
    /// Connections that were refused and linger; they count into no bound but their own.
    pub(super) refused: usize,
    pub(super) classes: Vec<Class>,
    pub(super) services: Vec<Option<Service>>,
    pub(super) slots: Arc<Slots>,
    pub(super) completions: Receiver<Completion>,
    pub(super) stops: Receiver<Stop>,
    pub(super) lane: Lane,
    pub(super) deadlines: Deadlines<Token>,
    /// Connections that come again before the next sleep.
    pub(super) again: Vec<Token>,
    pub(super) addresses: Addresses,
    pub(super) bodies: Arc<BodyMemory>,
    pub(super) classifier: Arc<Classifier>,
    pub(super) counted_as: Arc<CountedAs>,
    pub(super) context: Context,
    /// From when on connections are accepted; nothing where none waits.
    pub(super) accept_from: Option<Instant>,
    pub(super) drained_by: Option<Instant>,
}

impl EventLoop {
    /// Runs until it is drained. Returns whether all connections ended in time.
    pub(super) fn run(mut self) -> io::Result<bool> {
        let mut events = Events::with_capacity(EVENTS_PER_ITERATION);
        loop {
            self.sleep(&mut events)?;
            self.context.now = Instant::now();
            let mut ready = std::mem::take(&mut self.again);
            ready.sort_unstable();
            ready.dedup();
            self.note(&events, &mut ready);
            self.take_stops(&mut ready);
            self.take_completions(&mut ready);
            for token in ready {
                self.pump(token);
            }
            self.dispatch();
            self.write_lane();
            self.expire();
            self.accept();
            self.sample();
            if let Some(ended) = self.is_over() {
                return Ok(ended);
            }
        }
    }

    fn sleep(&mut self, events: &mut Events) -> io::Result<()> {
        // A completion from here on wakes the loop if requests wait for a slot, or the end does.
        let crowded =
            self.context.stopping_since.is_some() || self.classes.iter().any(|class| class.queue.len() > 0);
        self.slots.await_any(crowded);
        let is_busy = !self.again.is_empty() || !self.completions.is_empty();
        let timeout = if is_busy { Some(Duration::ZERO) } else { self.time_to_sleep() };
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            outcome => outcome,
        }
    }

    fn time_to_sleep(&self) -> Option<Duration> {
        let now = self.context.now;
        // Most completions do not wake the loop, so it checks the queue periodically.
        let look = self.services.iter().any(Option::is_some).then(|| now + COMPLETIONS_PAUSE);
        let times = [self.deadlines.next(), self.accept_from, self.drained_by, self.lane.reopen_at(), look];
        Some(times.into_iter().flatten().min()?.saturating_duration_since(now))
    }

    /// Notes events at their connections.
    fn note(&mut self, events: &Events, ready: &mut Vec<Token>) {
        for event in events {
            let token = event.token();
            match token {
                LISTENER => self.accept_from = self.accept_from.or(Some(self.context.now)),
                WAKER => {}
                LANE => {
                    let readable = event.is_readable() || event.is_read_closed();
                    self.lane.note(readable, event.is_writable(), self.context.now);
                }
                _ => {
                    let Some(connection) = self.connections.get_mut(token) else { continue };
                    connection.note(event);
                    let Some(slot) = connection.slot() else {
                        ready.push(token);
                        continue;
                    };
                    self.slots.note_presence(slot, connection.presence());
                    if connection.readable {
                        // The next request is there, so the completion of this one is awaited now.
                        self.slots.await_completion(slot);
                    }
                }
            }
        }
    }

    fn take_stops(&mut self, ready: &mut Vec<Token>) {
        while let Ok(Stop { drained_by }) = self.stops.try_recv() {
            self.drained_by = drained_by;
            self.context.stopping_since.get_or_insert(self.context.now);
            self.close_listener();
            for (token, connection) in self.connections.iter_mut() {
                if connection.is_idle() {
                    connection.readable = true;
                    ready.push(token);
                }
            }
        }
    }

    /// Closes the listener. Connections that it has already made are served: closing it would reset them.
    fn close_listener(&mut self) {
        if self.listener.is_some() {
            self.accept_all();
        }
        self.accept_from = None;
        if let Some(listener) = self.listener.take() {
            // It is closed in any case.
            drop(self.poll.registry().deregister(&mut SourceFd(&listener.as_raw_fd())));
        }
    }

    /// Takes completions: their slots are free, and their connections go on.
    fn take_completions(&mut self, ready: &mut Vec<Token>) {
        while let Ok(Completion { slot, generation, closes, outcome }) = self.completions.try_recv() {
            let service = self.services.get(slot).copied().flatten();
            let Some(Service { token, .. }) = service.filter(|of| of.generation == generation) else {
                continue;
            };
            if matches!(outcome, Outcome::Deferred) {
                self.free_worker(slot);
                continue;
            }
            self.release(slot);
            let Some(connection) = self.connections.get_mut(token) else { continue };
            match outcome {
                Outcome::Deferred => {}
                Outcome::Sent => connection.answered(closes, &self.context),
                Outcome::Remaining(remaining) => connection.write_remaining(remaining, closes, &self.context),
                Outcome::Unanswered => {
                    count(&self.context.counters.aborted);
                    connection.refuse(&Refusal::NoAnswer, !closes, &self.context);
                }
                Outcome::Aborted(reason) => {
                    self.abort(token, reason);
                    continue;
                }
            }
            ready.push(token);
        }
    }

    /// A part of a response is out, and nothing may follow it.
    fn abort(&mut self, token: Token, reason: AbortReason) {
        let counters = &self.context.counters;
        count(match reason {
            AbortReason::Gone => &counters.clients_gone,
            AbortReason::Stalled => &counters.slow_readers,
            AbortReason::Worker => &counters.aborted,
        });
        if let Some(connection) = self.connections.get_mut(token) {
            let is_old = connection.parser.facts().is_some_and(|facts| !facts.fields.is_http_1_1);
            if is_old && reason == AbortReason::Worker {
                // Without chunks, only a reset marks the response as incomplete.
                drop(connection.socket.set_linger(Some(Duration::ZERO)));
            }
        }
        self.close(token);
    }

    fn pump(&mut self, token: Token) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        match connection.pump(&mut self.context) {
            Verdict::Wait => {}
            Verdict::WaitUntil(due) => self.set_deadline(token, due),
            Verdict::Again => self.again.push(token),
            Verdict::Enqueue => self.enqueue(token),
            Verdict::Close => self.close(token),
        }
    }

    /// Hands a whole request to a worker, or puts it into the queue of its class.
    fn enqueue(&mut self, token: Token) {
        let (now, queue_wait) = (self.context.now, self.context.limits.queue_wait);
        let Some(connection) = self.connections.get_mut(token) else { return };
        connection.queued(now);
        let Some(facts) = connection.parser.facts() else { return };
        let Some(class) = self.classes.get_mut(facts.class) else { return self.close(token) };
        let client = facts.client;
        if let Some(slot) = class.take(client) {
            return self.serve(token, facts.class, client, slot);
        }
        if class.queue.push(client, token).is_ok() {
            return self.set_deadline(token, now + queue_wait);
        }
        if let Some(connection) = self.connections.get_mut(token) {
            connection.refuse(&Refusal::Busy, connection.keeps_alive(), &self.context);
            self.again.push(token);
        }
    }

    /// Gives free slots to queued requests, in turn.
    fn dispatch(&mut self) {
        for number in 0..self.classes.len() {
            while let Some(class) = self.classes.get_mut(number)
                && let Some((client, token, slot)) = class.next()
            {
                self.serve(token, number, client, slot);
            }
        }
    }

    /// Assigns a request to a slot, and sends the name of the slot to a worker.
    fn serve(&mut self, token: Token, class: usize, client: Client, slot: usize) {
        let Context { now, stopping_since, .. } = self.context;
        let Some(connection) = self.connections.get_mut(token) else {
            return self.set_free(Service { token, class, client, generation: 0, is_deferred: false }, slot);
        };
        let (peer, arrived) = (connection.peer, connection.queued_since().unwrap_or(now));
        // The next request, or the end, has arrived: it is handled when this one is completed.
        let awaited = connection.parser.has_bytes() || connection.readable;
        let (socket, presence) = (Arc::clone(&connection.socket), connection.presence());
        connection.in_service(slot);
        let Some(Request { head, note, body, facts }) = connection.parser.request() else { return };
        let facts = RequestFacts {
            peer,
            arrived,
            is_head: facts.is_head,
            is_http_1_1: facts.fields.is_http_1_1,
            // A draining loop still answers received requests.
            closes: !facts.fields.keep_alive || (stopping_since.is_some() && !awaited),
        };
        let assignment = Assignment { socket, facts, head, note, body };
        let generation = self.slots.assign(slot, assignment, awaited);
        self.slots.note_presence(slot, presence);
        self.lane.send(slot, generation);
        let service = Service { token, class, client, generation, is_deferred: false };
        self.services.get_mut(slot).into_iter().for_each(|of| *of = Some(service));
        count(&self.context.counters.requests);
        self.set_deadline(token, now + self.context.limits.answer_wait);
    }

    /// Writes the requests of this iteration. A reopened lane gets all unclaimed requests again.
    fn write_lane(&mut self) {
        if self.lane.reopen(self.poll.registry(), self.context.now) {
            count(&self.context.counters.replaced);
            let services = self.services.iter().enumerate().filter(|(at, _)| self.slots.is_unclaimed(*at));
            for (slot, service) in services.filter_map(|(slot, service)| Some((slot, service.as_ref()?))) {
                self.lane.send(slot, service.generation);
            }
        }
        self.lane.write(self.poll.registry(), self.context.now);
    }

    fn expire(&mut self) {
        while let Some((at, token)) = self.deadlines.pop(self.context.now) {
            let Some(connection) = self.connections.get_mut(token) else { continue };
            if !self.deadlines.check(token, at, &mut connection.deadline, self.context.now) {
                continue;
            }
            if let Some(slot) = connection.slot() {
                self.give_up_waiting(token, slot);
                continue;
            }
            self.leave_queue(token);
            let Some(connection) = self.connections.get_mut(token) else { continue };
            if connection.expire(&self.context) { self.close(token) } else { self.pump(token) }
        }
    }

    /// Gives up a request that no worker has claimed in time.
    fn give_up_waiting(&mut self, token: Token, slot: usize) {
        if !self.slots.withdraw(slot) {
            let due = self.context.now + self.context.limits.answer_wait;
            return self.set_deadline(token, due);
        }
        self.release(slot);
        if let Some(connection) = self.connections.get_mut(token) {
            connection.refuse(&Refusal::NoAnswer, connection.keeps_alive(), &self.context);
            self.pump(token);
        }
    }

    pub(super) fn close(&mut self, token: Token) {
        self.leave_queue(token);
        let Some(connection) = self.connections.remove(token) else { return };
        // A worker may still hold the socket.
        drop(self.poll.registry().deregister(&mut SourceFd(&connection.socket.as_fd().as_raw_fd())));
        connection.counted.into_iter().for_each(|counted| self.addresses.leave(counted));
        self.refused = self.refused.saturating_sub(usize::from(connection.is_refused));
    }

    fn leave_queue(&mut self, token: Token) {
        let queued = self.connections.get(token).filter(|connection| connection.queued_since().is_some());
        let Some(facts) = queued.and_then(|connection| connection.parser.facts()) else { return };
        if let Some(class) = self.classes.get_mut(facts.class) {
            class.queue.remove(facts.client, token);
        }
    }

    /// The worker of a slot is free; the slot itself is not, before its response is out.
    fn free_worker(&mut self, slot: usize) {
        if let Some(service) = self.services.get_mut(slot).and_then(Option::as_mut)
            && let Some(class) = self.classes.get_mut(service.class)
        {
            service.is_deferred = true;
            class.free_worker(service.client);
        }
    }

    fn release(&mut self, slot: usize) {
        if let Some(service) = self.services.get_mut(slot).and_then(Option::take) {
            self.set_free(service, slot);
        }
    }

    fn set_free(&mut self, service: Service, slot: usize) {
        if let Some(class) = self.classes.get_mut(service.class) {
            class.free.push(slot);
            if !service.is_deferred {
                class.free_worker(service.client);
            }
        }
    }

    fn sample(&self) {
        for (class, gauges) in self.classes.iter().zip(&self.context.counters.classes) {
            gauges.set(class.workers, class.queue.len());
        }
        let open = u64::try_from(self.connections.len()).unwrap_or(u64::MAX);
        self.context.counters.open.store(open, Ordering::Relaxed);
    }

    /// `Some` when the loop has ended: whether no connection was aborted.
    fn is_over(&mut self) -> Option<bool> {
        let deadline = self.drained_by?;
        if self.connections.len() == 0 {
            return Some(true);
        }
        if self.context.now < deadline {
            return None;
        }
        for (_, connection) in self.connections.iter_mut() {
            drop(connection.socket.shutdown(Shutdown::Both));
        }
        Some(false)
    }

    fn set_deadline(&mut self, token: Token, due: Instant) {
        if let Some(connection) = self.connections.get_mut(token) {
            self.deadlines.set(token, &mut connection.deadline, due);
        }
    }
}
