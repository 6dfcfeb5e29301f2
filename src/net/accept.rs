//! New connections: admitted, or told that there are too many.
//!
//! Knows the bounds on connections; knows no request.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use mio::Interest;
use mio::unix::SourceFd;
use socket2::{SockAddr, Socket};

use super::connection::{Connection, closing};
use super::counters::{add, count};
use super::event_loop::{EventLoop, token_of};
use super::refusal::Refusal;
use super::request_parser::RequestParser;
use crate::limits::net::{ACCEPT_PAUSE, ACCEPTS_PER_TURN, INBOX_BYTES};

impl EventLoop {
    /// Takes connections that wait, at most `ACCEPTS_PER_TURN`.
    pub(super) fn accept(&mut self) {
        if self.accept_again.is_some_and(|at| at <= self.context.now) {
            self.accept_again = None;
        }
        if !self.acceptable || self.accept_again.is_some() {
            return;
        }
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((socket, peer)) => self.admit(socket, &peer),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.acceptable = false;
                    return;
                }
                Err(error) => {
                    // Without descriptors there is no further event, so the clock has to look again.
                    count(&self.context.counters.accept_errors);
                    tracing::warn!(%error, "a connection cannot be accepted");
                    self.accept_again = Some(self.context.now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, socket: Socket, peer: &SockAddr) {
        count(&self.context.counters.accepted);
        let address = peer.as_socket().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip());
        if self.connections.len() >= self.context.limits.connections {
            return self.turn_away(&socket, address, &Refusal::ConnectionsFull);
        }
        let limit = self.context.limits.connections_per_address;
        let counted = (self.counted_as)(address).filter(|_| limit > 0);
        if counted.is_some_and(|counted| !self.addresses.enter(counted, limit)) {
            return self.turn_away(&socket, address, &Refusal::AddressFull);
        }
        if let Err(error) = self.open(socket, address, counted) {
            counted.into_iter().for_each(|counted| self.addresses.leave(counted));
            tracing::warn!(%error, "a connection cannot be watched");
        }
    }

    fn open(&mut self, socket: Socket, address: IpAddr, counted: Option<IpAddr>) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        self.generation = self.generation.wrapping_add(1);
        let entry = self.connections.vacant_entry();
        let token = token_of(entry.key(), self.generation);
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), token, interest)?;
        let (bodies, classifier) = (Arc::clone(&self.bodies), Arc::clone(&self.classifier));
        let parser = RequestParser::new(address, &self.context.limits, bodies, classifier);
        let socket = Arc::new(socket);
        let connection = Connection::new(socket, address, counted, parser, self.context.now);
        entry.insert((self.generation, connection));
        add(&self.context.counters.open, 1);
        self.list(token);
        Ok(())
    }

    /// Says no without waiting for anything.
    fn turn_away(&self, socket: &Socket, address: IpAddr, refusal: &Refusal) {
        self.context.counters.refuse(refusal);
        let answer = closing((self.context.refuse)(refusal, address, true));
        if socket.set_nonblocking(true).is_ok() {
            let mut socket = socket;
            // What was sent already and is not read would turn the close into a reset.
            drop(socket.read(&mut [0; INBOX_BYTES]));
            // A client that does not take the answer now is only disconnected.
            drop(socket.write(&answer));
            drop(socket.shutdown(Shutdown::Write));
        }
    }
}
