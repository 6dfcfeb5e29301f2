//! Scans the page headers of a column, before any value is read, for the memory that its pages need. Does not depend on
//! values.

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use crate::convert::chunk_offsets;
use crate::convert::plan::Plan;
use crate::convert::schema::flatten::OutputColumn;
use crate::convert::source::Source;
use crate::convert::thrift::Cursor;

/// The first read of a page header, and the longest; statistics inside it may carry long texts. Bytes.
const HEADER_READ_BYTES: usize = 4 * 1024;
const HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of the decoder for each length of DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
const LENGTH_BYTES: u64 = 8;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;
const DICTIONARY_PAGE: i64 = 2;

/// The memory of the pages of a column.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageMemory {
    /// Bytes of all pages that are in memory at the same time.
    pub bytes: u64,
    /// Bytes of the largest page, decompressed.
    pub largest: u64,
}

/// Scans every page of every chunk of a column.
#[must_use]
pub fn pages(plan: &Plan, column: &OutputColumn) -> PageMemory {
    let mut most = PageMemory::default();
    for group in plan.metadata().row_groups() {
        let mut now = PageMemory::default();
        for chunk in column.leaves().filter_map(|leaf| group.columns().get(leaf)) {
            let leaf = pages_of(&plan.source, chunk);
            now.bytes = now.bytes.saturating_add(leaf.bytes);
            now.largest = now.largest.max(leaf.largest);
        }
        most = PageMemory { bytes: most.bytes.max(now.bytes), largest: most.largest.max(now.largest) };
    }
    most
}

/// A page, the previous page, and the dictionary with its decoded form are in memory together. An unreadable header
/// ends the scan; the library reports the error.
fn pages_of(source: &Source, chunk: &ColumnChunkMetaData) -> PageMemory {
    let range = chunk_offsets::range(chunk);
    let (mut start, mut dictionary, mut stored, mut largest, mut second) = (range.start, 0_u64, 0, 0, 0);
    while start < range.end {
        let Some(page) = header_at(source, start, range.end) else { break };
        start = start.saturating_add(page.header_bytes).saturating_add(page.stored);
        if page.is_dictionary {
            dictionary = dictionary.saturating_add(page.unfolded.saturating_mul(2));
        }
        let bytes = page.unfolded.saturating_add(page.lengths);
        second = second.max(bytes.min(largest));
        largest = largest.max(bytes);
        // An uncompressed page needs no second buffer.
        if chunk.compression() != Compression::UNCOMPRESSED {
            stored = stored.max(page.stored);
        }
    }
    let bytes = [stored, largest, second].into_iter().fold(dictionary, u64::saturating_add);
    PageMemory { bytes, largest }
}

fn header_at(source: &Source, start: u64, end: u64) -> Option<PageHeader> {
    let end = end.min(source.byte_length());
    let room = usize::try_from(end.checked_sub(start)?).unwrap_or(usize::MAX).min(HEADER_BYTES_MAX);
    let mut length = HEADER_READ_BYTES.min(room);
    loop {
        match PageHeader::of(&source.read_exactly(start, length).ok()?) {
            // The header may continue behind these bytes.
            None if length < room => length = length.saturating_mul(16).min(room),
            header => return header,
        }
    }
}

#[derive(Default)]
struct PageHeader {
    header_bytes: u64,
    is_dictionary: bool,
    stored: u64,
    unfolded: u64,
    /// Bytes of the decoded lengths.
    lengths: u64,
}

impl PageHeader {
    fn of(bytes: &[u8]) -> Option<PageHeader> {
        let (mut cursor, mut page) = (Cursor::new(bytes), PageHeader::default());
        cursor.each_field(|cursor, field| {
            match field.number {
                1 => page.is_dictionary = cursor.signed()? == DICTIONARY_PAGE,
                2 => page.unfolded = u64::try_from(cursor.signed()?).ok()?,
                3 => page.stored = u64::try_from(cursor.signed()?).ok()?,
                5 => page.lengths = lengths_of(cursor, 2)?,
                8 => page.lengths = lengths_of(cursor, 4)?,
                _ => cursor.skip(field.wire_type)?,
            }
            Some(())
        })?;
        Some(PageHeader { header_bytes: cursor.position as u64, ..page })
    }
}

/// Bytes of the decoded lengths of a data page, whose encoding is in field `encoding_field`.
fn lengths_of(cursor: &mut Cursor<'_>, encoding_field: i64) -> Option<u64> {
    let (mut values, mut encoding) = (0, 0);
    cursor.each_field(|cursor, field| {
        match field.number {
            1 => values = cursor.signed()?,
            number if number == encoding_field => encoding = cursor.signed()?,
            _ => cursor.skip(field.wire_type)?,
        }
        Some(())
    })?;
    let packed = matches!(encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY);
    Some(if packed { u64::try_from(values).unwrap_or(0).saturating_mul(LENGTH_BYTES) } else { 0 })
}
