//! Shared parts of responses that continue after their handler has returned, and their early ends.

use std::sync::Arc;

use crate::api::app::App;
use crate::api::content::exports::Exports;
use mercato_base::clock::{Clock, Moment};
use mercato_catalog::{Catalog, FormatError};
use mercato_ledger::{Ledger, Reservation};
use mercato_query::render::ParallelEncoder;
use mercato_query::{SearchError, Stop};
use mercato_web::{ChunkSink, StreamEnd};

/// The parts of the server that a stream or a download holds while it runs.
pub struct LongWork {
    pub(super) catalog: Arc<Catalog>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) encoder: Arc<ParallelEncoder>,
    pub(super) exports: Arc<Exports>,
}

impl App {
    /// The parts of the application that a long response uses.
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

/// The reason of an early end.
pub(super) enum Break {
    /// The client is gone or does not read.
    Client,
    /// The store file is damaged.
    Damaged(String),
    /// The books could not be written.
    Books(String),
    /// The search for the next rows takes too long.
    TooExpensive,
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

impl From<SearchError> for Break {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Format(error) => error.into(),
            SearchError::Stopped(Stop::TooExpensive) => Self::TooExpensive,
            SearchError::Stopped(Stop::ClientLeft) => Self::Client,
        }
    }
}

/// The position of the last of so many sent rows in the whole response.
pub(super) fn place(passed_over: u64, sent: u64) -> u64 {
    if sent == 0 { 0 } else { passed_over.saturating_add(sent) }
}

impl Break {
    /// Ends a response whose rows this server may not charge for any more.
    pub(super) fn if_over(reservation: &Reservation) -> Result<(), Break> {
        if reservation.is_over() {
            return Err(Self::Books("another server has settled the response".to_owned()));
        }
        Ok(())
    }

    /// Settles the reservation of a response that ended early, and returns the rows that the socket took and what they
    /// cost. Rows of a damaged version cost nothing. `passed_over` rows precede the sent ones.
    pub(super) fn settle(
        &self,
        reservation: Reservation,
        passed_over: u64,
        sink: &ChunkSink<'_>,
        now: Moment,
    ) -> StreamEnd {
        let rows = sink.rows();
        if let Self::Damaged(_) = self {
            reservation.waive(now);
            return StreamEnd { rows, credits: 0, complete: false };
        }
        let place = place(passed_over, rows);
        reservation.delivered(place, now);
        StreamEnd { rows, credits: reservation.price(place), complete: false }
    }
}
