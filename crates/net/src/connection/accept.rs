//! Accepts connections, or refuses them when there are too many.
//!
//! Does not depend on requests.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Token};
use socket2::{SockAddr, Socket};

use crate::connection::listener::LISTEN_BACKLOG;
use crate::connection::{Connection, closing};
use crate::counters::count;
use crate::event_loop::EventLoop;
use crate::parse::request_parser::RequestParser;
use crate::refusal::Refusal;

/// Connections accepted in one iteration of the event loop.
const ACCEPTS_PER_ITERATION: usize = 64;
/// Pause after `accept` failed, for instance because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Refused connections that stay open until their clients have read the reason. Further ones are closed at once.
const REFUSED_CONNECTIONS_MAX: usize = 128;

impl EventLoop {
    /// Takes connections that wait, at most `ACCEPTS_PER_ITERATION`.
    pub fn accept(&mut self) {
        if self.accept_from.is_none_or(|at| at > self.context.now) {
            return;
        }
        for _ in 0..ACCEPTS_PER_ITERATION {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((socket, peer)) => self.admit(socket, &peer),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.accept_from = None;
                    return;
                }
                Err(error) => {
                    // Without descriptors there is no further event, so the clock has to look again.
                    count(&self.context.counters.accept_errors);
                    tracing::warn!(%error, "a connection cannot be accepted");
                    self.accept_from = Some(self.context.now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    /// Takes all connections that wait.
    pub fn accept_all(&mut self) {
        for _ in 0..=usize::from(LISTEN_BACKLOG) / ACCEPTS_PER_ITERATION {
            self.accept_from = Some(self.context.now);
            self.accept();
            if self.accept_from != Some(self.context.now) {
                return;
            }
        }
    }

    fn admit(&mut self, socket: Socket, peer: &SockAddr) {
        count(&self.context.counters.accepted);
        let address = peer.as_socket().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        if self.connections.len().saturating_sub(self.refused) >= self.context.limits.connections {
            return self.turn_away(socket, address, &Refusal::ConnectionsFull);
        }
        let limit = self.context.limits.connections_per_address;
        let counted = (self.counted_as)(address).filter(|_| limit > 0);
        if counted.is_some_and(|counted| !self.addresses.enter(counted, limit)) {
            return self.turn_away(socket, address, &Refusal::AddressFull);
        }
        self.open(socket, address, counted);
    }

    fn open(&mut self, socket: Socket, address: IpAddr, counted: Option<IpAddr>) -> Token {
        let (bodies, classifier) = (Arc::clone(&self.bodies), Arc::clone(&self.classifier));
        let parser = RequestParser::new(address, &self.context.limits, bodies, classifier);
        let socket = Arc::new(socket);
        let connection = Connection::new(Arc::clone(&socket), address, counted, parser, self.context.now);
        let token = self.connections.insert(connection);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let watch = || self.poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), token, interest);
        if let Err(error) = socket.set_nonblocking(true).and_then(|()| watch()) {
            tracing::warn!(%error, "a connection cannot be watched");
            self.close(token);
        }
        self.again.push(token);
        token
    }

    /// Refuses a connection without waiting. It lingers, because a request on its way would turn the close into a
    /// reset that discards the response.
    fn turn_away(&mut self, socket: Socket, address: IpAddr, refusal: &Refusal) {
        if self.refused >= REFUSED_CONNECTIONS_MAX {
            self.context.counters.refuse(refusal);
            let response = closing((self.context.refuse)(refusal, address, true));
            // A client that does not take it now is only disconnected.
            return drop(socket.set_nonblocking(true).and_then(|()| (&socket).write(&response)));
        }
        let token = self.open(socket, address, None);
        if let Some(connection) = self.connections.get_mut(token) {
            connection.is_refused = true;
            connection.refuse(refusal, false, &self.context);
            self.refused = self.refused.saturating_add(1);
        }
    }
}
