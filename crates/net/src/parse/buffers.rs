//! The buffer that the bytes of one connection come into. A connection that waits for a request has none.

use crate::limits::INBOX_BYTES;

/// Bytes of one connection that were received and not used yet.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An inbox without memory.
    pub fn new() -> Self {
        Self { bytes: Vec::new(), start: 0, end: 0 }
    }

    /// The filled part.
    pub fn filled(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Takes `length` bytes away from the beginning.
    pub fn consume(&mut self, length: usize) {
        self.start = self.start.saturating_add(length).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Room for at least `wanted` further bytes.
    pub fn room(&mut self, wanted: usize) -> &mut [u8] {
        if self.bytes.len().saturating_sub(self.end) < wanted && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end.saturating_sub(self.start));
        }
        let needed = self.end.saturating_add(wanted);
        if self.bytes.len() < needed {
            self.bytes.resize(needed.next_power_of_two().max(INBOX_BYTES), 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Adds `length` bytes of the room to the filled part.
    pub fn received(&mut self, length: usize) {
        self.end = self.end.saturating_add(length).min(self.bytes.len());
    }

    /// Gives the memory back where nothing is in it.
    pub fn release(&mut self) {
        if self.start == self.end {
            *self = Self::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacts_inbox_and_grows_on_demand() {
        let mut inbox = Inbox::new();
        inbox.room(3)[..3].copy_from_slice(b"abc");
        inbox.received(3);
        inbox.consume(1);
        assert_eq!(inbox.filled(), b"bc");
        assert_eq!(inbox.room(INBOX_BYTES - 2).len(), INBOX_BYTES - 2);
        assert_eq!(inbox.filled(), b"bc");
        assert!(inbox.room(INBOX_BYTES).len() >= INBOX_BYTES);
        inbox.release();
        assert_eq!(inbox.filled(), b"bc");
        inbox.consume(2);
        inbox.release();
        assert_eq!((inbox.filled().len(), inbox.bytes.capacity()), (0, 0));
    }
}
