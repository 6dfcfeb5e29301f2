//! Strict, bounded parser of a request head: a pure function from bytes to facts or an error.
//!
//! Refuses everything that two parsers could read differently: line ends without CR, folded lines, blanks before a
//! colon, lengths that are repeated or not plain numbers. Does not depend on sockets or routes.

use std::mem::MaybeUninit;

use httparse::Header;
use memchr::memchr2_iter;

use crate::limits::HeadLimits;
use crate::parse::fields::{Fields, read_fields};

/// Why a head cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// The first byte cannot begin a request.
    #[error("byte 0 is {found:#04x}, expected the first letter of a method")]
    NotHttp {
        /// The byte found.
        found: u8,
    },
    /// A line feed without carriage return, or the other way round.
    #[error("byte {offset}: a line ends with CR and LF, found one without the other")]
    LineEnd {
        /// Offset of the byte in the head.
        offset: usize,
    },
    /// Not `METHOD target HTTP/x.y`.
    #[error("the request line is not `METHOD target HTTP/1.1`")]
    RequestLine,
    /// A target with bytes that must be percent-encoded.
    #[error("the request target holds a byte that must be percent-encoded")]
    Target,
    /// A request line above its limit.
    #[error("the request line is longer than {limit} bytes")]
    RequestLineTooLong { limit: usize },
    /// A version that is not spoken here.
    #[error("HTTP/1.0 and HTTP/1.1 are spoken here")]
    Version,
    /// Not `name: value`.
    #[error("a header line is not `name: value`")]
    HeaderLine,
    /// A header value with control bytes or bytes outside ASCII.
    #[error("a header value holds a byte that is not visible ASCII")]
    HeaderValue,
    /// Header lines above their limit.
    #[error("the header lines are longer than {limit} bytes together")]
    HeaderTooLarge { limit: usize },
    /// More header lines than the limit.
    #[error("there are more than {limit} header lines")]
    TooManyHeaders { limit: usize },
    /// HTTP/1.1 without exactly one usable `Host`.
    #[error("HTTP/1.1 needs exactly one Host header")]
    Host,
    /// A `Content-Length` that is no plain number, or more than one.
    #[error("expected one Content-Length of digits alone")]
    Length,
    /// A body of more than 15 digits.
    #[error("the announced body is larger than any limit")]
    LengthTooLarge,
    /// Both ways to say how long a body is.
    #[error("a request has Content-Length or Transfer-Encoding, not both")]
    LengthAndCoding,
    /// A coding other than chunked.
    #[error("`chunked` is the only transfer coding that is read here")]
    CodingUnknown,
    /// Chunked coding is repeated, is not last, or is in HTTP/1.0.
    #[error("expected one Transfer-Encoding: chunked, in HTTP/1.1")]
    Coding,
    /// An expectation other than `100-continue`.
    #[error("`100-continue` is the only expectation that is met here")]
    Expectation,
}

/// How far a head was looked through.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadScanner {
    position: usize,
    line_start: usize,
    request_line_end: Option<usize>,
    lines: usize,
}

impl HeadScanner {
    /// Scans the bytes that are new since the last call and returns the length of a whole head. `bytes` begins with
    /// the first byte of the request and only grows.
    pub fn advance(&mut self, bytes: &[u8], limits: &HeadLimits) -> Result<Option<usize>, HeadError> {
        if let Some(first) = bytes.first().filter(|first| !first.is_ascii_alphabetic()) {
            return Err(HeadError::NotHttp { found: *first });
        }
        let from = self.position;
        for at in memchr2_iter(b'\r', b'\n', bytes.get(from..).unwrap_or_default()) {
            let offset = from.saturating_add(at);
            if bytes.get(offset) == Some(&b'\r') {
                match bytes.get(offset.saturating_add(1)) {
                    Some(b'\n') => continue,
                    Some(_) => return Err(HeadError::LineEnd { offset }),
                    None => {
                        self.position = offset;
                        return self.check_size(bytes.len(), limits).map(|()| None);
                    }
                }
            }
            let line_end = offset.checked_sub(1).filter(|before| bytes.get(*before) == Some(&b'\r'));
            let line_end = line_end.ok_or(HeadError::LineEnd { offset })?;
            if line_end == self.line_start {
                let length = offset.saturating_add(1);
                return self.check_size(length, limits).map(|()| Some(length));
            }
            self.end_line(bytes.get(self.line_start..line_end).unwrap_or_default(), offset, limits)?;
        }
        self.position = bytes.len();
        self.check_size(bytes.len(), limits).map(|()| None)
    }

