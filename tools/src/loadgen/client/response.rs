//! An HTTP/1.1 response parser that counts body bytes. It keeps the start of a body only on request.
//!
//! Handles HTTP/1.1 framing. Does not depend on sockets or clocks.

use mercato_net::{ChunkError, Chunks};

use crate::loadgen::client::response_head::{Head, parse_head};

/// Largest response head, bytes.
pub const HEAD_SIZE_BYTES_MAX: usize = 16 * 1024;
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The head is not an HTTP/1 head.
    #[error("expected the head of an HTTP/1.1 response: {0}")]
    Head(httparse::Error),
    #[error("the head of the response is longer than {HEAD_SIZE_BYTES_MAX} bytes")]
    HeadTooLong,
    #[error("{header}: expected {expected}, found `{found}`")]
    Framing { header: &'static str, expected: &'static str, found: String },
    #[error("the body of the response: {0}")]
    Chunk(#[from] ChunkError),
}

/// The state after a piece of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The response is complete. It ended after this many of the bytes.
    Whole(usize),
}

#[derive(Debug)]
pub struct ResponseReader {
    stage: Stage,
    held: Vec<u8>,
    head: Head,
    counted: Counted,
    to_head: bool,
}

/// Counts the bytes of a body.
#[derive(Debug)]
struct Counted {
    bytes: u64,
    keep: Keep,
    kept: Vec<u8>,
}

/// How many bytes of a body are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Every(usize),
    /// Of responses whose status is not 2xx.
    Refusals(usize),
}

#[derive(Debug)]
enum Stage {
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilEnd,
    Whole,
}

impl ResponseReader {
    /// A reader that keeps bodies as `keep` says.
    #[must_use]
    pub fn new(keep: Keep) -> ResponseReader {
        ResponseReader {
            stage: Stage::Head,
            held: Vec::new(),
            head: Head::default(),
            counted: Counted { bytes: 0, keep, kept: Vec::new() },
            to_head: false,
        }
    }

    /// Prepares for the next response. `to_head` says that the request was a HEAD, so the response has no body.
    pub fn begin(&mut self, to_head: bool) {
        self.stage = Stage::Head;
        self.held.clear();
        self.counted.kept.clear();
        self.counted.bytes = 0;
        self.to_head = to_head;
    }

    /// Parses the next bytes.
    ///
    /// # Errors
    /// When the response is malformed. The connection must then be closed.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ResponseError> {
        let mut rest = bytes;
        loop {
            rest = match &mut self.stage {
                Stage::Whole => return Ok(Progress::Whole(bytes.len() - rest.len())),
                _ if rest.is_empty() => return Ok(Progress::More),
                Stage::Head => self.take_head(rest)?,
                Stage::Length(left) => {
                    let (body, behind) = split(rest, *left);
                    *left -= body.len() as u64;
                    if *left == 0 {
                        self.stage = Stage::Whole;
                    }
                    self.counted.take(body, self.head.status);
                    behind
                }
                Stage::Chunked(chunks) => {
                    let counted = &mut self.counted;
                    let used = chunks.advance(rest, |body| counted.take(body, self.head.status))?;
                    if chunks.is_done() {
                        self.stage = Stage::Whole;
                    }
                    rest.get(used..).unwrap_or_default()
                }
                Stage::UntilEnd => {
                    self.counted.take(rest, self.head.status);
                    &[]
                }
            };
        }
    }

    /// Handles the end of the connection. Returns whether it completes the response.
    pub fn end(&mut self) -> bool {
        if matches!(self.stage, Stage::UntilEnd) {
            self.stage = Stage::Whole;
        }
        matches!(self.stage, Stage::Whole)
    }

    /// The head, after it was parsed.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// Bytes of the body so far, without chunk framing.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.counted.bytes
    }

    #[must_use]
    pub fn kept(&self) -> &[u8] {
        &self.counted.kept
    }

    /// Parses a head, which may come in pieces. Returns the bytes behind it.
    fn take_head<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], ResponseError> {
        let before = self.held.len();
        let parsed = if before == 0 {
            parse_head(rest)?
        } else {
            let (part, _) = rest.split_at(rest.len().min(HEAD_SIZE_BYTES_MAX.saturating_sub(before)));
            self.held.extend_from_slice(part);
            parse_head(&self.held)?
        };
        let Some((length, head)) = parsed else {
            if before == 0 {
                let (part, _) = rest.split_at(rest.len().min(HEAD_SIZE_BYTES_MAX));
                self.held.extend_from_slice(part);
            }
            return if self.held.len() >= HEAD_SIZE_BYTES_MAX {
                Err(ResponseError::HeadTooLong)
            } else {
                Ok(&[])
            };
        };
        if length > HEAD_SIZE_BYTES_MAX {
            return Err(ResponseError::HeadTooLong);
        }
        self.held.clear();
        // An informational response (100 to 199) precedes the final one.
        if head.status >= 200 {
            self.head = head;
            self.stage = self.stage_after(head);
        }
        Ok(rest.get(length.saturating_sub(before)..).unwrap_or_default())
    }

    fn stage_after(&self, head: Head) -> Stage {
        match head.length {
            _ if self.to_head || matches!(head.status, 204 | 304) => Stage::Whole,
            _ if head.chunked => Stage::Chunked(Chunks::default()),
            Some(0) => Stage::Whole,
            Some(length) => Stage::Length(length),
            None => Stage::UntilEnd,
        }
    }
}

