//! A client connection: sends a request, reads the response, and reconnects when the server closed it.
//!
//! Handles one request at a time. Does not depend on schedules or counters.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::loadgen::client::poller::{Interest, Poller};
use crate::loadgen::client::response::{Keep, Progress, ResponseReader};
use crate::loadgen::client::schedule::{Ticket, nanos};
use crate::loadgen::client::target::Target;
use crate::loadgen::random::Random;
use crate::loadgen::requests::prepared_work::PreparedWork;
use crate::loadgen::results::tally::{
    FailureKind, FailureSample, SAMPLE_SIZE_BYTES_MAX, Times, one_line_text,
};

/// Reads of one connection for each readiness event, so that other connections are served too.
const READS_PER_EVENT: usize = 16;

/// The state that all connections of a thread share.
pub struct ThreadContext {
    pub poller: Poller,
    pub target: Arc<Target>,
    pub works: Arc<[PreparedWork]>,
    pub began: Instant,
    pub buffer: Vec<u8>,
    pub room: Vec<u8>,
    pub opened: u64,
}

impl ThreadContext {
    /// Nanoseconds since the start of the run.
    pub fn now(&self) -> u64 {
        nanos(self.began.elapsed())
    }
}

/// A connection, open or closed.
pub struct Connection {
    token: u64,
    stream: Option<TcpStream>,
    connecting: bool,
    waits_for_write: bool,
    request: Vec<u8>,
    sent: usize,
    reader: ResponseReader,
    in_flight: Option<InFlight>,
    failure: String,
}

#[derive(Debug, Clone, Copy)]
pub struct InFlight {
    pub work: usize,
    pub ticket: Ticket,
    /// Time at which the connection received it.
    pub taken: u64,
    sent_at: u64,
    first_byte_at: u64,
}

/// The outcome of an event.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    Waiting,
    Good(InFlight, u64, Times),
    Failed(InFlight, FailureKind),
}

impl Connection {
    pub fn new(token: u64) -> Connection {
        Connection {
            token,
            stream: None,
            connecting: false,
            waits_for_write: false,
            request: Vec::new(),
            sent: 0,
            reader: ResponseReader::new(Keep::Refusals(SAMPLE_SIZE_BYTES_MAX)),
            in_flight: None,
            failure: String::new(),
        }
    }

    pub fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// Starts a request. Opens the connection if it is closed.
    pub fn begin(
        &mut self,
        work: usize,
        ticket: Ticket,
        random: &mut Random,
        context: &mut ThreadContext,
    ) -> Outcome {
        let taken = context.now();
        self.in_flight = Some(InFlight { work, ticket, taken, sent_at: taken, first_byte_at: 0 });
        self.sent = 0;
        let Some(prepared) = context.works.get(work) else {
            return self.failed(FailureKind::Connect, "no such work");
        };
        self.reader.begin(prepared.to_head);
        if prepared.fixed().is_none() {
            prepared.render(random, ticket.sequence, &mut context.room, &mut self.request);
        }
        if self.stream.is_none() {
            return match self.open(context) {
                Ok(()) => Outcome::Waiting,
                Err(error) => self.failed(FailureKind::Connect, &error.to_string()),
            };
        }
        self.send(context)
    }

    /// Handles a readiness event: the connection is readable, writable or failed.
    pub fn on_ready(&mut self, context: &mut ThreadContext) -> Outcome {
        if self.connecting {
            return self.connected(context);
        }
        if self.in_flight.is_none() {
            // Between requests, an event means that the server closed the connection. The next request opens another.
            self.close();
            return Outcome::Waiting;
        }
        if self.waits_for_write
            && let failed @ Outcome::Failed(..) = self.send(context)
        {
            return failed;
        }
        self.receive(context)
    }

    /// Fails the request after its timeout.
    pub fn time_out(&mut self, timeout: std::time::Duration) -> Outcome {
        self.failed(FailureKind::Timeout, &format!("no complete response within {timeout:?}"))
    }

    /// The sample of a failure for the report.
    pub fn sample(&self, kind: FailureKind) -> FailureSample {
        let answered = kind == FailureKind::Status;
        let head = self.reader.head();
        FailureSample {
            kind,
            status: answered.then_some(head.status),
            retry_after_seconds: head.retry_after.filter(|_| answered),
            found: if answered { one_line_text(self.reader.kept()) } else { self.failure.clone() },
        }
    }

