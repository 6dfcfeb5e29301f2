//! Bodies that are written piece by piece: framed, if need be encoded, and cut when they fail, so that no part looks whole.
//!
//! Knows nothing of rows or events: a body hands over bytes.

use std::io::{self, Write};

use super::coding::Encoder;
use crate::limits::http::COPIED_CHUNK_BYTES_MAX;

/// A body that writes itself.
pub trait StreamBody: Send {
    /// Writes everything and says how it ended. Only a complete body gets its last chunk.
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd;
}

/// What the log learns from a stream that ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamEnd {
    /// Rows that were handed to the connection.
    pub rows: u64,
    /// Credits that were charged.
    pub credits: u64,
    /// Whether everything was written.
    pub complete: bool,
}

/// What tells the client where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Each piece is a chunk.
    Chunks,
    /// The head has said how many bytes come; so many are still to come.
    Length(u64),
}

/// Where a stream writes: each call is one piece.
pub struct ChunkSink<'w> {
    writer: &'w mut dyn Write,
    framing: Framing,
    encoder: Option<Encoder>,
    encoded: Vec<u8>,
    frame: Vec<u8>,
    bytes: u64,
}

impl<'w> ChunkSink<'w> {
    /// A sink over the connection.
    pub(super) fn new(writer: &'w mut dyn Write, framing: Framing, encoder: Option<Encoder>) -> Self {
        Self { writer, framing, encoder, encoded: Vec::new(), frame: Vec::new(), bytes: 0 }
    }

    /// Sends `bytes` so that the client can read all of them now.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes, true)
    }

    /// Sends `bytes`; an encoder may keep some of them until more come.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes, false)
    }

    fn put(&mut self, bytes: &[u8], at_once: bool) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(encoder) = &mut self.encoder else { return self.write(bytes) };
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        encoder.encode(bytes, at_once, &mut encoded)?;
        let written = self.write(&encoded);
        self.encoded = encoded;
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if let Framing::Length(left) = &mut self.framing {
            // More than was said would be taken for the next answer.
            *left = left.checked_sub(length).ok_or(io::ErrorKind::InvalidData)?;
            self.writer.write_all(bytes)?;
            self.bytes = self.bytes.saturating_add(length);
            return self.writer.flush();
        }
        self.bytes = self.bytes.saturating_add(length);
        self.frame.clear();
        write!(self.frame, "{:x}\r\n", bytes.len())?;
        if bytes.len() <= COPIED_CHUNK_BYTES_MAX {
            self.frame.extend_from_slice(bytes);
            self.frame.extend_from_slice(b"\r\n");
            self.writer.write_all(&self.frame)?;
        } else {
            // The writer keeps small pieces back until a large one or a flush comes.
            self.writer.write_all(&self.frame)?;
            self.writer.write_all(bytes)?;
            self.writer.write_all(b"\r\n")?;
        }
        self.writer.flush()
    }

    /// Bytes of the body that were written, as they went out.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Says that the body is whole.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            let mut rest = Vec::new();
            encoder.finish(&mut rest)?;
            self.write(&rest)?;
        }
        match self.framing {
            Framing::Chunks => self.writer.write_all(b"0\r\n\r\n")?,
            Framing::Length(0) => {}
            Framing::Length(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::coding::Coding;

    #[test]
    fn chunks_carry_their_length_and_the_end_is_explicit() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.send(b"data: {}\n\n").unwrap();
        sink.send(b"").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"a\r\ndata: {}\n\n\r\n0\r\n\r\n");
    }

    #[test]
    fn a_large_piece_is_framed_like_a_small_one() {
        let body = vec![b'x'; COPIED_CHUNK_BYTES_MAX + 1];
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.push(&body).unwrap();
        sink.finish().unwrap();
        let head = format!("{:x}\r\n", body.len());
        assert_eq!(wire, [head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat());
    }

    #[test]
    fn a_body_of_known_length_is_as_long_as_was_said() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Length(5), None);
        sink.send(b"12").unwrap();
        assert!(sink.send(b"3456").is_err(), "one too many");
        sink.push(b"345").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"12345");
        let mut sink = ChunkSink::new(&mut wire, Framing::Length(5), None);
        sink.send(b"1234").unwrap();
        assert!(sink.finish().is_err(), "one too few");
    }

    #[test]
    fn what_is_sent_can_be_decoded_before_the_end() {
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
