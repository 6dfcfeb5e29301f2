//! The client's socket, through which a worker sends one response.
//!
//! A page is sent as far as the socket takes it at once; the rest goes to the event loop, so that a slow reader holds
//! no worker. A stream waits for the socket in its worker, each piece within a bounded time; its socket takes little ahead,
//! because what it takes is paid. Does not depend on HTTP except for the facts that it carries.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

use crate::budget::Taken;
use crate::counters::add;
use crate::limits::{REMAINING_BYTES_MAX, SMALL_PIECES_BYTES_MAX, UNSENT_BYTES_MAX, WRITE_PIECE_BYTES};
use crate::parse::request_head::RequestHead;
use crate::parse::request_parser::{Note, RequestBody};
use crate::workers::presence::ClientWatch;
use crate::workers::slots::{AbortReason, Assignment, Completion, Outcome, Remaining, RequestFacts, Slots};

/// Write timeout for each piece of a page when the loop has no memory for the rest of it.
const HURRIED_WRITE_TIME: Duration = Duration::from_millis(250);

/// The right to send one response. Dropping it unfinished reports that to the event loop.
#[derive(Debug)]
pub struct ResponseSocket {
    slots: Arc<Slots>,
    slot: usize,
    generation: u64,
    socket: Option<Arc<Socket>>,
    facts: RequestFacts,
    head: RequestHead,
    note: Option<Note>,
    body: Option<RequestBody>,
    /// Memory for the bytes of a deferred response that the client does not take at once.
    held: Option<Taken>,
    /// Bytes that are out.
    sent: u64,
    failure: Option<AbortReason>,
}

impl ResponseSocket {
    pub fn new(slots: Arc<Slots>, slot: usize, generation: u64, assignment: Assignment) -> Self {
        let Assignment { socket, facts, head, note, body } = assignment;
        Self {
            slots,
            slot,
            generation,
            socket: Some(socket),
            facts,
            head,
            note,
            body,
            held: None,
            sent: 0,
            failure: None,
        }
    }

    /// Method, target and header lines of the request.
    pub fn head(&self) -> &RequestHead {
        &self.head
    }

    /// What the classifier has found out about the request, once.
    pub fn take_note(&mut self) -> Option<Note> {
        self.note.take()
    }

    /// The body of the request, once; nothing where it has none.
    pub fn take_body(&mut self) -> Option<RequestBody> {
        self.body.take()
    }

    /// The properties of the request that a worker needs.
    pub fn facts(&self) -> RequestFacts {
        self.facts
    }

    /// Watches the client until the response is out.
    pub fn watch(&self) -> ClientWatch {
        ClientWatch::new(Arc::clone(&self.slots), self.slot)
    }

    /// Frees the worker before a response of about `bytes` is sent. Returns whether any thread may send it now: then
    /// there is memory for all of it, and sending never waits for the client.
    pub fn defer(&mut self, bytes: usize) -> bool {
        self.held = self.hold(bytes, bytes);
        if self.held.is_some() {
            let (slot, generation) = (self.slot, self.generation);
            self.slots.complete(Completion { slot, generation, closes: false, outcome: Outcome::Deferred });
        }
        self.held.is_some()
    }

    /// Memory for `left` bytes of a response that takes `memory`.
    fn hold(&self, left: usize, memory: usize) -> Option<Taken> {
        (left <= REMAINING_BYTES_MAX).then(|| self.slots.budget.take(memory)).flatten()
    }

    /// Sends a whole response, `bytes` from `start` on. The event loop sends the part that the socket does not take
    /// at once.
    ///
    /// # Errors
    /// When the client has left, or does not read while the event loop holds too much already.
    pub fn send_page(mut self, bytes: Vec<u8>, start: usize) -> io::Result<()> {
        let mut sent = start;
        while sent < bytes.len() {
            match self.send_now(bytes.get(sent..).unwrap_or_default(), SendFlags::empty())? {
                0 => return self.leave_remaining(bytes, sent),
                taken => sent = sent.saturating_add(taken),
            }
        }
        self.leave(Outcome::Sent);
        Ok(())
    }

    fn leave_remaining(mut self, bytes: Vec<u8>, sent: usize) -> io::Result<()> {
        let left = bytes.len().saturating_sub(sent);
        let held = self.held.take().or_else(|| self.hold(left, bytes.capacity()));
        if let Some(held) = held {
            self.leave(Outcome::Remaining(Remaining { bytes, sent, held }));
            return Ok(());
        }
        let place = self.slots.hurried.take(1);
        if place.is_none() && left <= REMAINING_BYTES_MAX {
            // Other workers wait for slow readers already; this one stays free for clients that read.
            return Err(self.fail(AbortReason::Stalled));
        }
        self.send_all(bytes.get(sent..).unwrap_or_default(), false, HURRIED_WRITE_TIME)?;
        self.leave(Outcome::Sent);
        Ok(())
    }

