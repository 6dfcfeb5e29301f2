//! A download of a Parquet file: bytes of the file as they are, block by block, each compared with its checksum before it is
//! sent.
//!
//! Rows of a Parquet file do not lie one behind the other, so a share of the bytes of a whole download counts as that share of
//! the rows. The end of the file leaves only after the whole was settled, and without its end no client can read it.

use std::io::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::api::handlers::catalog::dataset_answer::RETRY_AFTER_QUARANTINED_SECONDS;
use crate::api::handlers::streams::download_body::{LAST_PIECE_BYTES, Paid};
use crate::api::handlers::streams::long_work::{Break, LongWork};
use mercato_catalog::{DatasetVersion, OpenParquet, ParquetFile};
use mercato_ledger::{Pending, Reservation};
use mercato_query::render::RowMark;
use mercato_web::{ApiError, ChunkSink, ErrorKind, StreamBody, StreamEnd};

/// The Parquet file of a version; `others` are the formats that every version has.
pub(super) fn offered_parquet(
    version: &DatasetVersion,
    others: &[&str],
) -> Result<Arc<ParquetFile>, ApiError> {
    let Some(file) = &version.parquet else {
        return Err(ApiError::new(ErrorKind::NotAcceptable, "this version is not offered as Parquet")
            .with_reason("FORMAT_NOT_OFFERED", "take one of the formats allowed")
            .with_header("Vary", "Accept")
            .with_allowed(others.iter().map(|name| (*name).to_owned()).collect()));
    };
    if file.is_damaged() {
        return Err(out_of_service().with_cause(format!("{} is damaged", file.path().display())));
    }
    Ok(Arc::clone(file))
}

fn out_of_service() -> ApiError {
    let message = "the Parquet file of this version is out of service; its other formats are not concerned";
    ApiError::unavailable(message, RETRY_AFTER_QUARANTINED_SECONDS)
        .with_reason("PARQUET_DAMAGED", "take another format; the operator has been told")
}

/// The bytes that are sent, and the block that comes first.
pub(super) struct ParquetPart {
    open: OpenParquet,
    /// Rows of the version.
    rows: u64,
    part: Range<u64>,
    block: Vec<u8>,
    /// Where the block begins in the file.
    block_start: u64,
}

impl ParquetPart {
    /// Reads the first block, so that its damage is found before anything is paid.
    pub(super) fn begin(file: &Arc<ParquetFile>, rows: u64, part: Range<u64>) -> Result<Self, ApiError> {
        let fault = |error: Error| out_of_service().with_cause(format!("{}: {error}", file.path().display()));
        let mut begun =
            Self { open: file.open().map_err(fault)?, rows, part, block: Vec::new(), block_start: 0 };
        if !begun.part.is_empty() {
            let start = begun.part.start;
            begun.load(start).map_err(fault)?;
        }
        Ok(begun)
    }

    fn load(&mut self, position: u64) -> Result<(), Error> {
        self.block_start = self.open.read_block(position, &mut self.block)?;
        Ok(())
    }

    /// The bytes from a position of the file up to the end of their block, and where they end.
    fn piece(&mut self, position: u64, end: u64) -> Result<(&[u8], u64), Break> {
        let length = u64::try_from(self.block.len()).unwrap_or(u64::MAX);
        let is_loaded = (self.block_start..self.block_start.saturating_add(length)).contains(&position);
        if !is_loaded {
            let damage = |error, path: &Path| Break::Damaged(format!("{}: {error}", path.display()));
            self.load(position).map_err(|error: Error| damage(error, self.open.file().path()))?;
        }
        let offset = usize::try_from(position.saturating_sub(self.block_start)).unwrap_or(usize::MAX);
        let wanted = usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
        let bytes = self.block.get(offset..).unwrap_or_default();
        let bytes = bytes.get(..wanted.min(bytes.len())).unwrap_or_default();
        if bytes.is_empty() {
            return Err(Break::Damaged(format!("{} bytes are missing", end.saturating_sub(position))));
        }
        Ok((bytes, position.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX))))
    }

    /// Calls `send` with the bytes of a part, piece by piece, and where each piece ends.
    fn each(
        &mut self,
        part: Range<u64>,
        mut send: impl FnMut(&[u8], u64) -> Result<(), Break>,
    ) -> Result<(), Break> {
        let mut position = part.start;
        while position < part.end {
            let (bytes, end) = self.piece(position, part.end)?;
            send(bytes, end)?;
            position = end;
        }
        Ok(())
    }

    /// Where the end of the file begins that is kept back.
    fn last_start(&self) -> u64 {
        let kept_back = u64::try_from(LAST_PIECE_BYTES).unwrap_or(u64::MAX);
        self.part.end.saturating_sub(kept_back).max(self.part.start)
    }
}

