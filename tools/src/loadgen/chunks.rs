//! Finds the ends of chunks in a chunked body. Knows nothing of what the chunks carry.

use super::answer::Malformed;

/// Digits of the size of a chunk.
const SIZE_DIGITS_MAX: u8 = 16;
/// Bytes of extensions and trailers of one body.
const EXTRA_BYTES_MAX: u32 = 16 * 1024;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: At,
    extra_bytes: u32,
}

#[derive(Debug, Clone, Copy)]
enum At {
    /// In the size, of which so many digits were read.
    Size {
        size: u64,
        digits: u8,
    },
    /// Behind the size, up to the end of the line.
    Extension {
        size: u64,
    },
    /// At the line feed behind the size.
    SizeEnd {
        size: u64,
    },
    /// In the data of a chunk.
    Data {
        left: u64,
    },
    /// At the carriage return behind the data.
    DataReturn,
    /// At the line feed behind the data.
    DataFeed,
    /// At the beginning of a line behind the last chunk.
    TrailerLine,
    /// In such a line.
    Trailer,
    /// At the line feed that ends everything.
    LastFeed,
    Whole,
}

impl Default for At {
    fn default() -> At {
        At::Size { size: 0, digits: 0 }
    }
}

impl Chunks {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.at, At::Whole)
    }

    /// Goes on to the next piece of data: the piece, and what stands behind it. The piece is empty when the bytes
    /// end before it, or the body ends.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let mut rest = bytes;
        loop {
            if let At::Data { left } = self.at {
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                let (data, behind) = rest.split_at(count);
                let left = left - count as u64;
                self.at = if left == 0 { At::DataReturn } else { At::Data { left } };
                return Ok((data, behind));
            }
            let (false, Some((&byte, behind))) = (self.is_whole(), rest.split_first()) else {
                return Ok((&[], rest));
            };
            self.at = self.after(byte)?;
            rest = behind;
        }
    }

    /// Where the byte behind `byte` stands.
    fn after(&mut self, byte: u8) -> Result<At, Malformed> {
        let wrong = |expected| Err(Malformed::Chunk { expected, found: byte });
        Ok(match (self.at, byte) {
            (At::Size { size, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == SIZE_DIGITS_MAX {
                    return wrong("the end of a size");
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                At::Size { size: (size << 4) | u64::from(digit), digits: digits + 1 }
            }
            (At::Size { digits: 0, .. }, _) => return wrong("the size of a chunk"),
            (At::Size { size, .. } | At::Extension { size }, b'\r') => At::SizeEnd { size },
            (At::Size { size, .. }, b';' | b' ' | b'\t') => At::Extension { size },
            (At::Size { .. }, _) => return wrong("the end of a size"),
            (At::Extension { size }, _) if self.is_within() => At::Extension { size },
            (At::SizeEnd { size: 0 }, b'\n') => At::TrailerLine,
            (At::SizeEnd { size }, b'\n') => At::Data { left: size },
            (At::DataReturn, b'\r') => At::DataFeed,
            (At::DataFeed, b'\n') => At::default(),
            (At::TrailerLine, b'\r') => At::LastFeed,
            (At::Trailer, b'\n') => At::TrailerLine,
            (At::TrailerLine | At::Trailer, _) if self.is_within() => At::Trailer,
            (At::LastFeed, b'\n') => At::Whole,
            (At::DataReturn | At::DataFeed, _) => return wrong("the end of a chunk"),
            (At::Extension { .. } | At::TrailerLine | At::Trailer, _) => {
                return wrong("the end of a long line");
            }
            _ => return wrong("a line feed"),
        })
    }

    fn is_within(&mut self) -> bool {
        self.extra_bytes += 1;
        self.extra_bytes <= EXTRA_BYTES_MAX
    }
}
