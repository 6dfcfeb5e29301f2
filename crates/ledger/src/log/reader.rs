//! Reads batches in order from the segments of one or several folders.
//!
//! Everything that is read is verified: checksums, numbers, and at the beginning of a segment the chain and the length
//! of the one before it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use super::error::{LogError, corrupt, io};
use super::files::{Folder, for_each_piece};
use super::format::{HEADER_BYTES, Header, fold};
use super::scan::{Found, Frames};
use super::segment::{Segment, SegmentFile, file_name, list_numbers, read_segments};
use super::verdict::{inspect, refuse_damage};

type Located = (Arc<dyn Folder>, Segment);

/// A view of the log at one moment. It stays readable while the log grows.
#[derive(Clone)]
pub struct LogReader {
    segments: Arc<[Located]>,
    last: u64,
}

/// Records that were appended together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Number of the first record.
    pub first: u64,
    /// Number of the last record.
    pub last: u64,
    /// The records, as they were appended.
    pub payload: Vec<u8>,
}

impl LogReader {
    pub fn new(segments: impl Iterator<Item = Located>, last: u64) -> LogReader {
        LogReader { segments: segments.collect(), last }
    }

    /// The segments of several folders as one log. A segment that is in two folders is read from the earlier one.
    /// Ignores bytes behind the last whole batch, as an opening does.
    pub fn over(folders: &[Arc<dyn Folder>]) -> Result<LogReader, LogError> {
        let mut found: BTreeMap<u64, &Arc<dyn Folder>> = BTreeMap::new();
        for folder in folders {
            for number in list_numbers(&**folder)? {
                found.entry(number).or_insert(folder);
            }
        }
        let (segments, unfinished) =
            read_segments(found.iter().map(|(number, folder)| (*number, &***folder)))?;
        let (mut located, mut last) = (Vec::with_capacity(segments.len()), 0);
        let newest = segments.last().map(|(segment, _)| segment.number);
        for ((mut segment, header), folder) in segments.into_iter().zip(found.into_values()) {
            if newest == Some(segment.number) {
                let file = SegmentFile::open(&**folder, segment.number, false)?;
                let file = SegmentFile { bytes: segment.bytes, ..file };
                let (kept, verdict) = inspect(&file, &header, None)?;
                refuse_damage(&file, &kept, verdict, unfinished.is_none())?;
                (segment.bytes, last) = (kept.end, kept.next.saturating_sub(1));
            }
            located.push((Arc::clone(folder), segment));
        }
        Ok(LogReader::new(located.into_iter(), last))
    }

    /// The batches from the one that contains `from`, or from the first after it. Ends after an error.
    pub fn batches(&self, from: u64) -> Batches {
        let after = self.segments.partition_point(|(_, segment)| segment.first <= from);
        let index = if from > self.last { self.segments.len() } else { after.saturating_sub(1) };
        Batches { segments: Arc::clone(&self.segments), index, from, current: None, behind: None }
    }

    /// The first number of the first segment that is there: above 1 when segments were moved away.
    pub fn first_sequence(&self) -> u64 {
        self.segments.first().map_or(1, |(_, segment)| segment.first)
    }

    /// The number before the next one when this was taken; 0 when there is no segment.
    pub fn last_sequence(&self) -> u64 {
        self.last
    }

    /// The segments in order.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        self.segments.iter().map(|(_, segment)| *segment)
    }

    /// Copies a segment as it is, up to its end at the moment of this reader. Verifies nothing.
    pub fn copy_segment(&self, number: u64, out: &mut dyn Write) -> Result<(), LogError> {
        let Some((folder, segment)) = self.segments.iter().find(|(_, segment)| segment.number == number)
        else {
            let path = self.segments.first().map(|(folder, _)| folder.describe(&file_name(number)));
            return Err(LogError::Missing { path: path.unwrap_or_else(|| file_name(number).into()) });
        };
        let file = SegmentFile::open(&**folder, number, false)?;
        let copied = for_each_piece(&*file.file, 0, segment.bytes, |_, piece| out.write_all(piece));
        copied.map_err(|error| io(&file.path, "copying the segment", &error))
    }
}

