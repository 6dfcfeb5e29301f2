//! What answers need that go on after their handler has returned, and why they end early.

use std::sync::Arc;

use crate::catalog::{Catalog, FormatError};
use crate::clock::Clock;
use crate::http::app::App;
use crate::http::exports::Exports;
use crate::http::stream_body::ChunkSink;
use crate::ledger::Ledger;
use crate::render::Press;

/// The parts of the server that a stream or a download holds while it runs.
pub(in crate::http) struct LongWork {
    pub(super) catalog: Arc<Catalog>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) press: Arc<Press>,
    pub(super) exports: Arc<Exports>,
}

impl App {
    /// What an answer takes along.
    pub(super) fn long_work(&self) -> LongWork {
        LongWork {
            catalog: Arc::clone(&self.catalog),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            press: Arc::clone(&self.press),
            exports: Arc::clone(&self.exports),
        }
    }
}

/// Why an answer ended early.
pub(super) enum Break {
    /// The client is gone or does not read.
    Client,
    /// The store file is damaged.
    Damaged(String),
    /// The books could not be written.
    Books(String),
}

impl From<std::io::Error> for Break {
    fn from(_: std::io::Error) -> Self {
        Self::Client
    }
}

impl From<FormatError> for Break {
    fn from(error: FormatError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Rows of an answer that broke off.
pub(super) struct Left {
    /// What the client has.
    pub(super) delivered: u64,
    /// What it pays for.
    pub(super) paid: u64,
}

impl Break {
    /// What a client has of an answer that breaks off for this reason. One that left gets no more of it; one that is still
    /// there gets what was written. Rows of a damaged version cost nothing.
    pub(super) fn rows_left_with(&self, sink: &mut ChunkSink<'_>) -> Left {
        let delivered = match self {
            Self::Damaged(_) => return Left { delivered: sink.delivered(), paid: 0 },
            Self::Books(_) if sink.await_delivery().is_ok() => sink.delivered(),
            Self::Books(_) | Self::Client => sink.give_up(),
        };
        Left { delivered, paid: delivered }
    }
}
