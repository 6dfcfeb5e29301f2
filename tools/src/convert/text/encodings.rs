//! Turns the encoding of a text file into UTF-8: by a byte order mark, by the operator's word, else it is UTF-8 already.
//! Does not depend on records.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};
use mercato_catalog::TextEncoding;

use crate::failure::Failure;

/// Bytes that are looked at.
pub const HEAD_BYTES: usize = 64 * 1024;
const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const BUFFER_BYTES: usize = 64 * 1024;

/// The encoding of a file that begins with `head`, `None` for UTF-8, and the bytes of its mark.
pub fn find(
    head: &[u8],
    wanted: Option<TextEncoding>,
    file: &str,
) -> Result<(Option<&'static Encoding>, usize), Failure> {
    match head {
        [0xef, 0xbb, 0xbf, ..] => return Ok((None, UTF8_MARK.len())),
        [0xff, 0xfe, ..] => return Ok((Some(UTF_16LE), 2)),
        [0xfe, 0xff, ..] => return Ok((Some(UTF_16BE), 2)),
        _ => {}
    }
    match wanted {
        None | Some(TextEncoding::Utf8) => Ok((None, 0)),
        Some(TextEncoding::Utf16) if head.first() == Some(&0) => Ok((Some(UTF_16BE), 0)),
        Some(TextEncoding::Utf16) if head.get(1).is_none_or(|second| *second == 0) => Ok((Some(UTF_16LE), 0)),
        Some(TextEncoding::Utf16) => Err(refuse(file, "UTF-16", "no mark of it, and text that is none")),
        Some(TextEncoding::Latin1 | TextEncoding::Windows1252) if is_evidently_utf8(head) => {
            Err(refuse(file, "windows-1252", "UTF-8"))
        }
        Some(TextEncoding::Latin1 | TextEncoding::Windows1252) => Ok((Some(WINDOWS_1252), 0)),
    }
}

/// Whether a text has letters beyond ASCII, all of them in UTF-8. Texts in other encodings hardly ever look so.
fn is_evidently_utf8(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => head,
        // The head may end inside a letter.
        Err(error) if error.error_len().is_none() => head.get(..error.valid_up_to()).unwrap_or_default(),
        Err(_) => return false,
    };
    !valid.is_ascii()
}

fn refuse(file: &str, expected: &str, found: &str) -> Failure {
    Failure::refused(file, "first bytes", expected, found, "leave --encoding out, or pass another one")
}

/// A reader of UTF-8.
#[must_use]
pub fn to_utf8(raw: impl BufRead + 'static, encoding: Option<&'static Encoding>) -> Box<dyn BufRead> {
    match encoding {
        None => Box::new(raw),
        Some(encoding) => {
            let decoder = encoding.new_decoder_without_bom_handling();
            let decoding = Decoding {
                raw,
                decoder,
                name: encoding.name(),
                taken: 0,
                ready: Vec::new(),
                given: 0,
                is_ended: false,
            };
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoding))
        }
    }
}

/// Bytes that are not in the encoding.
#[derive(Debug)]
pub struct Undecodable {
    encoding: &'static str,
    /// The byte behind them, counted from 1.
    at: u64,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "bytes that are not {} before byte {}", self.encoding, self.at)
    }
}

impl std::error::Error for Undecodable {}

impl Undecodable {
    #[must_use]
    pub fn refuse(&self, file: &str) -> Failure {
        refuse(file, self.encoding, &self.to_string())
    }
}

/// Decodes bytes.
struct Decoding<R> {
    raw: R,
    decoder: Decoder,
    name: &'static str,
    taken: u64,
    ready: Vec<u8>,
    given: usize,
    is_ended: bool,
}

impl<R: BufRead> Read for Decoding<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if self.is_ended {
                return Ok(0);
            }
            self.decode()?;
        }
        let ready = self.ready.get(self.given..).unwrap_or_default();
        let count = ready.len().min(room.len());
        if let (Some(room), Some(ready)) = (room.get_mut(..count), ready.get(..count)) {
            room.copy_from_slice(ready);
        }
        self.given += count;
        Ok(count)
    }
}

impl<R: BufRead> Decoding<R> {
    fn decode(&mut self) -> io::Result<()> {
        self.ready.resize(BUFFER_BYTES, 0);
        self.given = 0;
        let chunk = self.raw.fill_buf()?;
        let is_last = chunk.is_empty();
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(chunk, &mut self.ready, is_last);
        self.raw.consume(read);
        self.taken += read as u64;
        self.ready.truncate(written);
        self.is_ended = is_last && matches!(result, DecoderResult::InputEmpty);
        match result {
            DecoderResult::Malformed(..) => {
                Err(io::Error::other(Undecodable { encoding: self.name, at: self.taken + 1 }))
            }
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &'static [u8], wanted: Option<TextEncoding>) -> Result<String, String> {
        let (encoding, mark) = find(bytes, wanted, "f").map_err(|failure| failure.one_line())?;
        let mut text = String::new();
        // Small pieces cut letters in two.
        let raw = BufReader::with_capacity(3, &bytes[mark..]);
        let read = to_utf8(raw, encoding).read_to_string(&mut text);
        read.map(|_| text).map_err(|error| error.to_string())
    }

    #[test]
    fn decodes_by_mark_or_word() {
        let latin = Some(TextEncoding::Latin1);
        let utf16 = Some(TextEncoding::Utf16);
        assert_eq!(decoded(b"citt\xe0 \x80", latin).as_deref(), Ok("città €"));
        assert_eq!(decoded(b"plain", latin).as_deref(), Ok("plain"));
        assert_eq!(decoded(b"\xff\xfea\0\xe8\0", None).as_deref(), Ok("aè"));
        assert_eq!(decoded(b"\xfe\xff\0a\0\xe8\xd8\x3e\xdd\x80", None).as_deref(), Ok("aè🦀"));
        assert_eq!(decoded(b"a\0b\0", utf16).as_deref(), Ok("ab"));
        assert_eq!(decoded(b"\0a\0b", utf16).as_deref(), Ok("ab"));
        assert_eq!(decoded(b"\xef\xbb\xbf\xc3\xa8", latin).as_deref(), Ok("è"));
    }

    #[test]
    fn refuses_bytes_of_another_encoding() {
        for (bytes, wanted) in [
            (&b"\xc3\xa8"[..], TextEncoding::Latin1),
            (b"ab", TextEncoding::Utf16),
            (b"\xff\xfea\0\x00\xd8a\0", TextEncoding::Utf16),
            (b"\xff\xfea\0b", TextEncoding::Utf16),
        ] {
            let refusal = decoded(bytes, Some(wanted));
            assert!(refusal.is_err(), "{bytes:?}: {refusal:?}");
        }
    }
}
