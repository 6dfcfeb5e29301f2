//! Brings what will be read into memory and cache: row blocks here and there, neighbours ahead. No result depends on it.

use std::ops::Range;

use crate::blocks::Group;
use crate::mapped_file::major_faults;
use crate::reader::{Bytes, Table};

/// Ranges that tell whether memory is short: with a quarter of the file in memory, one page in 256 finds all of them there.
const PROBED_RANGES: usize = 4;
/// What is read at once where rows follow one another.
const READ_AHEAD_BYTES: usize = 4 << 20;
/// Smallest file whose row blocks are read without the kernel's own read-ahead, which may fetch megabytes for one row.
/// Each such file takes one more of the system's memory maps.
const RANDOM_FILE_BYTES_MIN: u64 = 32 << 20;
const CACHE_LINE_BYTES: usize = 64;
/// Cache lines of a range that are touched: half of the fastest cache.
const TOUCHED_LINES_MAX: usize = 256;

impl Table {
    /// Tells the kernel that the file will be read from start to end.
    pub fn advise_sequential(&self) {
        if let Bytes::Mapped(file) = &self.bytes {
            file.advise_sequential();
        }
    }

    /// Tells the kernel that blocks are read here and there.
    pub(crate) fn advise_blocks(&self) {
        let (Bytes::Mapped(file), true) = (&self.bytes, self.file_bytes() >= RANDOM_FILE_BYTES_MIN) else {
            return;
        };
        let place = |end: Option<u64>| end.and_then(|end| usize::try_from(end).ok());
        let start = place(self.groups.first().map(Group::start));
        if let Some((start, end)) = start.zip(place(self.groups.last().map(Group::end))) {
            file.advise_random(&(start..end));
        }
    }

    /// Touches ranges of the file, so that their cache misses overlap. Where one of the first is not in memory, the kernel is
    /// told of all others before they are read one by one.
    pub(crate) fn fetch(&self, ranges: impl Iterator<Item = Range<usize>> + Clone) {
        let mut rest = ranges;
        if let Bytes::Mapped(map) = &self.bytes {
            let before = major_faults();
            for _ in 0..PROBED_RANGES {
                let Some(probed) = rest.next() else { break };
                self.touch(probed);
                if major_faults() != before {
                    rest.clone().for_each(|range| map.advise_will_need(&range));
                    break;
                }
            }
        }
        rest.for_each(|range| self.touch(range));
    }

    /// Touches a range of neighbours. Where it is not in memory, the kernel is told of what follows as well, up to `end`.
    pub(crate) fn fetch_ahead(&self, range: Range<usize>, end: usize) {
        if let Bytes::Mapped(map) = &self.bytes {
            let before = major_faults();
            self.touch(range.start..range.start.saturating_add(1));
            if major_faults() != before {
                let ahead = range.start.saturating_add(READ_AHEAD_BYTES).min(end);
                map.advise_will_need(&(range.start..ahead));
            }
        }
        self.touch(range);
    }

    /// Touches the cache lines of a range, so that their misses overlap.
    #[inline]
    pub(crate) fn touch(&self, range: Range<usize>) {
        let file = self.file();
        let lines = range.step_by(CACHE_LINE_BYTES).take(TOUCHED_LINES_MAX);
        let bytes = lines.map(|at| file.get(at).copied().unwrap_or(0));
        std::hint::black_box(bytes.fold(0, |touched, byte| touched ^ byte));
    }
}
