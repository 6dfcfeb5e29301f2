//! A `ChunkReader` for one column chunk. Reads stop at the end of the chunk, page headers are validated first, and a
//! signal ends all reads. Does not depend on values.

use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::convert::source::Source;
use crate::convert::thrift::definitions::PAGE_HEADER;
use crate::convert::thrift::{Cursor, ThriftError};

/// Bytes of a page header; statistics inside it may carry long texts.
const PAGE_HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The first read of a page header, bytes.
const HEADER_READ_BYTES: usize = 4 * 1024;

/// The byte range of a file that holds a column chunk.
#[derive(Clone, Debug)]
pub struct ColumnChunk {
    source: Source,
    range: Range<u64>,
}

impl ColumnChunk {
    /// The column chunk in `range` of a file.
    #[must_use]
    pub fn new(source: &Source, range: Range<u64>) -> ColumnChunk {
        ColumnChunk { source: source.clone(), range }
    }

    /// The bytes of the page header at `start`, without any that follow.
    ///
    /// # Errors
    /// When there is no valid header, or it cannot be read.
    pub fn header(&self, start: u64) -> io::Result<Vec<u8>> {
        let room = usize::try_from(self.range.end.saturating_sub(start)).unwrap_or(usize::MAX);
        let room = room.min(PAGE_HEADER_BYTES_MAX);
        let mut length = HEADER_READ_BYTES.min(room);
        loop {
            let mut bytes = self.source.read_exactly(start, length)?;
            let mut cursor = Cursor { bytes: &bytes };
            match cursor.check(&PAGE_HEADER) {
                Ok(()) => {
                    let rest = cursor.bytes.len();
                    bytes.truncate(length - rest);
                    return Ok(bytes);
                }
                // The header may continue behind these bytes.
                Err(_) if length < room => length = length.saturating_mul(16).min(room),
                Err(ThriftError { expected, found }) => {
                    let text = format!("page header at byte {start}: expected {expected}, found {found}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            }
        }
    }
}

impl Length for ColumnChunk {
    fn len(&self) -> u64 {
        self.range.end
    }
}

impl ChunkReader for ColumnChunk {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader, ParquetError> {
        Ok(HeaderReader { chunk: self.clone(), start, header: None, position: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start < self.range.start || self.range.end.saturating_sub(start) < length as u64 {
            return Err(ParquetError::EOF(format!(
                "a page of {length} bytes at byte {start} reaches past the end of its column chunk at {}",
                self.range.end
            )));
        }
        Ok(Bytes::from(self.source.read_exactly(start, length)?))
    }
}

/// Reads one page header and fails at its end. The Parquet library would take an empty read for skipped bytes.
#[derive(Debug)]
pub struct HeaderReader {
    chunk: ColumnChunk,
    start: u64,
    /// Filled by the first read, because the library also requests readers that it does not use.
    header: Option<Vec<u8>>,
    position: usize,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let header = match &mut self.header {
            Some(header) => header,
            none => none.insert(self.chunk.header(self.start)?),
        };
        let rest = header.get(self.position..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if count == 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a read past the end of a page header"));
        }
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.position += count;
        Ok(count)
    }
}
