//! Requests put together from the bytes of one connection, one at a time and in order.
//!
//! Bytes in, steps out: no socket and no clock, so that every cut of the bytes can be tried. What comes out is a whole
//! request in canonical form.

use std::net::IpAddr;
use std::sync::Arc;

use super::budget::{Budget, Taken};
use super::buffers::Inbox;
use super::chunks::Chunks;
use super::fair_queue::Client;
use super::fields::{BodyFraming, Fields};
use super::forward::write_head;
use super::head::{Head, HeadLimits, HeadScanner, HeaderRoom, parse_scanned};
use super::limits::NetLimits;
use super::refusal::Refusal;
use crate::limits::net::{BODY_BYTES_FREE, BODY_READ_BYTES, EMPTY_LINES_MAX, INBOX_BYTES};

/// What a connection is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first byte of a request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
}

/// What is to be done next.
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

/// A whole request.
#[derive(Debug)]
pub struct Request<'a> {
    /// Head in canonical form, to its end. It says nothing of the body, which goes on beside it.
    pub head: &'a mut Vec<u8>,
    /// The body, once; nothing where the client sent none.
    pub body: Option<RequestBody>,
    /// What the head said.
    pub facts: &'a Facts,
}

/// A body with its part of the memory that all of them share.
#[derive(Debug)]
pub struct RequestBody {
    /// The bytes.
    pub bytes: Vec<u8>,
    _held: Vec<Taken>,
}

/// What is kept of a head.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Framing and connection.
    pub fields: Fields,
    /// `HEAD`, whose answer has no body.
    pub is_head: bool,
    /// The class of workers that answers.
    pub class: usize,
    /// Whose request it is.
    pub client: Client,
}

#[derive(Debug)]
enum State {
    Head,
    Sized { remaining: usize, told: bool },
    Chunked { chunks: Chunks, told: bool },
    Ready,
}

/// Which class of workers answers a head that came from a peer, and whose request it is.
pub type Classifier = dyn Fn(&Head<'_, '_>, IpAddr) -> (usize, Client) + Send + Sync;

/// The requests of one connection.
pub struct RequestParser {
    inbox: Inbox,
    state: State,
    scanner: HeadScanner,
    empty_lines: usize,
    head_limits: HeadLimits,
    body_limit: usize,
    peer: IpAddr,
    classifier: Arc<Classifier>,
    facts: Option<Facts>,
    head: Vec<u8>,
    body: Vec<u8>,
    /// Whether a whole body waits to be taken.
    has_body: bool,
    bodies: Arc<Budget>,
    held: Vec<Taken>,
    held_bytes: usize,
}

impl RequestParser {
    /// A parser for the connection of `peer`.
    pub fn new(peer: IpAddr, limits: &NetLimits, bodies: Arc<Budget>, classifier: Arc<Classifier>) -> Self {
        Self {
            inbox: Inbox::new(),
            state: State::Head,
            scanner: HeadScanner::default(),
            empty_lines: 0,
            head_limits: limits.head,
            body_limit: limits.body_bytes,
            peer,
            classifier,
            facts: None,
            head: Vec::new(),
            body: Vec::new(),
            has_body: false,
            bodies,
            held: Vec::new(),
            held_bytes: 0,
        }
    }

    /// Where the next bytes go.
    pub fn room(&mut self) -> &mut [u8] {
        let wanted = match &self.state {
            // As much as came already, so that bytes that are only announced take no memory.
            State::Sized { remaining, .. } => {
                (*remaining).clamp(1, self.body.len().clamp(INBOX_BYTES, BODY_READ_BYTES))
            }
            _ => INBOX_BYTES / 2,
        };
        self.inbox.room(wanted)
    }

