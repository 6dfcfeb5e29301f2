//! Opens a log: first examines everything, then repairs.
//!
//! | finding                                                           | action                                    |
//! |-------------------------------------------------------------------|-------------------------------------------|
//! | no segment                                                        | segment 1 is created                      |
//! | a segment missing between others, a header that does not fit      | refused                                   |
//! | a last segment without a whole header, the one before it clean    | saved aside, removed                      |
//! | a torn tail of the last segment (`verdict.rs`)                    | saved aside, cut                          |
//! | damage                                                            | refused                                   |
//! | batches after `keep_until`                                        | saved aside, cut, also whole segments     |
//! | bytes that the last batch does not call synced                    | written again in place, synced            |
//! | `next_at_least` above the next number                             | the next segment begins there             |
//!
//! Each step is safe on the disk before the next one begins, so an opening may be interrupted anywhere and repeated.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::SEGMENT_BYTES;
use super::error::{LogError, corrupt, io};
use super::files::{Folder, copy_range, is_same, write_again};
use super::format::{HEADER_BYTES, Header};
use super::segment::{Segment, SegmentFile, file_name, list_numbers, read_segments};
use super::verdict::{Kept, inspect, refuse_damage};
use super::writer::{Log, create_segment};

/// How a log is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// Length of a segment from which on the next one is begun.
    pub segment_bytes: u64,
    /// Batches that begin after this record are cut. For an opening after a failure, in the same process; a process
    /// that begins keeps everything.
    pub keep_until: Option<u64>,
    /// Numbers below are not given out.
    pub next_at_least: u64,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { segment_bytes: SEGMENT_BYTES, keep_until: None, next_at_least: 1 }
    }
}

/// A log and the parts cut from it.
pub struct Opened {
    pub log: Log,
    /// The cut parts, newest segment first.
    pub cut: Vec<CutTail>,
}

/// The end of a segment that was cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CutTail {
    /// The file with the saved bytes.
    pub path: PathBuf,
    pub segment: u64,
    /// Their offset in it; 0 when the whole segment was removed.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// The segments of a folder, and the repairs to do.
#[derive(Default)]
struct Plan {
    /// Segments that go whole, the newest first.
    dropped: Vec<u64>,
    /// Segments that stay, without the last of them.
    closed: Vec<Segment>,
    /// The last segment that stays.
    last: Option<(Segment, Kept)>,
}

/// Opens the log of a folder, which may be empty. A torn tail is saved beside its segment and cut. A log that lost
/// synced records is refused and left unchanged.
pub fn open_log(folder: Arc<dyn Folder>, options: &OpenOptions) -> Result<Opened, LogError> {
    let plan = look(&*folder, options.keep_until)?;
    let mut cut = Vec::new();
    for number in &plan.dropped {
        drop_segment(&*folder, *number, &mut cut)?;
    }
    let first = options.next_at_least.max(1);
    let last = match plan.last {
        Some((segment, kept)) => settle(&*folder, segment, kept, &mut cut)?,
        None => create_first(&*folder, first)?,
    };
    let mut log = Log::new(folder, options.segment_bytes, plan.closed, last);
    if log.next_sequence() < first {
        log.begin_segment(first)?;
    }
    Ok(Opened { log, cut })
}

fn look(folder: &dyn Folder, keep_until: Option<u64>) -> Result<Plan, LogError> {
    let mut plan = Plan::default();
    let numbers = list_numbers(folder)?;
    let (mut segments, unfinished) = read_segments(numbers.into_iter().map(|number| (number, folder)))?;
    let Some((last, header)) = segments.pop() else {
        plan.dropped.extend(unfinished);
        return Ok(plan);
    };
    let file = SegmentFile::open(folder, last.number, false)?;
    let (kept, verdict) = inspect(&file, &header, keep_until)?;
    // A segment is begun when all before it is synced.
    refuse_damage(&file, &kept, verdict, unfinished.is_none())?;
    plan.dropped.extend(unfinished);
    plan.last = Some((last, kept));
    plan.closed = segments.iter().map(|(segment, _)| *segment).collect();
    if let Some(keep) = keep_until {
        cut_whole_segments(folder, keep, &segments, header.first, &mut plan)?;
        refuse_loss(folder, keep, &plan)?;
    }
    Ok(plan)
}

/// Refuses a log that ends before `keep_until`.
fn refuse_loss(folder: &dyn Folder, keep: u64, plan: &Plan) -> Result<(), LogError> {
    match &plan.last {
        Some((segment, kept)) if kept.next <= keep => {
            let (path, ends) = (folder.describe(&file_name(segment.number)), kept.next.saturating_sub(1));
            Err(corrupt(&path, kept.end, format!("records up to {keep}"), format!("the end after {ends}")))
        }
        _ => Ok(()),
    }
}

