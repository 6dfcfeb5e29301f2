//! A stream while it runs: pieces of rows are found, printed, framed, sent and noted as delivered.
//!
//! Memory is one piece, whatever the length. The last row found is held back until it is known whether it is the last
//! one, because the last one carries an event id.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

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
use crate::render::{Format, RowWriter};

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

/// What the end says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct End<'a> {
    rows_returned: u64,
    next_cursor: Option<&'a str>,
    credits_charged: u64,
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
        let with_ids = self.format != StreamFormat::Ndjson;
        let format = if with_ids { Format::Sse } else { Format::Ndjson };
        let writer = RowWriter::new(format, table, plan.columns())?;
        let mut framer = Framer { plan: &plan, writer, with_ids, frame: Vec::new() };
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
            let idle = last_sent.elapsed() >= STREAM_PING_INTERVAL && with_ids;
            if ready > 0 {
                sink.send(&framer.frame)?;
                last_sent = Instant::now();
            } else if idle {
                sink.send(b": ping\n\n")?;
                last_sent = Instant::now();
            }
            *delivered = delivered.saturating_add(ready.try_into().unwrap_or(u64::MAX));
            let now = self.clock.now();
            self.version.note_walk(now);
            self.reservation.delivered(*delivered, now);
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
        let end = End { rows_returned: rows, next_cursor, credits_charged: credits };
        let end = serde_json::to_string(&end).unwrap_or_default();
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
            self.catalog.quarantine(&self.version, &self.slug, reason, self.clock.now());
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

/// Prints rows and puts event ids before those that carry one.
struct Framer<'p, 't> {
    plan: &'p Plan<'t>,
    writer: RowWriter<'t>,
    with_ids: bool,
    frame: Vec<u8>,
}

impl Framer<'_, '_> {
    /// Fills `frame` with these rows, the first of which is number `before + 1` of the stream.
    fn frame(&mut self, rows: &[u32], before: u64, last: bool) -> Result<(), FormatError> {
        self.frame.clear();
        if !self.with_ids {
            return self.writer.rows(rows, &mut self.frame);
        }
        let mut rest = rows;
        let mut number = before;
        while !rest.is_empty() {
            let plain = rows_before_id(number, rest.len(), last);
            let (head, tail) = rest.split_at(plain.min(rest.len()));
            self.writer.rows(head, &mut self.frame)?;
            number = number.saturating_add(head.len().try_into().unwrap_or(u64::MAX));
            if let Some((marked, others)) = tail.split_first() {
                self.frame.extend_from_slice(b"id: ");
                self.frame.extend_from_slice(self.plan.cursor_after(*marked)?.as_bytes());
                self.frame.push(b'\n');
                self.writer.rows(&[*marked], &mut self.frame)?;
                number = number.saturating_add(1);
                rest = others;
            } else {
                rest = tail;
            }
        }
        Ok(())
    }
}

/// How many of the next `count` rows come before the first that carries an id: the first row of the stream, every
/// thousandth, and the last one.
fn rows_before_id(before: u64, count: usize, last: bool) -> usize {
    if before == 0 {
        return 0;
    }
    let to_interval =
        STREAM_ID_INTERVAL_ROWS.saturating_sub(before % STREAM_ID_INTERVAL_ROWS).saturating_sub(1);
    let to_interval = usize::try_from(to_interval).unwrap_or(usize::MAX);
    if last { to_interval.min(count.saturating_sub(1)) } else { to_interval.min(count) }
}

#[cfg(test)]
mod tests {
    use super::rows_before_id;

    #[test]
    fn ids_stand_on_the_first_every_thousandth_and_the_last_row() {
        assert_eq!(rows_before_id(0, 10, false), 0);
        assert_eq!(rows_before_id(1, 10, false), 10);
        assert_eq!(rows_before_id(1, 10, true), 9);
        assert_eq!(rows_before_id(998, 10, false), 1);
        assert_eq!(rows_before_id(999, 10, false), 0);
        assert_eq!(rows_before_id(1000, 10, false), 10);
        assert_eq!(rows_before_id(1000, 1, true), 0);
    }
}
