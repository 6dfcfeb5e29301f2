//! Whether the client of a request still waits, as the event loop knows it and as a worker asks it.
//!
//! Does not depend on what is done without a client.

use std::sync::Arc;

use crate::workers::slots::Slots;

/// What the event loop knows of the client of a request in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Presence {
    /// Both directions of its connection are open.
    Connected,
    /// It has ended its sending side. A client that has said all that it has to say does that, and so does one that is
    /// closed: only sent bytes could tell them apart.
    HalfClosed,
    /// It can read no more.
    Gone,
}

impl Presence {
    pub(super) const fn of(number: u8) -> Self {
        match number {
            0 => Self::Connected,
            1 => Self::HalfClosed,
            _ => Self::Gone,
        }
    }
}

/// Watches the client of one request, until its response is out.
#[derive(Debug, Clone)]
pub struct ClientWatch {
    slots: Arc<Slots>,
    slot: usize,
}

impl ClientWatch {
    pub(super) fn new(slots: Arc<Slots>, slot: usize) -> Self {
        Self { slots, slot }
    }

    /// Whether the client still waits.
    pub fn presence(&self) -> Presence {
        self.slots.presence(self.slot)
    }
}
