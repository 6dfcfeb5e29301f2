//! Strict, incremental parser of the chunked transfer coding, for request bodies and for responses of handlers.
//!
//! Keeps no bytes. Does not depend on sockets.

/// Most digits of a chunk size: 60 bits.
const SIZE_DIGITS_MAX: usize = 15;
/// Length of a chunk-size line with its extensions.
const CHUNK_LINE_BYTES_MAX: usize = 256;
/// Length of all trailer fields after a chunked body.
const TRAILER_BYTES_MAX: usize = 8 * 1024;

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

    /// Parses bytes, hands over the content in them and returns the number of consumed bytes. Bytes after the end are
    /// not consumed.
    pub fn advance(&mut self, bytes: &[u8], mut content: impl FnMut(&[u8])) -> Result<usize, ChunkError> {
        let mut used = 0_usize;
        while let Some(byte) = bytes.get(used).copied() {
            match self.state {
                State::Done => break,
                State::Data => {
                    let came = bytes.get(used..).unwrap_or_default();
                    let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX);
                    let piece = came.get(..wanted).unwrap_or(came);
                    content(piece);
                    self.remaining =
                        self.remaining.saturating_sub(piece.len().try_into().unwrap_or(u64::MAX));
                    used = used.saturating_add(piece.len());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds `bytes` in pieces that end at `cuts`.
    fn read(bytes: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, bool, usize), ChunkError> {
        let (mut chunks, mut content, mut used) = (Chunks::default(), Vec::new(), 0);
        let ends = cuts.iter().copied().chain([bytes.len()]);
        for end in ends.filter(|end| *end <= bytes.len()) {
            if end > used {
                used += chunks.advance(&bytes[used..end], |piece| content.extend_from_slice(piece))?;
            }
        }
        Ok((content, chunks.is_done(), used))
    }

    /// The obvious way, for whole bodies: lines first, then data.
    fn naive(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        let mut content = Vec::new();
        let mut at = 0;
        let line = |at: usize| {
            let end = at + bytes[at..].windows(2).position(|window| window == b"\r\n")?;
            Some((std::str::from_utf8(&bytes[at..end]).ok()?, end + 2))
        };
        loop {
            let (text, next) = line(at)?;
            let size = usize::from_str_radix(text.split(';').next()?, 16).ok()?;
            at = next;
            if size == 0 {
                break;
            }
            content.extend_from_slice(bytes.get(at..at + size)?);
            at += size;
            at = if bytes.get(at..at + 2)? == b"\r\n" { at + 2 } else { return None };
        }
        loop {
            let (text, next) = line(at)?;
            at = next;
            if text.is_empty() {
                return Some((content, at));
            }
        }
    }

    #[test]
    fn extracts_content_and_finds_end() {
        let check = |bytes: &str, content: &str, used: usize| {
            let found = read(bytes.as_bytes(), &[]);
            assert_eq!(found, Ok((content.as_bytes().to_vec(), true, used)), "{bytes:?}");
        };
        check("0\r\n\r\n", "", 5);
        check("3\r\nabc\r\n0\r\n\r\n", "abc", 13);
        check("A;name=\"v\"\r\n0123456789\r\n00\r\nTrailer: x\r\n\r\nGET", "0123456789", 42);
    }

    #[test]
    fn rejects_malformed_chunks() {
        for (bytes, expected) in [
            ("\r\n", ChunkError::Size),
            ("x\r\n", ChunkError::Size),
            ("-1\r\n", ChunkError::Size),
            ("0x3\r\nabc\r\n", ChunkError::Size),
            ("3 \r\nabc\r\n", ChunkError::Size),
            ("1000000000000000\r\n", ChunkError::Size),
            ("3\nabc\n", ChunkError::Size),
            ("3\rabc", ChunkError::Line),
            ("3;\u{1}\r\n", ChunkError::Line),
            ("3\r\nabcd\r\n", ChunkError::Data),
            ("3\r\nabc\n0\r\n\r\n", ChunkError::Data),
            ("0\r\n folded\r\n\r\n", ChunkError::Trailer),
            ("cut\r\n\r\n", ChunkError::Size),
        ] {
            assert_eq!(read(bytes.as_bytes(), &[]), Err(expected), "{bytes:?}");
        }
        let long = format!("3;{}\r\nabc\r\n", "a".repeat(CHUNK_LINE_BYTES_MAX + 1));
        assert_eq!(read(long.as_bytes(), &[]), Err(ChunkError::Line));
        let long = format!("0\r\nA: {}\r\n\r\n", "a".repeat(TRAILER_BYTES_MAX));
        assert_eq!(read(long.as_bytes(), &[]), Err(ChunkError::Trailer));
    }

    proptest! {
        #[test]
        fn reads_any_pieces_like_naive_reader(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            rest in "[a-z]{0,9}",
            cuts in prop::collection::vec(0_usize..300, 0..8),
        ) {
            let mut bytes = Vec::new();
            for piece in &pieces {
                bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                bytes.extend_from_slice(piece);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            bytes.extend_from_slice(rest.as_bytes());
            let mut cuts = cuts;
            cuts.sort_unstable();
            let (content, used) = naive(&bytes).unwrap();
            prop_assert_eq!(read(&bytes, &cuts), Ok((content, true, used)));
        }

        #[test]
        fn rejects_damage_or_agrees_with_naive_reader(
            at in 0_usize..30, byte in any::<u8>(),
        ) {
            let mut bytes = b"5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\n\r\n".to_vec();
            bytes[at] = byte;
            if let Ok((content, true, used)) = read(&bytes, &[]) {
                prop_assert_eq!(naive(&bytes), Some((content, used)));
            }
        }
    }
}