/// The batches of a [`LogReader`].
pub struct Batches {
    segments: Arc<[Located]>,
    /// The segment that comes next.
    index: usize,
    from: u64,
    current: Option<Current>,
    behind: Option<Behind>,
}

struct Current {
    frames: Frames,
    chain: u64,
    next: u64,
}

/// The end of the segment before.
struct Behind {
    chain: u64,
    length: u64,
    next: u64,
}

impl Iterator for Batches {
    type Item = Result<Batch, LogError>;

    fn next(&mut self) -> Option<Result<Batch, LogError>> {
        let answer = self.advance().transpose();
        if matches!(answer, Some(Err(_))) {
            (self.index, self.current) = (self.segments.len(), None);
        }
        answer
    }
}

impl Batches {
    fn advance(&mut self) -> Result<Option<Batch>, LogError> {
        loop {
            let current = match &mut self.current {
                Some(current) => current,
                None => match self.segments.get(self.index) {
                    Some((folder, segment)) => {
                        let opened = Current::open(&**folder, segment, self.behind.take())?;
                        self.index += 1;
                        self.current.insert(opened)
                    }
                    None => return Ok(None),
                },
            };
            if current.frames.is_at_end() {
                let (chain, length, next) = (current.chain, current.frames.offset(), current.next);
                self.behind = Some(Behind { chain, length, next });
                self.current = None;
            } else if let Some(batch) = current.read(self.from)? {
                return Ok(Some(batch));
            }
        }
    }
}

impl Current {
    fn open(folder: &dyn Folder, segment: &Segment, behind: Option<Behind>) -> Result<Current, LogError> {
        let file = SegmentFile::open(folder, segment.number, false)?;
        let header = file.header(segment.number)?;
        if let Some(behind) = behind {
            behind.check(&header, &file)?;
        }
        let (chain, next) = (header.chain_start(), header.first);
        Ok(Current { frames: Frames::new(file, segment.number, segment.bytes), chain, next })
    }

    /// The next batch, unless it ends before `from`.
    fn read(&mut self, from: u64) -> Result<Option<Batch>, LogError> {
        let offset = self.frames.offset();
        let found = match self.frames.step()? {
            Found::Frame(head, payload) if head.first == self.next => {
                self.chain = fold(self.chain, head.checksum);
                self.next = head.last.saturating_add(1);
                let batch = || Batch { first: head.first, last: head.last, payload: payload.to_vec() };
                return Ok((head.last >= from).then(batch));
            }
            Found::Frame(head, _) => format!("record {}", head.first),
            Found::Unreadable | Found::End => "bytes that are none".to_owned(),
        };
        Err(corrupt(&self.frames.segment().path, offset, format!("record {}", self.next), found))
    }
}

impl Behind {
    fn check(&self, header: &Header, file: &SegmentFile) -> Result<(), LogError> {
        let refuse = |expected, found| Err(corrupt(&file.path, 0, expected, found));
        if header.previous_length != self.length {
            let found = format!("{} in its header", header.previous_length);
            return refuse(format!("{} bytes in the segment before", self.length), found);
        }
        if header.chain != self.chain {
            let found = format!("{:016x} in its header", header.chain);
            return refuse(format!("the chain {:016x} of the segments before", self.chain), found);
        }
        if header.first < self.next {
            return refuse(format!("a first record of at least {}", self.next), header.first.to_string());
        }
        Ok(())
    }
}

/// Verifies a closed segment against the header of the next one. Returns its last record number.
pub fn verify_closed(folder: &Arc<dyn Folder>, segment: Segment, next: Segment) -> Result<u64, LogError> {
    let header_only = Segment { bytes: HEADER_BYTES as u64, ..next };
    let both = [segment, header_only].map(|segment| (Arc::clone(folder), segment));
    let mut last = segment.first.saturating_sub(1);
    for batch in LogReader::new(both.into_iter(), u64::MAX).batches(segment.first) {
        last = batch?.last;
    }
    Ok(last)
}
