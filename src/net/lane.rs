//! The private connection to tiny_http: heads of requests go over it one after the other, and no response comes back.
//!
//! Bodies lie in the slots, so no request holds up the next, and what tiny_http may have under way is bounded by the slots.
//! Knows bytes, and nothing of what they say.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use super::private::PrivateAddress;
use crate::limits::net::REOPEN_PAUSE;

/// The lane of a listener.
pub(super) struct Lane {
    upstream: Arc<PrivateAddress>,
    token: Token,
    stream: Option<UnixStream>,
    out: VecDeque<u8>,
    writable: bool,
    /// Whether the poll tells when it is writable. A local socket would say so after every read of the other side, and wake
    /// the event loop for nothing.
    is_watched: bool,
    /// When it is opened anew.
    reopen_at: Option<Instant>,
}

impl Lane {
    /// Opens it.
    ///
    /// # Errors
    /// Fails where nobody listens at the private address.
    pub(super) fn open(upstream: Arc<PrivateAddress>, registry: &Registry, token: Token) -> io::Result<Self> {
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
    pub(super) fn reopen_at(&self) -> Option<Instant> {
        self.reopen_at
    }

    /// Appends a request, which goes out with the next [`Lane::write`]. While the lane is not open, nothing is appended:
    /// all that nobody has claimed is sent again once it is.
    pub(super) fn send(&mut self, head: &[u8]) {
        if self.stream.is_some() {
            self.out.extend(head);
        }
    }

    /// Adds what an event said. Workers respond past the lane, so one over which something comes is broken.
    pub(super) fn note(&mut self, readable: bool, writable: bool, now: Instant) {
        self.writable |= writable;
        let Some(stream) = self.stream.as_mut().filter(|_| readable) else { return };
        match stream.read(&mut [0; 64]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            _ => self.give_up(now),
        }
    }

    /// Writes what the socket takes.
    pub(super) fn write(&mut self, registry: &Registry, now: Instant) {
        if self.try_write().and_then(|()| self.watch(registry)).is_err() {
            self.give_up(now);
        }
    }

    /// Opens it anew where that is due. Says whether it did: what nobody has claimed has to be sent again.
    pub(super) fn reopen(&mut self, registry: &Registry, now: Instant) -> bool {
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