    /// Begins a response of many pieces. With `closes`, the connection ends with it, even if the request asked to keep it.
    pub fn into_writer(mut self, closes: bool) -> ResponseWriter {
        self.facts.closes |= closes;
        self.bound_unsent(UNSENT_BYTES_MAX);
        ResponseWriter { socket: self, small: Vec::new() }
    }

    /// Lets the socket take so many bytes ahead of what it can send; 0 is the default of the system. A local socket has no
    /// such bound.
    fn bound_unsent(&self, bytes: u32) {
        if let Some(socket) = &self.socket {
            drop(socket.set_tcp_notsent_lowat(bytes));
        }
    }

    /// Sends everything, each piece of `WRITE_PIECE_BYTES` within `time`. With `more`, the last bytes may wait for those
    /// that follow.
    fn send_all(&mut self, bytes: &[u8], more: bool, time: Duration) -> io::Result<()> {
        let flags = if more { SendFlags::MORE } else { SendFlags::empty() };
        for mut piece in bytes.chunks(WRITE_PIECE_BYTES) {
            let mut deadline = None;
            while !piece.is_empty() {
                let taken = self.send_now(piece, flags)?;
                piece = piece.get(taken..).unwrap_or_default();
                if taken == 0 {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + time);
                    self.wait_until_writable(deadline)?;
                }
            }
        }
        Ok(())
    }

    /// Sends as much as the socket takes at once, which may be nothing.
    fn send_now(&mut self, bytes: &[u8], flags: SendFlags) -> io::Result<usize> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        loop {
            match send(&**socket, bytes, flags | SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(taken) => {
                    add(&self.slots.counters.bytes_out, taken);
                    self.sent = self.sent.saturating_add(u64::try_from(taken).unwrap_or(u64::MAX));
                    return Ok(taken);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                Err(_) => return Err(self.fail(AbortReason::Gone)),
            }
        }
    }

    fn wait_until_writable(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        let Ok(timeout) = Timespec::try_from(left) else { return Err(self.fail(AbortReason::Stalled)) };
        match poll(&mut [PollFd::new(&**socket, PollFlags::OUT)], Some(&timeout)) {
            Ok(0) => Err(self.fail(AbortReason::Stalled)),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(_) => Err(self.fail(AbortReason::Gone)),
        }
    }

    fn fail(&mut self, reason: AbortReason) -> io::Error {
        self.failure = Some(reason);
        match reason {
            AbortReason::Stalled => io::ErrorKind::TimedOut.into(),
            AbortReason::Gone | AbortReason::Worker => io::ErrorKind::BrokenPipe.into(),
        }
    }

    /// The socket goes first: the event loop may close the connection as soon as it has the completion.
    fn leave(&mut self, outcome: Outcome) {
        if self.socket.take().is_some() {
            let (slot, generation, closes) = (self.slot, self.generation, self.facts.closes);
            self.slots.complete(Completion { slot, generation, closes, outcome });
        }
    }
}

impl Drop for ResponseSocket {
    fn drop(&mut self) {
        let reason = self.failure.or((self.sent > 0).then_some(AbortReason::Worker));
        self.leave(reason.map_or(Outcome::Unanswered, Outcome::Aborted));
    }
}

/// Writes a response of many pieces. Dropped without [`ResponseWriter::finish`], the response is aborted.
#[derive(Debug)]
pub struct ResponseWriter {
    socket: ResponseSocket,
    /// Small pieces that wait for a large one or a flush.
    small: Vec<u8>,
}

impl ResponseWriter {
    /// Bytes of the response that the socket has taken.
    pub fn taken(&self) -> u64 {
        self.socket.sent
    }

    /// Completes the response.
    ///
    /// # Errors
    /// When the last pieces cannot be sent.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        // A page that follows on this connection is sent in one write.
        self.socket.bound_unsent(0);
        self.socket.leave(Outcome::Sent);
        Ok(())
    }

    fn send_small(&mut self, more: bool) -> io::Result<()> {
        let small = std::mem::take(&mut self.small);
        let sent = self.send(&small, more);
        self.small = small;
        self.small.clear();
        sent
    }

    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<()> {
        self.socket.send_all(bytes, more, self.socket.slots.write_time)
    }
}

impl Write for ResponseWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.small.len().saturating_add(bytes.len()) <= SMALL_PIECES_BYTES_MAX {
            self.small.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.send_small(true)?;
        self.send(bytes, false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_small(false)
    }
}

#[cfg(test)]
#[path = "response_socket_tests.rs"]
mod tests;
