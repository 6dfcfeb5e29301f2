//! An answer on its way from a worker to the client.
//!
//! A small answer is read whole, the worker is free, and then the client gets it, however slowly it reads. What is larger
//! or has no known end goes through a buffer of fixed size. An answer that breaks off is cut, so that no part looks whole.

use std::io::{self, IoSlice, Read};
use std::sync::atomic::Ordering;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answer::{AnswerBody, AnswerHead, lines, value_of};
use super::assembly::Facts;
use super::chunks::Chunks;
use super::counters::{add, count};
use super::guard::Shared;
use super::passage::{Blocked, Passage};
use super::pool::Lease;
use super::registry::Client;
use crate::limits::edge::{
    ANSWER_BYTES_HELD_EACH, ANSWER_HEAD_BYTES_MAX, CHUNK_LINE_READ_BYTES, HURRIED_WRITE_TIME,
    PASSED_BYTES_MIN, WORD_BYTES_MAX,
};
use crate::outlets::{self, WORD};

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    /// The client has all of it.
    Whole,
    /// The client has a part, or nothing more can be said to it.
    Cut,
    /// The worker said nothing.
    Unanswered,
}

/// Why an answer ended before its end.
enum Broken {
    /// The worker's side broke off, or sent what is no answer.
    Worker,
    /// The client is gone or does not read.
    Client,
}

/// Brings one answer to the client.
pub(super) fn relay(
    lease: Lease,
    client: &Client,
    facts: &Facts,
    keep: bool,
    is_long: bool,
    shared: &Shared,
) -> Served {
    let relay = Relay { lease, client, facts, keep, is_long, shared, begun: false, passage: None };
    let (broken, begun) = match relay.run() {
        Ok(()) if client.outlet.broken().is_none() => return Served::Whole,
        Ok(()) => (Broken::Client, true),
        Err(ended) => ended,
    };
    match (broken_outside(broken, client, shared), begun || client.outlet.is_claimed()) {
        (Broken::Worker, false) => Served::Unanswered,
        (Broken::Worker, true) => {
            count(&shared.counters.cut);
            if !facts.fields.is_http_1_1 {
                // Without chunks only a reset tells a part from the whole.
                drop(client.socket().set_linger(Some(std::time::Duration::ZERO)));
            }
            Served::Cut
        }
        (Broken::Client, _) => {
            count(&shared.counters.clients_gone);
            Served::Cut
        }
    }
}

/// A worker that sends to the client itself may have ended because of the client.
fn broken_outside(broken: Broken, client: &Client, shared: &Shared) -> Broken {
    match client.outlet.broken() {
        None => broken,
        Some(outlets::Broken::Gone) => Broken::Client,
        Some(outlets::Broken::Stalled) => {
            count(&shared.counters.slow_readers);
            Broken::Client
        }
    }
}

struct Relay<'a> {
    lease: Lease,
    client: &'a Client,
    facts: &'a Facts,
    keep: bool,
    is_long: bool,
    shared: &'a Shared,
    /// Whether the client has got anything from here.
    begun: bool,
    passage: Option<Passage>,
}

