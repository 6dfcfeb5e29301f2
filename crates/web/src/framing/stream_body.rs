//! Streamed bodies: framed, optionally encoded, and cut on failure, so that no part looks whole.
//!
//! A body hands over bytes and the marks of its rows. Rows count as taken here with the first byte of their step that the
//! socket takes, so no part of a step can be had for nothing. Does not depend on prices.

use std::io::{self, Write};
use std::ops::Range;

use super::coding::Encoder;
use super::connection::Connection;
use mercato_base::marks::RowMark;
use mercato_net::limits::WRITE_PIECE_BYTES;

/// Plain text of one piece of an encoded response, at least: it can be read only as a whole.
const ENCODED_PIECE_BYTES: usize = 64 * 1024;
/// Pieces up to this length are copied behind the length of their chunk, so that one write carries both.
const COPIED_CHUNK_BYTES_MAX: usize = 16 * 1024;

/// A body that writes itself.
pub trait StreamBody: Send {
    /// A byte of the response was written, so it counts even if nothing follows.
    fn begun(&self) {}

    /// Writes the body and returns how it ended. Only a complete body gets its last chunk.
    fn write_to(self: Box<Self>, sink: &mut ChunkSink<'_>) -> StreamEnd;
}

/// The report of a stream, for the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamEnd {
    /// Rows that the socket took.
    pub rows: u64,
    /// Credits that were charged.
    pub credits: u64,
    /// Whether everything was written.
    pub complete: bool,
}

/// The framing of a body, which marks its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
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
    /// Rows that the socket took.
    rows: u64,
}

impl<'w> ChunkSink<'w> {
    /// A sink over the connection.
    pub fn new(writer: &'w mut dyn Connection, framing: Framing, encoder: Option<Encoder>) -> Self {
        Self {
            writer,
            framing,
            encoder,
            encoded: Vec::new(),
            frame: Vec::new(),
            bytes: 0,
            trailers: Vec::new(),
            rows: 0,
        }
    }

    /// Sends `bytes` so that the client can read all of them now.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.encode_and_write(bytes, |_| ())
    }

    /// Sends rows and flushes, so that the client can read all of them now. Calls `taken` with the number of rows that the
    /// socket has taken so far, also when the connection breaks.
    pub fn send_rows(
        &mut self,
        bytes: &[u8],
        marks: &[RowMark],
        mut taken: impl FnMut(u64),
    ) -> io::Result<()> {
        let before = self.rows;
        let mut rows = before;
        let mut note = |begun: usize| {
            rows = before.saturating_add(length_of(begun));
            taken(rows);
        };
        let outcome = if self.encoder.is_some() {
            encoded_pieces(bytes.len(), marks).try_for_each(|(piece, begun)| {
                let piece = bytes.get(piece).unwrap_or_default();
                self.encode_and_write(piece, |taken| {
                    if taken > 0 {
                        note(begun);
                    }
                })
            })
        } else {
            self.write(bytes, |taken| note(rows_begun(marks, taken)))
        };
        self.rows = rows;
        outcome
    }

    /// Rows that the socket took, the client has read them or not.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn encode_and_write(&mut self, bytes: &[u8], taken: impl FnMut(usize)) -> io::Result<()> {
        let Some(encoder) = &mut self.encoder else { return self.write(bytes, taken) };
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        encoder.encode(bytes, &mut encoded)?;
        let written = self.write(&encoded, taken);
        self.encoded = encoded;
        written
    }

    /// Writes and flushes. Calls `taken` with the bytes of `bytes` that the socket has taken so far.
    fn write(&mut self, bytes: &[u8], mut taken: impl FnMut(usize)) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.frame.clear();
        if self.framing == Framing::Chunks {
            write!(self.frame, "{:x}\r\n", bytes.len())?;
        } else if let Framing::Length(left) = &mut self.framing {
            // Surplus bytes would be taken for the next response.
            *left = left.checked_sub(length_of(bytes.len())).ok_or(io::ErrorKind::InvalidData)?;
        }
        let start = self.writer.taken().saturating_add(length_of(self.frame.len()));
        let mut note = |writer: &dyn Connection| {
            let content = writer.taken().saturating_sub(start);
            taken(usize::try_from(content).map_or(bytes.len(), |content| content.min(bytes.len())));
        };
        let outcome = self.write_framed(bytes, &mut note).and_then(|()| self.writer.flush());
        note(&*self.writer);
        outcome?;
        self.bytes = self.bytes.saturating_add(length_of(bytes.len()));
        Ok(())
    }

    fn write_framed(&mut self, bytes: &[u8], note: &mut dyn FnMut(&dyn Connection)) -> io::Result<()> {
        let is_chunk = self.framing == Framing::Chunks;
        if is_chunk && bytes.len() <= COPIED_CHUNK_BYTES_MAX {
            self.frame.extend_from_slice(bytes);
            self.frame.extend_from_slice(b"\r\n");
            return self.writer.write_all(&self.frame);
        }
        // The writer keeps small pieces back until a large one or a flush comes.
        self.writer.write_all(&self.frame)?;
        for piece in bytes.chunks(WRITE_PIECE_BYTES) {
            self.writer.write_all(piece)?;
            note(&*self.writer);
        }
        if is_chunk { self.writer.write_all(b"\r\n") } else { Ok(()) }
    }

    /// Bytes of the body that were written, as they went out.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a field that is sent behind the last chunk; a body of known length has none.
    pub fn trailer(&mut self, name: &'static str, value: String) {
        self.trailers.push((name, value));
    }

    /// Completes the body.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            let mut rest = Vec::new();
            encoder.finish(&mut rest)?;
            self.write(&rest, |_| ())?;
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

