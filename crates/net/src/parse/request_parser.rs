//! The request parser of one connection: a state machine from bytes to whole requests, one at a time and in order.
//!
//! It has no socket and no clock, so tests can cut the bytes anywhere. Requests come out in canonical form.

use std::any::Any;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::sync::Arc;

use crate::body_memory::{BodyMemory, BodyShare};
use crate::fair_queue::Client;
use crate::limits::{HEADER_COUNT_CEILING, HeadLimits, INBOX_BYTES, NetLimits};
use crate::parse::buffers::Inbox;
use crate::parse::chunks::Chunks;
use crate::parse::fields::{BodyFraming, Fields};
use crate::parse::head::{Head, HeadScanner, parse};
use crate::parse::request_head::RequestHead;
use crate::refusal::Refusal;

/// Bytes of a body read at a time.
const BODY_READ_BYTES: usize = 64 * 1024;
/// Empty lines ignored before a request.
const EMPTY_LINES_MAX: usize = 4;
/// Bytes of a body that each connection holds outside the shared budget.
const BODY_BYTES_FREE: usize = 16 * 1024;

/// The part of a request that a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first byte of a request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
}

/// The next action of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    Wait(Phase),
    /// The client waits for `100 Continue`.
    Continue,
    /// A request is whole: see [`RequestParser::request`].
    Ready,
    /// Nothing that follows on this connection can be understood or will be read.
    Refused(Refusal),
}

#[derive(Debug)]
pub struct Request<'a> {
    /// Method, target and header lines.
    pub head: RequestHead,
    /// What the classifier has found out.
    pub note: Option<Note>,
    /// The body, once; nothing where the client sent none.
    pub body: Option<RequestBody>,
    /// Facts from the head.
    pub facts: &'a Facts,
}

/// A body with its part of the memory that all of them share.
#[derive(Debug)]
pub struct RequestBody {
    pub bytes: Vec<u8>,
    _share: Option<BodyShare>,
}

/// A parsed head.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Framing and connection.
    pub fields: Fields,
    /// `HEAD`, whose response has no body.
    pub is_head: bool,
    /// The class of the request.
    pub class: usize,
    pub client: Client,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    /// A body with the number of missing bytes.
    Sized(usize),
    Chunked(Chunks),
    Ready,
}

/// How far the present request was read.
#[derive(Debug, Default)]
struct Progress {
    state: State,
    scanner: HeadScanner,
    empty_lines: usize,
    facts: Option<Facts>,
    /// Whether the client waits for `100 Continue` before it sends the body.
    awaits_continue: bool,
    head: Option<RequestHead>,
    note: Option<Note>,
    /// Whether a whole body waits to be taken.
    has_body: bool,
    share: Option<BodyShare>,
}

/// What the classifier has found out about a request, for the worker that answers it.
pub type Note = Box<dyn Any + Send>;

/// What the head of a request tells of it.
#[derive(Debug)]
pub struct Classified {
    /// The class of the request.
    pub class: usize,
    pub client: Client,
    /// Whether the body is read. A request that will be refused whatever its body says is answered without it, and its
    /// connection ends.
    pub reads_body: bool,
    /// Travels with the request to its worker.
    pub note: Option<Note>,
}

impl Classified {
    /// A request whose body is read, without a note.
    pub const fn new(class: usize, client: Client) -> Self {
        Self { class, client, reads_body: true, note: None }
    }
}

/// Classifies a request by its head and its peer.
pub type Classifier = dyn Fn(&Head<'_, '_>, IpAddr) -> Classified + Send + Sync;

/// The requests of one connection.
pub struct RequestParser {
    inbox: Inbox,
    head_limits: HeadLimits,
    body_limit: usize,
    peer: IpAddr,
    classifier: Arc<Classifier>,
    bodies: Arc<BodyMemory>,
    progress: Progress,
    body: Vec<u8>,
}

impl RequestParser {
    /// A parser for the connection of `peer`.
    pub fn new(
        peer: IpAddr,
        limits: &NetLimits,
        bodies: Arc<BodyMemory>,
        classifier: Arc<Classifier>,
    ) -> Self {
        Self {
            inbox: Inbox::new(),
            head_limits: limits.head,
            body_limit: limits.body_bytes,
            peer,
            classifier,
            bodies,
            progress: Progress::default(),
            body: Vec::new(),
        }
    }

    /// The free part of the buffer, for the next bytes of the socket.
    pub fn room(&mut self) -> &mut [u8] {
        let wanted = match &self.progress.state {
            // As much as came already, so that bytes that are only announced take no memory.
            State::Sized(left) => (*left).clamp(1, self.body.len().clamp(INBOX_BYTES, BODY_READ_BYTES)),
            _ => INBOX_BYTES / 2,
        };
        self.inbox.room(wanted)
    }

    /// Adds `length` received bytes.
    pub fn received(&mut self, length: usize) {
        self.inbox.received(length);
    }

    /// Whether bytes are there that belong to no request yet.
    pub fn has_bytes(&self) -> bool {
        !self.inbox.filled().is_empty()
    }

    /// Goes as far as the bytes lead.
    pub fn advance(&mut self) -> Step {
        loop {
            let stepped = match &self.progress.state {
                State::Head => self.read_head(),
                State::Sized(_) | State::Chunked(_) => self.read_body(),
                State::Ready => return Step::Ready,
            };
            match stepped {
                Ok(None) => {}
                Ok(Some(step)) => return step,
                Err(refusal) => return Step::Refused(refusal),
            }
        }
    }