/// Finds the earliest segment with batches after `keep`: it becomes the last, all behind it go.
fn cut_whole_segments(
    folder: &dyn Folder,
    keep: u64,
    closed: &[(Segment, Header)],
    mut first_behind: u64,
    plan: &mut Plan,
) -> Result<(), LogError> {
    for (place, (segment, header)) in closed.iter().enumerate().rev() {
        if first_behind <= keep.saturating_add(1) {
            break;
        }
        let file = SegmentFile::open(folder, segment.number, false)?;
        let (kept, verdict) = inspect(&file, header, Some(keep))?;
        refuse_damage(&file, &kept, verdict, false)?;
        if kept.end < segment.bytes {
            if let Some((last, _)) = plan.last.replace((*segment, kept)) {
                let between = plan.closed.iter().rev().take_while(|other| other.number > segment.number);
                let gone = [last.number].into_iter().chain(between.map(|other| other.number));
                plan.dropped.extend(gone);
            }
            plan.closed.truncate(place);
        }
        first_behind = header.first;
    }
    Ok(())
}

/// Cuts the end of the last segment and syncs the rest.
fn settle(
    folder: &dyn Folder,
    mut segment: Segment,
    kept: Kept,
    cut: &mut Vec<CutTail>,
) -> Result<(Segment, SegmentFile, Kept), LogError> {
    let mut file = SegmentFile::open(folder, segment.number, true)?;
    if !file.is_zero_from(kept.end)? {
        cut.push(save_aside(folder, &file, segment.number, kept.end)?);
    }
    file.bytes = kept.end;
    // A sync that failed may have left pages, or a length, that count as written and never were.
    let handle = &*file.file;
    let written = handle.set_len(kept.end);
    let written = written.and_then(|()| write_again(handle, kept.synced_end, kept.end));
    let written = written.and_then(|()| handle.sync());
    written.map_err(|error| io(&file.path, "writing the end of the segment again", &error))?;
    sync_names(folder)?;
    segment.bytes = kept.end;
    Ok((segment, file, kept))
}

fn create_first(folder: &dyn Folder, first: u64) -> Result<(Segment, SegmentFile, Kept), LogError> {
    let header = Header { number: 1, first, chain: 0, previous_length: 0 };
    let file = create_segment(folder, &header)?;
    let end = HEADER_BYTES as u64;
    let kept = Kept { end, next: first, chain: header.chain_start(), synced_end: end };
    Ok((Segment { number: 1, first, bytes: end }, file, kept))
}

fn drop_segment(folder: &dyn Folder, number: u64, cut: &mut Vec<CutTail>) -> Result<(), LogError> {
    let file = SegmentFile::open(folder, number, false)?;
    if file.bytes > 0 {
        cut.push(save_aside(folder, &file, number, 0)?);
    }
    folder.remove(&file_name(number)).map_err(|error| io(&file.path, "removing the segment", &error))?;
    sync_names(folder)
}

fn sync_names(folder: &dyn Folder) -> Result<(), LogError> {
    folder.sync().map_err(|error| io(&folder.describe(""), "syncing the folder", &error))
}

/// Copies the end of a segment beside it, unless an interrupted opening did so before.
fn save_aside(
    folder: &dyn Folder,
    segment: &SegmentFile,
    number: u64,
    offset: u64,
) -> Result<CutTail, LogError> {
    let bytes = segment.bytes.saturating_sub(offset);
    let mut attempt = 0_u64;
    loop {
        let name = match attempt {
            0 => format!("{}.{offset}.broken", file_name(number)),
            _ => format!("{}.{offset}.{attempt}.broken", file_name(number)),
        };
        let path = folder.describe(&name);
        let saved = match folder.create(&name) {
            Ok(copy) => match copy_range(&*segment.file, offset, bytes, &*copy) {
                Ok(()) => Ok(Some(copy)),
                Err(error) => {
                    drop(copy);
                    // A part of a copy would only take the room that the next try needs.
                    drop(folder.remove(&name));
                    Err(error)
                }
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let copy = folder.open(&name, true);
                copy.and_then(|copy| {
                    let is_saved = is_same(&*segment.file, offset, bytes, &*copy)?;
                    write_again(&*copy, 0, if is_saved { bytes } else { 0 })?;
                    Ok(is_saved.then_some(copy))
                })
            }
            Err(error) => Err(error),
        };
        let saved = saved.and_then(|copy| copy.map(|copy| copy.sync()).transpose());
        if saved.map_err(|error| io(&path, "saving the cut part", &error))?.is_some() {
            sync_names(folder)?;
            return Ok(CutTail { path, segment: number, offset, bytes });
        }
        attempt += 1;
    }
}
