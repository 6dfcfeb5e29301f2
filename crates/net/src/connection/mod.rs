//! One client connection as a state machine: it reads, waits for its response, writes the rest of it, and lingers.
//!
//! | state | waits for | ends with |
//! |---|---|---|
//! | reading | bytes of a request, within the time of its phase | a whole request, a refusal, the end of the client |
//! | queued | a worker, within the time of the queue | a slot, or 503 |
//! | in service | the completion by the worker | the next request, remaining bytes, an abort |
//! | writing | the socket, a piece within its time | the next state, chosen before |
//! | lingering | the end of the client, so that a close does not reset the response | the end |
//!
//! It names its next action, and the event loop carries it out. Does not depend on workers or the lane.

pub(super) mod accept;
pub(super) mod addresses;
pub(super) mod connections;
pub(super) mod deadlines;
pub(super) mod listener;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use socket2::Socket;

use crate::budget::Taken;
use crate::connection::deadlines::Deadline;
use crate::counters::{Counters, add, count};
use crate::limits::{FAREWELL_TIME, NetLimits, WRITE_PIECE_BYTES};
use crate::parse::request_parser::{Phase, RequestParser, Step};
use crate::refusal::Refusal;
use crate::workers::presence::Presence;
use crate::workers::slots::Remaining;

/// How long the rest of a refused request is read and dropped, so that the client sees the response and no reset.
const LINGER_TIME: Duration = Duration::from_secs(2);
/// Limit of bytes that are read and dropped after a refusal.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Steps (a read, a write, a request) that one connection makes in one iteration.
const PUMP_STEPS_MAX: usize = 8;

/// Renders the response to a refusal, for a client, with or without a body.
pub type Refuser = dyn Fn(&Refusal, IpAddr, bool) -> Vec<u8> + Send + Sync;

/// Facts shared by all connections of a listener.
pub(super) struct Context {
    pub(super) limits: NetLimits,
    pub(super) counters: Arc<Counters>,
    pub(super) refuse: Arc<Refuser>,
    /// Bytes that a connection drops while it lingers.
    pub(super) scratch: Vec<u8>,
    pub(super) now: Instant,
    /// Since when the end has begun: no connection is accepted, and each answer ends its connection.
    pub(super) stopping_since: Option<Instant>,
}

/// The state after the event loop has written its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The rest of the same request is read.
    Read,
    /// The next request is read.
    Next,
    /// The connection ends.
    Linger,
}

#[derive(Debug)]
struct Writing {
    bytes: Vec<u8>,
    sent: usize,
    after: After,
    /// Bytes that had been sent when the present piece began.
    piece: usize,
    due: Instant,
    #[expect(dead_code, reason = "held until the bytes are out")]
    held: Option<Taken>,
}

#[derive(Debug)]
enum State {
    Reading { phase: Phase, since: Instant },
    Queued { since: Instant },
    InService { slot: usize },
    Writing(Writing),
    Lingering { until: Instant, dropped: usize },
}

/// The next action of the event loop on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait for an event, a worker, or the deadline that it has.
    Wait,
    /// Wait for an event, at most until then.
    WaitUntil(Instant),
    /// Come back before the next sleep: there is more to do than one connection may do at a time.
    Again,
    /// A request is whole: put it into the queue of its class.
    Enqueue,
    Close,
}

/// A client connection.
pub(super) struct Connection {
    pub(super) socket: Arc<Socket>,
    pub(super) peer: IpAddr,
    /// Whether it was refused as soon as it was accepted.
    pub(super) is_refused: bool,
    /// The address under which it is counted.
    pub(super) counted: Option<IpAddr>,
    pub(super) parser: RequestParser,
    pub(super) deadline: Deadline,
    /// Whether the socket may have something to read.
    pub(super) readable: bool,
    state: State,
    /// Whether the client has ended its side, so that a short read is not the last one.
    half_closed: bool,
    /// Whether the client can read no more.
    gone: bool,
    writable: bool,
}

impl Connection {
    pub(super) fn new(
        socket: Arc<Socket>,
        peer: IpAddr,
        counted: Option<IpAddr>,
        parser: RequestParser,
        now: Instant,
    ) -> Self {
        Self {
            socket,
            peer,
            is_refused: false,
            counted,
            parser,
            deadline: Deadline::default(),
            readable: true,
            state: State::Reading { phase: Phase::Idle, since: now },
            half_closed: false,
            gone: false,
            writable: true,
        }
    }

