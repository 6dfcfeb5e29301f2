//! A running download of text: units are encoded ahead, cut to the range, sent, and noted as the socket takes them.
//!
//! A whole file is settled before its last bytes leave, so a client that has all of it has paid for all of it. When it
//! breaks off, the rows that the socket took are paid, and parts that are asked for later pay the rest.

use std::ops::Range;

use crate::api::handlers::streams::long_work::{Break, LongWork};
use mercato_catalog::DatasetVersion;
use mercato_ledger::{Pending, Receipt, Reservation};
use mercato_query::render::{Document, DocumentUnit, Format, Next, Pipeline, Progress, RowMark, Units};
use mercato_web::{ChunkSink, StreamBody, StreamEnd};

/// The end of a file that leaves only after it was settled.
pub(super) const LAST_PIECE_BYTES: usize = 16 * 1024;

/// How a download is paid.
pub(super) enum Paid {
    /// Before it began: a part of a file.
    InAdvance(Receipt),
    /// By the rows that are written: a whole file.
    AsItGoes(Reservation),
}

/// The state of a running download.
pub(super) struct DownloadBody {
    pub(super) app: LongWork,
    pub(super) slug: String,
    pub(super) version: DatasetVersion,
    pub(super) format: Format,
    /// Bytes that are wanted.
    pub(super) part: Range<u64>,
    pub(super) paid: Paid,
    pub(super) request_id: String,
}

impl StreamBody for DownloadBody {
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd {
        let Self { app, slug, version, format, part, paid, request_id } = *self;
        let (reservation, receipt) = match paid {
            Paid::AsItGoes(reservation) => (Some(reservation), None),
            Paid::InAdvance(receipt) => (None, Some(receipt)),
        };
        let document = match app.exports.open(&version.table, format) {
            Ok(document) => document,
            Err(error) => {
                let broken = Break::from(error);
                return broken_off(
                    &app,
                    &slug,
                    &version,
                    receipt,
                    &request_id,
                    &broken,
                    StreamEnd::default(),
                );
            }
        };
        let mut sending = Sending {
            units: document.units(part.clone()),
            document: &document,
            first_row: None,
            position: None,
            part,
            sink,
            app: &app,
            reservation,
            end: StreamEnd {
                credits: receipt.as_ref().map_or(0, |receipt| receipt.charged),
                ..StreamEnd::default()
            },
        };
        let outcome = app.encoder.run(&mut sending).and_then(|()| sending.settle());
        if let Err(broken) = &outcome {
            sending.leave(broken);
        }
        let end = sending.end;
        match outcome {
            Ok(()) => StreamEnd { complete: true, ..end },
            Err(broken) => broken_off(&app, &slug, &version, receipt, &request_id, &broken, end),
        }
    }
}

/// Handles an incomplete download. The reservation of a whole file settles itself.
fn broken_off(
    app: &LongWork,
    slug: &str,
    version: &DatasetVersion,
    receipt: Option<Receipt>,
    request_id: &str,
    broken: &Break,
    end: StreamEnd,
) -> StreamEnd {
    match broken {
        // A download searches for nothing.
        Break::Client | Break::TooExpensive => {}
        Break::Books(reason) => tracing::error!(request_id, reason, "a download is not settled yet"),
        Break::Damaged(reason) => {
            tracing::error!(request_id, reason, "a download broke off");
            app.catalog.quarantine(version, slug, reason, app.clock.now());
            // The rest is unreadable, so the charge of this part is refunded.
            let refunded = receipt.map(|receipt| app.ledger.refund(receipt, app.clock.now()));
            if let Some(Err(error)) = refunded.map(|refund| refund.and_then(Pending::durable)) {
                tracing::error!(request_id, %error, "the charge of a failed download is not refunded");
            }
        }
    }
    StreamEnd { complete: false, ..end }
}

struct Sending<'d, 't, 's, 'w> {
    document: &'d Document<'t>,
    units: Units<'d, 't>,
    /// The first row that is printed; rows are counted from it.
    first_row: Option<u32>,
    /// Offset of the next printed byte in the file.
    position: Option<u64>,
    part: Range<u64>,
    sink: &'s mut ChunkSink<'w>,
    app: &'s LongWork,
    reservation: Option<Reservation>,
    end: StreamEnd,
}

impl<'t> Pipeline for Sending<'_, 't, '_, '_> {
    type Unit = DocumentUnit<'t>;
    type Error = Break;

    fn next(&mut self) -> Result<Next<DocumentUnit<'t>>, Break> {
        Ok(self.units.next().map_or(Next::End, Next::Unit))
    }

    fn take(&mut self, unit: &DocumentUnit<'t>, bytes: &[u8], progress: &Progress) -> Result<(), Break> {
        let start = self.position.unwrap_or(unit.bytes().start);
        let end = start.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.position = Some(end);
        // The recorded lengths of a file must be right, or a range would be wrong.
        if end > unit.bytes().end || (progress.complete && end != unit.bytes().end) {
            return Err(unit.mismatch().into());
        }
        let before = unit.rows().start.saturating_sub(*self.first_row.get_or_insert(unit.rows().start));
        let rows = u64::from(before).saturating_add(u64::try_from(progress.rows).unwrap_or(u64::MAX));
        let from = self.part.start.saturating_sub(start);
        let to = self.part.end.min(end).saturating_sub(start);
        let wanted = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let wanted = wanted.and_then(|(from, to)| bytes.get(from..to)).unwrap_or_default();
        if self.reservation.is_none() {
            // It is paid; the rows are those that were printed for it.
            self.end.rows = rows;
            return Ok(self.sink.send(wanted)?);
        }
        let is_end = unit.ends() && progress.complete && end == self.document.bytes();
        let kept_back = if is_end { wanted.len().min(LAST_PIECE_BYTES) } else { 0 };
        let (now, last) = wanted.split_at_checked(wanted.len() - kept_back).unwrap_or((wanted, &[]));
        self.send_rows(now, &progress.marks)?;
        if is_end {
            self.end.rows = rows;
            self.settle()?;
            self.sink.send(last)?;
        }
        Ok(())
    }
}

impl Sending<'_, '_, '_, '_> {
    fn send_rows(&mut self, bytes: &[u8], marks: &[RowMark]) -> Result<(), Break> {
        let (reservation, app) = (&self.reservation, self.app);
        reservation.iter().try_for_each(Break::if_over)?;
        self.sink.send_rows(bytes, marks, |rows| {
            if let Some(reservation) = reservation {
                reservation.delivered(rows, app.clock.now());
            }
        })?;
        Ok(())
    }

    /// A download that was not charged in advance costs the rows that the socket took.
    fn leave(&mut self, broken: &Break) {
        if let Some(reservation) = self.reservation.take() {
            self.end = broken.settle(reservation, 0, self.sink, self.app.clock.now());
        }
    }

    /// All rows are printed: a whole file is paid now, before its end is sent.
    fn settle(&mut self) -> Result<(), Break> {
        let Some(reservation) = self.reservation.take() else { return Ok(()) };
        let settled = reservation.settle(self.end.rows, self.app.clock.now());
        let receipt = settled.and_then(Pending::durable).map_err(|error| Break::Books(error.to_string()))?;
        self.end.credits = receipt.charged;
        Ok(())
    }
}
