//! Chunked coding, read strictly and piece by piece: of bodies that come in and of answers that go out.
//!
//! Keeps no bytes. Knows no socket.

use crate::limits::edge::{CHUNK_LINE_BYTES_MAX, TRAILER_BYTES_MAX};

/// Most digits of a chunk size: 60 bits.
const SIZE_DIGITS_MAX: usize = 15;

/// Why the bytes are no chunked coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The size is missing, too long, or not hexadecimal.
    #[error("a chunk begins with its size in hexadecimal digits")]
    Size,
    /// A line does not end with CR LF, or is too long.
    #[error("a line of the chunked coding is too long or does not end with CR LF")]
    Line,
    /// A chunk is not followed by CR LF.
    #[error("a chunk is longer than its size says")]
    Data,
    /// Trailer fields that are too long or not text.
    #[error("the trailer after the last chunk cannot be read")]
    Trailer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Size,
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    LastLineFeed,
    Done,
}

/// How far a chunked body was read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chunks {
    state: State,
    /// Bytes of the present chunk that are still to come.
    remaining: u64,
    digits: usize,
    /// Bytes of the present line, or of all trailer fields.
    line: usize,
}

impl Chunks {
    /// Whether the last chunk and its end were seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Reads on, hands over the content that it finds, and gives the number of bytes that were used; what follows the
    /// end is not used.
    pub fn advance(&mut self, bytes: &[u8], mut content: impl FnMut(&[u8])) -> Result<usize, ChunkError> {
        let mut used = 0_usize;
        while let Some(byte) = bytes.get(used).copied() {
            match self.state {
                State::Done => break,
                State::Data => {
                    let rest = bytes.get(used..).unwrap_or_default();
                    let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(rest.len());
                    content(rest.get(..length).unwrap_or_default());
                    self.remaining = self.remaining.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
                    used = used.saturating_add(length);
                    if self.remaining == 0 {
                        self.state = State::DataReturn;
                    }
                }
                _ => {
                    self.state = self.take(byte)?;
                    used = used.saturating_add(1);
                }
            }
        }
        Ok(used)
    }

    /// One byte of the framing.
    fn take(&mut self, byte: u8) -> Result<State, ChunkError> {
        match (self.state, byte) {
            (State::Size, _) => self.size(byte),
            (State::Extension, b'\r') => Ok(State::SizeLineFeed),
            (State::Extension, b' '..=b'~' | b'\t') if self.line < CHUNK_LINE_BYTES_MAX => {
                self.line = self.line.saturating_add(1);
                Ok(State::Extension)
            }
            (State::SizeLineFeed, b'\n') if self.remaining == 0 => {
                self.line = 0;
                Ok(State::TrailerStart)
            }
            (State::SizeLineFeed, b'\n') => Ok(State::Data),
            (State::DataReturn, b'\r') => Ok(State::DataLineFeed),
            (State::DataLineFeed, b'\n') => {
                (self.digits, self.line) = (0, 0);
                Ok(State::Size)
            }
            (State::DataReturn | State::DataLineFeed, _) => Err(ChunkError::Data),
            (State::TrailerStart, b'\r') => Ok(State::LastLineFeed),
            (State::Trailer, b'\r') => Ok(State::TrailerLineFeed),
            (State::TrailerStart, b'!'..=b'~') | (State::Trailer, b' '..=b'~' | b'\t') => {
                self.line = self.line.saturating_add(1);
                if self.line > TRAILER_BYTES_MAX { Err(ChunkError::Trailer) } else { Ok(State::Trailer) }
            }
            (State::TrailerLineFeed, b'\n') => Ok(State::TrailerStart),
            (State::LastLineFeed, b'\n') => Ok(State::Done),
            (State::TrailerStart | State::Trailer, _) => Err(ChunkError::Trailer),
            _ => Err(ChunkError::Line),
        }
    }

    fn size(&mut self, byte: u8) -> Result<State, ChunkError> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.digits == SIZE_DIGITS_MAX {
                return Err(ChunkError::Size);
            }
            self.remaining = if self.digits == 0 { 0 } else { self.remaining << 4 } | u64::from(digit);
            self.digits = self.digits.saturating_add(1);
            return Ok(State::Size);
        }
        match byte {
            _ if self.digits == 0 => Err(ChunkError::Size),
            b'\r' => Ok(State::SizeLineFeed),
            b';' => Ok(State::Extension),
            _ => Err(ChunkError::Size),
        }
    }
}
