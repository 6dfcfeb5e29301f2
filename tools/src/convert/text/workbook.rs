//! Weighs the parts of an Excel workbook before a library reads them: what is held in memory, what is read as a stream,
//! and the longest piece of a stream. Does not depend on cells.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use crate::convert::limits::{DECODED_RATIO_FREE_BYTES, DECODED_RATIO_MAX, VALUE_BYTES_MAX};
use crate::failure::Failure;
use crate::interruption::Interruption;

/// Parts of a workbook.
const PARTS_MAX: usize = 10_000;
/// The parts that are held in memory (texts, styles) may take one part in this many of the memory limit.
const HELD_SHARE: u64 = 16;
const BUFFER_BYTES: usize = 64 * 1024;
/// Bytes at the beginning of a part that tell whether it is a sheet.
const HEAD_BYTES: usize = 1_024;
/// The end of the attributes in which a workbook says how many texts or styles it has.
const COUNT: &[u8] = b"ount=";

/// Reads all parts once. Returns their bytes.
pub fn weigh(path: &Path, memory_limit: u64, interruption: &Interruption) -> Result<u64, Failure> {
    let file = File::open(path).map_err(Failure::io(path, "open"))?;
    let damaged = |error: &dyn std::fmt::Display| {
        refusal(
            path,
            "an Excel workbook (.xlsx)",
            error.to_string(),
            "save it again as .xlsx, or as CSV in UTF-8",
        )
    };
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    if archive.len() > PARTS_MAX {
        let found = format!("{} parts", archive.len());
        return Err(refusal(path, "at most 10000 parts", found, "save the sheet as CSV in UTF-8"));
    }
    let (mut held, mut total) = (0_u64, 0_u64);
    for number in 0..archive.len() {
        let part = archive.by_index(number).map_err(|error| damaged(&error))?;
        let bound = DECODED_RATIO_FREE_BYTES.max(part.compressed_size().saturating_mul(DECODED_RATIO_MAX));
        let mut scan = Scan::default();
        let mut part = BufReader::with_capacity(BUFFER_BYTES, part);
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            if interruption.is_requested() {
                return Err(Failure::Cancelled { file: path.display().to_string() });
            }
            let count = part.read(&mut buffer).map_err(|error| damaged(&error))?;
            if count == 0 {
                break;
            }
            scan.take(buffer.get(..count).unwrap_or_default());
            let held_now = if scan.is_sheet { held } else { held + scan.bytes };
            if held_now > memory_limit / HELD_SHARE {
                let expected = format!("at most {} bytes of texts and styles", memory_limit / HELD_SHARE);
                return Err(refusal(
                    path,
                    &expected,
                    "more".into(),
                    "raise --memory-limit, or save the sheet as CSV",
                ));
            }
            if scan.bytes > bound {
                let expected = format!("at most {bound} bytes in a part");
                let remedy = "the file expands like a decompression bomb; if it is genuine, save it as CSV";
                return Err(refusal(path, &expected, "more".into(), remedy));
            }
            if scan.longest > VALUE_BYTES_MAX {
                let expected = format!("values of at most {VALUE_BYTES_MAX} bytes");
                return Err(refusal(path, &expected, "more".into(), "shorten the value"));
            }
        }
        if !scan.is_sheet {
            held += scan.bytes;
            if scan.count > scan.bytes {
                let expected = format!("at most {} texts or styles in as many bytes", scan.bytes);
                return Err(refusal(path, &expected, scan.count.to_string(), "save it again as .xlsx"));
            }
        }
        total += scan.bytes;
    }
    Ok(total)
}

/// What is found in the bytes of a part.
#[derive(Default)]
struct Scan {
    bytes: u64,
    head: Vec<u8>,
    is_sheet: bool,
    /// Bytes since the last end of a tag, and the most of them.
    piece: usize,
    longest: usize,
    /// The last bytes of the piece before, for attributes that two pieces share.
    tail: Vec<u8>,
    /// The largest number of texts or styles that is announced.
    count: u64,
}

impl Scan {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.head.len() < HEAD_BYTES {
            self.head.extend(bytes.iter().take(HEAD_BYTES - self.head.len()));
            self.is_sheet = memchr::memmem::find(&self.head, b"<worksheet").is_some();
        }
        let mut before = 0;
        for end in memchr::memchr_iter(b'>', bytes) {
            self.longest = self.longest.max(self.piece + end - before);
            (self.piece, before) = (0, end + 1);
        }
        self.piece += bytes.len() - before;
        self.longest = self.longest.max(self.piece);
        if !self.is_sheet {
            self.note_counts(bytes);
        }
    }

    /// Notes the numbers behind `count=` and `uniqueCount=`, by which a reader may reserve memory.
    fn note_counts(&mut self, bytes: &[u8]) {
        let mut text = std::mem::take(&mut self.tail);
        text.extend_from_slice(bytes);
        for at in memchr::memmem::find_iter(&text, COUNT) {
            let digits = text.get(at + COUNT.len() + 1..).unwrap_or_default();
            let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
            let count = digits
                .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
            self.count = self.count.max(count);
        }
        let kept = text.len().saturating_sub(64);
        self.tail = text.split_off(kept);
    }
}

pub(super) fn refusal(path: &Path, expected: &str, found: String, remedy: &str) -> Failure {
    Failure::refused(path.display().to_string(), "workbook", expected, found, remedy)
}