impl Relay<'_> {
    fn run(self) -> Result<(), (Broken, bool)> {
        // Mostly there is only word that the answer is out, and that needs no large buffer.
        let mut first = [0; WORD_BYTES_MAX];
        let filled = self.read(&mut first).map_err(|broken| (broken, false))?;
        let first = first.get(..filled).unwrap_or_default();
        if self.client.outlet.is_claimed() && is_last_word(first, self.facts) {
            self.lease.done();
            return Ok(());
        }
        let shelf = &self.shared.shelf;
        let mut buffer = shelf.take();
        if let Some(room) = buffer.get_mut(..filled) {
            room.copy_from_slice(first);
        }
        let outcome = match self.read_head(&mut buffer, filled) {
            Ok((head, filled)) => self.pass_on(&mut buffer, head, filled),
            Err(broken) => Err((broken, false)),
        };
        shelf.put(buffer);
        outcome
    }

    /// Reads up to the end of the head; `filled` bytes are there already.
    fn read_head(&self, buffer: &mut [u8], mut filled: usize) -> Result<(AnswerHead, usize), Broken> {
        let mut searched = 0_usize;
        loop {
            let bytes = buffer.get(..filled).unwrap_or_default();
            match AnswerHead::read(bytes, searched, self.facts) {
                // Behind a claim there is only word of it; anything else is somebody else's answer to a failure.
                Ok(Some(_)) if self.client.outlet.is_claimed() && !bytes.starts_with(WORD) => {
                    return Err(Broken::Worker);
                }
                Ok(Some(head)) => return Ok((head, filled)),
                Ok(None) if filled < ANSWER_HEAD_BYTES_MAX => {}
                _ => return Err(Broken::Worker),
            }
            searched = filled;
            let length = self.read(buffer.get_mut(filled..).unwrap_or_default())?;
            filled = filled.saturating_add(length);
        }
    }

    fn pass_on(mut self, buffer: &mut [u8], head: AnswerHead, filled: usize) -> Result<(), (Broken, bool)> {
        let outcome = match head.body {
            AnswerBody::Absent => return self.whole(buffer, head.length, filled, head.length),
            AnswerBody::Sized(body) => {
                let total = u64::try_from(head.length).unwrap_or(u64::MAX).saturating_add(body);
                let small = usize::try_from(total).ok().filter(|total| *total <= buffer.len());
                if let Some(total) = small {
                    return self.whole(buffer, head.length, filled, total);
                }
                let held = usize::try_from(total)
                    .ok()
                    .filter(|total| !self.is_long && *total <= ANSWER_BYTES_HELD_EACH)
                    .and_then(|total| self.shared.answers.take(total).map(|taken| (total, taken)));
                if let Some((total, _taken)) = held {
                    let mut large = Vec::with_capacity(total);
                    large.extend_from_slice(buffer.get(..filled).unwrap_or_default());
                    large.resize(total, 0);
                    return self.whole(&mut large, head.length, filled, total);
                }
                self.hurried(|relay| relay.sized(buffer, head, filled, total))
            }
            AnswerBody::Chunked => self.chunked(buffer, head, filled, None),
            AnswerBody::Announced(length) => self.chunked(buffer, head, filled, Some(length)),
        };
        match outcome {
            Ok(()) => {
                self.lease.done();
                Ok(())
            }
            Err(broken) => Err((broken, self.begun)),
        }
    }

    /// Reads up to `total`, frees the worker, then sends.
    fn whole(
        self,
        buffer: &mut [u8],
        head_length: usize,
        mut filled: usize,
        total: usize,
    ) -> Result<(), (Broken, bool)> {
        while filled < total {
            let rest = buffer.get_mut(filled..).unwrap_or_default();
            filled = filled.saturating_add(self.read(rest).map_err(|broken| (broken, false))?);
        }
        if filled > total {
            // Something came that nobody asked for: this connection is not used again.
            return Err((Broken::Worker, false));
        }
        let Self { lease, client, facts, keep, shared, .. } = self;
        lease.done();
        let bytes = buffer.get(..total).unwrap_or_default();
        send_with_head(client, bytes, head_length, facts.fields.is_http_1_1, keep, shared)
            .map_err(|_| (Broken::Client, true))
    }

    /// Where too much is held for slow clients already, the next one has to read quickly, because it holds a worker.
    fn hurried(&mut self, send: impl FnOnce(&mut Self) -> Result<(), Broken>) -> Result<(), Broken> {
        if self.is_long {
            return send(self);
        }
        let client = self.client;
        let patience = |time| client.socket().set_write_timeout(Some(time)).map_err(|_| Broken::Client);
        patience(HURRIED_WRITE_TIME.min(self.shared.limits.write_time))?;
        let sent = send(self);
        patience(self.shared.limits.write_time)?;
        sent
    }

    /// An answer of known length that is larger than the buffer.
    fn sized(
        &mut self,
        buffer: &mut [u8],
        head: AnswerHead,
        filled: usize,
        total: u64,
    ) -> Result<(), Broken> {
        let mut sent = u64::try_from(filled).unwrap_or(u64::MAX);
        self.send_first(buffer.get(..filled).unwrap_or_default(), head.length)?;
        while sent < total {
            let left = usize::try_from(total.saturating_sub(sent)).unwrap_or(usize::MAX).min(buffer.len());
            let piece = buffer.get_mut(..left).unwrap_or_default();
            let length = self.read(piece)?;
            self.send(piece.get(..length).unwrap_or_default())?;
            sent = sent.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        }
        if sent > total { Err(Broken::Worker) } else { Ok(()) }
    }

    /// An answer in chunks: every piece goes on at once, without the chunks where the client got a length or knows none.
    fn chunked(
        &mut self,
        buffer: &mut [u8],
        head: AnswerHead,
        mut filled: usize,
        announced: Option<u64>,
    ) -> Result<(), Broken> {
        let mut chunks = Chunks::default();
        let as_chunks = self.facts.fields.is_http_1_1 && announced.is_none();
        let mut content = 0_u64;
        let mut from = head.length;
        if !as_chunks {
            let plain = without_chunked(buffer.get(..head.length).unwrap_or_default());
            self.send_first(&plain, plain.len())?;
        }
        loop {
            let bytes = buffer.get(from..filled).unwrap_or_default();
            let mut sent = Ok(());
            let used = chunks.advance(bytes, |piece| {
                content = content.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                if !as_chunks && sent.is_ok() && announced.is_none_or(|length| content <= length) {
                    sent = self.send(piece);
                }
            });
            sent?;
            // What came before a fault is the client's; the rest of the connection is not.
            let sound = chunks.sound();
            let too_long = announced.is_some_and(|length| content > length);
            let faulty = used.is_err() || sound < bytes.len() || too_long;
            if !as_chunks {
                // It went on piece by piece.
            } else if self.begun {
                self.send(bytes.get(..sound).unwrap_or_default())?;
            } else {
                let first = from.saturating_add(sound);
                self.send_first(buffer.get(..first).unwrap_or_default(), head.length)?;
            }
            if faulty {
                return Err(Broken::Worker);
            }
            if chunks.is_done() {
                let whole = announced.is_none_or(|length| content == length);
                return if whole { Ok(()) } else { Err(Broken::Worker) };
            }
            let left = chunks.content_left();
            let fits = announced.is_none_or(|length| content.saturating_add(left) <= length);
            let passed = fits && left >= PASSED_BYTES_MIN && self.pass(left)?;
            let mut room = buffer.len();
            if passed {
                content = content.saturating_add(left);
                chunks.skip_content();
                room = CHUNK_LINE_READ_BYTES;
            }
            from = 0;
            filled = self.read(buffer.get_mut(..room).unwrap_or_default())?;
        }
    }

    /// Moves the content of a chunk past this process. Says whether that was possible; if not, nothing was moved.
    fn pass(&mut self, mut left: u64) -> Result<bool, Broken> {
        if self.passage.is_none() {
            self.passage = Passage::open();
        }
        let Some(passage) = &self.passage else { return Ok(false) };
        let stream = self.lease.stream().ok_or(Broken::Worker)?;
        let mut any = false;
        while left > 0 {
            self.wait(stream)?;
            let passed = passage.pass(stream, self.client.socket(), left, self.shared.limits.write_time);
            match passed {
                Ok(length) => {
                    self.shared.counters.bytes_out.fetch_add(length, Ordering::Relaxed);
                    left = left.saturating_sub(length);
                    any = true;
                }
                Err(Blocked::Unsupported) if !any => return Ok(false),
                Err(Blocked::Unsupported | Blocked::Worker) => return Err(Broken::Worker),
                Err(Blocked::Client) => return Err(Broken::Client),
                Err(Blocked::Stalled) => {
                    count(&self.shared.counters.slow_readers);
                    return Err(Broken::Client);
                }
            }
        }
        Ok(true)
    }

    /// Reads what the worker has; while that may take long, a client that leaves is noticed.
    fn read(&self, room: &mut [u8]) -> Result<usize, Broken> {
        let mut stream = self.lease.stream().ok_or(Broken::Worker)?;
        if self.is_long {
            self.wait(stream)?;
        }
        loop {
            let sent = self.client.outlet.sent();
            match stream.read(room) {
                Ok(0) => return Err(Broken::Worker),
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // No word for a long time is no silence while the worker sends.
                Err(_) if self.client.outlet.sent() != sent => {}
                Err(_) => return Err(Broken::Worker),
            }
        }
    }

    fn wait(&self, stream: &std::os::unix::net::UnixStream) -> Result<(), Broken> {
        let timeout = Timespec::try_from(self.shared.limits.answer_wait).map_err(|_| Broken::Worker)?;
        loop {
            let signs = self.client.signs_of_leaving();
            let mut sockets = [PollFd::new(stream, PollFlags::IN), PollFd::new(self.client.socket(), signs)];
            let sent = self.client.outlet.sent();
            match poll(&mut sockets, Some(&timeout)) {
                Ok(0) if self.client.outlet.sent() != sent => continue,
                Ok(0) => return Err(Broken::Worker),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Err(Broken::Worker),
            }
            let [worker, client] = &sockets;
            if client.revents().is_empty() {
                return Ok(());
            }
            // While this waited, this side may have stopped to read, which looks the same.
            if signs == self.client.signs_of_leaving() {
                return Err(Broken::Client);
            }
            if !worker.revents().is_empty() {
                return Ok(());
            }
        }
    }

    fn send_first(&mut self, bytes: &[u8], head_length: usize) -> Result<(), Broken> {
        self.begun = true;
        let is_http_1_1 = self.facts.fields.is_http_1_1;
        send_with_head(self.client, bytes, head_length, is_http_1_1, self.keep, self.shared)
            .map_err(|_| Broken::Client)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.client.outlet.send_all(bytes, false).map_err(|_| Broken::Client)
    }
}

