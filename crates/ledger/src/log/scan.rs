//! Reads the frames of one segment from front to back, through a buffer.

use super::BUFFER_BYTES;
use super::error::LogError;
use super::files::read_full_at;
use super::format::{FRAME_HEAD_BYTES, FrameHead, HEADER_BYTES};
use super::segment::SegmentFile;

/// The content at the current position.
pub enum Found<'b> {
    /// A frame as it was written.
    Frame(FrameHead, &'b [u8]),
    /// Bytes that are no frame.
    Unreadable,
    End,
}

/// The place in a segment.
pub struct Frames {
    segment: SegmentFile,
    number: u64,
    end: u64,
    /// Offset of the first byte of the buffer that was not taken.
    at: u64,
    buffer: Vec<u8>,
    taken: usize,
}

impl Frames {
    /// The frames between the header and `end`.
    pub fn new(segment: SegmentFile, number: u64, end: u64) -> Frames {
        Frames { segment, number, end, at: HEADER_BYTES as u64, buffer: Vec::new(), taken: 0 }
    }

    /// Offset of the next frame.
    pub const fn offset(&self) -> u64 {
        self.at
    }

    pub const fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    pub const fn segment(&self) -> &SegmentFile {
        &self.segment
    }

    /// The next frame. After [`Found::Unreadable`] the place does not change.
    pub fn step(&mut self) -> Result<Found<'_>, LogError> {
        if self.is_at_end() {
            return Ok(Found::End);
        }
        self.fill(FRAME_HEAD_BYTES)?;
        let Some(head) = FrameHead::decode(self.rest()) else { return Ok(Found::Unreadable) };
        let length = head.frame_bytes();
        if length as u64 > self.end - self.at {
            return Ok(Found::Unreadable);
        }
        self.fill(length)?;
        if head.payload(self.number, self.rest()).is_none() {
            return Ok(Found::Unreadable);
        }
        let front = self.taken;
        self.taken += length;
        self.at += length as u64;
        let payload = self.buffer.get(front + FRAME_HEAD_BYTES..self.taken).unwrap_or_default();
        Ok(Found::Frame(head, payload))
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    /// Fills the buffer with so many bytes, or fewer at the end.
    fn fill(&mut self, count: usize) -> Result<(), LogError> {
        let present = self.rest().len();
        if present >= count {
            return Ok(());
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        self.buffer.resize(count.max(BUFFER_BYTES).min(left).max(present), 0);
        let target = self.buffer.get_mut(present..).unwrap_or_default();
        let read = read_full_at(&*self.segment.file, target, self.at + present as u64);
        let read = read.map_err(|error| self.segment.unreadable(&error))?;
        self.buffer.truncate(present + read);
        Ok(())
    }
}
