//! Classifies the end of a segment: clean, torn or corrupt.
//!
//! | at the first byte that is no frame                              | verdict                                     |
//! |-----------------------------------------------------------------|---------------------------------------------|
//! | the file ends, or only zeros follow                             | clean: room for frames                      |
//! | nothing readable behind it                                      | torn: the power failed during a write       |
//! | readable frames behind it, none of which calls it synced        | torn: the disk wrote in an order of its own |
//! | a readable frame behind it that calls it synced                 | corrupt: it was whole once                  |
//! | (a frame that can be read, and has another number than it must) | corrupt                                     |
//!
//! Changes nothing.

use std::collections::VecDeque;

use super::error::{LogError, corrupt, io};
use super::files::read_full_at;
use super::format::{FrameHead, HEADER_BYTES, Header, fold};
use super::scan::{Found, Frames};
use super::segment::SegmentFile;

/// The class of the end of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Frames up to the end, or up to the zeros that make room for more.
    Clean,
    /// Unacknowledged bytes follow the frames.
    TornTail,
    /// Synced bytes are damaged.
    Corrupt {
        /// Offset in the segment.
        at: u64,
        expected: String,
        found: String,
    },
}

/// The kept part of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The end of its last frame.
    pub end: u64,
    /// The number of the next record.
    pub next: u64,
    /// The chain after its last frame.
    pub chain: u64,
    /// Up to where its last frame calls it synced; 0 when not even the header.
    pub synced_end: u64,
}

/// Reads a segment up to its end, or up to the first frame that begins after `keep_until`.
pub fn inspect(
    segment: &SegmentFile,
    header: &Header,
    keep_until: Option<u64>,
) -> Result<(Kept, Verdict), LogError> {
    let mut frames = Frames::new(segment.clone(), header.number, segment.bytes);
    let start = HEADER_BYTES as u64;
    let mut kept = Kept { end: start, next: header.first, chain: header.chain_start(), synced_end: 0 };
    // Ends of the frames that no later frame calls synced yet.
    let mut unsynced = VecDeque::new();
    loop {
        match frames.step()? {
            Found::End => return Ok((kept, Verdict::Clean)),
            Found::Frame(head, _) if head.first != kept.next => {
                let (expected, found) = (format!("record {}", kept.next), format!("record {}", head.first));
                return Ok((kept, Verdict::Corrupt { at: kept.end, expected, found }));
            }
            Found::Frame(head, _) if keep_until.is_some_and(|keep| head.first > keep) => {
                return Ok((kept, Verdict::Clean));
            }
            Found::Frame(head, _) => {
                kept.next = head.last.saturating_add(1);
                kept.chain = fold(kept.chain, head.checksum);
                kept.end = frames.offset();
                unsynced.push_back((head.last, kept.end));
                while let Some((_, end)) = unsynced.front().filter(|(last, _)| *last <= head.synced) {
                    kept.synced_end = *end;
                    unsynced.pop_front();
                }
            }
            Found::Unreadable => {
                let verdict = judge_tail(segment, header.number, &kept)?;
                return Ok((kept, verdict));
            }
        }
    }
}

/// Refuses damage, and a torn tail where nothing can be torn.
pub fn refuse_damage(
    file: &SegmentFile,
    kept: &Kept,
    verdict: Verdict,
    may_be_torn: bool,
) -> Result<(), LogError> {
    match verdict {
        Verdict::Corrupt { at, expected, found } => Err(corrupt(&file.path, at, expected, found)),
        Verdict::TornTail if !may_be_torn => {
            let found = "bytes that are none, although a later segment says that all here was safe";
            Err(corrupt(&file.path, kept.end, format!("record {}", kept.next), found))
        }
        Verdict::TornTail | Verdict::Clean => Ok(()),
    }
}

/// Looks at every byte behind an unreadable frame for a frame that calls it synced.
fn judge_tail(segment: &SegmentFile, number: u64, kept: &Kept) -> Result<Verdict, LogError> {
    let tail = read_tail(segment, kept.end)?;
    if tail.iter().all(|byte| *byte == 0) {
        return Ok(Verdict::Clean);
    }
    for (offset, _) in tail.iter().enumerate().skip(1) {
        let bytes = tail.get(offset..).unwrap_or_default();
        let Some(head) = FrameHead::decode(bytes) else { continue };
        // The bytes before it limit the number of records. A head beyond that limit needs no checksum, which could
        // cover megabytes at every byte.
        let is_near = head.first.saturating_sub(kept.next) <= offset as u64;
        if is_near && head.synced >= kept.next && head.payload(number, bytes).is_some() {
            let at = kept.end.saturating_add(offset as u64);
            let found = format!(
                "bytes that are none, although the frame at byte {at} says that records up to {} were safe",
                head.synced
            );
            return Ok(Verdict::Corrupt { at: kept.end, expected: format!("record {}", kept.next), found });
        }
    }
    Ok(Verdict::TornTail)
}

fn read_tail(segment: &SegmentFile, from: u64) -> Result<Vec<u8>, LogError> {
    let length = usize::try_from(segment.bytes.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut tail = Vec::new();
    let reserved = tail.try_reserve_exact(length).map_err(std::io::Error::other);
    reserved.map_err(|error| io(&segment.path, "reading the tail", &error))?;
    tail.resize(length, 0);
    let read = read_full_at(&*segment.file, &mut tail, from).map_err(|error| segment.unreadable(&error))?;
    tail.truncate(read);
    Ok(tail)
}