    fn end_line(&mut self, line: &[u8], line_feed: usize, limits: &HeadLimits) -> Result<(), HeadError> {
        let next = line_feed.saturating_add(1);
        if self.request_line_end.is_none() {
            if line.len() > limits.request_line_bytes {
                return Err(HeadError::RequestLineTooLong { limit: limits.request_line_bytes });
            }
            check_request_line(line)?;
            self.request_line_end = Some(next);
        } else {
            self.lines = self.lines.saturating_add(1);
            if self.lines > limits.header_count {
                return Err(HeadError::TooManyHeaders { limit: limits.header_count });
            }
        }
        self.line_start = next;
        Ok(())
    }

    fn check_size(&self, length: usize, limits: &HeadLimits) -> Result<(), HeadError> {
        match self.request_line_end {
            None if length > limits.request_line_bytes.saturating_add(1) => {
                Err(HeadError::RequestLineTooLong { limit: limits.request_line_bytes })
            }
            // The empty line at the end is no header line.
            Some(end) if length.saturating_sub(end) > limits.header_bytes.saturating_add(2) => {
                Err(HeadError::HeaderTooLarge { limit: limits.header_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// Checks an incomplete request line early, because its client may wait for a response without sending more.
fn check_request_line(line: &[u8]) -> Result<(), HeadError> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some([_, ..]), Some(target @ [_, ..]), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::RequestLine);
    };
    match version.strip_prefix(b"HTTP/") {
        Some(b"1.1" | b"1.0") => {}
        Some([b'0'..=b'9', b'.', b'0'..=b'9']) => return Err(HeadError::Version),
        _ => return Err(HeadError::RequestLine),
    }
    if target.iter().all(u8::is_ascii_graphic) { Ok(()) } else { Err(HeadError::Target) }
}

/// A valid head.
#[derive(Debug)]
pub struct Head<'h, 'b> {
    /// The method, a token.
    pub method: &'b str,
    /// The target as sent: visible ASCII.
    pub target: &'b str,
    /// All header lines in order.
    pub headers: &'h [Header<'b>],
    /// Body and connection, from the header lines.
    pub fields: Fields,
}

/// Reads a head that [`HeadScanner`] has found, with its header lines in `room`.
pub fn parse<'h, 'b>(
    bytes: &'b [u8],
    room: &'h mut [MaybeUninit<Header<'b>>],
) -> Result<Head<'h, 'b>, HeadError> {
    let limit = room.len();
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err(HeadError::RequestLine),
        Err(error) => return Err(meaning(error, limit)),
    }
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(HeadError::RequestLine);
    };
    let headers: &'h [Header<'b>] = request.headers;
    let fields = read_fields(headers, minor == 1)?;
    Ok(Head { method, target, headers, fields })
}

