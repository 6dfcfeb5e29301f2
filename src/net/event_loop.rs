//! The event loop: one thread that owns the listener, all client connections, their deadlines and the queue for workers.
//!
//! A turn has a fixed order: events, words of workers, connections, requests to workers, the lane, deadlines, new connections.
//! Nothing in it blocks, and nothing it owns is locked. Knows no route and no account.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use mio::unix::SourceFd;
use mio::{Events, Poll, Token};
use slab::Slab;
use socket2::Socket;

use super::addresses::Addresses;
use super::budget::Budget;
use super::connection::{Connection, Context, Verdict};
use super::counters::count;
use super::deadlines::Deadlines;
use super::fair_queue::FairQueue;
use super::forward::{add_slot, add_wait};
use super::lane::Lane;
use super::refusal::Refusal;
use super::request_parser::{Classifier, Request};
use super::server::CountedAs;
use super::slots::{AnswerFacts, Cut, Offer, Outcome, Slots, Word};
use crate::limits::net::{EVENTS_PER_TURN, WAIT_TOLD_FROM, WORDS_PAUSE};

/// Token of the listener.
pub(super) const LISTENER: Token = Token(0);
/// Token of the waker.
pub(super) const WAKER: Token = Token(1);
/// Token of the lane.
pub(super) const LANE: Token = Token(2);
/// Tokens of clients begin here.
const CLIENTS: usize = 3;
/// The index of a connection is in the low half of its token, its generation in the high half.
const INDEX_BITS: u32 = 32;

/// What others ask of the event loop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    /// Accept no further connection, and of those that are open no request that was not sent before.
    Stop,
    /// End when all connections have, at the latest then.
    Drain(Instant),
}

/// Workers of one kind.
pub(super) struct Class {
    /// Requests that wait.
    pub(super) queue: FairQueue<Token>,
    /// Slots that are free.
    pub(super) free: Vec<usize>,
    /// Workers that are free.
    pub(super) workers: usize,
}

/// A request with a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    token: Token,
    class: usize,
    turn: u64,
    /// Whether the worker is free again already.
    is_deferred: bool,
}

impl Class {
    /// A free slot for a free worker.
    fn take(&mut self) -> Option<usize> {
        let workers = self.workers.checked_sub(1)?;
        let slot = self.free.pop()?;
        self.workers = workers;
        Some(slot)
    }

    /// Gives both back.
    fn give(&mut self, slot: usize) {
        self.free.push(slot);
        self.workers += 1;
    }
}

/// Everything that the thread owns.
pub(super) struct EventLoop {
    pub(super) poll: Poll,
    pub(super) listener: Option<Socket>,
    pub(super) connections: Slab<(u32, Connection)>,
    pub(super) generation: u32,
    pub(super) classes: Vec<Class>,
    pub(super) services: Vec<Option<Service>>,
    pub(super) slots: Arc<Slots>,
    pub(super) words: Receiver<Word>,
    pub(super) commands: Receiver<Command>,
    pub(super) lane: Lane,
    pub(super) deadlines: Deadlines<Token>,
    /// Connections that come again before the next sleep.
    pub(super) again: Vec<Token>,
    pub(super) addresses: Addresses,
    pub(super) bodies: Arc<Budget>,
    pub(super) classifier: Arc<Classifier>,
    pub(super) counted_as: Arc<CountedAs>,
    pub(super) context: Context,
    /// Whether connections may wait to be accepted.
    pub(super) acceptable: bool,
    /// When a failed `accept` is tried again.
    pub(super) accept_again: Option<Instant>,
    pub(super) drained_by: Option<Instant>,
}

impl EventLoop {
    /// Runs until it is drained. Says whether all connections had ended in time.
    pub(super) fn run(mut self) -> io::Result<bool> {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        loop {
            self.sleep(&mut events)?;
            self.context.now = Instant::now();
            let mut ready = std::mem::take(&mut self.again);
            for token in &ready {
                self.unlist(*token);
            }
            self.note(&events, &mut ready);
            self.take_commands(&mut ready);
            self.take_words(&mut ready);
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
        // Whoever leaves a word from here on wakes the loop if requests wait for a slot, or the end does.
        let crowded = self.context.stopping || self.classes.iter().any(|class| class.queue.len() > 0);
        self.slots.await_all(crowded);
        let is_busy = !self.again.is_empty()
            || !self.words.is_empty()
            || (self.acceptable && self.accept_again.is_none() && self.listener.is_some());
        let timeout = if is_busy { Some(Duration::ZERO) } else { self.time_to_sleep() };
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            outcome => outcome,
        }
    }

