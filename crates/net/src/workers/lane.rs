//! The private connection to tiny_http. Names of slots follow each other on it, each as the target of a request; responses do
//! not use it.
//!
//! Heads and bodies lie in the slots, so no request delays the next, and the slots bound the requests in tiny_http.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use crate::workers::private::PrivateAddress;

/// Pause before the private connection is opened anew.
const REOPEN_PAUSE: Duration = Duration::from_millis(100);

/// The lane of a listener.
pub struct Lane {
    upstream: Arc<PrivateAddress>,
    token: Token,
    stream: Option<UnixStream>,
    out: VecDeque<u8>,
    writable: bool,
    /// Whether the poll reports writability. A local socket reports it after every read of the peer, which would wake
    /// the event loop needlessly.
    is_watched: bool,
    /// When it is opened anew.
    reopen_at: Option<Instant>,
}

impl Lane {
    /// Opens it.
    ///
    /// # Errors
    /// When the private address has no listener.
    pub fn open(upstream: Arc<PrivateAddress>, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut lane = Self {
            upstream,
            token,
            stream: None,
            out: VecDeque::new(),
            writable: false,
            is_watched: false,
            reopen_at: None,
        };
        lane.connect(registry)?;
        Ok(lane)
    }

    /// When it is opened anew, where it is not open.
    pub fn reopen_at(&self) -> Option<Instant> {
        self.reopen_at
    }

    /// Appends a request, which goes out with the next [`Lane::write`]. A closed lane takes nothing: unclaimed
    /// requests are sent again once it is open.
    pub fn send(&mut self, slot: usize, generation: u64) {
        if self.stream.is_some() {
            // Writing to memory does not fail.
            drop(write!(self.out, "GET /{slot}-{generation} HTTP/1.1\r\n\r\n"));
        }
    }

    /// Adds the readiness of an event. Workers respond past the lane, so incoming bytes mean that it is broken.
    pub fn note(&mut self, readable: bool, writable: bool, now: Instant) {
        self.writable |= writable;
        let Some(stream) = self.stream.as_mut().filter(|_| readable) else { return };
        match stream.read(&mut [0; 64]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            _ => self.give_up(now),
        }
    }

    /// Writes as much as the socket takes.
    pub fn write(&mut self, registry: &Registry, now: Instant) {
        if self.try_write().and_then(|()| self.watch(registry)).is_err() {
            self.give_up(now);
        }
    }

    /// Reopens the lane when that is due. Returns whether it did; then unclaimed requests must be sent again.
    pub fn reopen(&mut self, registry: &Registry, now: Instant) -> bool {
        if self.reopen_at.is_none_or(|at| at > now) {
            return false;
        }
        match self.connect(registry) {
            Ok(()) => self.reopen_at = None,
            Err(error) => {
                tracing::error!(%error, "the private connection cannot be opened anew");
                self.reopen_at = Some(now + REOPEN_PAUSE);
            }
        }
        self.stream.is_some()
    }

    fn connect(&mut self, registry: &Registry) -> io::Result<()> {
        let mut stream = UnixStream::from_std(self.upstream.connect()?);
        registry.register(&mut stream, self.token, Interest::READABLE)?;
        (self.stream, self.writable, self.is_watched) = (Some(stream), true, false);
        Ok(())
    }

    /// Waits for room only while something waits for it.
    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let wanted = !self.out.is_empty();
        let Some(stream) = self.stream.as_mut().filter(|_| wanted != self.is_watched) else { return Ok(()) };
        self.is_watched = wanted;
        let interest = if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        registry.reregister(stream, self.token, interest)
    }

    fn give_up(&mut self, now: Instant) {
        tracing::error!("the private connection broke, and is opened anew");
        self.stream = None;
        self.out.clear();
        self.reopen_at = Some(now + REOPEN_PAUSE);
    }

    fn try_write(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while self.writable && !self.out.is_empty() {
            let (first, _) = self.out.as_slices();
            match stream.write(first) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => drop(self.out.drain(..length)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
