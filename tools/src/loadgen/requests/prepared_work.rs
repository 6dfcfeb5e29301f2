//! A work whose templates are bound, and the bytes of its requests.

use crate::loadgen::random::Random;
use crate::loadgen::requests::template::BoundTemplate;

/// A work whose requests are ready to send.
#[derive(Debug, Clone)]
pub struct PreparedWork {
    /// Its name, with `@DEPTH` where it has one.
    pub name: String,
    /// The name of the work without the depth.
    pub work: String,
    pub depth: Option<u64>,
    pub weight: u64,
    pub to_head: bool,
    pub(super) expect: Vec<u16>,
    pub(super) request_bytes: RequestBytes,
}

#[derive(Debug, Clone)]
pub(super) enum RequestBytes {
    /// Every request has the same bytes.
    Fixed(Vec<u8>),
    Varying {
        head: BoundTemplate,
        body: Option<BoundTemplate>,
    },
}

impl PreparedWork {
    #[must_use]
    pub fn expects(&self, status: u16) -> bool {
        if self.expect.is_empty() { (200..300).contains(&status) } else { self.expect.contains(&status) }
    }

    /// The bytes of all requests, if they are equal.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match &self.request_bytes {
            RequestBytes::Fixed(bytes) => Some(bytes),
            RequestBytes::Varying { .. } => None,
        }
    }

    /// Encodes one request into `out`, replacing its contents. `room` is a scratch buffer.
    pub fn render(&self, random: &mut Random, sequence: u64, room: &mut Vec<u8>, out: &mut Vec<u8>) {
        out.clear();
        room.clear();
        self.request_bytes.render(random, sequence, room, out);
    }
}

impl RequestBytes {
    pub(super) fn encoded(&self, random: &mut Random) -> Vec<u8> {
        let (mut out, mut room) = (Vec::new(), Vec::new());
        self.render(random, 0, &mut room, &mut out);
        out
    }

    fn render(&self, random: &mut Random, sequence: u64, room: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            RequestBytes::Fixed(bytes) => out.extend_from_slice(bytes),
            RequestBytes::Varying { head, body: None } => {
                head.render(random, sequence, out);
                out.extend_from_slice(b"\r\n");
            }
            RequestBytes::Varying { head, body: Some(body) } => {
                head.render(random, sequence, out);
                body.render(random, sequence, room);
                out.extend_from_slice(b"Content-Length: ");
                out.extend_from_slice(itoa::Buffer::new().format(room.len()).as_bytes());
                out.extend_from_slice(b"\r\n\r\n");
                out.extend_from_slice(room);
            }
        }
    }
}