    fn time_to_sleep(&self) -> Option<Duration> {
        let now = Instant::now();
        // A word that nobody awaited wakes nobody, so words are looked at now and then.
        let words = self.services.iter().any(Option::is_some).then(|| now + WORDS_PAUSE);
        let times = [self.deadlines.next(), self.accept_again, self.drained_by, self.lane.reopen_at(), words];
        Some(times.into_iter().flatten().min()?.saturating_duration_since(now))
    }

    /// Adds what events say to those they are for.
    fn note(&mut self, events: &Events, ready: &mut Vec<Token>) {
        for event in events {
            let token = event.token();
            match token {
                LISTENER => self.acceptable = true,
                WAKER => {}
                LANE => {
                    let readable = event.is_readable() || event.is_read_closed();
                    self.lane.note(readable, event.is_writable(), self.context.now);
                }
                _ => {
                    let gone = event.is_write_closed() || event.is_error();
                    let ended = gone || event.is_read_closed();
                    let Some(connection) = self.connection(token) else { continue };
                    connection.note(event.is_readable(), event.is_writable(), ended, gone);
                    match connection.slot() {
                        // The next request is there, so the word of this one is awaited now.
                        Some(slot) if event.is_readable() || ended => self.slots.await_word(slot),
                        Some(_) => {}
                        None => ready.push(token),
                    }
                }
            }
        }
    }

