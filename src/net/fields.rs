//! What the header lines of a request say about its body and its connection.
//!
//! One pass over the lines; knows none of the headers that handlers read.

use httparse::Header;

use super::head::HeadError;
use crate::limits::net::{LENGTH_DIGITS_MAX, PRIVATE_PREFIX};

/// How the body of a request is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// There is none.
    Absent,
    /// So many bytes.
    Sized(u64),
    /// Chunked coding.
    Chunked,
}

/// What the parser has to know of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// HTTP/1.1, where connections stay open unless told otherwise; else HTTP/1.0.
    pub is_http_1_1: bool,
    /// The body that follows.
    pub body: BodyFraming,
    /// Whether the client wants to go on after the answer.
    pub keep_alive: bool,
    /// Whether the client waits for a word before it sends the body.
    pub expects_continue: bool,
}

/// Reads the fields that decide about framing.
pub(super) fn read_fields(headers: &[Header<'_>], is_http_1_1: bool) -> Result<Fields, HeadError> {
    let mut found = Found::default();
    for header in headers {
        found.take(header.name, header.value)?;
    }
    let host_fits = if is_http_1_1 { found.hosts == 1 } else { found.hosts <= 1 };
    if !host_fits {
        return Err(HeadError::Host);
    }
    let body = match (found.length, found.chunked) {
        (Some(_), true) => return Err(HeadError::LengthAndCoding),
        (None, true) if !is_http_1_1 => return Err(HeadError::Coding),
        (None, true) => BodyFraming::Chunked,
        (Some(length), false) => BodyFraming::Sized(length),
        (None, false) => BodyFraming::Absent,
    };
    let keep_alive = !found.close && (is_http_1_1 || found.keep_alive);
    Ok(Fields { is_http_1_1, body, keep_alive, expects_continue: found.expects_continue && is_http_1_1 })
}

/// Whether a header line goes on to the handlers: not those that concern this connection only, and none of the private
/// wire.
pub(super) fn is_forwarded(name: &str) -> bool {
    const OF_THIS_CONNECTION: [&str; 9] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "expect",
        "content-length",
    ];
    let is_private =
        name.get(..PRIVATE_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PRIVATE_PREFIX));
    !is_private && !OF_THIS_CONNECTION.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}

#[derive(Default)]
struct Found {
    hosts: usize,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl Found {
    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), HeadError> {
        if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
            return Err(HeadError::HeaderValue);
        }
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // The length of a name rules nearly all of them out.
        match name.len() {
            4 if is("Host") => self.host(value)?,
            6 if is("Expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(HeadError::Expectation);
                }
                self.expects_continue = true;
            }
            10 if is("Connection") => self.connection(value),
            14 if is("Content-Length") => self.length(value)?,
            17 if is("Transfer-Encoding") => self.coding(value)?,
            _ => {}
        }
        Ok(())
    }

    /// An empty value is right where the target has no authority.
    fn host(&mut self, value: &[u8]) -> Result<(), HeadError> {
        self.hosts = self.hosts.saturating_add(1);
        let odd = |byte: &u8| matches!(byte, b' ' | b'\t' | b'/' | b'@' | b'?' | b'#' | b'\\' | b',');
        if value.iter().any(odd) { Err(HeadError::Host) } else { Ok(()) }
    }

    fn connection(&mut self, value: &[u8]) {
        for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.close |= token.eq_ignore_ascii_case(b"close");
            self.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.length.is_some() || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(HeadError::Length);
        }
        if value.len() > LENGTH_DIGITS_MAX {
            return Err(HeadError::LengthTooLarge);
        }
        let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit & 0x0f));
        self.length = Some(value.iter().fold(0, add));
        Ok(())
    }

    fn coding(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.chunked {
            return Err(HeadError::Coding);
        }
        let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
        match (codings.next(), codings.next()) {
            (Some(only), None) if is_chunked(only) => self.chunked = true,
            (Some(first), Some(_)) if is_chunked(first) => return Err(HeadError::Coding),
            _ => return Err(HeadError::CodingUnknown),
        }
        Ok(())
    }
}
