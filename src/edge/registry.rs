//! Every connection that is open, so that the end can reach them.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use socket2::Socket;

use crate::outlets::Outlet;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// The socket, and the way from workers to it.
    pub(super) outlet: Arc<Outlet>,
    pub(super) address: IpAddr,
    /// Whether it waits for the first byte of a request.
    pub(super) idle: AtomicBool,
}

impl Client {
    pub(super) fn socket(&self) -> &Socket {
        self.outlet.socket()
    }
}

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    clients: HashMap<u64, Arc<Client>>,
}

impl Registry {
    /// Adds a connection.
    pub(super) fn enter(self: &Arc<Self>, client: Arc<Client>) -> Registered {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next = number.wrapping_add(1);
        state.clients.insert(number, client);
        Registered { registry: Arc::clone(self), number }
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clients.len()
    }

    /// Whether the end has begun.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Begins the end: connections that wait for a request see no further one.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for client in state.clients.values().filter(|client| client.idle.load(Ordering::SeqCst)) {
            // It may be gone already.
            drop(client.socket().shutdown(Shutdown::Read));
        }
    }

    /// Waits until all are closed; at `deadline` closes those that are left and says so.
    pub(super) fn drain(&self, deadline: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.clients.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                for client in state.clients.values() {
                    drop(client.socket().shutdown(Shutdown::Both));
                }
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// A connection that is open until this is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    registry: Arc<Registry>,
    number: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.registry.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clients.remove(&self.number);
        if state.clients.is_empty() {
            self.registry.changed.notify_all();
        }
    }
}
