//! One connection that sends a request, reads the answer, and is opened anew when it was closed.
//!
//! Knows one request at a time; knows nothing of when requests are due and of how answers are counted.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use super::answer::{AnswerReader, Fed, Keep};
use super::poller::{Interest, Poller};
use super::prepare::Prepared;
use super::random::Random;
use super::schedule::{Ticket, nanos};
use super::tally::{FailureKind, SAMPLE_SIZE_BYTES_MAX, Sample, Times, shown};
use super::target::Target;

/// Reads of one connection before the others have their turn.
const READS_PER_TURN: usize = 16;

/// What all connections of a thread work with.
pub(super) struct Surroundings {
    pub(super) poller: Poller,
    pub(super) target: Arc<Target>,
    pub(super) works: Arc<[Prepared]>,
    pub(super) began: Instant,
    /// What is read lands here and is not kept.
    pub(super) buffer: Vec<u8>,
    /// Room for a body that is being put together.
    pub(super) room: Vec<u8>,
    /// Connections that were opened.
    pub(super) opened: u64,
}

impl Surroundings {
    /// Nanoseconds since the run began.
    pub(super) fn now(&self) -> u64 {
        nanos(self.began.elapsed())
    }
}

/// A connection, open or not.
pub(super) struct Connection {
    token: u64,
    stream: Option<TcpStream>,
    connecting: bool,
    /// Whether the poller looks for room to write.
    watched_for_room: bool,
    request: Vec<u8>,
    sent: usize,
    reader: AnswerReader,
    job: Option<Job>,
    fault: String,
}

/// A request on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    /// Number of the work.
    pub(super) work: usize,
    pub(super) ticket: Ticket,
    /// When the connection got it.
    pub(super) taken: u64,
    sent_at: u64,
    first_byte_at: u64,
}

/// What became of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// Nothing is decided yet.
    Waiting,
    /// A good answer.
    Good(Job, u64, Times),
    /// The request failed.
    Failed(Job, FailureKind),
}

impl Connection {
    pub(super) fn new(token: u64) -> Connection {
        Connection {
            token,
            stream: None,
            connecting: false,
            watched_for_room: false,
            request: Vec::new(),
            sent: 0,
            reader: AnswerReader::new(Keep::Refusals(SAMPLE_SIZE_BYTES_MAX)),
            job: None,
            fault: String::new(),
        }
    }

    /// The request on its way.
    pub(super) fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Begins a request, and opens the connection where it is not.
    pub(super) fn begin(
        &mut self,
        work: usize,
        ticket: Ticket,
        random: &mut Random,
        around: &mut Surroundings,
    ) -> Outcome {
        let taken = around.now();
        self.job = Some(Job { work, ticket, taken, sent_at: taken, first_byte_at: 0 });
        self.sent = 0;
        let Some(prepared) = around.works.get(work) else {
            return self.failed(FailureKind::Connect, "no such work");
        };
        self.reader.begin(prepared.to_head);
        if prepared.fixed().is_none() {
            prepared.render(random, ticket.sequence, &mut around.room, &mut self.request);
        }
        if self.stream.is_none() {
            return match self.open(around) {
                Ok(()) => Outcome::Waiting,
                Err(error) => self.failed(FailureKind::Connect, &error.to_string()),
            };
        }
        self.send(around)
    }

    /// The connection can be read, or written, or has failed.
    pub(super) fn turn(&mut self, around: &mut Surroundings) -> Outcome {
        if self.connecting {
            return self.connected(around);
        }
        if self.job.is_none() {
            // Between requests a server says nothing; it may end the connection, and the next request opens another.
            self.close();
            return Outcome::Waiting;
        }
        if self.watched_for_room
            && let failed @ Outcome::Failed(..) = self.send(around)
        {
            return failed;
        }
        self.receive(around)
    }

    /// Gives the request up because it took too long.
    pub(super) fn give_up(&mut self, timeout: std::time::Duration) -> Outcome {
        self.failed(FailureKind::Timeout, &format!("no whole answer within {timeout:?}"))
    }

    /// What is shown of a failure.
    pub(super) fn sample(&self, kind: FailureKind) -> Sample {
        let answered = kind == FailureKind::Status;
        let head = self.reader.head();
        Sample {
            kind,
            status: answered.then_some(head.status),
            retry_after_seconds: head.retry_after.filter(|_| answered),
            found: if answered { shown(self.reader.kept()) } else { self.fault.clone() },
        }
    }

