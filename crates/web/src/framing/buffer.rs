//! The buffer of a response, in one allocation: free room for the head, then the body.
//!
//! The head is known last (length, credits, duration) and stands first. It is written backwards into the room before
//! the body, so the whole response leaves in one write. Does not depend on the meaning of the bytes.

/// Free room in front of the body, for the head.
const HEAD_ROOM_BYTES: usize = 2048;

/// A growing body with room for a head in front.
#[derive(Debug)]
pub struct ResponseBuffer {
    bytes: Vec<u8>,
}

impl ResponseBuffer {
    /// A buffer whose body can grow to `body_capacity` without moving.
    pub fn with_capacity(body_capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(HEAD_ROOM_BYTES.saturating_add(body_capacity));
        bytes.resize(HEAD_ROOM_BYTES, 0);
        Self { bytes }
    }

    /// A buffer that holds a copy of `body`.
    pub fn from_body(body: &[u8]) -> Self {
        let mut buffer = Self::with_capacity(body.len());
        buffer.bytes.extend_from_slice(body);
        buffer
    }

    /// The vector to append body bytes to. What is already in it must stay.
    pub fn sink(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Bytes that the buffer takes in memory.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The body as far as it is written.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(HEAD_ROOM_BYTES..).unwrap_or_default()
    }

    /// Puts `head` right before the body and gives the answer; `with_body` false gives the head alone.
    pub fn assemble(mut self, head: &[u8], with_body: bool) -> (Vec<u8>, usize) {
        if !with_body {
            self.bytes.truncate(HEAD_ROOM_BYTES);
        }
        let Some(start) = HEAD_ROOM_BYTES.checked_sub(head.len()) else {
            self.bytes.splice(..HEAD_ROOM_BYTES, head.iter().copied());
            return (self.bytes, 0);
        };
        if let Some(room) = self.bytes.get_mut(start..HEAD_ROOM_BYTES) {
            room.copy_from_slice(head);
        }
        (self.bytes, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &[u8], body: &[u8]) {
        let mut buffer = ResponseBuffer::with_capacity(4);
        buffer.sink().extend_from_slice(body);
        assert_eq!(buffer.body(), body);
        let (bytes, start) = buffer.assemble(head, true);
        assert_eq!(&bytes[start..], [head, body].concat());
    }

    #[test]
    fn places_head_directly_before_body() {
        check(b"HEAD", b"body");
        check(b"", b"body");
        check(&[b'h'; HEAD_ROOM_BYTES], b"body");
        check(&[b'h'; HEAD_ROOM_BYTES + 1], b"body");
    }

    #[test]
    fn omits_body_of_head_response() {
        let (bytes, start) = ResponseBuffer::from_body(b"body").assemble(b"HEAD", false);
        assert_eq!(&bytes[start..], b"HEAD");
    }
}
