//! Appends batches to the last segment, and begins the next one.

use std::sync::Arc;

use super::commits::Commits;
use super::error::{LogError, io};
use super::files::{Folder, LogFile};
use super::format::{FRAME_HEAD_BYTES, HEADER_BYTES, Header, encode_frame, fold};
use super::reader::LogReader;
use super::segment::{Segment, SegmentFile, file_name, list_numbers};
use super::verdict::Kept;
use super::{BUFFER_BYTES, PAYLOAD_BYTES_MAX, ROOM_BYTES};

/// A log that takes batches. After a failed write or sync it takes nothing more and must be opened anew.
pub struct Log {
    folder: Arc<dyn Folder>,
    segment_bytes: u64,
    /// The segments before the last.
    closed: Vec<Segment>,
    last: Segment,
    file: Arc<dyn LogFile>,
    /// Length of its file: behind the frames are zeros. To overwrite them costs a sync less than to make the file longer.
    room: u64,
    chain: u64,
    next: u64,
    commits: Arc<Commits>,
    buffer: Vec<u8>,
}

impl Log {
    /// A log whose last segment is whole and synced.
    pub fn new(
        folder: Arc<dyn Folder>,
        segment_bytes: u64,
        closed: Vec<Segment>,
        (last, file, kept): (Segment, SegmentFile, Kept),
    ) -> Log {
        let commits = Commits::new(Arc::clone(&file.file), file.path, kept.next.saturating_sub(1));
        let (chain, next) = (kept.chain, kept.next);
        let (file, commits) = (file.file, Arc::new(commits));
        let room = last.bytes;
        Log { folder, segment_bytes, closed, last, file, room, chain, next, commits, buffer: Vec::new() }
    }

    /// The number that the next record gets.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The number before the next: that of the newest record, unless numbers were skipped behind it.
    pub fn last_sequence(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// How far the log is synced, for any thread.
    pub fn commits(&self) -> Arc<Commits> {
        Arc::clone(&self.commits)
    }

    /// A view of the log at this moment.
    pub fn reader(&self) -> Result<LogReader, LogError> {
        // Segments may have been moved away meanwhile.
        let first = list_numbers(&*self.folder)?.first().copied().unwrap_or(self.last.number);
        let closed = self.closed.iter().filter(|segment| segment.number >= first).copied();
        let segments = closed.chain([self.last]);
        Ok(LogReader::new(segments.map(|segment| (Arc::clone(&self.folder), segment)), self.last_sequence()))
    }

    /// Hands a batch of `count` records to the operating system, in one write, and returns the number of the last
    /// one. It is safe from a loss of power after [`Commits::sync`].
    pub fn append(&mut self, count: u64, payload: &[u8]) -> Result<u64, LogError> {
        self.commits.refuse_poisoned()?;
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(LogError::TooLong { bytes: payload.len(), limit: PAYLOAD_BYTES_MAX });
        }
        let frame_bytes = (FRAME_HEAD_BYTES + payload.len()) as u64;
        let limit = frame_bytes.min(u64::MAX - self.next);
        if count == 0 || count > limit {
            return Err(LogError::Records { count, limit });
        }
        let end = self.last.bytes.saturating_add(frame_bytes);
        if end > self.segment_bytes && self.last.bytes > HEADER_BYTES as u64 {
            self.begin_segment(self.next)?;
        }
        self.make_room(self.last.bytes.saturating_add(frame_bytes))?;
        let last = self.next.saturating_add(count - 1);
        let numbers = [self.next, last, self.commits.synced()];
        let checksum = encode_frame(self.last.number, numbers, payload, &mut self.buffer);
        let written = self.file.write_all_at(&self.buffer, self.last.bytes);
        written.map_err(|error| self.failed("appending to the segment", &error))?;
        self.last.bytes = self.last.bytes.saturating_add(self.buffer.len() as u64);
        self.chain = fold(self.chain, checksum);
        self.next = last.saturating_add(1);
        self.commits.note_appended(last);
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_BYTES);
        Ok(last)
    }

    /// Lets zeros follow a frame that ends here, so that the next frames overwrite them.
    fn make_room(&mut self, end: u64) -> Result<(), LogError> {
        if end <= self.room {
            return Ok(());
        }
        let room = end.saturating_add(ROOM_BYTES).min(self.segment_bytes).max(end);
        let zeros = vec![0; usize::try_from(room - end).unwrap_or(0)];
        let written = self.file.write_all_at(&zeros, end);
        written.map_err(|error| self.failed("making room in the segment", &error))?;
        self.room = room;
        Ok(())
    }

    /// Syncs the log and cuts the zeros behind the last frame.
    pub fn close(&mut self) -> Result<(), LogError> {
        self.commits.sync_alone(self.last_sequence())?;
        // Nothing is left to sync, so no other thread syncs this file now.
        let closed = self.file.set_len(self.last.bytes).and_then(|()| self.file.sync());
        closed.map_err(|error| self.failed("closing the segment", &error))?;
        self.room = self.last.bytes;
        Ok(())
    }

    /// A failure of the last segment, after which the log takes nothing more.
    fn failed(&self, action: &'static str, error: &std::io::Error) -> LogError {
        let path = self.folder.describe(&file_name(self.last.number));
        self.commits.poison(io(&path, action, error))
    }

    /// Begins a segment whose first record has this number, which is not below the next one.
    pub fn skip_to(&mut self, first: u64) -> Result<(), LogError> {
        if first <= self.next { Ok(()) } else { self.begin_segment(first) }
    }

    /// Closes the last segment and begins the next one with record `first`.
    pub fn begin_segment(&mut self, first: u64) -> Result<(), LogError> {
        self.close()?;
        let number = self.last.number.saturating_add(1);
        let header = Header { number, first, chain: self.chain, previous_length: self.last.bytes };
        let created = create_segment(&*self.folder, &header).map_err(|error| self.commits.poison(error))?;
        self.commits.switch(Arc::clone(&created.file), created.path, first.saturating_sub(1));
        self.closed.push(self.last);
        self.last = Segment { number, first, bytes: created.bytes };
        (self.file, self.chain, self.next) = (created.file, header.chain_start(), first);
        self.room = self.last.bytes;
        Ok(())
    }
}

/// Creates a segment without frames, safe from a loss of power.
pub fn create_segment(folder: &dyn Folder, header: &Header) -> Result<SegmentFile, LogError> {
    let name = file_name(header.number);
    let path = folder.describe(&name);
    let create = || {
        let file = folder.create(&name)?;
        file.write_all_at(&header.encode(), 0)?;
        file.sync()?;
        folder.sync()?;
        Ok(file)
    };
    match create() {
        Ok(file) => Ok(SegmentFile { file, path, bytes: HEADER_BYTES as u64 }),
        Err(error) => Err(io(&path, "creating the segment", &error)),
    }
}