    fn take_commands(&mut self, ready: &mut Vec<Token>) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Drain(deadline) => self.drained_by = Some(deadline),
                Command::Stop => {
                    self.context.stopping = true;
                    if let Some(listener) = self.listener.take() {
                        // It is closed in any case.
                        drop(self.poll.registry().deregister(&mut SourceFd(&listener.as_raw_fd())));
                    }
                    for (index, (generation, connection)) in &mut self.connections {
                        if connection.is_idle() {
                            connection.look_again();
                            ready.push(token_of(index, *generation));
                        }
                    }
                }
            }
        }
    }

    /// Takes the words of workers: their slots are free, and their connections go on.
    fn take_words(&mut self, ready: &mut Vec<Token>) {
        while let Ok(Word { slot, turn, closes, outcome }) = self.words.try_recv() {
            let service = self.services.get(slot).copied().flatten();
            let Some(Service { token, .. }) = service.filter(|service| service.turn == turn) else {
                continue;
            };
            if matches!(outcome, Outcome::Deferred) {
                if let Some(service) = self.services.get_mut(slot).and_then(Option::as_mut)
                    && let Some(class) = self.classes.get_mut(service.class)
                {
                    service.is_deferred = true;
                    class.workers += 1;
                }
                continue;
            }
            self.release(slot);
            let Some((connection, context)) = self.with_context(token) else { continue };
            match outcome {
                Outcome::Deferred => {}
                Outcome::Sent => connection.answered(closes, context),
                Outcome::Rest(rest) => connection.write_rest(rest, closes, context),
                Outcome::Unanswered => {
                    count(&context.counters.cut);
                    connection.refuse(&Refusal::NoAnswer, !closes, context);
                }
                Outcome::Cut(cut) => {
                    self.cut(token, cut);
                    continue;
                }
            }
            ready.push(token);
        }
    }

    /// A part of an answer is out, and nothing may follow it.
    fn cut(&mut self, token: Token, cut: Cut) {
        let counters = Arc::clone(&self.context.counters);
        count(match cut {
            Cut::Gone => &counters.clients_gone,
            Cut::Stalled => &counters.slow_readers,
            Cut::Worker => &counters.cut,
        });
        if let Some(connection) = self.connection(token) {
            let is_old = connection.parser.facts().is_some_and(|facts| !facts.fields.is_http_1_1);
            if is_old && cut == Cut::Worker {
                // Without chunks only a reset tells a part from the whole.
                drop(connection.socket.set_linger(Some(Duration::ZERO)));
            }
        }
        self.close(token);
    }

    fn pump(&mut self, token: Token) {
        let Some((connection, context)) = self.with_context(token) else { return };
        match connection.pump(context) {
            Verdict::Wait => {}
            Verdict::WaitUntil(due) => self.set_deadline(token, due),
            Verdict::Again => self.list(token),
            Verdict::Enqueue => self.enqueue(token),
            Verdict::Close => self.close(token),
        }
    }

    /// Hands a whole request to a worker, or puts it into the queue of its class.
    fn enqueue(&mut self, token: Token) {
        let (now, queue_wait) = (self.context.now, self.context.limits.queue_wait);
        let Some(connection) = self.connection(token) else { return };
        connection.queued(now);
        let Some(facts) = connection.parser.facts() else { return };
        let Some(class) = self.classes.get_mut(facts.class) else { return self.close(token) };
        if class.queue.len() == 0
            && let Some(slot) = class.take()
        {
            return self.serve(token, facts.class, slot);
        }
        if class.queue.push(facts.client, token).is_ok() {
            return self.set_deadline(token, now + queue_wait);
        }
        if let Some((connection, context)) = self.with_context(token) {
            connection.refuse(&Refusal::Busy, connection.keeps_alive(), context);
            self.list(token);
        }
    }

    /// Gives free slots to those whose turn it is.
    fn dispatch(&mut self) {
        for number in 0..self.classes.len() {
            while let Some(class) = self.classes.get_mut(number)
                && let Some(slot) = class.take()
            {
                let Some(token) = class.queue.pop() else {
                    class.give(slot);
                    break;
                };
                self.serve(token, number, slot);
            }
        }
    }

    /// Lays socket and body of a request into a slot, and sends its head to a worker.
    fn serve(&mut self, token: Token, class: usize, slot: usize) {
        let (now, answer_wait) = (self.context.now, self.context.limits.answer_wait);
        let stopping = self.context.stopping;
        let slots = Arc::clone(&self.slots);
        let Some(connection) = self.connection(token) else {
            self.classes.get_mut(class).into_iter().for_each(|class| class.give(slot));
            return;
        };
        let waited =
            connection.queued_since().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        // The next request, or the end, is there already: its turn comes as soon as this one is answered.
        let awaited = connection.parser.has_bytes() || connection.is_readable();
        let socket = Arc::clone(&connection.socket);
        connection.in_service(slot);
        let Some(Request { head, body, facts }) = connection.parser.request() else { return };
        if waited >= WAIT_TOLD_FROM {
            add_wait(u64::try_from(waited.as_micros()).unwrap_or(u64::MAX), head);
        }
        let answer = AnswerFacts {
            is_head: facts.is_head,
            is_http_1_1: facts.fields.is_http_1_1,
            // At the end, what was sent before is still answered.
            closes: !facts.fields.keep_alive || (stopping && !awaited),
        };
        let offer = Offer { socket, facts: answer, body };
        let turn = add_slot(head, |name| slots.offer(slot, offer, awaited, name));
        self.lane.send(self.connections.get(parts_of(token).0).map_or(&[], |(_, found)| found.parser.head()));
        if let Some(service) = self.services.get_mut(slot) {
            *service = Some(Service { token, class, turn, is_deferred: false });
        }
        count(&self.context.counters.requests);
        self.set_deadline(token, now + answer_wait);
    }

    /// Writes the heads of this turn; over a lane that was opened anew go all those again that nobody has claimed.
    fn write_lane(&mut self) {
        if self.lane.reopen(self.poll.registry(), self.context.now) {
            for (slot, service) in self.services.iter().enumerate() {
                let Some(Service { token, .. }) = service else { continue };
                let (index, generation) = parts_of(*token);
                let found = self.connections.get(index).filter(|(found, _)| *found == generation);
                if let Some((_, connection)) = found.filter(|_| self.slots.is_offered(slot)) {
                    self.lane.send(connection.parser.head());
                }
            }
        }
        self.lane.write(self.poll.registry(), self.context.now);
    }

    fn expire(&mut self) {
        while let Some((at, token)) = self.deadlines.pop(self.context.now) {
            let (index, generation) = parts_of(token);
            let Some((found, connection)) = self.connections.get_mut(index) else { continue };
            if *found != generation
                || !self.deadlines.check(token, at, &mut connection.deadline, self.context.now)
            {
                continue;
            }
            if let Some(slot) = connection.slot() {
                self.give_up_waiting(token, slot);
                continue;
            }
            if connection.queued_since().is_some() {
                self.leave_queue(token);
            }
            let Some((connection, context)) = self.with_context(token) else { continue };
            match connection.expire(context) {
                Some(_) => self.close(token),
                None => self.pump(token),
            }
        }
    }

    /// No worker has taken the request up in time; one that has is left to answer.
    fn give_up_waiting(&mut self, token: Token, slot: usize) {
        if !self.slots.withdraw(slot) {
            let due = self.context.now + self.context.limits.answer_wait;
            return self.set_deadline(token, due);
        }
        self.release(slot);
        if let Some((connection, context)) = self.with_context(token) {
            connection.refuse(&Refusal::NoAnswer, connection.keeps_alive(), context);
            self.pump(token);
        }
    }

    fn close(&mut self, token: Token) {
        self.leave_queue(token);
        let (index, generation) = parts_of(token);
        if self.connections.get(index).is_none_or(|(found, _)| *found != generation) {
            return;
        }
        let (_, connection) = self.connections.remove(index);
        // A worker may still hold the socket.
        drop(self.poll.registry().deregister(&mut SourceFd(&connection.socket.as_fd().as_raw_fd())));
        connection.counted.into_iter().for_each(|counted| self.addresses.leave(counted));
        self.context.counters.closed();
    }

    fn leave_queue(&mut self, token: Token) {
        let Some(connection) = self.connection(token) else { return };
        if connection.queued_since().is_none() {
            return;
        }
        let Some(facts) = connection.parser.facts() else { return };
        if let Some(class) = self.classes.get_mut(facts.class) {
            class.queue.remove(facts.client, token);
        }
    }

    fn release(&mut self, slot: usize) {
        let service = self.services.get_mut(slot).and_then(Option::take);
        let Some(service) = service else { return };
        if let Some(class) = self.classes.get_mut(service.class) {
            class.free.push(slot);
            class.workers += usize::from(!service.is_deferred);
        }
    }

    fn sample(&self) {
        for (class, gauges) in self.classes.iter().zip(&self.context.counters.classes) {
            gauges.set(class.workers, class.queue.len());
        }
        self.context.counters.set_replaced(self.lane.replaced());
    }

    /// Whether everything has ended, and if so, whether nothing was cut.
    fn is_over(&mut self) -> Option<bool> {
        let deadline = self.drained_by?;
        if self.connections.is_empty() {
            return Some(true);
        }
        if self.context.now < deadline {
            return None;
        }
        for (_, (_, connection)) in &self.connections {
            drop(connection.socket.shutdown(Shutdown::Both));
        }
        Some(false)
    }

    fn set_deadline(&mut self, token: Token, due: Instant) {
        let (index, generation) = parts_of(token);
        if let Some((found, connection)) = self.connections.get_mut(index)
            && *found == generation
        {
            self.deadlines.set(token, &mut connection.deadline, Some(due));
        }
    }

    pub(super) fn list(&mut self, token: Token) {
        if let Some(connection) = self.connection(token)
            && !std::mem::replace(&mut connection.is_listed, true)
        {
            self.again.push(token);
        }
    }

    fn unlist(&mut self, token: Token) {
        if let Some(connection) = self.connection(token) {
            connection.is_listed = false;
        }
    }

    fn connection(&mut self, token: Token) -> Option<&mut Connection> {
        self.with_context(token).map(|(connection, _)| connection)
    }

    fn with_context(&mut self, token: Token) -> Option<(&mut Connection, &mut Context)> {
        let (index, generation) = parts_of(token);
        let (found, connection) = self.connections.get_mut(index)?;
        (*found == generation).then_some((connection, &mut self.context))
    }
}

/// An index that was used again has another generation, so an event that is late reaches nobody.
pub(super) fn token_of(index: usize, generation: u32) -> Token {
    let generation = usize::try_from(generation).unwrap_or(0);
    Token((generation << INDEX_BITS) | index.saturating_add(CLIENTS))
}

fn parts_of(token: Token) -> (usize, u32) {
    let index = (token.0 & ((1 << INDEX_BITS) - 1)).saturating_sub(CLIENTS);
    (index, u32::try_from(token.0 >> INDEX_BITS).unwrap_or(0))
}
