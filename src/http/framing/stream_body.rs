//! Streamed bodies: framed, optionally encoded, and cut on failure, so that no part looks whole.
//!
//! A body hands over bytes and marks rows. Delivered rows are counted here by acknowledged bytes, or by written ones
//! if acknowledgements are unknown. Does not depend on prices.

use std::io::{self, Write};

use super::coding::Encoder;
use super::connection::Connection;
use super::delivery::{Delivery, RowEnds};
use crate::render::Format;

/// The piece of an encoded response that counts as delivered when all of it has arrived.
const ENCODED_PIECE_BYTES: usize = 64 * 1024;
/// Bytes at the end of a response that need not be acknowledged before it is settled: a delayed acknowledgement would
/// cost 40 ms.
const UNACKNOWLEDGED_END_BYTES: u64 = 64 * 1024;
/// Pieces up to this length are copied behind the length of their chunk, so that one write carries both.
const COPIED_CHUNK_BYTES_MAX: usize = 16 * 1024;
/// Encoded rows are sent in pieces of this size, and count as delivered with them.
const SENT_PIECE_BYTES: usize = 512 * 1024;

/// A body that writes itself.
pub trait StreamBody: Send {
    /// Writes the body and returns how it ended. Only a complete body gets its last chunk.
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd;
}

/// The report of a stream, for the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamEnd {
    /// Rows that were handed to the connection.
    pub rows: u64,
    /// Credits that were charged.
    pub credits: u64,
    /// Whether everything was written.
    pub complete: bool,
}

/// The framing of a body, which marks its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Framing {
    /// Each piece is a chunk.
    Chunks,
    /// `Content-Length`, with the number of missing bytes.
    Length(u64),
    /// The end of the connection is the end of the body, as in HTTP/1.0.
    UntilClose,
}

/// The writer of a stream: each call sends one piece.
pub struct ChunkSink<'w> {
    writer: &'w mut dyn Connection,
    framing: Framing,
    encoder: Option<Encoder>,
    encoded: Vec<u8>,
    frame: Vec<u8>,
    bytes: u64,
    trailers: Vec<(&'static str, String)>,
    /// Written bytes of the response, including its head and the frames of its chunks.
    position: u64,
    /// Whether the client was disconnected, so that the count of rows is final.
    given_up: bool,
    rows: Option<RowEnds>,
    delivery: Delivery,
}

impl<'w> ChunkSink<'w> {
    /// A sink over the connection.
    pub(in crate::http) fn new(
        writer: &'w mut dyn Connection,
        framing: Framing,
        encoder: Option<Encoder>,
    ) -> Self {
        Self {
            writer,
            framing,
            encoder,
            encoded: Vec::new(),
            frame: Vec::new(),
            bytes: 0,
            trailers: Vec::new(),
            position: 0,
            given_up: false,
            rows: None,
            delivery: Delivery::default(),
        }
    }

    /// The sink behind a head of so many bytes.
    #[must_use]
    pub(in crate::http) fn behind(self, head: usize) -> Self {
        Self { position: length_of(head), ..self }
    }

