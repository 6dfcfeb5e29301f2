//! A running stream, or a download in a form whose length is unknown: rows are found, encoded ahead by idle cores, sent, and noted as the socket takes them.
//!
//! Memory is a few units of rows, whatever the length. The newest row is held back until another one follows, because
//! the last row carries an event id. The first row always carries one and is sent at once.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::handlers::catalog::dataset_answer::out_of_service_now;
use crate::api::handlers::streams::long_work::{Break, LongWork, place};
use crate::api::handlers::streams::row_unit::{Printer, RowUnit};
use crate::api::handlers::streams::stream_end::End;
use crate::api::processor_limit::ProcessorLimit;
use crossbeam_channel::{RecvTimeoutError, bounded};
use mercato_catalog::DatasetVersion;
use mercato_ledger::{Pending, Reservation};
use mercato_query::render::limits::UNIT_BYTES;
use mercato_query::render::{
    ArrowEncoder, BatchEncoder, Format, Labels, Next, Output, Pipeline, Progress, RowMark, RowWriter,
    XlsxEncoder,
};
use mercato_query::{GroupRows, Plan, QueryError, QueryRequest, RowStream, SearchError};
use mercato_web::{ChunkSink, Response, StreamBody, StreamEnd, standalone_envelope};

/// Rows of a unit of a stream at most.
const STREAM_ROWS_MAX: usize = 8_192;
/// A stream without rows for so long sends a comment.
const STREAM_PING_INTERVAL: Duration = Duration::from_secs(15);
/// Rows of the first unit of a stream. Each unit has four times the rows of the one before, up to `UNIT_BYTES`.
const STREAM_FIRST_ROWS: usize = 1;

/// The state of a running stream.
pub(super) struct RowEvents {
    pub(super) app: LongWork,
    pub(super) slug: String,
    pub(super) version: DatasetVersion,
    pub(super) asked: QueryRequest,
    /// The groups that are streamed; nothing for rows.
    pub(super) groups: Option<GroupRows>,
    pub(super) output: Output,
    /// Whether the body ends with a summary, for clients that see neither comments nor trailers.
    pub(super) summary: bool,
    /// Rows at the beginning of the response that the client has already.
    pub(super) passed_over: u64,
    pub(super) reservation: Reservation,
    /// Bounds the search for the first rows, and each search for the next ones.
    pub(super) work: ProcessorLimit,
    pub(super) request_id: String,
}

impl StreamBody for RowEvents {
    fn begun(&self) {
        self.reservation.begin();
    }

    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd {
        match self.send_rows(sink) {
            Ok(sent) => self.finish(sink, &sent),
            Err(broken) => self.break_off(sink, &broken),
        }
    }
}

impl RowEvents {
    fn send_rows(&self, sink: &mut ChunkSink<'_>) -> Result<Sent, Break> {
        self.work.renew();
        let plan = self.plan()?;
        let speaks = self.output == Output::Text(Format::Sse);
        let mut line = Line { sink, speaks, silence: Silence::new() };
        let printer = self.begin_rows(&plan, &mut line)?;
        let stream = begin(&plan, &mut line)?;
        let mut sending = Sending {
            plan: &plan,
            stream,
            line,
            stream_of: self,
            found: Vec::new(),
            held: Vec::new(),
            ended: false,
            to_pass: self.passed_over,
            queued: 0,
            size: STREAM_FIRST_ROWS,
            printer,
            bytes: 0,
            last: None,
        };
        self.app.encoder.run(&mut sending)?;
        let passed = self.passed_over.saturating_sub(sending.to_pass);
        let next_cursor = sending.next_cursor()?;
        let mut tail = Vec::new();
        if let Printer::Batches(encoder) = &sending.printer {
            encoder.end(&mut tail);
        }
        Ok(Sent { passed, next_cursor, tail })
    }