/// The rows that the first `position` bytes of a file of `bytes` bytes stand for.
fn rows_up_to(position: u64, bytes: u64, rows: u64) -> u64 {
    let share = u128::from(rows) * u128::from(position) / u128::from(bytes.max(1));
    u64::try_from(share).unwrap_or(rows).min(rows)
}

/// The state of a running download.
pub(super) struct ParquetBody {
    pub(super) app: LongWork,
    pub(super) part: ParquetPart,
    pub(super) paid: Paid,
    pub(super) request_id: String,
}

impl StreamBody for ParquetBody {
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd {
        let Self { app, mut part, paid, request_id } = *self;
        match paid {
            Paid::InAdvance(receipt) => {
                let (rows, charged) = (part.rows, receipt.charged);
                let Err(broken) = part.each(part.part.clone(), |bytes, _| Ok(sink.send(bytes)?)) else {
                    return StreamEnd { rows, credits: charged, complete: true };
                };
                let Break::Damaged(reason) = broken else {
                    return StreamEnd { rows: 0, credits: charged, complete: false };
                };
                tracing::error!(request_id, reason, "a download of a Parquet file broke off");
                let refunded = app.ledger.refund(receipt, app.clock.now()).and_then(Pending::durable);
                if let Err(error) = refunded {
                    tracing::error!(request_id, %error, "the charge of a failed download is not refunded");
                }
                StreamEnd::default()
            }
            Paid::AsItGoes(reservation) => match sell(&mut part, sink, &app, &reservation) {
                Ok(()) => finish(&mut part, sink, &app, reservation, &request_id),
                Err(broken) => {
                    if let Break::Damaged(reason) = &broken {
                        tracing::error!(request_id, reason, "a download of a Parquet file broke off");
                    }
                    broken.settle(reservation, 0, sink, app.clock.now())
                }
            },
        }
    }
}

/// Sends a whole file but for its end, and notes what the socket takes.
fn sell(
    part: &mut ParquetPart,
    sink: &mut ChunkSink<'_>,
    app: &LongWork,
    reservation: &Reservation,
) -> Result<(), Break> {
    let (bytes, rows) = (part.open.file().bytes(), part.rows);
    part.each(part.part.start..part.last_start(), |piece, end| {
        let more = rows_up_to(end, bytes, rows).saturating_sub(sink.rows());
        let mark = RowMark { end: piece.len(), rows: usize::try_from(more).unwrap_or(usize::MAX) };
        sink.send_rows(piece, &[mark], |taken| reservation.delivered(taken, app.clock.now()))?;
        Ok(())
    })
}

/// Settles the whole and sends the end.
fn finish(
    part: &mut ParquetPart,
    sink: &mut ChunkSink<'_>,
    app: &LongWork,
    reservation: Reservation,
    request_id: &str,
) -> StreamEnd {
    // The end is read before it is paid.
    let mut last = Vec::new();
    let read = part.each(part.last_start()..part.part.end, |piece, _| {
        last.extend_from_slice(piece);
        Ok(())
    });
    if let Err(broken) = read {
        return broken.settle(reservation, 0, sink, app.clock.now());
    }
    match reservation.settle(part.rows, app.clock.now()).and_then(Pending::durable) {
        Ok(receipt) => {
            let complete = sink.send(&last).is_ok();
            StreamEnd { rows: part.rows, credits: receipt.charged, complete }
        }
        Err(error) => {
            tracing::error!(request_id, %error, "a download is not settled yet");
            StreamEnd { rows: sink.rows(), credits: 0, complete: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rows_up_to;

    #[test]
    fn shares_of_bytes_are_shares_of_rows() {
        assert_eq!((rows_up_to(0, 100, 1_000), rows_up_to(50, 100, 1_000)), (0, 500));
        assert_eq!((rows_up_to(100, 100, 1_000), rows_up_to(99, 100, 10)), (1_000, 9));
        assert_eq!((rows_up_to(0, 0, 5), rows_up_to(7, 0, 5)), (0, 5));
        assert_eq!(rows_up_to(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }
}