    /// Says that `length` bytes were put there.
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
            let stepped = match &mut self.state {
                State::Head => self.read_head(),
                State::Sized { .. } => self.read_sized(),
                State::Chunked { .. } => self.read_chunked(),
                State::Ready => return Step::Ready,
            };
            match stepped {
                Ok(None) => {}
                Ok(Some(step)) => return step,
                Err(refusal) => return Step::Refused(refusal),
            }
        }
    }

    /// The request that is ready.
    pub fn request(&mut self) -> Option<Request<'_>> {
        let facts = self.facts.as_ref()?;
        let has_body = std::mem::take(&mut self.has_body);
        let body = has_body.then(|| RequestBody {
            bytes: std::mem::take(&mut self.body),
            _held: std::mem::take(&mut self.held),
        });
        Some(Request { head: &mut self.head, body, facts })
    }

    /// The head of the request that is ready.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// What is known of the request that is read or ready.
    pub fn facts(&self) -> Option<Facts> {
        self.facts
    }

    /// Whether the request that is read or ready is a `HEAD`, as far as is known.
    pub fn is_head_request(&self) -> bool {
        self.facts.is_some_and(|facts| facts.is_head)
    }

    /// Makes room for the next request of this connection.
    pub fn next(&mut self) {
        self.state = State::Head;
        self.scanner = HeadScanner::default();
        self.empty_lines = 0;
        self.facts = None;
        self.has_body = false;
        self.body.clear();
        self.held.clear();
        self.held_bytes = 0;
        self.head.clear();
    }

    /// Gives back what a connection that waits for a request does not need.
    pub fn release(&mut self) {
        self.inbox.release();
        self.head = Vec::new();
        self.body = Vec::new();
    }

    fn read_head(&mut self) -> Result<Option<Step>, Refusal> {
        while self.inbox.filled().starts_with(b"\r\n") && self.empty_lines < EMPTY_LINES_MAX {
            self.empty_lines = self.empty_lines.saturating_add(1);
            self.inbox.consume(2);
        }
        let bytes = self.inbox.filled();
        if bytes.is_empty() {
            return Ok(Some(Step::Wait(Phase::Idle)));
        }
        if bytes == b"\r" {
            return Ok(Some(Step::Wait(Phase::Head)));
        }
        let Some(length) = self.scanner.advance(bytes, &self.head_limits)? else {
            return Ok(Some(Step::Wait(Phase::Head)));
        };
        let mut room = HeaderRoom::new();
        let head = parse_scanned(bytes.get(..length).unwrap_or_default(), &mut room, &self.head_limits)?;
        let (class, client) = (self.classifier)(&head, self.peer);
        let facts = Facts { fields: head.fields, is_head: head.method == "HEAD", class, client };
        write_head(&head, self.peer, &mut self.head);
        self.inbox.consume(length);
        self.facts = Some(facts);
        let told = !facts.fields.expects_continue;
        match facts.fields.body {
            BodyFraming::Absent => self.ready(false),
            BodyFraming::Chunked => self.state = State::Chunked { chunks: Chunks::default(), told },
            BodyFraming::Sized(length) => {
                let remaining = usize::try_from(length).ok().filter(|length| *length <= self.body_limit);
                let remaining = remaining.ok_or(Refusal::BodyTooLarge { limit: self.body_limit })?;
                self.state = State::Sized { remaining, told };
            }
        }
        Ok(None)
    }

    fn read_sized(&mut self) -> Result<Option<Step>, Refusal> {
        let State::Sized { remaining, told } = &mut self.state else { return Ok(None) };
        let bytes = self.inbox.filled();
        let length = bytes.len().min(*remaining);
        self.body.extend_from_slice(bytes.get(..length).unwrap_or_default());
        self.inbox.consume(length);
        *remaining = remaining.saturating_sub(length);
        if *remaining == 0 {
            self.ready(true);
            return Ok(None);
        }
        let wait = wait_for_body(length > 0, told);
        self.hold()?;
        Ok(Some(wait))
    }

    fn read_chunked(&mut self) -> Result<Option<Step>, Refusal> {
        let State::Chunked { chunks, told } = &mut self.state else { return Ok(None) };
        let (body, limit) = (&mut self.body, self.body_limit);
        let mut too_large = false;
        let used = chunks.advance(self.inbox.filled(), |content| {
            too_large |= body.len().saturating_add(content.len()) > limit;
            if !too_large {
                body.extend_from_slice(content);
            }
        })?;
        if too_large {
            return Err(Refusal::BodyTooLarge { limit });
        }
        self.inbox.consume(used);
        if chunks.is_done() {
            self.ready(true);
            return Ok(None);
        }
        let wait = wait_for_body(used > 0, told);
        self.hold()?;
        Ok(Some(wait))
    }

    /// A large body takes its part of the memory that all connections share, as it grows.
    fn hold(&mut self) -> Result<(), Refusal> {
        let wanted = self.body.len().saturating_sub(BODY_BYTES_FREE);
        if wanted > self.held_bytes {
            let part = wanted.saturating_sub(self.held_bytes).max(BODY_READ_BYTES);
            self.held.push(self.bodies.take(part).ok_or(Refusal::BodiesFull)?);
            self.held_bytes = self.held_bytes.saturating_add(part);
        }
        Ok(())
    }

    fn ready(&mut self, has_body: bool) {
        self.head.extend_from_slice(b"\r\n");
        self.has_body = has_body;
        self.state = State::Ready;
    }
}

/// A client that waits for a word gets it once, unless it did not wait.
fn wait_for_body(has_begun: bool, told: &mut bool) -> Step {
    let tell = !*told && !has_begun;
    *told = true;
    if tell { Step::Continue } else { Step::Wait(Phase::Body) }
}

#[cfg(test)]
#[path = "request_parser_tests.rs"]
mod tests;