    fn open(&mut self, context: &mut ThreadContext) -> io::Result<()> {
        let address = context.target.address;
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
        context.poller.watch(&stream, self.token, Interest::Write)?;
        self.stream = Some(stream);
        self.connecting = true;
        self.waits_for_write = true;
        Ok(())
    }

    fn connected(&mut self, context: &mut ThreadContext) -> Outcome {
        let Some(stream) = &self.stream else { return Outcome::Waiting };
        match stream.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return self.failed(FailureKind::Connect, &error.to_string()),
        }
        // Neither connected nor failed: the connect is still in progress.
        if stream.peer_addr().is_err() {
            return Outcome::Waiting;
        }
        self.connecting = false;
        context.opened += 1;
        let now = context.now();
        match &mut self.in_flight {
            Some(in_flight) => in_flight.sent_at = now,
            None => return Outcome::Waiting,
        }
        self.send(context)
    }

    fn send(&mut self, context: &mut ThreadContext) -> Outcome {
        let (Some(stream), Some(in_flight)) = (&mut self.stream, &self.in_flight) else {
            return Outcome::Waiting;
        };
        let fixed = context.works.get(in_flight.work).and_then(PreparedWork::fixed);
        let bytes = fixed.unwrap_or(&self.request);
        let mut failure = None;
        while let Some(rest) = bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        let wants_room = self.sent < bytes.len();
        if failure.is_none() && wants_room != self.waits_for_write {
            let interest = if wants_room { Interest::Write } else { Interest::Read };
            failure = context.poller.change(&*stream, self.token, interest).err();
            self.waits_for_write = wants_room;
        }
        match failure {
            None => Outcome::Waiting,
            Some(error) => self.failed(FailureKind::Cut, &format!("while sending: {error}")),
        }
    }

    fn receive(&mut self, context: &mut ThreadContext) -> Outcome {
        for _ in 0..READS_PER_EVENT {
            let Some(stream) = &mut self.stream else { return Outcome::Waiting };
            let count = match stream.read(&mut context.buffer) {
                Ok(0) => return self.ended(context),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Outcome::Waiting,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.failed(FailureKind::Cut, &error.to_string()),
            };
            let now = context.now();
            if let Some(in_flight) = self.in_flight.as_mut().filter(|in_flight| in_flight.first_byte_at == 0)
            {
                in_flight.first_byte_at = now;
            }
            let full = count == context.buffer.len();
            match self.reader.feed(context.buffer.get(..count).unwrap_or_default()) {
                Err(error) => return self.failed(FailureKind::Malformed, &error.to_string()),
                Ok(Progress::Whole(taken)) if taken < count => {
                    let found = format!("{} bytes behind the end of the response", count - taken);
                    return self.failed(FailureKind::Length, &found);
                }
                Ok(Progress::Whole(_)) => return self.finished(now, context),
                // The poller reports further bytes.
                Ok(Progress::More) if !full => return Outcome::Waiting,
                Ok(Progress::More) => {}
            }
        }
        Outcome::Waiting
    }

    fn ended(&mut self, context: &ThreadContext) -> Outcome {
        if self.reader.end() {
            return self.finished(context.now(), context);
        }
        let bytes = self.reader.body_bytes();
        self.failed(FailureKind::Cut, &format!("the connection ended after {bytes} bytes of the body"))
    }

    fn finished(&mut self, now: u64, context: &ThreadContext) -> Outcome {
        let Some(in_flight) = self.in_flight.take() else { return Outcome::Waiting };
        let head = self.reader.head();
        // A response to an incomplete request leaves the connection in an undefined state.
        if head.closes || self.waits_for_write {
            self.close();
        }
        if !context.works.get(in_flight.work).is_some_and(|work| work.expects(head.status)) {
            return Outcome::Failed(in_flight, FailureKind::Status);
        }
        let times = Times {
            latency: now.saturating_sub(in_flight.ticket.intended),
            service: now.saturating_sub(in_flight.sent_at),
            first_byte: in_flight.first_byte_at.saturating_sub(in_flight.sent_at),
        };
        Outcome::Good(in_flight, self.reader.body_bytes(), times)
    }

    fn failed(&mut self, kind: FailureKind, found: &str) -> Outcome {
        self.close();
        found.clone_into(&mut self.failure);
        match self.in_flight.take() {
            Some(in_flight) => Outcome::Failed(in_flight, kind),
            None => Outcome::Waiting,
        }
    }

    fn close(&mut self) {
        self.stream = None;
        self.connecting = false;
        self.waits_for_write = false;
    }
}
