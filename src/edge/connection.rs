//! One client connection on its thread: bytes are gathered into requests, requests are answered in order.
//!
//! Knows deadlines and how a connection ends; knows nothing of what is asked.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::assembly::{Assembly, Phase, Step};
use super::counters::{add, count};
use super::forward::{add_offer, add_wait};
use super::guard::{Open, Shared};
use super::pool::{Lease, Place};
use super::refusal::Refusal;
use super::registry::Client;
use super::relay::{Served, relay, send_answer};
use super::riser::Known;
use crate::limits::edge::{BODY_BYTES_FREE, LINGER_BYTES_MAX, LINGER_TIME, RISES_AFTER_ANSWERS};

/// Waits shorter than this are not told to the workers.
const WAIT_TOLD_FROM: Duration = Duration::from_millis(1);

/// A connection and what it has received.
pub(super) struct Connection {
    client: Arc<Client>,
    shared: Arc<Shared>,
    assembly: Assembly,
    phase: Phase,
    since: Instant,
    /// Answers to requests with a valid key.
    known_answers: u32,
}

/// How waiting for bytes ended.
enum Filled {
    Bytes,
    Ended,
    TooLate,
}

/// What becomes of a connection.
#[derive(PartialEq, Eq)]
enum Course {
    Ends,
    Rises,
}

impl Connection {
    /// A connection of which nothing was read.
    pub(super) fn new(client: Arc<Client>, shared: Arc<Shared>) -> Self {
        let assembly = Assembly::new(
            client.address,
            &shared.limits,
            Arc::clone(&shared.bodies),
            Arc::clone(&shared.chooser),
        );
        let since = Instant::now();
        Self { client, shared, assembly, phase: Phase::Idle, since, known_answers: 0 }
    }

    /// Answers requests until the connection ends, or goes on on another thread.
    pub(super) fn run(mut self, mut open: Open) {
        let place = Arc::new(Place::here());
        while self.answer_all(&place) == Course::Rises {
            let shared = Arc::clone(&self.shared);
            let Some(riser) = &shared.riser else { continue };
            match riser.take(Box::new(Known { connection: self, open })) {
                Ok(()) => return,
                Err(known) => {
                    Known { connection: self, open } = *known;
                    // It tries again after the next answer.
                    self.known_answers = RISES_AFTER_ANSWERS.saturating_sub(1);
                }
            }
        }
        // Its buffers are given back before it no longer counts as open.
        drop(self);
        drop(open);
    }

