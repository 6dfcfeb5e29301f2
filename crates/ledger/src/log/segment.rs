//! The segments of a folder: their names and headers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::{corrupt, io};
use super::files::{Folder, LogFile, read_full_at};
use super::format::{HEADER_BYTES, Header};
use super::{BUFFER_BYTES, LogError};

const SUFFIX: &str = ".log";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub number: u64,
    /// The number of its first record, or the one from which on it takes records.
    pub first: u64,
    /// Its length.
    pub bytes: u64,
}

/// The name of the file of a segment.
pub fn file_name(number: u64) -> String {
    format!("{number:010}{SUFFIX}")
}

/// Nothing for a file that is no segment.
pub fn parse_name(name: &str) -> Option<u64> {
    let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
    (number >= 1 && file_name(number) == name).then_some(number)
}

/// Numbers of the segments in a folder, in order.
pub fn list_numbers(folder: &dyn Folder) -> Result<Vec<u64>, LogError> {
    let names = folder.list().map_err(|error| io(&folder.describe(""), "listing the folder", &error))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| parse_name(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment that is open.
#[derive(Clone)]
pub struct SegmentFile {
    pub file: Arc<dyn LogFile>,
    pub path: PathBuf,
    pub bytes: u64,
}

impl SegmentFile {
    pub fn open(folder: &dyn Folder, number: u64, writable: bool) -> Result<SegmentFile, LogError> {
        let name = file_name(number);
        let path = folder.describe(&name);
        let opened = folder.open(&name, writable).and_then(|file| Ok((file.len()?, file)));
        match opened {
            Ok((bytes, file)) => Ok(SegmentFile { file, path, bytes }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::Missing { path }),
            Err(error) => Err(io(&path, "opening the segment", &error)),
        }
    }

    /// Nothing when the segment does not begin with a whole and right header.
    pub fn read_header(&self, number: u64) -> Result<Option<Header>, LogError> {
        let mut bytes = [0; HEADER_BYTES];
        read_full_at(&*self.file, &mut bytes, 0).map_err(|error| self.unreadable(&error))?;
        match Header::decode(&bytes) {
            Some(header) if header.number != number => {
                let (expected, found) =
                    (format!("the header of segment {number}"), format!("that of {}", header.number));
                Err(corrupt(&self.path, 0, expected, found))
            }
            header => Ok(header),
        }
    }

    /// The header of a segment that must have one.
    pub fn header(&self, number: u64) -> Result<Header, LogError> {
        self.read_header(number)?.ok_or_else(|| self.headless(number))
    }

    pub fn headless(&self, number: u64) -> LogError {
        corrupt(&self.path, 0, format!("the header of segment {number}"), "other bytes")
    }

    /// Whether the segment was only just being created: nothing is in it but at most a part of its header.
    pub fn is_unfinished(&self) -> Result<bool, LogError> {
        if self.bytes <= HEADER_BYTES as u64 { Ok(true) } else { self.is_zero_from(0) }
    }

    /// Whether only zeros follow, or nothing.
    pub fn is_zero_from(&self, offset: u64) -> Result<bool, LogError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut at = offset;
        while at < self.bytes {
            let count =
                read_full_at(&*self.file, &mut buffer, at).map_err(|error| self.unreadable(&error))?;
            if count == 0 {
                break;
            }
            if buffer.iter().take(count).any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += count as u64;
        }
        Ok(true)
    }

    pub fn unreadable(&self, error: &io::Error) -> LogError {
        io(&self.path, "reading the segment", error)
    }
}

/// The headers, and the number of an unfinished last segment.
pub type Segments = (Vec<(Segment, Header)>, Option<u64>);

/// Reads the headers of segments in order, each with its folder. Refuses gaps and headers that do not continue the
/// chain.
pub fn read_segments<'f>(found: impl Iterator<Item = (u64, &'f dyn Folder)>) -> Result<Segments, LogError> {
    let mut segments: Vec<(Segment, Header)> = Vec::new();
    let mut before: Option<(Segment, PathBuf)> = None;
    let mut found = found.peekable();
    while let Some((number, folder)) = found.next() {
        if let Some((previous, _)) = before.as_ref().filter(|(previous, _)| previous.number + 1 != number) {
            return Err(LogError::Missing { path: folder.describe(&file_name(previous.number + 1)) });
        }
        let file = SegmentFile::open(folder, number, false)?;
        let Some(header) = file.read_header(number)? else {
            let has_place = before.is_some() || number == 1;
            if found.peek().is_none() && has_place && file.is_unfinished()? {
                return Ok((segments, Some(number)));
            }
            return Err(file.headless(number));
        };
        if let Some((previous, path)) = before {
            check_order(&previous, path, &header, &file)?;
        }
        let segment = Segment { number, first: header.first, bytes: file.bytes };
        segments.push((segment, header));
        before = Some((segment, file.path));
    }
    Ok((segments, None))
}

/// Refuses a header that does not follow the one before it.
fn check_order(
    previous: &Segment,
    previous_path: PathBuf,
    header: &Header,
    segment: &SegmentFile,
) -> Result<(), LogError> {
    if header.first <= previous.first {
        let expected = format!("a first record above {}", previous.first);
        return Err(corrupt(&segment.path, 0, expected, header.first.to_string()));
    }
    if header.previous_length != previous.bytes {
        let offset = header.previous_length.min(previous.bytes);
        let (expected, found) =
            (format!("a length of {} bytes", header.previous_length), format!("{}", previous.bytes));
        return Err(LogError::Corrupt { path: previous_path, offset, expected, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_segment_names_only() {
        assert_eq!(parse_name(&file_name(1)), Some(1));
        assert_eq!(parse_name(&file_name(u64::MAX)), Some(u64::MAX));
        for name in
            ["0000000000.log", "1.log", "0000000001.log.48.broken", "+000000001.log", "0000000001.log.part"]
        {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }
}
