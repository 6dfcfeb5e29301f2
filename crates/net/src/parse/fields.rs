//! The header fields that determine framing and the connection.
//!
//! One pass over the lines. Does not interpret the headers that handlers read.

use httparse::Header;

use crate::parse::head::HeadError;

/// Most digits of a `Content-Length`; a longer one is above every limit.
const LENGTH_DIGITS_MAX: usize = 15;

/// How the body of a request is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// There is none.
    Absent,
    /// A length in bytes.
    Sized(u64),
    /// Chunked coding.
    Chunked,
}

/// The facts of a head that the parser needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// HTTP/1.1, where connections stay open unless told otherwise; else HTTP/1.0.
    pub is_http_1_1: bool,
    /// The body that follows.
    pub body: BodyFraming,
    /// Whether the client wants to go on after the response.
    pub keep_alive: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Reads the fields that decide about framing.
pub fn read_fields(headers: &[Header<'_>], is_http_1_1: bool) -> Result<Fields, HeadError> {
    let mut body = BodyFraming::Absent;
    let (mut hosts, mut expects_continue, mut close, mut keep_alive) = (0_usize, false, false, is_http_1_1);
    for Header { name, value } in headers {
        if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
            return Err(HeadError::HeaderValue);
        }
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // The length of a name rules nearly all of them out.
        match name.len() {
            4 if is("Host") => {
                check_host(value)?;
                hosts = hosts.saturating_add(1);
            }
            6 if is("Expect") && !value.eq_ignore_ascii_case(b"100-continue") => {
                return Err(HeadError::Expectation);
            }
            6 if is("Expect") => expects_continue = is_http_1_1,
            10 if is("Connection") => {
                close |= elements(value).any(|option| option.eq_ignore_ascii_case(b"close"));
                keep_alive |= elements(value).any(|option| option.eq_ignore_ascii_case(b"keep-alive"));
            }
            14 if is("Content-Length") => body = sized(value, body)?,
            17 if is("Transfer-Encoding") => body = chunked(value, body)?,
            _ => {}
        }
    }
    if body == BodyFraming::Chunked && !is_http_1_1 {
        return Err(HeadError::Coding);
    }
    // HTTP/1.0 allows requests without a host.
    if hosts != 1 && (is_http_1_1 || hosts > 1) {
        return Err(HeadError::Host);
    }
    Ok(Fields { is_http_1_1, body, keep_alive: keep_alive && !close, expects_continue })
}

/// An empty value is right where the target has no authority.
fn check_host(value: &[u8]) -> Result<(), HeadError> {
    let odd = |byte: &u8| matches!(byte, b' ' | b'\t' | b'/' | b'@' | b'?' | b'#' | b'\\' | b',');
    if value.iter().any(odd) { Err(HeadError::Host) } else { Ok(()) }
}

fn sized(value: &[u8], before: BodyFraming) -> Result<BodyFraming, HeadError> {
    if before == BodyFraming::Chunked {
        return Err(HeadError::LengthAndCoding);
    }
    if before != BodyFraming::Absent || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(HeadError::Length);
    }
    if value.len() > LENGTH_DIGITS_MAX {
        return Err(HeadError::LengthTooLarge);
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit & 0x0f));
    Ok(BodyFraming::Sized(value.iter().fold(0, add)))
}

fn chunked(value: &[u8], before: BodyFraming) -> Result<BodyFraming, HeadError> {
    let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let mut codings = elements(value);
    match (before, codings.next(), codings.next()) {
        (BodyFraming::Sized(_), ..) => Err(HeadError::LengthAndCoding),
        (BodyFraming::Chunked, ..) => Err(HeadError::Coding),
        (_, Some(only), None) if is_chunked(only) => Ok(BodyFraming::Chunked),
        (_, Some(first), Some(_)) if is_chunked(first) => Err(HeadError::Coding),
        _ => Err(HeadError::CodingUnknown),
    }
}

/// The elements of a list.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether a header line goes on to the handlers: not those that concern this connection only.
pub fn is_for_handlers(name: &str) -> bool {
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
    !OF_THIS_CONNECTION.iter().any(|hop| name.eq_ignore_ascii_case(hop))
}