/// Rows of whose step a byte is among the first `taken` ones.
fn rows_begun(marks: &[RowMark], taken: usize) -> usize {
    if taken == 0 {
        return 0;
    }
    let step = marks.partition_point(|mark| mark.end < taken);
    marks.get(step).or_else(|| marks.last()).map_or(0, |mark| mark.rows)
}

/// Cuts `length` bytes of rows at marks into pieces of `ENCODED_PIECE_BYTES` at least. Gives each with the number of rows up
/// to its end.
fn encoded_pieces(length: usize, marks: &[RowMark]) -> impl Iterator<Item = (Range<usize>, usize)> {
    let (mut start, mut rest) = (0, marks);
    std::iter::from_fn(move || {
        if start >= length {
            return None;
        }
        let enough = rest.partition_point(|mark| mark.end < start.saturating_add(ENCODED_PIECE_BYTES));
        let (end, rows) = match rest.get(enough) {
            Some(mark) if rest.len() > enough.saturating_add(1) && mark.end < length => (mark.end, mark.rows),
            // What stands behind the last mark goes with the last rows.
            _ => (length, rows_begun(marks, length)),
        };
        rest = rest.get(enough.saturating_add(1)..).unwrap_or_default();
        let piece = start..end;
        start = end;
        Some((piece, rows))
    })
}

