//! The head of an answer, as far as relaying it needs.
//!
//! It comes from our own side, so it is read for what it says and not for tricks.

use memchr::memmem;

use super::assembly::Facts;

/// How the body of an answer is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerBody {
    /// None follows.
    Absent,
    /// So many bytes follow.
    Sized(u64),
    /// Chunks follow.
    Chunked,
    /// Chunks follow that hold so many bytes, and the client gets the bytes without the chunks: the length is known, and
    /// still it shows when the answer breaks off.
    Announced(u64),
}

/// What is known of an answer when its head is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerHead {
    /// Bytes of the head, with the empty line.
    pub(super) length: usize,
    /// The body that follows.
    pub(super) body: AnswerBody,
}

/// An answer whose end could not be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotAnAnswer;

impl AnswerHead {
    /// Reads the head, or nothing while it is not whole. `from` is where the search may begin.
    pub(super) fn read(bytes: &[u8], from: usize, facts: &Facts) -> Result<Option<Self>, NotAnAnswer> {
        let from = from.saturating_sub(3);
        let Some(at) = memmem::find(bytes.get(from..).unwrap_or_default(), b"\r\n\r\n") else {
            return Ok(None);
        };
        let length = from.saturating_add(at).saturating_add(4);
        let head = bytes.get(..length).unwrap_or_default();
        let status = head.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3)).ok_or(NotAnAnswer)?;
        let without_body = facts.is_head || status == b"204" || status == b"304";
        let body = if without_body { AnswerBody::Absent } else { body_of(head)? };
        Ok(Some(Self { length, body }))
    }
}

fn body_of(head: &[u8]) -> Result<AnswerBody, NotAnAnswer> {
    let (mut length, mut chunked) = (None, false);
    for line in lines(head) {
        if let Some(value) = value_of(line, b"Content-Length") {
            let text = std::str::from_utf8(value).map_err(|_| NotAnAnswer)?;
            length = Some(text.parse().map_err(|_| NotAnAnswer)?);
        }
        chunked = chunked
            || value_of(line, b"Transfer-Encoding")
                .is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"));
    }
    match (length, chunked) {
        (Some(length), false) => Ok(AnswerBody::Sized(length)),
        (Some(length), true) => Ok(AnswerBody::Announced(length)),
        (None, true) => Ok(AnswerBody::Chunked),
        (None, false) => Err(NotAnAnswer),
    }
}

/// The header lines of a head, without the status line.
pub(super) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).skip(1).filter(|line| !line.is_empty())
}

/// The value of a header line of that name.
pub(super) fn value_of<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let (start, rest) = line.split_at_checked(name.len())?;
    let value = rest.strip_prefix(b":")?;
    start.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}
