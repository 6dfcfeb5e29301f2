//! What answers need that go on after their handler has returned, and why they end early.

use std::sync::Arc;

use crate::catalog::{Catalog, FormatError};
use crate::clock::{Clock, Moment};
use crate::http::app::App;
use crate::http::content::exports::Exports;
use crate::http::framing::stream_body::{ChunkSink, StreamEnd};
use crate::ledger::{Ledger, Reservation};
use crate::render::ParallelEncoder;

/// The parts of the server that a stream or a download holds while it runs.
pub(in crate::http) struct LongWork {
    pub(super) catalog: Arc<Catalog>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) encoder: Arc<ParallelEncoder>,
    pub(super) exports: Arc<Exports>,
}

impl App {
    /// What an answer takes along.
    pub(super) fn long_work(&self) -> LongWork {
        LongWork {
            catalog: Arc::clone(&self.catalog),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
            encoder: Arc::clone(&self.encoder),
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

/// The place of the last of so many delivered rows in the whole answer.
pub(super) fn place(passed_over: u64, delivered: u64) -> u64 {
    if delivered == 0 { 0 } else { passed_over.saturating_add(delivered) }
}

impl Break {
    /// Ends what pays for an answer that breaks off for this reason, and says what the client has and pays. One that left
    /// gets no more of it; one that is still there gets what was written. Rows of a damaged version cost nothing.
    /// `passed_over` rows stand before those that were sent.
    pub(super) fn settle(
        &self,
        reservation: Reservation,
        passed_over: u64,
        sink: &mut ChunkSink<'_>,
        now: Moment,
    ) -> StreamEnd {
        let rows = match self {
            Self::Damaged(_) => {
                reservation.waive(now);
                return StreamEnd { rows: sink.delivered(), credits: 0, complete: false };
            }
            Self::Books(_) if sink.await_delivery().is_ok() => sink.delivered(),
            Self::Books(_) | Self::Client => sink.give_up(),
        };
        let place = place(passed_over, rows);
        reservation.delivered(place, now);
        StreamEnd { rows, credits: reservation.price(place), complete: false }
    }
}