    /// The request that is ready, once.
    pub fn request(&mut self) -> Option<Request<'_>> {
        let Progress { facts, has_body, share, head, note, .. } = &mut self.progress;
        let body = std::mem::take(has_body)
            .then(|| RequestBody { bytes: std::mem::take(&mut self.body), _share: share.take() });
        Some(Request { head: head.take()?, note: note.take(), body, facts: facts.as_ref()? })
    }

    /// Facts about the request that is being read or is ready.
    pub fn facts(&self) -> Option<Facts> {
        self.progress.facts
    }

    /// Makes room for the next request of this connection.
    pub fn next(&mut self) {
        self.progress = Progress::default();
        self.body.clear();
    }

    /// Frees the buffers of an idle connection.
    pub fn release(&mut self) {
        self.inbox.release();
        self.body = Vec::new();
    }

    fn read_head(&mut self) -> Result<Option<Step>, Refusal> {
        while self.inbox.filled().starts_with(b"\r\n") && self.progress.empty_lines < EMPTY_LINES_MAX {
            self.progress.empty_lines = self.progress.empty_lines.saturating_add(1);
            self.inbox.consume(2);
        }
        let bytes = self.inbox.filled();
        if bytes.is_empty() {
            return Ok(Some(Step::Wait(Phase::Idle)));
        }
        if bytes == b"\r" {
            return Ok(Some(Step::Wait(Phase::Head)));
        }
        let Some(length) = self.progress.scanner.advance(bytes, &self.head_limits)? else {
            return Ok(Some(Step::Wait(Phase::Head)));
        };
        let mut room = [const { MaybeUninit::uninit() }; HEADER_COUNT_CEILING];
        let room = room.get_mut(..self.head_limits.header_count).unwrap_or_default();
        let head = parse(bytes.get(..length).unwrap_or_default(), room)?;
        let Classified { class, client, reads_body, note } = (self.classifier)(&head, self.peer);
        let mut fields = head.fields;
        let leaves_body = !reads_body && fields.body != BodyFraming::Absent;
        // The bytes of an unread body must not be taken for the next request.
        fields.keep_alive &= !leaves_body;
        let is_head = head.method == "HEAD";
        (self.progress.head, self.progress.note) = (Some(RequestHead::new(&head, length)), note);
        self.inbox.consume(length);
        self.progress.facts = Some(Facts { fields, is_head, class, client });
        self.progress.awaits_continue = fields.expects_continue;
        match fields.body {
            BodyFraming::Absent => self.ready(false),
            BodyFraming::Chunked => self.progress.state = State::Chunked(Chunks::default()),
            BodyFraming::Sized(length) => {
                let remaining = usize::try_from(length).ok().filter(|length| *length <= self.body_limit);
                let remaining = remaining.ok_or(Refusal::BodyTooLarge { limit: self.body_limit })?;
                self.progress.state = State::Sized(remaining);
            }
        }
        if leaves_body {
            self.ready(false);
        }
        Ok(None)
    }

    fn read_body(&mut self) -> Result<Option<Step>, Refusal> {
        let (bytes, body, limit) = (self.inbox.filled(), &mut self.body, self.body_limit);
        let (used, is_whole) = match &mut self.progress.state {
            State::Sized(left) => {
                let length = bytes.len().min(*left);
                body.extend_from_slice(bytes.get(..length).unwrap_or_default());
                *left = left.saturating_sub(length);
                (length, *left == 0)
            }
            State::Chunked(chunks) => {
                let mut too_large = false;
                let used = chunks.advance(bytes, |content| {
                    too_large |= body.len().saturating_add(content.len()) > limit;
                    if !too_large {
                        body.extend_from_slice(content);
                    }
                })?;
                if too_large {
                    return Err(Refusal::BodyTooLarge { limit });
                }
                (used, chunks.is_done())
            }
            State::Head | State::Ready => return Ok(None),
        };
        self.inbox.consume(used);
        if is_whole {
            self.ready(true);
            return Ok(None);
        }
        self.hold()?;
        // A client that waits for `100 Continue` gets it once, unless the body has begun.
        let tell = std::mem::take(&mut self.progress.awaits_continue) && used == 0;
        Ok(Some(if tell { Step::Continue } else { Step::Wait(Phase::Body) }))
    }

    /// A large body takes its part of the memory that all clients share, as it grows.
    fn hold(&mut self) -> Result<(), Refusal> {
        let wanted = self.body.len().saturating_sub(BODY_BYTES_FREE);
        let Some(Facts { client, .. }) = self.progress.facts.filter(|_| wanted > 0) else { return Ok(()) };
        let share = self.progress.share.get_or_insert_with(|| self.bodies.share(client));
        let missing = wanted.saturating_sub(share.bytes());
        if missing > 0 && !share.grow(missing.max(BODY_READ_BYTES)) {
            return Err(Refusal::BodiesFull);
        }
        Ok(())
    }

    fn ready(&mut self, has_body: bool) {
        self.progress.has_body = has_body;
        self.progress.state = State::Ready;
    }
}

#[cfg(test)]
#[path = "request_parser_tests.rs"]
mod tests;
