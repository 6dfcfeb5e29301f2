//! Classes of requests, and requests in service.

use std::time::Instant;

use mio::Token;

use crate::net::fair_queue::FairQueue;

/// A request to stop: accept no further connection, and answer only requests that were received before.
#[derive(Debug)]
pub(super) struct Stop {
    /// With a time, the loop ends when all connections have ended, at that time at the latest.
    pub(super) drained_by: Option<Instant>,
}

/// A class of requests: its queue, its slots and its workers.
pub(super) struct Class {
    /// Waiting requests.
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
    pub(super) generation: u64,
    /// Whether the worker is free already.
    pub(super) is_deferred: bool,
}

impl Class {
    /// Takes a free slot and a free worker.
    pub(super) fn take(&mut self) -> Option<usize> {
        let workers = self.workers.checked_sub(1)?;
        let slot = self.free.pop()?;
        self.workers = workers;
        Some(slot)
    }
}