    fn answer_all(&mut self, place: &Arc<Place>) -> Course {
        loop {
            match self.assembly.advance() {
                Step::Ready => {
                    if !self.answer(place) {
                        return Course::Ends;
                    }
                    self.assembly.next();
                    self.phase = Phase::Idle;
                    if self.rises() {
                        return Course::Rises;
                    }
                }
                Step::Continue => {
                    if self.client.socket().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
                        return Course::Ends;
                    }
                }
                Step::Refused(refusal) => {
                    self.refuse_and_leave(&refusal);
                    return Course::Ends;
                }
                Step::Wait(phase) => match self.fill(phase) {
                    Filled::Bytes => {}
                    Filled::Ended => return Course::Ends,
                    Filled::TooLate => {
                        self.too_late(phase);
                        return Course::Ends;
                    }
                },
            }
        }
    }

    /// Whether it is time to go on as the connection of a customer: once, not for one request alone, and not where there
    /// is no difference.
    fn rises(&mut self) -> bool {
        if self.shared.riser.is_none() || !self.client.outlet.take_voucher() {
            return false;
        }
        self.known_answers = self.known_answers.saturating_add(1);
        self.known_answers == RISES_AFTER_ANSWERS
    }

    /// Whether the answer to the next request may make it time for that.
    fn may_rise(&self) -> bool {
        self.shared.riser.is_some() && self.known_answers.saturating_add(1) == RISES_AFTER_ANSWERS
    }

    /// Reads once, within the time of the phase.
    fn fill(&mut self, phase: Phase) -> Filled {
        if phase == Phase::Idle {
            return self.fill_idle();
        }
        if phase != self.phase {
            (self.phase, self.since) = (phase, Instant::now());
        }
        let limit =
            if phase == Phase::Head { self.shared.limits.head_time } else { self.shared.limits.body_time };
        let left = limit.saturating_sub(self.since.elapsed());
        if !is_readable(&self.client, left) {
            return Filled::TooLate;
        }
        self.receive()
    }

    /// Between requests somebody else keeps the time, which saves a system call for each request.
    fn fill_idle(&mut self) -> Filled {
        self.client.idle().begin(self.shared.registry.now());
        if self.shared.registry.is_stopping() {
            // What has come is still read, and nothing is waited for.
            self.client.stop_reading();
        }
        let filled = self.receive();
        let was_ended = self.client.idle().leave();
        if was_ended && matches!(filled, Filled::Ended) { Filled::TooLate } else { filled }
    }

    fn receive(&mut self) -> Filled {
        match self.client.socket().read(self.assembly.room()) {
            Ok(0) => Filled::Ended,
            Ok(length) => {
                add(&self.shared.counters.bytes_in, length);
                self.assembly.received(length);
                Filled::Bytes
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Filled::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Filled::TooLate,
            Err(_) => Filled::Ended,
        }
    }

    fn too_late(&mut self, phase: Phase) {
        match phase {
            Phase::Idle => count(&self.shared.counters.idle_closed),
            Phase::Head => self.refuse_and_leave(&Refusal::HeadTimeout),
            Phase::Body => self.refuse_and_leave(&Refusal::BodyTimeout),
        }
    }

    /// Has the request answered. Says whether the connection goes on.
    fn answer(&mut self, place: &Arc<Place>) -> bool {
        let has_more = self.assembly.has_bytes();
        let Some(request) = self.assembly.request() else { return false };
        let facts = *request.facts;
        let keep = facts.fields.keep_alive;
        let Some(pool) = self.shared.pools.get(facts.pool).or_else(|| self.shared.pools.first()) else {
            return false;
        };
        let Ok((lease, waited)) = pool.pool.take(self.client.address, place) else {
            return self.refuse(&Refusal::Busy, keep);
        };
        if let Some(waited) = waited.filter(|waited| *waited >= WAIT_TOLD_FROM) {
            add_wait(u64::try_from(waited.as_micros()).unwrap_or(u64::MAX), request.head);
        }
        let keep = keep && !self.shared.registry.is_stopping();
        // Where an old client needs another form, or no body follows the head, the answer comes through the guard.
        let is_offered = facts.fields.is_http_1_1 && !facts.is_head;
        if is_offered {
            add_offer(&self.client.outlet, !keep, request.head);
        }
        count(&self.shared.counters.requests);
        if hand_over(&lease, request.head, request.body).is_err() {
            drop(lease);
            return self.unanswered(keep);
        }
        // Not where something is to be done, or to be given back, as soon as the answer is out.
        let is_due = has_more || request.body.len() > BODY_BYTES_FREE || self.may_rise();
        let stands_by = is_offered && keep && !is_due;
        let lease = if stands_by { self.client.standby.wait(lease, &self.client) } else { Some(lease) };
        let served = lease.map_or(Served::Whole, |lease| {
            relay(lease, &self.client, &facts, keep, pool.is_long, &self.shared)
        });
        match served {
            Served::Whole => {
                self.client.outlet.withdraw();
                keep
            }
            Served::Unanswered => self.unanswered(keep),
            Served::Cut => self.cut(),
        }
    }

    /// The worker said nothing. If it has claimed the socket meanwhile, there may be a part of an answer in it.
    fn unanswered(&self, keep: bool) -> bool {
        if self.client.outlet.withdraw() { self.cut() } else { self.refuse(&Refusal::NoAnswer, keep) }
    }

    /// A part of an answer is out: whoever still sends is stopped, and nothing follows.
    fn cut(&self) -> bool {
        if self.client.outlet.withdraw() {
            // It may be gone already.
            drop(self.client.socket().shutdown(Shutdown::Both));
        }
        false
    }

    /// Tells the client what is wrong. Says whether the connection goes on.
    fn refuse(&self, refusal: &Refusal, keep: bool) -> bool {
        self.shared.counters.refuse(refusal);
        let with_body = !self.assembly.is_head_request();
        let answer = (self.shared.refuse)(refusal, self.client.address, with_body);
        send_answer(&self.client, &answer, keep, &self.shared).is_ok() && keep
    }

    /// The last word of a connection: what the client still sends is dropped for a while, because unread bytes would
    /// turn the close into a reset that takes the answer with it.
    fn refuse_and_leave(&self, refusal: &Refusal) {
        self.refuse(refusal, false);
        if self.client.socket().shutdown(Shutdown::Write).is_err() {
            return;
        }
        let deadline = Instant::now() + LINGER_TIME;
        let mut dropped = 0_usize;
        let mut piece = [const { MaybeUninit::uninit() }; 16 * 1024];
        while dropped < LINGER_BYTES_MAX {
            let left = deadline.saturating_duration_since(Instant::now());
            if !is_readable(&self.client, left) {
                return;
            }
            match self.client.socket().recv(&mut piece) {
                Ok(length) if length > 0 => dropped = dropped.saturating_add(length),
                _ => return,
            }
        }
    }
}

/// Waits until the client has sent something or left, at most for so long.
fn is_readable(client: &Client, wait: Duration) -> bool {
    let Ok(timeout) = Timespec::try_from(wait) else { return false };
    let mut sockets = [PollFd::new(client.socket(), PollFlags::IN)];
    loop {
        match poll(&mut sockets, Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Writes a whole request, in one piece where it fits.
fn hand_over(lease: &Lease, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut stream = lease.stream().ok_or(io::ErrorKind::NotConnected)?;
    if body.is_empty() {
        return stream.write_all(head);
    }
    let mut slices = [io::IoSlice::new(head), io::IoSlice::new(body)];
    let mut slices = slices.as_mut_slice();
    while !slices.is_empty() {
        match stream.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => io::IoSlice::advance_slices(&mut slices, length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