    /// Adds the readiness of an event.
    pub(super) fn note(&mut self, event: &Event) {
        self.gone |= event.is_write_closed() || event.is_error();
        self.half_closed |= self.gone || event.is_read_closed();
        self.readable |= self.half_closed || event.is_readable();
        self.writable |= event.is_writable();
    }

    /// Whether its client still waits for a response.
    pub(super) fn presence(&self) -> Presence {
        match (self.gone, self.half_closed) {
            (true, _) => Presence::Gone,
            (false, true) => Presence::HalfClosed,
            (false, false) => Presence::Connected,
        }
    }

    /// The slot whose completion it waits for.
    pub(super) fn slot(&self) -> Option<usize> {
        match self.state {
            State::InService { slot } => Some(slot),
            _ => None,
        }
    }

    /// Since when it stands in the queue.
    pub(super) fn queued_since(&self) -> Option<Instant> {
        match self.state {
            State::Queued { since } => Some(since),
            _ => None,
        }
    }

    /// Whether it has no request and none has begun.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Reading { phase: Phase::Idle, .. })
    }

    /// Its request stands in a queue.
    pub(super) fn queued(&mut self, now: Instant) {
        self.state = State::Queued { since: now };
    }

    /// Its request is with a worker.
    pub(super) fn in_service(&mut self, slot: usize) {
        self.state = State::InService { slot };
    }

    /// Its response is complete.
    pub(super) fn answered(&mut self, closes: bool, context: &Context) {
        if closes { self.linger(context) } else { self.next(context) }
    }

    /// Its response is complete except for remaining bytes.
    pub(super) fn write_remaining(&mut self, remaining: Remaining, closes: bool, context: &Context) {
        let after = if closes { After::Linger } else { After::Next };
        self.write(remaining.bytes, remaining.sent, after, Some(remaining.held), context);
    }

    /// Sends a refusal. The connection stays open afterwards if `keep` is set.
    pub(super) fn refuse(&mut self, refusal: &Refusal, keep: bool, context: &Context) {
        context.counters.refuse(refusal);
        let keep = keep && context.stopping_since.is_none();
        let response =
            (context.refuse)(refusal, self.peer, !self.parser.facts().is_some_and(|facts| facts.is_head));
        let (response, after) =
            if keep { (response, After::Next) } else { (closing(response), After::Linger) };
        self.write(response, 0, after, None, context);
    }

    /// Goes as far as bytes and socket lead.
    pub(super) fn pump(&mut self, context: &mut Context) -> Verdict {
        for _ in 0..PUMP_STEPS_MAX {
            let verdict = match &mut self.state {
                State::Reading { .. } => self.read(context),
                // The client is gone, and nothing was charged.
                State::Queued { .. } if self.gone => Some(Verdict::Close),
                State::Queued { .. } | State::InService { .. } => Some(Verdict::Wait),
                State::Writing(_) => self.write_on(context),
                State::Lingering { .. } => self.drop_bytes(context),
            };
            if let Some(verdict) = verdict {
                return verdict;
            }
        }
        Verdict::Again
    }

    /// Handles its expired deadline and returns whether to close it. The event loop handles connections in service.
    pub(super) fn expire(&mut self, context: &Context) -> bool {
        let (refusal, keep) = match &self.state {
            State::InService { .. } => return false,
            State::Lingering { .. } => return true,
            State::Reading { phase: Phase::Idle, .. } => {
                count(&context.counters.idle_closed);
                return true;
            }
            State::Writing(_) => {
                count(&context.counters.slow_readers);
                return true;
            }
            State::Reading { phase: Phase::Head, .. } => (Refusal::HeadTimeout, false),
            State::Reading { phase: Phase::Body, .. } => (Refusal::BodyTimeout, false),
            State::Queued { .. } => (Refusal::Busy, self.keeps_alive()),
        };
        self.refuse(&refusal, keep, context);
        false
    }

    /// Whether the client wants to go on after its present request.
    pub(super) fn keeps_alive(&self) -> bool {
        self.parser.facts().is_some_and(|facts| facts.fields.keep_alive)
    }

    fn next(&mut self, context: &Context) {
        self.parser.next();
        self.state = State::Reading { phase: Phase::Idle, since: context.now };
    }

    fn linger(&mut self, context: &Context) {
        // A client that is gone already is found out by the next read.
        drop(self.socket.shutdown(Shutdown::Write));
        self.state = State::Lingering { until: context.now + LINGER_TIME, dropped: 0 };
        self.parser.release();
    }

    fn read(&mut self, context: &mut Context) -> Option<Verdict> {
        match self.parser.advance() {
            Step::Ready => Some(Verdict::Enqueue),
            Step::Continue => {
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), 0, After::Read, None, context);
                None
            }
            Step::Refused(refusal) => {
                self.refuse(&refusal, false, context);
                None
            }
            Step::Wait(_) if self.readable => self.fill(context),
            Step::Wait(phase) => self.wait_for(phase, context),
        }
    }

    /// Waits for more of a phase. A slow client does not begin its time anew with each byte.
    fn wait_for(&mut self, phase: Phase, context: &Context) -> Option<Verdict> {
        let State::Reading { phase: before, since } = &mut self.state else { return None };
        if *before != phase {
            (*before, *since) = (phase, context.now);
        }
        let mut due = *since
            + match phase {
                Phase::Idle => context.limits.idle_time,
                Phase::Head => context.limits.head_time,
                Phase::Body => context.limits.body_time,
            };
        if let (Phase::Idle, Some(stop)) = (phase, context.stopping_since) {
            // A proxy may be sending a request at this moment, and would not send it elsewhere.
            due = due.min(stop.max(*since) + FAREWELL_TIME);
        }
        if phase == Phase::Idle {
            self.parser.release();
        }
        Some(Verdict::WaitUntil(due))
    }

    fn fill(&mut self, context: &Context) -> Option<Verdict> {
        let room = self.parser.room();
        let wanted = room.len();
        let length = moved((&*self.socket).read(room), &mut self.readable)?;
        add(&context.counters.bytes_in, length);
        self.parser.received(length);
        // The events are edges: after a short read the next byte is a new one.
        self.readable = length == wanted || self.half_closed;
        (length == 0).then_some(Verdict::Close)
    }

    fn write(&mut self, bytes: Vec<u8>, sent: usize, after: After, held: Option<Taken>, context: &Context) {
        let due = context.now + context.limits.write_time;
        self.state = State::Writing(Writing { bytes, sent, after, piece: sent, due, held });
        self.writable = true;
    }

    fn write_on(&mut self, context: &mut Context) -> Option<Verdict> {
        let State::Writing(writing) = &mut self.state else { return None };
        let left = writing.bytes.get(writing.sent..).unwrap_or_default();
        if left.is_empty() {
            match writing.after {
                After::Read => self.state = State::Reading { phase: Phase::Body, since: context.now },
                After::Next => self.next(context),
                After::Linger => self.linger(context),
            }
            return None;
        }
        if !self.writable {
            return Some(Verdict::WaitUntil(writing.due));
        }
        let piece = left.get(..WRITE_PIECE_BYTES).unwrap_or(left);
        let taken = moved((&*self.socket).write(piece), &mut self.writable)?;
        add(&context.counters.bytes_out, taken);
        writing.sent = writing.sent.saturating_add(taken);
        if writing.sent.saturating_sub(writing.piece) >= WRITE_PIECE_BYTES {
            (writing.piece, writing.due) = (writing.sent, context.now + context.limits.write_time);
        }
        if taken == 0 {
            count(&context.counters.clients_gone);
            return Some(Verdict::Close);
        }
        // One piece in an iteration: requests of others wait no longer than for a piece of each writer.
        (writing.sent < writing.bytes.len() && self.writable).then_some(Verdict::Again)
    }

    /// Drops further bytes of the client for a while, because unread bytes would turn the close into a reset that
    /// discards the response.
    fn drop_bytes(&mut self, context: &mut Context) -> Option<Verdict> {
        let State::Lingering { until, dropped } = &mut self.state else { return None };
        if !self.readable {
            return Some(Verdict::WaitUntil(*until));
        }
        let length = moved((&*self.socket).read(&mut context.scratch), &mut self.readable)?;
        *dropped = dropped.saturating_add(length);
        (length == 0 || *dropped > LINGER_BYTES_MAX).then_some(Verdict::Close)
    }
}

/// The number of bytes read or written, 0 at the end of the connection; `None` to try again, at once while `ready` is
/// set.
fn moved(outcome: io::Result<usize>, ready: &mut bool) -> Option<usize> {
    match outcome {
        Ok(length) => Some(length),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
            *ready = error.kind() == ErrorKind::Interrupted;
            None
        }
        Err(_) => Some(0),
    }
}

/// Adds `Connection: close` to a refusal.
pub(super) fn closing(mut response: Vec<u8>) -> Vec<u8> {
    if let Some(end) = memchr::memmem::find(&response, b"\r\n\r\n") {
        let at = end.saturating_add(2).min(response.len());
        response.splice(at..at, *b"Connection: close\r\n");
    }
    response
}
