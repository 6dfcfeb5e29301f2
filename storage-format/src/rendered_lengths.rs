//! The length of the whole table in each export format, and the offset of each chunk of rows. With these offsets, a
//! byte range can be served without rendering the rows before it. Does not depend on export formats: the lengths carry the version
//! of their renderer, and other renderers must not use them.

use std::borrow::Cow;

use crate::column::partition_point;
use crate::error::{FormatError, Place, corrupt};
use crate::layout::{take, u32_at};
use crate::reader::Table;
use crate::section::SectionKind;

/// Most rows of a chunk.
pub const CHUNK_ROWS_MAX: u32 = 65_536;

const HEADER_SIZE: usize = 16;
const CHUNK_ROWS_OFFSET: usize = 4;
const RESERVED_OFFSET: usize = CHUNK_ROWS_OFFSET + 4;
const WORD: usize = 8;

/// The export formats, in the order of their lengths in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// RFC 4180 with a header row.
    Csv = 0,
    /// One JSON array of objects.
    Json = 1,
    /// One JSON object a line.
    Ndjson = 2,
}

impl ExportFormat {
    /// All of them, in the order of the file.
    pub const ALL: [ExportFormat; 3] = [ExportFormat::Csv, ExportFormat::Json, ExportFormat::Ndjson];

    /// The name in reports: `csv`, `json` or `ndjson`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Csv => "csv",
            ExportFormat::Json => "json",
            ExportFormat::Ndjson => "ndjson",
        }
    }
}

/// The lengths of one table in one format: all rows in file order, all columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedLengths<'a> {
    renderer_version: u32,
    chunk_rows: u32,
    rows: u32,
    /// The total, then the offset of every chunk, then the end of the last chunk; eight bytes each.
    words: Cow<'a, [u8]>,
}

impl<'a> RenderedLengths<'a> {
    /// Lengths from a renderer. `offsets` has the start of every chunk of `chunk_rows` rows (1 to 65,536) and the end
    /// of the last one; `total` is the length of the whole text in bytes. `None` when they are inconsistent.
    #[must_use]
    pub fn new(
        renderer_version: u32,
        chunk_rows: u32,
        rows: u32,
        offsets: &[u64],
        total: u64,
    ) -> Option<RenderedLengths<'static>> {
        let words: Vec<u8> =
            std::iter::once(&total).chain(offsets).flat_map(|word| word.to_le_bytes()).collect();
        let lengths = RenderedLengths { renderer_version, chunk_rows, rows, words: Cow::Owned(words) };
        let fits = (1..=CHUNK_ROWS_MAX).contains(&chunk_rows)
            && offsets.len() as u64 == u64::from(lengths.chunk_count()) + 1
            && lengths.first_decrease().is_none();
        fits.then_some(lengths)
    }

    /// The version of the renderer of these lengths.
    #[must_use]
    pub fn renderer_version(&self) -> u32 {
        self.renderer_version
    }

    /// Rows of a chunk; the last one may be shorter.
    #[must_use]
    pub fn chunk_rows(&self) -> u32 {
        self.chunk_rows
    }

    /// Rows of the table.
    #[must_use]
    pub fn row_count(&self) -> u32 {
        self.rows
    }

    /// Chunks of the table.
    #[must_use]
    pub fn chunk_count(&self) -> u32 {
        self.rows.div_ceil(self.chunk_rows)
    }

    /// The rows of a chunk; empty beyond the last one.
    #[must_use]
    pub fn rows_of_chunk(&self, chunk: u32) -> std::ops::Range<u32> {
        let start = chunk.saturating_mul(self.chunk_rows).min(self.rows);
        start..start.saturating_add(self.chunk_rows).min(self.rows)
    }

    /// Bytes of the whole text.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.word(0).unwrap_or(0)
    }

    /// The offset of the rows of a chunk; for `chunk_count`, the end of the last chunk; `None` beyond that. Bytes
    /// before chunk 0 and after the last chunk belong to no row.
    #[must_use]
    pub fn offset_of_chunk(&self, chunk: u32) -> Option<u64> {
        self.word((chunk as usize).checked_add(1)?)
    }

    /// The chunk whose rows hold the byte at `position`; `None` before the first row, after the last, or when the
    /// lengths are damaged.
    #[must_use]
    pub fn chunk_at(&self, position: u64) -> Option<u32> {
        let chunks = self.chunk_count();
        let after = partition_point(0..chunks + 1, |chunk| Some(self.offset_of_chunk(chunk)? <= position))?;
        after.checked_sub(1).filter(|chunk| *chunk < chunks)
    }

    fn word(&self, number: usize) -> Option<u64> {
        take(&self.words, number.checked_mul(WORD)?).map(u64::from_le_bytes)
    }

    /// The first chunk whose end is before its start, or the number of chunks when the total is too small.
    fn first_decrease(&self) -> Option<u32> {
        let chunks = self.chunk_count();
        let ascends = |chunk: u32| {
            let end = if chunk == chunks { self.word(0) } else { self.offset_of_chunk(chunk + 1) };
            self.offset_of_chunk(chunk) <= end
        };
        (0..=chunks).find(|chunk| !ascends(*chunk))
    }
}

