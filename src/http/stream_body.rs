//! Bodies that are written piece by piece, in chunked coding, and cut without the last chunk when they fail.
//!
//! Knows nothing of rows or events: a body hands over bytes.

use std::io::{self, Write};

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

/// Where a stream writes: each call is one chunk that leaves at once.
pub struct ChunkSink<'w> {
    writer: &'w mut dyn Write,
    chunked: bool,
    frame: Vec<u8>,
}

impl<'w> ChunkSink<'w> {
    /// A sink over the connection; without `chunked` the bytes go out as they are (HTTP/1.0).
    pub(super) fn new(writer: &'w mut dyn Write, chunked: bool) -> Self {
        Self { writer, chunked, frame: Vec::new() }
    }

    /// Sends `bytes` as one chunk in one write.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.chunked {
            self.frame.clear();
            write!(self.frame, "{:x}\r\n", bytes.len())?;
            self.frame.extend_from_slice(bytes);
            self.frame.extend_from_slice(b"\r\n");
            self.writer.write_all(&self.frame)?;
        } else {
            self.writer.write_all(bytes)?;
        }
        self.writer.flush()
    }

    /// Breaks the body off. What follows is no chunk, so that nobody takes the part for the whole, and whoever stands
    /// in front knows that the connection is to be closed.
    pub(super) fn cut(self) -> io::Result<()> {
        if self.chunked {
            self.writer.write_all(b"cut\r\n\r\n")?;
        }
        self.writer.flush()
    }

    /// Says that the body is whole.
    pub(super) fn finish(self) -> io::Result<()> {
        if self.chunked {
            self.writer.write_all(b"0\r\n\r\n")?;
        }
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_carry_their_length_and_the_end_is_explicit() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, true);
        sink.send(b"data: {}\n\n").unwrap();
        sink.send(b"").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"a\r\ndata: {}\n\n\r\n0\r\n\r\n");
    }

    #[test]
    fn a_body_that_broke_off_ends_in_what_is_no_chunk() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, true);
        sink.send(b"row").unwrap();
        sink.cut().unwrap();
        assert_eq!(wire, b"3\r\nrow\r\ncut\r\n\r\n");
    }

    #[test]
    fn without_chunked_coding_the_bytes_are_bare() {
        let mut wire = Vec::new();
        let mut sink = ChunkSink::new(&mut wire, false);
        sink.send(b"row\n").unwrap();
        sink.finish().unwrap();
        assert_eq!(wire, b"row\n");
    }
}
