//! The bytes of a text input: a file or standard input, decompressed by its first bytes, as UTF-8 without a byte order
//! mark, and bounded in growth and in memory. Does not depend on records.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use mercato_catalog::TextEncoding;

use crate::convert::inputs::InputFile;
use crate::convert::inputs::archive;
use crate::convert::limits::{DECODED_RATIO_FREE_BYTES, DECODED_RATIO_MAX};
use crate::convert::text::encodings::{self, Undecodable};
use crate::failure::Failure;
use crate::interruption::Interruption;

const BUFFER_BYTES: usize = 256 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The smallest and largest window of zstd, as powers of two. The largest is the default limit of `zstd`.
const WINDOW_LOG_MIN: u32 = 23;
const WINDOW_LOG_MAX: u32 = 27;
/// The window may take one part in this many of the memory limit.
const WINDOW_SHARE: u64 = 4;

/// A bounded stream of decompressed bytes.
pub struct ByteSource {
    name: String,
    reader: Box<dyn BufRead>,
    /// Bytes that were read from the file.
    taken: Arc<AtomicU64>,
    /// Bytes that were given out.
    given: u64,
    is_packed: bool,
    interruption: Interruption,
}

impl ByteSource {
    pub fn open(
        file: &InputFile,
        encoding: Option<TextEncoding>,
        memory_limit: u64,
        interruption: &Interruption,
    ) -> Result<ByteSource, Failure> {
        let name = file.name();
        let taken = Arc::new(AtomicU64::new(0));
        let counted = |inner: Box<dyn Read>| Counted { inner, taken: Arc::clone(&taken) };
        let entry = file.path.as_deref().map(archive::only_entry).transpose()?.flatten();
        let (mut reader, is_packed): (Box<dyn BufRead>, bool) = match (&file.path, entry) {
            (Some(path), Some(entry)) => {
                let plain = entry.open(path, |file| counted(Box::new(file)))?;
                (Box::new(BufReader::with_capacity(BUFFER_BYTES, plain)), true)
            }
            (path, _) => {
                let raw: Box<dyn Read> = match path {
                    Some(path) => Box::new(File::open(path).map_err(Failure::io(path, "open"))?),
                    None => Box::new(io::stdin()),
                };
                decoded(BufReader::with_capacity(BUFFER_BYTES, counted(raw)), memory_limit)
                    .map_err(|error| unreadable(&name, &error))?
            }
        };
        let head = head_of(&mut reader, encodings::HEAD_BYTES).map_err(|error| unreadable(&name, &error))?;
        let (found, mark_bytes) = encodings::find(&head, encoding, &name)?;
        let whole = Cursor::new(head.get(mark_bytes..).unwrap_or_default().to_vec()).chain(reader);
        let reader = encodings::to_utf8(whole, found);
        let interruption = interruption.clone();
        Ok(ByteSource { name, reader, taken, given: 0, is_packed, interruption })
    }

    /// The first `count` bytes, fewer at the end of the input. They are given out later all the same.
    pub fn peek(&mut self, count: usize) -> Result<Vec<u8>, Failure> {
        let head = head_of(&mut self.reader, count).map_err(|error| unreadable(&self.name, &error))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(head.clone()).chain(rest));
        Ok(head)
    }

    /// Passes over a line with its end. Returns false at the end of the input.
    pub fn skip_line(&mut self) -> Result<bool, Failure> {
        let mut is_any = false;
        loop {
            let chunk = self.fill()?;
            if chunk.is_empty() {
                return Ok(is_any);
            }
            is_any = true;
            let end = memchr::memchr(b'\n', chunk);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes read from the file so far, before decompression.
    #[must_use]
    pub fn taken_bytes(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Bytes given out so far, after decompression.
    #[must_use]
    pub fn given_bytes(&self) -> u64 {
        self.given
    }

    /// The next bytes; empty at the end.
    pub fn fill(&mut self) -> Result<&[u8], Failure> {
        if self.interruption.is_requested() {
            return Err(Failure::Cancelled { file: self.name.clone() });
        }
        let taken = self.taken.load(Ordering::Relaxed);
        let bound = DECODED_RATIO_FREE_BYTES.max(taken.saturating_mul(DECODED_RATIO_MAX));
        if self.is_packed && self.given > bound {
            return Err(Failure::refused(
                self.name.clone(),
                "decompressed size",
                format!("at most {bound} bytes out of {taken}"),
                "more",
                "the file expands like a decompression bomb; if it is genuine, decompress it first",
            ));
        }
        self.reader.fill_buf().map_err(|error| unreadable(&self.name, &error))
    }

    /// Marks bytes of [`ByteSource::fill`] as used.
    pub fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.given += count as u64;
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    if let Some(undecodable) = error.get_ref().and_then(|inner| inner.downcast_ref::<Undecodable>()) {
        return undecodable.refuse(name);
    }
    Failure::refused(
        name,
        "bytes",
        "a file that can be read to its end",
        error.to_string(),
        "get it again from its source; a zstd window beyond the memory limit needs --memory-limit",
    )
}

/// Decompresses bytes that begin as gzip or zstd. The second value says whether they did.
fn decoded(mut raw: BufReader<Counted>, memory_limit: u64) -> io::Result<(Box<dyn BufRead>, bool)> {
    let head = head_of(&mut raw, ZSTD_MAGIC.len())?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP_MAGIC), head == ZSTD_MAGIC);
    let whole = Cursor::new(head).chain(raw);
    if is_gzip {
        let unpacked = MultiGzDecoder::new(whole);
        return Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)), true));
    }
    if is_zstd {
        let mut unpacked = zstd::stream::read::Decoder::with_buffer(whole)?;
        let window = (memory_limit / WINDOW_SHARE).max(1).ilog2();
        unpacked.window_log_max(window.clamp(WINDOW_LOG_MIN, WINDOW_LOG_MAX))?;
        return Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)), true));
    }
    Ok((Box::new(whole), false))
}

/// The first `count` bytes, fewer at the end of the input.
fn head_of(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Counts the bytes that were read.
struct Counted {
    inner: Box<dyn Read>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(room)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