    fn plan(&self) -> Result<Plan<'_>, Break> {
        if let Some(groups) = &self.groups {
            return Ok(groups.plan(&self.work));
        }
        let plan = mercato_query::plan(&self.asked, &self.version.table, &self.slug, &self.work);
        plan.map_err(|error| match error {
            QueryError::Format(error) => error.into(),
            QueryError::Stopped(stop) => SearchError::from(stop).into(),
            QueryError::Invalid(_) => {
                Break::Damaged("a request that was planned cannot be planned again".to_owned())
            }
        })
    }

    /// Sends what stands before the rows, and gives what encodes them.
    fn begin_rows<'t>(&self, plan: &Plan<'t>, line: &mut Line<'_, '_>) -> Result<Printer<'t>, Break> {
        let mut head = Vec::new();
        let (table, columns) = (plan.table(), plan.columns());
        let number = self.version.version.to_string();
        let labels = Labels { dataset: &self.slug, version: &number };
        let encoder: Arc<dyn BatchEncoder + 't> = match self.output {
            Output::Text(format) => {
                if format == Format::Csv {
                    RowWriter::new(format, table, columns)?.begin(&mut head);
                    line.send(&head)?;
                }
                return Ok(Printer::Text(format, Arc::default()));
            }
            Output::Arrow if self.groups.is_some() => {
                Arc::new(ArrowEncoder::without_dictionaries(table, labels)?)
            }
            Output::Arrow => Arc::new(ArrowEncoder::new(table, columns, labels, plan.limit())?),
            Output::Xlsx => Arc::new(XlsxEncoder::new(table, columns, labels)?),
        };
        encoder.begin(&mut head)?;
        line.send(&head)?;
        Ok(Printer::Batches(encoder))
    }

    /// Settles all rows and reports the end.
    fn finish(self, sink: &mut ChunkSink<'_>, sent: &Sent) -> StreamEnd {
        let rows = sink.rows();
        if sent.next_cursor.is_none() {
            self.reservation.end_view();
        }
        let receipt = self
            .reservation
            .settle(sent.passed.saturating_add(rows), self.app.clock.now())
            .and_then(Pending::durable);
        let receipt = match receipt {
            Ok(receipt) => receipt,
            Err(error) => {
                tracing::error!(request_id = self.request_id, %error, "a stream is not settled yet");
                return StreamEnd { rows, credits: 0, complete: false };
            }
        };
        let credits = receipt.charged;
        let end =
            End { rows_returned: rows, next_cursor: sent.next_cursor.as_deref(), credits_charged: credits };
        let said = end.say(self.output, self.summary, &sent.tail, sink);
        StreamEnd { rows, credits, complete: said.is_ok() }
    }

    /// Reports the failure to the client if the format allows it. Rows that the socket took are charged, except those of
    /// a damaged version; the rest is refunded.
    fn break_off(self, sink: &mut ChunkSink<'_>, broken: &Break) -> StreamEnd {
        if let Break::Damaged(reason) | Break::Books(reason) = broken {
            tracing::error!(request_id = self.request_id, reason, "a stream broke off");
        }
        let refusal = match broken {
            Break::Client => None,
            Break::TooExpensive => Some(self.work.refusal_of_stream()),
            Break::Damaged(reason) => {
                self.app.catalog.quarantine(&self.version, &self.slug, reason, self.app.clock.now());
                Some(out_of_service_now(&self.app.catalog, &self.slug, &self.version))
            }
            Break::Books(_) => Some(out_of_service_now(&self.app.catalog, &self.slug, &self.version)),
        };
        if let Some(refusal) = refusal.filter(|_| self.output == Output::Text(Format::Sse)) {
            let refusal = Response::error(&refusal);
            let envelope = standalone_envelope(refusal, &self.request_id, self.app.clock.now());
            // The client may have left too; the response is cut in any case.
            drop(sink.send(&[b"event: error\ndata: ", envelope.as_slice(), b"\n\n"].concat()));
        }
        broken.settle(self.reservation, self.passed_over, sink, self.app.clock.now())
    }
}

/// The end of a stream whose rows are all sent.
struct Sent {
    /// Rows that were passed over.
    passed: u64,
    /// The cursor behind the last row, where further rows exist.
    next_cursor: Option<String>,
    /// The end of an Arrow stream or a workbook.
    tail: Vec<u8>,
}

/// Finds the first rows. Pings the client if that takes long.
fn begin<'p, 't>(plan: &'p Plan<'t>, line: &mut Line<'_, '_>) -> Result<RowStream<'p, 't>, Break> {
    if !RowStream::begins_slowly(plan)? {
        return Ok(RowStream::new(plan)?);
    }
    std::thread::scope(|scope| {
        let (done, waiting) = bounded(1);
        scope.spawn(move || drop(done.send(RowStream::new(plan))));
        loop {
            match waiting.recv_timeout(STREAM_PING_INTERVAL) {
                Ok(stream) => return Ok(stream?),
                Err(RecvTimeoutError::Timeout) => line.ping()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Break::Damaged("sorting did not end properly".to_owned()));
                }
            }
        }
    })
}

/// The connection, and how long nothing was sent on it.
struct Line<'l, 'w> {
    sink: &'l mut ChunkSink<'w>,
    /// Whether the format has comments.
    speaks: bool,
    silence: Silence,
}

impl Line<'_, '_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.send(bytes)?;
        self.silence = Silence::new();
        Ok(())
    }

    fn send_rows(&mut self, bytes: &[u8], marks: &[RowMark], taken: impl FnMut(u64)) -> io::Result<()> {
        self.sink.send_rows(bytes, marks, taken)?;
        self.silence = Silence::new();
        Ok(())
    }

    /// Sends a ping after a long silence.
    fn ping_if_silent(&mut self) -> Result<(), Break> {
        if self.silence.is_too_long(Instant::now()) { self.ping() } else { Ok(()) }
    }

    fn ping(&mut self) -> Result<(), Break> {
        if self.speaks { Ok(self.send(b": ping\n")?) } else { Ok(()) }
    }
}

#[derive(Clone, Copy)]
struct Silence {
    since: Instant,
    bound: Duration,
}

impl Silence {
    fn new() -> Self {
        Self { since: Instant::now(), bound: STREAM_PING_INTERVAL }
    }

