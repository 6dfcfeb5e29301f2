//! Buffers that are used again: those that bytes come into, and a shelf of large ones for answers.

use std::sync::{Mutex, PoisonError};

use crate::limits::edge::{INBOX_BYTES, RELAY_BUFFER_BYTES, RELAY_BUFFERS_KEPT};

/// Bytes of one connection that were received and not used yet.
#[derive(Debug)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    /// An inbox of the first size.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; INBOX_BYTES], start: 0, end: 0 }
    }

    /// What is there.
    pub(super) fn filled(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Takes `length` bytes away from the beginning.
    pub(super) fn consume(&mut self, length: usize) {
        self.start = self.start.saturating_add(length).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Room for at least `wanted` further bytes.
    pub(super) fn room(&mut self, wanted: usize) -> &mut [u8] {
        if self.bytes.len().saturating_sub(self.end) < wanted && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end.saturating_sub(self.start));
        }
        let needed = self.end.saturating_add(wanted);
        if self.bytes.len() < needed {
            self.bytes.resize(needed.next_power_of_two(), 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Says that `length` bytes were put into the room.
    pub(super) fn received(&mut self, length: usize) {
        self.end = self.end.saturating_add(length).min(self.bytes.len());
    }

    /// Gives memory back that one large request needed.
    pub(super) fn shrink(&mut self) {
        if self.start == self.end && self.bytes.len() > INBOX_BYTES {
            *self = Self::new();
        }
    }
}

/// Large buffers for answers on their way.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    kept: Mutex<Vec<Box<[u8]>>>,
}

impl Shelf {
    /// A buffer of `RELAY_BUFFER_BYTES`; what it holds has no meaning.
    pub(super) fn take(&self) -> Box<[u8]> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; RELAY_BUFFER_BYTES].into_boxed_slice())
    }

    /// Puts a buffer back.
    pub(super) fn put(&self, buffer: Box<[u8]>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < RELAY_BUFFERS_KEPT {
            kept.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_moves_what_is_left_to_the_front_and_grows_only_when_it_must() {
        let mut inbox = Inbox::new();
        inbox.room(3)[..3].copy_from_slice(b"abc");
        inbox.received(3);
        inbox.consume(1);
        assert_eq!(inbox.filled(), b"bc");
        assert_eq!(inbox.room(INBOX_BYTES - 2).len(), INBOX_BYTES - 2);
        assert_eq!(inbox.filled(), b"bc");
        assert!(inbox.room(INBOX_BYTES).len() >= INBOX_BYTES);
        inbox.consume(2);
        inbox.shrink();
        assert_eq!((inbox.filled().len(), inbox.room(1).len()), (0, INBOX_BYTES));
    }
}
