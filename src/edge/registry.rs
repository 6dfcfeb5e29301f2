//! Every connection that is open, so that the end can reach them.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use rustix::event::PollFlags;
use socket2::Socket;

use super::idle::{Expired, Idle};
use super::standby::Standby;
use crate::outlets::Outlet;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// The socket, and the way from workers to it.
    pub(super) outlet: Arc<Outlet>,
    pub(super) address: IpAddr,
    /// What it waits for, and since when.
    pub(super) standby: Arc<Standby>,
    /// Whether nothing more is read from it because this side wants so.
    is_read_out: AtomicBool,
}

impl Client {
    pub(super) fn new(outlet: Arc<Outlet>, address: IpAddr, standby: Arc<Standby>) -> Arc<Self> {
        Arc::new(Self { outlet, address, standby, is_read_out: AtomicBool::new(false) })
    }

    pub(super) fn socket(&self) -> &Socket {
        self.outlet.socket()
    }

    /// Since when it waits for the first byte of a request.
    pub(super) fn idle(&self) -> &Idle {
        self.standby.idle()
    }

    /// It finds what was sent so far, then the end.
    pub(super) fn stop_reading(&self) {
        self.is_read_out.store(true, Ordering::SeqCst);
        // It may be gone already.
        drop(self.socket().shutdown(Shutdown::Read));
    }

    /// What the socket shows when the client leaves. Its last word is no sign of that once this side has stopped to read,
    /// for then the system says the same.
    pub(super) fn signs_of_leaving(&self) -> PollFlags {
        if self.is_read_out.load(Ordering::SeqCst) { PollFlags::empty() } else { PollFlags::RDHUP }
    }
}

/// The open connections.
#[derive(Debug)]
pub(super) struct Registry {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
    began: Instant,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::default(),
            stopping: AtomicBool::new(false),
            began: Instant::now(),
        }
    }
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

    /// Milliseconds on the clock of idle times, which is never at zero.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Which connections have been idle for so many milliseconds, and when that can be said of others.
    pub(super) fn expired(&self, limit: u64) -> Expired {
        let now = self.now();
        let mut expired = Expired { clients: Vec::new(), next: now.saturating_add(limit) };
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for client in state.clients.values() {
            match client.idle().since() {
                Some(since) if since.saturating_add(limit) <= now => {
                    expired.clients.push((Arc::clone(client), since));
                }
                Some(since) => expired.next = expired.next.min(since.saturating_add(limit)),
                None => {}
            }
        }
        expired
    }

    /// Whether the end has begun.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Begins the end: connections that wait for a request see only what was sent before.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for client in state.clients.values().filter(|client| client.idle().since().is_some()) {
            client.stop_reading();
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
        let client = state.clients.remove(&self.number);
        if state.clients.is_empty() {
            self.registry.changed.notify_all();
        }
        drop(state);
        // This may close the socket, for which nobody else has to wait.
        drop(client);
    }
}
