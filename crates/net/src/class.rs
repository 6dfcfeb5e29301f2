//! Classes of requests, and requests in service.

use std::time::Instant;

use mio::Token;

use crate::fair_queue::{Client, FairQueue};

/// A request to stop: accept no further connection, and answer only requests that were received before.
#[derive(Debug)]
pub(super) struct Stop {
    /// With a time, the loop ends when all connections have ended, at that time at the latest.
    pub(super) drained_by: Option<Instant>,
}

/// A class of requests: its queue, its slots and its workers.
pub(super) struct Class {
    /// Waiting requests, and the workers that each client holds.
    pub(super) queue: FairQueue<Token>,
    /// Free slots.
    pub(super) free: Vec<usize>,
    /// Number of free workers.
    pub(super) workers: usize,
}

/// A request in service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub(super) token: Token,
    pub(super) class: usize,
    pub(super) client: Client,
    pub(super) generation: u64,
    /// Whether the worker is free already.
    pub(super) is_deferred: bool,
}

impl Class {
    /// Takes a free slot and a free worker for a request that need not queue: nobody waits, and its client holds less than
    /// its share.
    pub(super) fn take(&mut self, client: Client) -> Option<usize> {
        let is_possible = self.queue.len() == 0 && self.is_free() && self.queue.hold(client);
        is_possible.then(|| self.occupy()).flatten()
    }

    /// The next request in turn, with a free slot and a free worker.
    pub(super) fn next(&mut self) -> Option<(Client, Token, usize)> {
        let (client, token) = if self.is_free() { self.queue.pop()? } else { return None };
        Some((client, token, self.occupy()?))
    }

    /// Frees the worker that a client holds.
    pub(super) fn free_worker(&mut self, client: Client) {
        self.workers += 1;
        self.queue.release(client);
    }

    fn is_free(&self) -> bool {
        self.workers > 0 && !self.free.is_empty()
    }

    fn occupy(&mut self) -> Option<usize> {
        self.workers = self.workers.checked_sub(1)?;
        self.free.pop()
    }
}
