//! The head of an HTTP/1.1 response: status, framing and connection headers.

use crate::loadgen::client::response::ResponseError;

/// Most header lines of a response.
pub const HEADER_COUNT_MAX: usize = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// Status, 100 to 999.
    pub status: u16,
    /// Whether the connection closes after the response.
    pub closes: bool,
    /// Seconds of `Retry-After`.
    pub retry_after: Option<u32>,
    pub(super) length: Option<u64>,
    pub(super) chunked: bool,
}

/// Parses a head and returns its length; `None` while it is incomplete.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, ResponseError> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_COUNT_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(bytes).map_err(ResponseError::Head)? else {
        return Ok(None);
    };
    let mut head = Head {
        status: response.code.unwrap_or_default(),
        closes: response.version == Some(0),
        ..Head::default()
    };
    for header in response.headers.iter() {
        read_header(&mut head, header.name, header.value)?;
    }
    if head.length.is_none() && !head.chunked {
        head.closes = true;
    }
    Ok(Some((length, head)))
}

fn read_header(head: &mut Head, name: &str, value: &[u8]) -> Result<(), ResponseError> {
    let text = || std::str::from_utf8(value).unwrap_or_default().trim();
    let wrong = |header, expected| ResponseError::Framing {
        header,
        expected,
        found: String::from_utf8_lossy(value).chars().take(80).collect(),
    };
    // The comparison of lengths rejects most headers early.
    match name.len() {
        14 if name.eq_ignore_ascii_case("content-length") => {
            let digits = text();
            let length = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
            if length.is_none() || head.length.is_some_and(|before| Some(before) != length) {
                return Err(wrong("Content-Length", "one whole number"));
            }
            head.length = length;
        }
        17 if name.eq_ignore_ascii_case("transfer-encoding") => {
            if !text().eq_ignore_ascii_case("chunked") {
                return Err(wrong("Transfer-Encoding", "chunked"));
            }
            head.chunked = true;
        }
        10 if name.eq_ignore_ascii_case("connection") => {
            let mut options = text().split(',').map(str::trim);
            if options.clone().any(|option| option.eq_ignore_ascii_case("close")) {
                head.closes = true;
            } else if options.any(|option| option.eq_ignore_ascii_case("keep-alive")) {
                head.closes = false;
            }
        }
        11 if name.eq_ignore_ascii_case("retry-after") => head.retry_after = text().parse().ok(),
        _ => {}
    }
    Ok(())
}
