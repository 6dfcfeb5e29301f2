//! From one request to the next without waking up in between only to hear that the first one is answered.
//!
//! While a worker answers, the private connection to it lies here. A worker that has sent its answer whole gives that
//! connection back itself, and whoever waits for the client sleeps on until the next request comes, or until it has
//! looked at both for long enough. In all other cases the waiting thread takes the private connection back and listens to
//! the worker. Whoever takes it out decides which of both it is.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::idle::Idle;
use super::pool::Lease;
use super::registry::{Client, Registry};
use crate::limits::edge::STANDBY_TIME;
use crate::outlets::Owner;

/// What a connection waits for.
pub(super) struct Standby {
    lease: Mutex<Option<Lease>>,
    idle: Idle,
    registry: Arc<Registry>,
}

impl Standby {
    /// For a connection of which nothing was read.
    pub(super) fn new(registry: &Arc<Registry>) -> Arc<Self> {
        Arc::new(Self { lease: Mutex::default(), idle: Idle::default(), registry: Arc::clone(registry) })
    }

    /// Since when the first byte of a request is waited for.
    pub(super) fn idle(&self) -> &Idle {
        &self.idle
    }

    /// Waits for an answer to what was asked through `lease`. Gives it back where the worker is to be listened to; if
    /// not, the client has the answer, and the connection may have been idle for a while.
    ///
    /// Nothing may be written to the lease meanwhile, because it may be that of somebody else already.
    pub(super) fn wait(&self, lease: Lease, client: &Client) -> Option<Lease> {
        let (Some(stream), Ok(timeout)) = (lease.watched(), Timespec::try_from(STANDBY_TIME)) else {
            return Some(lease);
        };
        *self.lock() = Some(lease);
        let mut sockets = [
            PollFd::new(&*stream, PollFlags::IN),
            PollFd::new(client.socket(), PollFlags::IN | PollFlags::RDHUP),
        ];
        // However it ends, also with a failure or for nothing, what lies here says how things stand.
        let _ = poll(&mut sockets, Some(&timeout));
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// The registry holds the clients, each of which holds one of these.
impl fmt::Debug for Standby {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Standby").field("idle", &self.idle).finish_non_exhaustive()
    }
}

impl Owner for Standby {
    fn answered(&self) -> bool {
        let mut lying = self.lock();
        let Some(lease) = lying.take() else { return false };
        // Before the lock is free: what the next request does to the idle time comes later.
        self.idle.begin(self.registry.now());
        drop(lying);
        lease.done();
        true
    }
}
