//! A stream while it runs: pieces of rows are found, printed, framed, sent and noted as delivered.
//!
//! Memory is one piece, whatever the length. The last row found is held back until it is known whether it is the last
//! one, because the last one carries an event id.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use super::dataset_answer::out_of_service;
use crate::catalog::{Catalog, DatasetVersion, FormatError};
use crate::clock::Clock;
use crate::http::response::Response;
use crate::http::slots::Slot;
use crate::http::stream_body::{ChunkSink, StreamBody, StreamEnd};
use crate::http::wire::standalone_envelope;
use crate::ledger::Reservation;
use crate::limits::http::{
    STREAM_FIRST_ROWS, STREAM_ID_INTERVAL_ROWS, STREAM_PING_INTERVAL, STREAM_ROWS_MAX,
};
use crate::query::{self, Plan, QueryError, QueryRequest, RowStream};
use crate::render::{Format, render_rows};

/// How rows are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFormat {
    /// Server-Sent Events.
    Events {
        /// Whether the end is also an event, beside the comment.
        summary: bool,
    },
    /// One object a line.
    Ndjson,
}

/// Everything that a stream needs after its head was sent.
pub(super) struct RowEvents {
    pub(super) catalog: Arc<Catalog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) slug: String,
    pub(super) version: DatasetVersion,
    pub(super) asked: QueryRequest,
    pub(super) format: StreamFormat,
    pub(super) reservation: Reservation,
    pub(super) request_id: String,
    pub(super) _slot: Slot,
}

/// Why a stream ended early.
enum Break {
    /// The client is gone or does not read.
    Client,
    /// The store file is damaged.
    Damaged(String),
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

impl StreamBody for RowEvents {
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd {
        let mut delivered = 0;
        match self.send_rows(sink, &mut delivered) {
            Ok(next_cursor) => self.finish(sink, delivered, next_cursor.as_deref()),
            Err(broken) => self.break_off(sink, delivered, &broken),
        }
    }
}

impl RowEvents {
    /// Sends every row and gives the cursor behind the last one, where further rows exist.
    fn send_rows(&self, sink: &mut ChunkSink<'_>, delivered: &mut u64) -> Result<Option<String>, Break> {
        let table = &self.version.table;
        let plan = query::plan(&self.asked, table, &self.slug).map_err(|error| match error {
            QueryError::Format(error) => error.into(),
            QueryError::Faults(_) => {
                Break::Damaged("a request that was planned cannot be planned again".to_owned())
            }
        })?;
        let mut stream = RowStream::new(&plan)?;
        let mut framer = Framer { plan: &plan, format: self.format, lines: Vec::new(), frame: Vec::new() };
        let (mut rows, mut held) = (Vec::new(), Vec::new());
        let mut piece = STREAM_FIRST_ROWS;
        let mut last = None;
        let mut last_sent = Instant::now();
        loop {
            stream.next_batch(piece.saturating_add(1), &mut rows)?;
            let ended = rows.is_empty();
            last = rows.last().copied().or(last);
            held.append(&mut rows);
            let keep = if ended { 0 } else { 1 };
            let ready = held.len().saturating_sub(keep);
            framer.frame(held.get(..ready).unwrap_or_default(), *delivered, ended)?;
            held.drain(..ready);
            let idle = last_sent.elapsed() >= STREAM_PING_INTERVAL && self.format != StreamFormat::Ndjson;
            if ready > 0 {
                sink.send(&framer.frame)?;
                last_sent = Instant::now();
            } else if idle {
                sink.send(b": ping\n\n")?;
                last_sent = Instant::now();
            }
            *delivered = delivered.saturating_add(ready.try_into().unwrap_or(u64::MAX));
            self.reservation.delivered(*delivered, self.clock.now());
            if ended {
                return next_cursor(&plan, &mut stream, last);
            }
            piece = piece.saturating_mul(2).min(STREAM_ROWS_MAX);
        }
    }