    /// Sends `bytes` so that the client can read all of them now.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.with_encoded(bytes, Self::write)
    }

    /// Sends encoded rows and flushes, so that the client can read all of them now. Calls `sent` after each piece
    /// with the number of delivered rows.
    pub fn send_rows(&mut self, format: Format, text: &[u8], mut sent: impl FnMut(u64)) -> io::Result<()> {
        let piece_bytes = if self.encoder.is_some() { ENCODED_PIECE_BYTES } else { SENT_PIECE_BYTES };
        for piece in text.chunks(piece_bytes) {
            let mut finder = self.rows.take().unwrap_or_else(|| RowEnds::new(format));
            let outcome = if self.encoder.is_some() {
                let mut rows = 0_u64;
                finder.find(piece, |_| rows = rows.saturating_add(1));
                self.with_encoded(piece, |sink, encoded| {
                    // A client can read an encoded piece only as a whole.
                    let end = sink.place_of(encoded).saturating_add(length_of(encoded.len()));
                    if rows > 0 {
                        sink.delivery.note(end, rows);
                    }
                    sink.write(encoded)
                })
            } else {
                let start = self.place_of(piece);
                finder.find(piece, |end| self.delivery.note(start.saturating_add(length_of(end)), 1));
                self.write(piece)
            };
            self.rows = Some(finder);
            outcome?;
            sent(self.delivered());
        }
        Ok(())
    }

    /// Sends a batch of rows that a client can read only as a whole. Calls `sent` after each piece with the number of
    /// delivered rows.
    pub fn send_batch(&mut self, bytes: &[u8], rows: u64, mut sent: impl FnMut(u64)) -> io::Result<()> {
        let mut pieces = bytes.chunks(SENT_PIECE_BYTES).peekable();
        while let Some(piece) = pieces.next() {
            let rows = if pieces.peek().is_none() { rows } else { 0 };
            self.with_encoded(piece, |sink, encoded| {
                let end = sink.place_of(encoded).saturating_add(length_of(encoded.len()));
                if rows > 0 {
                    sink.delivery.note(end, rows);
                }
                sink.write(encoded)
            })?;
            sent(self.delivered());
        }
        Ok(())
    }

    /// Rows that were handed over, delivered or not.
    pub fn rows(&self) -> u64 {
        self.delivery.rows()
    }

    /// Delivered rows: those whose last byte is acknowledged, or whose piece is written if acknowledgements are
    /// unknown.
    pub fn delivered(&mut self) -> u64 {
        let arrived = if self.given_up { Some(0) } else { self.writer.acknowledged() };
        self.delivery.arrived(arrived.unwrap_or(self.position))
    }

    /// Waits until the client has acknowledged nearly everything, so that the stream can be settled as complete.
    /// Fails when the client leaves or stops reading. Returns at once if acknowledgements are unknown.
    pub fn await_delivery(&mut self) -> io::Result<()> {
        let enough = self.position.saturating_sub(UNACKNOWLEDGED_END_BYTES);
        self.writer.await_acknowledged(enough)
    }

    /// Disconnects the client and returns the delivered rows. Bytes not acknowledged by now never reach it.
    pub fn give_up(&mut self) -> u64 {
        let delivered = self.delivered();
        if self.writer.acknowledged().is_some() {
            self.writer.disconnect();
            self.given_up = true;
        }
        delivered
    }

    fn with_encoded(
        &mut self,
        bytes: &[u8],
        write: impl FnOnce(&mut Self, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(encoder) = &mut self.encoder else { return write(self, bytes) };
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        encoder.encode(bytes, &mut encoded)?;
        let written = write(self, &encoded);
        self.encoded = encoded;
        written
    }

    /// The position of the next piece's content in the response.
    fn place_of(&self, piece: &[u8]) -> u64 {
        match self.framing {
            Framing::Length(_) | Framing::UntilClose => self.position,
            Framing::Chunks => self.position.saturating_add(chunk_head_bytes(piece.len())),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (length, start) = (length_of(bytes.len()), self.place_of(bytes));
        match &mut self.framing {
            Framing::Length(left) => {
                // Surplus bytes would be taken for the next response.
                *left = left.checked_sub(length).ok_or(io::ErrorKind::InvalidData)?;
                self.writer.write_all(bytes)?;
            }
            Framing::UntilClose => self.writer.write_all(bytes)?,
            Framing::Chunks => self.write_chunk(bytes)?,
        }
        self.bytes = self.bytes.saturating_add(length);
        self.writer.flush()?;
        let frame_end = if self.framing == Framing::Chunks { 2 } else { 0 };
        self.position = start.saturating_add(length).saturating_add(frame_end);
        Ok(())
    }

    fn write_chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.frame.clear();
        write!(self.frame, "{:x}\r\n", bytes.len())?;
        if bytes.len() <= COPIED_CHUNK_BYTES_MAX {
            self.frame.extend_from_slice(bytes);
            self.frame.extend_from_slice(b"\r\n");
            return self.writer.write_all(&self.frame);
        }
        // The writer keeps small pieces back until a large one or a flush comes.
        self.writer.write_all(&self.frame)?;
        self.writer.write_all(bytes)?;
        self.writer.write_all(b"\r\n")
    }

    /// Bytes of the body that were written, as they went out.
    pub(in crate::http) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a field that is sent behind the last chunk; a body of known length has none.
    pub fn trailer(&mut self, name: &'static str, value: String) {
        self.trailers.push((name, value));
    }

    /// Completes the body.
    pub(in crate::http) fn finish(mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            let mut rest = Vec::new();
            encoder.finish(&mut rest)?;
            self.write(&rest)?;
        }
        match self.framing {
            Framing::Chunks => {
                let mut last = b"0\r\n".to_vec();
                for (name, value) in &self.trailers {
                    push_field(&mut last, name, value);
                }
                last.extend_from_slice(b"\r\n");
                self.writer.write_all(&last)?;
            }
            Framing::Length(0) | Framing::UntilClose => {}
            Framing::Length(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.writer.flush()
    }
}

/// The length of a chunk in hexadecimal digits, and the end of its line.
fn chunk_head_bytes(content: usize) -> u64 {
    u64::from(content.checked_ilog2().unwrap_or(0) / 4).saturating_add(3)
}

fn length_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// One field of a head or a trailer. Values are ASCII without control bytes; anything else is left out, so that no value can
/// begin a new line.
pub(in crate::http) fn push_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend(value.bytes().filter(|byte| byte.is_ascii_graphic() || *byte == b' '));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::framing::coding::Coding;

    #[test]
    fn frames_chunks_and_marks_end() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.send(b"data: {}\n\n").unwrap();
        sink.send(b"").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"a\r\ndata: {}\n\n\r\n0\r\n\r\n");
    }

    #[test]
    fn sends_sanitized_trailers_after_last_chunk() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.send(b"x").unwrap();
        sink.trailer("X-Rows-Returned", "2".to_owned());
        sink.trailer("X-Next-Cursor", "one\r\nX-Evil: two\u{e9}".to_owned());
        sink.finish().unwrap();
        let expected = "1\r\nx\r\n0\r\nX-Rows-Returned: 2\r\nX-Next-Cursor: oneX-Evil: two\r\n\r\n";
        assert_eq!(String::from_utf8(wire).unwrap(), expected);
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Length(1), None);
        sink.trailer("X-Rows-Returned", "2".to_owned());
        sink.send(b"x").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"x");
    }

    #[test]
    fn frames_large_piece_like_small_one() {
        let body = vec![b'x'; COPIED_CHUNK_BYTES_MAX + 1];
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.send(&body).unwrap();
        sink.finish().unwrap();
        let head = format!("{:x}\r\n", body.len());
        assert_eq!(wire, [head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat());
    }

    #[test]
    fn enforces_announced_body_length() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Length(5), None);
        sink.send(b"12").unwrap();
        assert!(sink.send(b"3456").is_err(), "one too many");
        sink.send(b"345").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"12345");
        let mut sink = ChunkSink::new(&mut wire, Framing::Length(5), None);
        sink.send(b"1234").unwrap();
        assert!(sink.finish().is_err(), "one too few");
    }

    /// Without acknowledgements, rows count when the piece with their end is written, wherever the frames are.
    #[test]
    fn counts_rows_in_every_framing() {
        let text = "{\"a\":1}\n".repeat(300);
        let encoder = || Some(Encoder::new(Coding::Gzip).unwrap());
        let chunks = Framing::Chunks;
        for (framing, encoder) in [(chunks, None), (Framing::Length(2_400), None), (chunks, encoder())] {
            let mut wire = Vec::new();
            let mut sink = ChunkSink::new(&mut wire, framing, encoder).behind(77);
            let mut told = Vec::new();
            for piece in text.as_bytes().chunks(1_001) {
                sink.send_rows(Format::Ndjson, piece, |rows| told.push(rows)).unwrap();
            }
            assert_eq!(told, [125, 250, 300]);
            assert_eq!((sink.rows(), sink.give_up()), (300, 300));
        }
    }

    #[test]
    fn locates_row_behind_head_and_frames() {
        for (length, head) in [(1, 3), (15, 3), (16, 4), (255, 4), (256, 5), (0x80000, 7)] {
            assert_eq!(chunk_head_bytes(length), head, "{length}");
        }
        let mut wire = b"head".to_vec();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None).behind(4);
        let pieces = [b": ping\n".to_vec(), vec![b'x'; COPIED_CHUNK_BYTES_MAX + 1], b"data: {}\n\n".to_vec()];
        let places = pieces.each_ref().map(|piece| {
            let place = sink.place_of(piece);
            sink.send(piece).unwrap();
            place as usize
        });
        let position = sink.position as usize;
        assert_eq!(position, wire.len());
        for (piece, place) in pieces.iter().zip(places) {
            assert!(wire[place..].starts_with(piece) && wire[..place].ends_with(b"\r\n"));
        }
    }

    #[test]
    fn flushes_encoded_rows_before_end() {
        let mut wire = Vec::new();
        let encoder = Encoder::new(Coding::Gzip).unwrap();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, Some(encoder));
        sink.send(b"row\n").unwrap();
        let body = wire.windows(2).position(|window| window == b"\r\n").unwrap() + 2;
        let mut row = [0; 4];
        io::Read::read_exact(&mut flate2::read::GzDecoder::new(&wire[body..]), &mut row).unwrap();
        assert_eq!(&row, b"row\n");
    }
}
