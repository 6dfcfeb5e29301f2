//! What answers need that go on after their handler has returned, and why they end early.

use std::sync::Arc;

use crate::catalog::{Catalog, FormatError};
use crate::clock::Clock;
use crate::http::app::App;
use crate::http::exports::Exports;
use crate::ledger::Ledger;
use crate::limits::http::SENT_PIECE_BYTES;
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

/// Hands printed rows over piece by piece, and tells after each piece how many of them it held: `rows` in all, of about
/// the same length.
pub(super) fn send_counted(
    bytes: &[u8],
    rows: u64,
    mut send: impl FnMut(&[u8]) -> std::io::Result<()>,
    mut sent: impl FnMut(u64),
) -> std::io::Result<()> {
    let all = u64::try_from(bytes.len()).unwrap_or(u64::MAX).max(1);
    let mut done = 0_u64;
    for piece in bytes.chunks(SENT_PIECE_BYTES) {
        send(piece)?;
        done = done.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        let part = u128::from(rows).saturating_mul(done.into()).checked_div(all.into());
        sent(part.and_then(|part| u64::try_from(part).ok()).unwrap_or(rows));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_as_their_bytes_are_sent_and_not_before() {
        let bytes = vec![0; SENT_PIECE_BYTES * 5 / 2];
        let (mut told, mut pieces) = (Vec::new(), 0);
        send_counted(&bytes, 1_000, |_| Ok(()), |rows| told.push(rows)).unwrap();
        assert_eq!(told, [400, 800, 1_000]);
        told.clear();
        let breaks = |_: &[u8]| {
            pieces += 1;
            if pieces == 2 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        };
        assert!(send_counted(&bytes, 1_000, breaks, |rows| told.push(rows)).is_err());
        assert_eq!(told, [400]);
    }
}