    fn open(&mut self, around: &mut Surroundings) -> io::Result<()> {
        let address = around.target.address;
        let socket =
            Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                return Err(error);
            }
            _ => {}
        }
        let stream = TcpStream::from(socket);
        around.poller.watch(&stream, self.token, Interest::Write)?;
        self.stream = Some(stream);
        self.connecting = true;
        self.watched_for_room = true;
        Ok(())
    }

    fn connected(&mut self, around: &mut Surroundings) -> Outcome {
        let Some(stream) = &self.stream else { return Outcome::Waiting };
        match stream.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return self.failed(FailureKind::Connect, &error.to_string()),
        }
        // Ready, but neither connected nor failed: it goes on trying.
        if stream.peer_addr().is_err() {
            return Outcome::Waiting;
        }
        self.connecting = false;
        around.opened += 1;
        let now = around.now();
        match &mut self.job {
            Some(job) => job.sent_at = now,
            None => return Outcome::Waiting,
        }
        self.send(around)
    }

    fn send(&mut self, around: &mut Surroundings) -> Outcome {
        let (Some(stream), Some(job)) = (&mut self.stream, &self.job) else { return Outcome::Waiting };
        let fixed = around.works.get(job.work).and_then(Prepared::fixed);
        let bytes = fixed.unwrap_or(&self.request);
        let mut fault = None;
        while let Some(rest) = bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
        let wants_room = self.sent < bytes.len();
        if fault.is_none() && wants_room != self.watched_for_room {
            let interest = if wants_room { Interest::Write } else { Interest::Read };
            fault = around.poller.change(&*stream, self.token, interest).err();
            self.watched_for_room = wants_room;
        }
        match fault {
            None => Outcome::Waiting,
            Some(error) => self.failed(FailureKind::Cut, &format!("while sending: {error}")),
        }
    }

    fn receive(&mut self, around: &mut Surroundings) -> Outcome {
        for _ in 0..READS_PER_TURN {
            let Some(stream) = &mut self.stream else { return Outcome::Waiting };
            let count = match stream.read(&mut around.buffer) {
                Ok(0) => return self.ended(around),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Outcome::Waiting,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.failed(FailureKind::Cut, &error.to_string()),
            };
            let now = around.now();
            if let Some(job) = self.job.as_mut().filter(|job| job.first_byte_at == 0) {
                job.first_byte_at = now;
            }
            let full = count == around.buffer.len();
            match self.reader.feed(around.buffer.get(..count).unwrap_or_default()) {
                Err(error) => return self.failed(FailureKind::Malformed, &error.to_string()),
                Ok(Fed::Whole(taken)) if taken < count => {
                    let found = format!("{} bytes behind the end of the answer", count - taken);
                    return self.failed(FailureKind::Length, &found);
                }
                Ok(Fed::Whole(_)) => return self.finished(now, around),
                // Whatever else there is, the poller will say.
                Ok(Fed::More) if !full => return Outcome::Waiting,
                Ok(Fed::More) => {}
            }
        }
        Outcome::Waiting
    }

    fn ended(&mut self, around: &Surroundings) -> Outcome {
        if self.reader.end() {
            return self.finished(around.now(), around);
        }
        let bytes = self.reader.body_bytes();
        self.failed(FailureKind::Cut, &format!("the connection ended after {bytes} bytes of the body"))
    }

    fn finished(&mut self, now: u64, around: &Surroundings) -> Outcome {
        let Some(job) = self.job.take() else { return Outcome::Waiting };
        let head = self.reader.head();
        // An answer to half a request leaves a connection that nobody understands.
        if head.closes || self.watched_for_room {
            self.close();
        }
        if !around.works.get(job.work).is_some_and(|work| work.expects(head.status)) {
            return Outcome::Failed(job, FailureKind::Status);
        }
        let times = Times {
            latency: now.saturating_sub(job.ticket.intended),
            service: now.saturating_sub(job.sent_at),
            first_byte: job.first_byte_at.saturating_sub(job.sent_at),
        };
        Outcome::Good(job, self.reader.body_bytes(), times)
    }

    fn failed(&mut self, kind: FailureKind, found: &str) -> Outcome {
        self.close();
        found.clone_into(&mut self.fault);
        match self.job.take() {
            Some(job) => Outcome::Failed(job, kind),
            None => Outcome::Waiting,
        }
    }

    fn close(&mut self) {
        self.stream = None;
        self.connecting = false;
        self.watched_for_room = false;
    }
}