fn meaning(error: httparse::Error, limit: usize) -> HeadError {
    match error {
        httparse::Error::HeaderValue => HeadError::HeaderValue,
        httparse::Error::HeaderName | httparse::Error::NewLine => HeadError::HeaderLine,
        httparse::Error::TooManyHeaders => HeadError::TooManyHeaders { limit },
        httparse::Error::Version | httparse::Error::Status | httparse::Error::Token => HeadError::RequestLine,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::BodyFraming;
    use super::*;

    const LIMITS: HeadLimits = HeadLimits { request_line_bytes: 100, header_bytes: 200, header_count: 5 };

    /// Reads a whole head, from the request line to the empty line.
    fn fields_of(head: &str) -> Result<Fields, HeadError> {
        let length =
            HeadScanner::default().advance(head.as_bytes(), &LIMITS)?.ok_or(HeadError::RequestLine)?;
        let mut room = [const { MaybeUninit::uninit() }; LIMITS.header_count];
        parse(&head.as_bytes()[..length], &mut room).map(|head| head.fields)
    }

    fn check(head: &str, expected: Result<BodyFraming, HeadError>) {
        let found = fields_of(head).map(|fields| fields.body);
        assert_eq!(found, expected, "{head:?}");
    }

    /// A request with these header lines after `Host`.
    fn with(lines: &str) -> String {
        format!("POST /a HTTP/1.1\r\nHost: x\r\n{lines}\r\n")
    }

    #[test]
    fn determines_body_framing_or_rejects_ambiguity() {
        check(&with(""), Ok(BodyFraming::Absent));
        check(&with("Content-Length: 0\r\n"), Ok(BodyFraming::Sized(0)));
        check(&with("content-length:42\r\n"), Ok(BodyFraming::Sized(42)));
        check(&with("Transfer-Encoding: Chunked\r\n"), Ok(BodyFraming::Chunked));
        check(&with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), Err(HeadError::LengthAndCoding));
        check(&with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), Err(HeadError::LengthAndCoding));
        for length in
            ["3\r\nContent-Length: 3", "3\r\nContent-Length: 4", "3, 3", "+3", "-1", "3x", "0x3", "", "3 3"]
        {
            check(&with(&format!("Content-Length: {length}\r\n")), Err(HeadError::Length));
        }
        check(&with("Content-Length: 1000000000000000\r\n"), Err(HeadError::LengthTooLarge));
        check(&with("Content-Length: 999999999999999\r\n"), Ok(BodyFraming::Sized(999_999_999_999_999)));
        for coding in ["gzip", "identity", "xchunked", "gzip, chunked", "chunked\u{b}"] {
            let expected =
                if coding.contains('\u{b}') { HeadError::HeaderValue } else { HeadError::CodingUnknown };
            check(&with(&format!("Transfer-Encoding: {coding}\r\n")), Err(expected));
        }
        for coding in ["chunked, chunked", "chunked, gzip", "chunked\r\nTransfer-Encoding: chunked"] {
            check(&with(&format!("Transfer-Encoding: {coding}\r\n")), Err(HeadError::Coding));
        }
        check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Err(HeadError::Coding));
    }

    #[test]
    fn rejects_ambiguous_headers() {
        for (lines, expected) in [
            ("A: 1\r\n folded\r\n", HeadError::HeaderLine),
            ("A: 1\r\n\tfolded\r\n", HeadError::HeaderLine),
            ("Transfer-Encoding : chunked\r\n", HeadError::HeaderLine),
            (": empty\r\n", HeadError::HeaderLine),
            ("no colon\r\n", HeadError::HeaderLine),
            ("A: \u{0}\r\n", HeadError::HeaderValue),
            ("A: caf\u{e9}\r\n", HeadError::HeaderValue),
            ("A: 1\u{7f}\r\n", HeadError::HeaderValue),
            ("Expect: 200-ok\r\n", HeadError::Expectation),
            ("Host: y\r\n", HeadError::Host),
        ] {
            check(&with(lines), Err(expected));
        }
        check("GET / HTTP/1.1\r\n\r\n", Err(HeadError::Host));
        check("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Err(HeadError::Host));
        check("GET / HTTP/1.0\r\n\r\n", Ok(BodyFraming::Absent));
        check("GET / HTTP/1.1\nHost: x\n\n", Err(HeadError::LineEnd { offset: 14 }));
        check("GET / HTTP/1.1\r\nHost: x\rB: 1\r\n\r\n", Err(HeadError::LineEnd { offset: 23 }));
        check("GET / HTTP/1.1\r\nHost: x\r\nA: 1\nB: 2\r\n\r\n", Err(HeadError::LineEnd { offset: 29 }));
    }

    #[test]
    fn parses_three_part_request_lines_only() {
        for line in [
            "GET /",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 ",
            "GET / http/1.1",
            "GET / HTTP/11",
            " GET / HTTP/1.1",
        ] {
            let text = format!("{line}\r\nHost: x\r\n\r\n");
            let expected = if line.starts_with(' ') {
                HeadError::NotHttp { found: b' ' }
            } else {
                HeadError::RequestLine
            };
            check(&text, Err(expected));
        }
        for version in ["HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/9.9"] {
            check(&format!("GET / {version}\r\nHost: x\r\n\r\n"), Err(HeadError::Version));
        }
        check("GET /caf\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n", Err(HeadError::Target));
        check("\u{16}\u{3}\u{1}", Err(HeadError::NotHttp { found: 0x16 }));
        check("OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n", Ok(BodyFraming::Absent));
        check("GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n", Ok(BodyFraming::Absent));
    }

    #[test]
    fn enforces_exact_sizes_before_head_ends() {
        let line = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(length - 14));
        check(&line(100), Ok(BodyFraming::Absent));
        check(&line(101), Err(HeadError::RequestLineTooLong { limit: 100 }));
        let headers =
            |bytes: usize| format!("GET / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "a".repeat(bytes - 14));
        check(&headers(200), Ok(BodyFraming::Absent));
        check(&headers(201), Err(HeadError::HeaderTooLarge { limit: 200 }));
        check(&with(&"A: 1\r\n".repeat(4)), Ok(BodyFraming::Absent));
        check(&with(&"A: 1\r\n".repeat(5)), Err(HeadError::TooManyHeaders { limit: 5 }));
        let endless = vec![b'a'; 1000];
        let scan = |bytes: &[u8]| HeadScanner::default().advance(bytes, &LIMITS);
        assert_eq!(scan(&endless), Err(HeadError::RequestLineTooLong { limit: 100 }));
        let endless = [b"GET / HTTP/1.1\r\nA: ".as_slice(), &endless].concat();
        assert_eq!(scan(&endless), Err(HeadError::HeaderTooLarge { limit: 200 }));
    }

    #[test]
    fn derives_keep_alive_from_version_and_header() {
        let keeps = |head: &str| fields_of(head).unwrap().keep_alive;
        assert!(keeps(&with("")) && keeps(&with("Connection: upgrade\r\n")));
        assert!(!keeps(&with("Connection: CLOSE\r\n")) && !keeps(&with("Connection: keep-alive, close\r\n")));
        assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
        assert!(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    }
}