    /// Settles what was delivered, then says so.
    fn finish(self, sink: &mut ChunkSink<'_>, rows: u64, next_cursor: Option<&str>) -> StreamEnd {
        let receipt = self.reservation.settle(rows, self.clock.now()).and_then(crate::ledger::Ticket::wait);
        let receipt = match receipt {
            Ok(receipt) => receipt,
            Err(error) => {
                tracing::error!(request_id = self.request_id, %error, "a stream is not settled yet");
                return StreamEnd { rows, credits: 0, complete: false };
            }
        };
        let credits = receipt.charged;
        let end = json!({"rowsReturned": rows, "nextCursor": next_cursor, "creditsCharged": credits});
        let sent = match self.format {
            StreamFormat::Ndjson => Ok(()),
            StreamFormat::Events { summary: false } => sink.send(format!(": end {end}\n\n").as_bytes()),
            StreamFormat::Events { summary: true } => {
                sink.send(format!(": end {end}\n\nevent: end\ndata: {end}\n\n").as_bytes())
            }
        };
        StreamEnd { rows, credits, complete: sent.is_ok() }
    }

    /// Tells the client what broke, where it can hear it. What was delivered is paid; the rest comes back.
    fn break_off(self, sink: &mut ChunkSink<'_>, rows: u64, broken: &Break) -> StreamEnd {
        if let Break::Damaged(reason) = broken {
            tracing::error!(request_id = self.request_id, reason, "a stream broke off");
            self.catalog.quarantine(&self.version, &self.slug, reason);
            if self.format != StreamFormat::Ndjson {
                let refusal = Response::error(&out_of_service(&self.slug));
                let envelope = standalone_envelope(refusal, &self.request_id, self.clock.now());
                // The client may be gone as well; the answer is cut in any case.
                drop(sink.send(&[b"event: error\ndata: ", envelope.as_slice(), b"\n\n"].concat()));
            }
        }
        StreamEnd { rows, credits: rows.min(self.reservation.reserved()), complete: false }
    }
}

/// The cursor behind the last row, where a further one exists.
fn next_cursor(
    plan: &Plan<'_>,
    stream: &mut RowStream<'_, '_>,
    last: Option<u32>,
) -> Result<Option<String>, Break> {
    match last {
        Some(last) if stream.has_more(last)? => Ok(Some(plan.cursor_after(last)?)),
        _ => Ok(None),
    }
}

/// Prints rows and puts the frame of the format around each.
struct Framer<'p, 't> {
    plan: &'p Plan<'t>,
    format: StreamFormat,
    lines: Vec<u8>,
    frame: Vec<u8>,
}

impl Framer<'_, '_> {
    /// Fills `frame` with these rows, the first of which is number `before + 1` of the stream.
    fn frame(&mut self, rows: &[u32], before: u64, last: bool) -> Result<(), FormatError> {
        self.frame.clear();
        let sink = if self.format == StreamFormat::Ndjson { &mut self.frame } else { &mut self.lines };
        sink.clear();
        if rows.is_empty() {
            return Ok(());
        }
        render_rows(Format::Ndjson, self.plan.table(), self.plan.columns(), rows, sink)?;
        if self.format == StreamFormat::Ndjson {
            return Ok(());
        }
        let mut number = before;
        let mut rows = rows.iter().peekable();
        for line in self.lines.split_inclusive(|byte| *byte == b'\n') {
            let Some(row) = rows.next() else { break };
            number = number.saturating_add(1);
            let is_last = last && rows.peek().is_none();
            if number == 1 || number.is_multiple_of(STREAM_ID_INTERVAL_ROWS) || is_last {
                self.frame.extend_from_slice(b"id: ");
                self.frame.extend_from_slice(self.plan.cursor_after(*row)?.as_bytes());
                self.frame.push(b'\n');
            }
            self.frame.extend_from_slice(b"data: ");
            self.frame.extend_from_slice(line);
            self.frame.push(b'\n');
        }
        Ok(())
    }
}