fn length_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// One field of a head or a trailer. Values are ASCII without control bytes; anything else is left out, so that no value can
/// begin a new line.
pub fn push_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend(value.bytes().filter(|byte| byte.is_ascii_graphic() || *byte == b' '));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::coding::Coding;

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

    /// A socket that takes so many bytes and then breaks.
    struct Breaking {
        left: usize,
        taken: u64,
    }

    impl Write for Breaking {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.left);
            self.left -= taken;
            self.taken += taken as u64;
            if taken == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Connection for Breaking {
        fn taken(&self) -> u64 {
            self.taken
        }
    }

    /// Rows of 8 bytes in steps of 25, with a mark behind each.
    fn rows_with_marks(rows: usize) -> (String, Vec<RowMark>) {
        let marks = (1..=rows / 25).map(|step| RowMark { end: step * 25 * 8, rows: step * 25 }).collect();
        ("{\"a\":1}\n".repeat(rows), marks)
    }

    #[test]
    fn charges_steps_of_which_socket_took_byte_in_every_framing() {
        let (text, marks) = rows_with_marks(4_000);
        let length = text.len();
        // The frame of a chunk stands before its content: `7d00` and the end of the line.
        for (framing, frame) in [(Framing::Chunks, 6), (Framing::Length(length as u64), 0)] {
            for (bytes, expected) in [(0, 0), (1, 25), (200, 25), (201, 50), (20_001, 2_525), (length, 4_000)]
            {
                let mut socket = Breaking { left: frame + bytes, taken: 0 };
                let mut sink = ChunkSink::new(&mut socket, framing, None);
                let mut told = Vec::new();
                let outcome = sink.send_rows(text.as_bytes(), &marks, |rows| told.push(rows));
                assert_eq!((sink.rows(), told.last().copied()), (expected, Some(expected)), "{bytes}");
                assert_eq!(outcome.is_ok(), frame == 0 && bytes == length);
            }
            let mut socket = Breaking { left: frame / 2, taken: 0 };
            let mut sink = ChunkSink::new(&mut socket, framing, None);
            assert!(sink.send_rows(text.as_bytes(), &marks, |_| ()).is_err());
            assert_eq!(sink.rows(), 0, "nothing is paid of which no byte was written");
        }
    }

    #[test]
    fn charges_encoded_piece_of_which_socket_took_byte() {
        let (text, marks) = rows_with_marks(20_000);
        let encoder = || Some(Encoder::new(Coding::Gzip).unwrap());
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, encoder());
        let mut told = Vec::new();
        sink.send_rows(text.as_bytes(), &marks, |rows| told.push(rows)).unwrap();
        told.dedup();
        assert_eq!(told, [8_200, 16_400, 20_000], "64 KiB of text are a piece");
        let line = wire.windows(2).position(|window| window == b"\r\n").unwrap();
        let first = usize::from_str_radix(std::str::from_utf8(&wire[..line]).unwrap(), 16).unwrap();
        let second = line + 2 + first + 2;
        for (bytes, expected) in [(2, 0), (20, 8_200), (second + 20, 16_400)] {
            let mut socket = Breaking { left: bytes, taken: 0 };
            let mut sink = ChunkSink::new(&mut socket, Framing::Chunks, encoder());
            assert!(sink.send_rows(text.as_bytes(), &marks, |_| ()).is_err());
            assert_eq!(sink.rows(), expected, "{bytes} of {second}");
        }
    }

    #[test]
    fn counts_rows_over_pieces_whatever_stands_between() {
        let (text, marks) = rows_with_marks(100);
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, Framing::Chunks, None);
        sink.send(b"names\r\n").unwrap();
        for _ in 0..3 {
            sink.send_rows(text.as_bytes(), &marks, |_| ()).unwrap();
            sink.send(b": ping\n").unwrap();
        }
        assert_eq!(sink.rows(), 300);
        sink.send_rows(&text.as_bytes()[..500], &marks, |_| ()).unwrap();
        assert_eq!(sink.rows(), 375, "a part of a piece has the rows of its steps");
    }

    #[test]
    fn cuts_encoded_pieces_at_marks() {
        let marks = |ends: &[usize]| -> Vec<RowMark> {
            ends.iter().enumerate().map(|(at, end)| RowMark { end: *end, rows: at + 1 }).collect()
        };
        let cut = |length, ends: &[usize]| encoded_pieces(length, &marks(ends)).collect::<Vec<_>>();
        assert_eq!(cut(10, &[4, 8]), [(0..10, 2)]);
        assert_eq!(
            cut(200_000, &[70_000, 150_000, 199_000]),
            [(0..70_000, 1), (70_000..150_000, 2), (150_000..200_000, 3)]
        );
        assert_eq!(
            cut(100_000, &[70_000, 150_000]),
            [(0..70_000, 1), (70_000..100_000, 2)],
            "a part of the bytes"
        );
        assert_eq!(cut(90_000, &[]), [(0..90_000, 0)]);
        assert_eq!(cut(0, &[]), []);
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