/// Whether a worker says that it has sent everything.
fn is_last_word(bytes: &[u8], facts: &Facts) -> bool {
    let head = AnswerHead::read(bytes, 0, facts);
    bytes.starts_with(WORD)
        && head.is_ok_and(|head| head == Some(AnswerHead { length: bytes.len(), body: AnswerBody::Sized(0) }))
}

/// Sends an answer that was made here.
pub(super) fn send_answer(client: &Client, answer: &[u8], keep: bool, shared: &Shared) -> io::Result<()> {
    let head = memchr::memmem::find(answer, b"\r\n\r\n").map_or(answer.len(), |at| at.saturating_add(4));
    send_with_head(client, answer, head, true, keep, shared)
}

/// Sends bytes that begin with a head, and says in the head what becomes of the connection. Where the worker has begun to
/// send to the client itself, the head is word of that, and only what follows it is for the client.
fn send_with_head(
    client: &Client,
    bytes: &[u8],
    head_length: usize,
    is_http_1_1: bool,
    keep: bool,
    shared: &Shared,
) -> io::Result<()> {
    if client.outlet.is_claimed() {
        return client.outlet.send_all(bytes.get(head_length..).unwrap_or_default(), false);
    }
    let word: &[u8] = match (keep, is_http_1_1) {
        (true, true) => return client.outlet.send_all(bytes, false),
        (true, false) => b"Connection: keep-alive\r\n",
        (false, _) => b"Connection: close\r\n",
    };
    let end = head_length.saturating_sub(2);
    let (head, rest) = bytes.split_at_checked(end).ok_or(io::ErrorKind::InvalidData)?;
    let sent =
        client.socket().send_vectored(&[IoSlice::new(head), IoSlice::new(word), IoSlice::new(rest)])?;
    add(&shared.counters.bytes_out, sent);
    let whole = bytes.len().saturating_add(word.len());
    if sent < whole {
        // Less than asked means that the time for a piece is over, unless the piece was a large one.
        let Some(left) = sent.checked_sub(end.saturating_add(word.len())) else {
            return Err(stalled(shared));
        };
        return client.outlet.send_all(rest.get(left..).unwrap_or_default(), false);
    }
    Ok(())
}

fn stalled(shared: &Shared) -> io::Error {
    count(&shared.counters.slow_readers);
    io::ErrorKind::TimedOut.into()
}

/// The head for a client that knows no chunks.
fn without_chunked(head: &[u8]) -> Vec<u8> {
    let status_end =
        head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at.saturating_add(1));
    let mut plain = head.get(..status_end).unwrap_or_default().to_vec();
    for line in lines(head).filter(|line| value_of(line, b"Transfer-Encoding").is_none()) {
        plain.extend_from_slice(line);
        plain.extend_from_slice(b"\r\n");
    }
    plain.extend_from_slice(b"\r\n");
    plain
}