impl Counted {
    fn take(&mut self, body: &[u8], status: u16) {
        self.bytes += body.len() as u64;
        let most = match self.keep {
            Keep::Every(most) => most,
            Keep::Refusals(most) if !(200..300).contains(&status) => most,
            Keep::Refusals(_) => 0,
        };
        let room = most.saturating_sub(self.kept.len());
        if room > 0 {
            self.kept.extend_from_slice(split(body, room as u64).0);
        }
    }
}

/// Splits the bytes after at most `count` of them.
fn split(bytes: &[u8], count: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a response in pieces of `size` bytes: status, body bytes, kept bytes, consumed bytes.
    fn read(bytes: &[u8], size: usize) -> Result<(u16, u64, Vec<u8>, usize), String> {
        let mut reader = ResponseReader::new(Keep::Every(1_000));
        reader.begin(false);
        let mut taken = 0;
        for piece in bytes.chunks(size) {
            match reader.feed(piece).map_err(|error| error.to_string())? {
                Progress::More => taken += piece.len(),
                Progress::Whole(count) => {
                    let kept = reader.kept().to_vec();
                    return Ok((reader.head().status, reader.body_bytes(), kept, taken + count));
                }
            }
        }
        if reader.end() {
            return Ok((reader.head().status, reader.body_bytes(), reader.kept().to_vec(), taken));
        }
        Err("cut".into())
    }

    fn check(answer: &str, status: u16, body: &str) {
        for size in 1..=answer.len() {
            let found = read(answer.as_bytes(), size);
            let expected = Ok((status, body.len() as u64, body.as_bytes().to_vec(), answer.len()));
            assert_eq!(found, expected, "in pieces of {size}: {answer:?}");
        }
    }

    #[test]
    fn reads_responses_in_pieces_of_any_size() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
        check("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "");
        check("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", 200, "{}");
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
            200,
            "abc0123456789",
        );
        check("HTTP/1.0 200 OK\r\n\r\nup to the end", 200, "up to the end");
    }

    #[test]
    fn leaves_bytes_behind_response() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP";
        assert_eq!(read(answer, answer.len()), Ok((200, 2, b"{}".to_vec(), answer.len() - 4)));
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX";
        assert_eq!(read(answer, answer.len()), Ok((200, 0, Vec::new(), answer.len() - 1)));
    }

    #[test]
    fn truncated_response_is_incomplete() {
        for whole in [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n",
        ] {
            for length in 1..whole.len() {
                assert_eq!(read(&whole.as_bytes()[..length], length), Err("cut".into()), "{length}");
            }
        }
    }

    #[test]
    fn rejects_malformed_responses() {
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(HEAD_SIZE_BYTES_MAX));
        let endless = "HTTP/1.1 200 OK\r\nX: ".to_owned() + &"a".repeat(2 * HEAD_SIZE_BYTES_MAX);
        for wrong in [
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11112222333344445\r\n",
            &long,
            &endless,
        ] {
            for size in [1, 7, 4096, wrong.len()] {
                let found = read(wrong.as_bytes(), size);
                assert!(found.as_ref().is_err_and(|reason| reason != "cut"), "{found:?}: {wrong:.60}");
            }
        }
    }

    #[test]
    fn head_response_has_no_body() {
        let mut reader = ResponseReader::new(Keep::Refusals(10));
        reader.begin(true);
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
        assert_eq!(reader.feed(answer), Ok(Progress::Whole(answer.len())));
    }

    #[test]
    fn keeps_start_of_refusals_only() {
        let mut reader = ResponseReader::new(Keep::Refusals(4));
        for (status, kept) in [("200 OK", ""), ("429 Too Many", "0123")] {
            reader.begin(false);
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: 6\r\nRetry-After: 7\r\nConnection: close\r\n\r\n012345"
            );
            assert_eq!(reader.feed(answer.as_bytes()), Ok(Progress::Whole(answer.len())));
            assert_eq!(reader.kept(), kept.as_bytes());
            assert_eq!((reader.head().closes, reader.head().retry_after), (true, Some(7)));
        }
    }
}