    fn is_too_long(self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= self.bound
    }
}

struct Sending<'s, 'p, 't, 'l, 'w> {
    plan: &'p Plan<'t>,
    stream: RowStream<'p, 't>,
    line: Line<'l, 'w>,
    stream_of: &'s RowEvents,
    found: Vec<u32>,
    /// Rows that are found and in no unit yet.
    held: Vec<u32>,
    ended: bool,
    /// Rows that are still to be passed over.
    to_pass: u64,
    /// Rows in units so far.
    queued: u64,
    /// Rows of the next unit.
    size: usize,
    printer: Printer<'t>,
    /// Bytes sent so far.
    bytes: u64,
    last: Option<u32>,
}

impl<'p, 't> Pipeline for Sending<'_, 'p, 't, '_, '_> {
    type Unit = RowUnit<'p, 't>;
    type Error = Break;

    fn next(&mut self) -> Result<Next<RowUnit<'p, 't>>, Break> {
        if self.ended {
            return Ok(Next::End);
        }
        if self.to_pass > 0 {
            return self.pass_over();
        }
        self.ended = !self.stream.next_batch(self.size.saturating_add(1), &mut self.found)?;
        self.held.append(&mut self.found);
        self.last = self.held.last().copied().or(self.last);
        let is_first_alone = self.queued == 0 && self.held.len() == 1;
        let keep = usize::from(!self.ended && !is_first_alone);
        let ready = self.held.len().saturating_sub(keep);
        if ready == 0 {
            self.line.ping_if_silent()?;
            return Ok(if self.ended { Next::End } else { Next::Nothing });
        }
        let rows: Vec<u32> = self.held.drain(..ready).collect();
        self.stream_of.work.renew();
        let before = self.queued;
        self.queued = before.saturating_add(u64::try_from(ready).unwrap_or(u64::MAX));
        self.size = self.size.saturating_mul(4).min(self.rows_of_a_unit());
        let printer = self.printer.clone();
        Ok(Next::Unit(RowUnit { plan: self.plan, printer, rows, before, is_last: self.ended }))
    }

    fn take(&mut self, _: &RowUnit<'p, 't>, bytes: &[u8], progress: &Progress) -> Result<(), Break> {
        let RowEvents { reservation, version, app, passed_over, .. } = self.stream_of;
        Break::if_over(reservation)?;
        self.line.send_rows(bytes, &progress.marks, |rows| {
            let now = app.clock.now();
            version.note_cursor(now);
            reservation.delivered(place(*passed_over, rows), now);
        })?;
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

impl<'p, 't> Sending<'_, 'p, 't, '_, '_> {
    /// Finds rows that the client has, and remembers the last of them.
    fn pass_over(&mut self) -> Result<Next<RowUnit<'p, 't>>, Break> {
        let step = usize::try_from(self.to_pass).unwrap_or(usize::MAX).min(STREAM_ROWS_MAX);
        self.ended = !self.stream.next_batch(step, &mut self.found)?;
        self.to_pass = self.to_pass.saturating_sub(u64::try_from(self.found.len()).unwrap_or(u64::MAX));
        if !self.found.is_empty() {
            self.stream_of.work.renew();
        }
        self.last = self.found.last().copied().or(self.last);
        self.found.clear();
        self.line.ping_if_silent()?;
        Ok(if self.ended { Next::End } else { Next::Nothing })
    }

    /// As many rows as `UNIT_BYTES` hold, going by those that were sent.
    fn rows_of_a_unit(&self) -> usize {
        let each = self.bytes.checked_div(self.line.sink.rows()).unwrap_or(0).max(1);
        let most = match &self.printer {
            Printer::Text(..) => STREAM_ROWS_MAX,
            Printer::Batches(encoder) => encoder.rows_max(),
        };
        usize::try_from(UNIT_BYTES / each).unwrap_or(usize::MAX).clamp(1, most)
    }

    /// The cursor behind the last row, where a further one exists.
    fn next_cursor(&mut self) -> Result<Option<String>, Break> {
        let Some(last) = self.last else { return Ok(None) };
        self.stream_of.work.renew();
        loop {
            match self.stream.has_more(last)? {
                Some(true) => return Ok(Some(self.plan.cursor_after(last)?)),
                Some(false) => return Ok(None),
                None => self.line.ping_if_silent()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_web::Framing;

    #[test]
    fn detects_silence_of_ping_interval() {
        let silence = Silence::new();
        assert!(!silence.is_too_long(silence.since + STREAM_PING_INTERVAL - Duration::from_millis(1)));
        assert!(silence.is_too_long(silence.since + STREAM_PING_INTERVAL));
    }

    #[test]
    fn pings_only_in_formats_with_comments() {
        for (speaks, expected) in [(true, b"7\r\n: ping\n\r\n".as_slice()), (false, b"")] {
            let mut wire = Vec::new();
            let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
            let mut line = Line { sink: &mut sink, speaks, silence: Silence::new() };
            assert!(line.ping_if_silent().is_ok() && line.ping().is_ok());
            assert_eq!(wire, expected);
        }
    }
}