/// The section for all three formats, in the order of [`ExportFormat::ALL`].
pub(crate) fn encode_lengths(lengths: &[RenderedLengths<'_>; 3]) -> Vec<u8> {
    let [first, ..] = lengths;
    let mut out = Vec::with_capacity(HEADER_SIZE + 3 * first.words.len());
    out.extend_from_slice(&first.renderer_version.to_le_bytes());
    out.extend_from_slice(&first.chunk_rows.to_le_bytes());
    out.extend_from_slice(&[0; HEADER_SIZE - RESERVED_OFFSET]);
    lengths.iter().for_each(|format| out.extend_from_slice(&format.words));
    out
}

impl Table {
    /// The lengths of the whole table in a format, if the file has them. They are as reliable as the file: only the
    /// renderer of [`RenderedLengths::renderer_version`] may use them, and it must compare its output with them.
    #[must_use]
    pub fn rendered_lengths(&self, format: ExportFormat) -> Option<RenderedLengths<'_>> {
        self.read_lengths(format).ok().flatten()
    }

    fn read_lengths(&self, format: ExportFormat) -> Result<Option<RenderedLengths<'_>>, FormatError> {
        let place = Place::File(SectionKind::RenderedLengths);
        let record = self.records.iter().find(|record| record.kind == SectionKind::RenderedLengths as u16);
        let Some(bytes) = record.and_then(|record| self.section(record, 0)) else { return Ok(None) };
        let chunk_rows = u32_at(bytes, CHUNK_ROWS_OFFSET);
        if !(1..=CHUNK_ROWS_MAX).contains(&chunk_rows) {
            return Err(corrupt(place, "rows of a chunk", CHUNK_ROWS_MAX.into(), chunk_rows.into()));
        }
        if bytes.get(RESERVED_OFFSET..HEADER_SIZE).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) {
            return Err(corrupt(place, "bytes that must be zero", 0, 1));
        }
        let of_format = (self.row_count().div_ceil(chunk_rows) as usize + 2) * WORD;
        let expected = HEADER_SIZE + ExportFormat::ALL.len() * of_format;
        let start = HEADER_SIZE + format as usize * of_format;
        match bytes.get(start..start + of_format) {
            Some(words) if bytes.len() == expected => Ok(Some(RenderedLengths {
                renderer_version: u32_at(bytes, 0),
                chunk_rows,
                rows: self.row_count(),
                words: Cow::Borrowed(words),
            })),
            _ => Err(corrupt(place, "length", expected as u64, bytes.len() as u64)),
        }
    }

    /// Verifies that the offsets ascend and do not exceed the total. Only the renderer can verify their values.
    pub(crate) fn verify_rendered_lengths(&self) -> Result<(), FormatError> {
        for format in ExportFormat::ALL {
            let Some(lengths) = self.read_lengths(format)? else { return Ok(()) };
            if let Some(chunk) = lengths.first_decrease() {
                let place = Place::File(SectionKind::RenderedLengths);
                let start = lengths.offset_of_chunk(chunk).unwrap_or(0);
                return Err(corrupt(place, "offset above the one after it", start, chunk.into()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_chunk_of_position() {
        let lengths = RenderedLengths::new(1, 2, 5, &[10, 30, 30, 45], 46).unwrap();
        let at = |position| lengths.chunk_at(position);
        assert_eq!([at(0), at(9), at(10), at(29)], [None, None, Some(0), Some(0)]);
        assert_eq!([at(30), at(44), at(45), at(46)], [Some(2), Some(2), None, None]);
        assert_eq!((lengths.rows_of_chunk(2), lengths.rows_of_chunk(9)), (4..5, 5..5));
    }

    #[test]
    fn rejects_inconsistent_lengths() {
        assert!(RenderedLengths::new(1, 0, 5, &[0, 1], 1).is_none());
        assert!(RenderedLengths::new(1, 8, 5, &[0], 1).is_none());
        assert!(RenderedLengths::new(1, 8, 5, &[2, 1], 1).is_none());
        assert!(RenderedLengths::new(1, 8, 5, &[0, 2], 1).is_none());
        assert!(RenderedLengths::new(1, 8, 0, &[7], 7).is_some());
    }
}
