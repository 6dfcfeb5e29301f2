//! Scans the page headers of a column, before any value is read, for the memory that its pages need. Does not depend on
//! values.

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use crate::convert::footer::chunk_offsets;
use crate::convert::pages::column_chunk::ColumnChunk;
use crate::convert::plan::Plan;
use crate::convert::schema::flatten::OutputColumn;
use crate::convert::source::Source;
use crate::convert::thrift::{Cursor, ThriftError};

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
/// ends the scan; the reader of the pages reports the error.
fn pages_of(source: &Source, chunk: &ColumnChunkMetaData) -> PageMemory {
    let range = chunk_offsets::range(chunk);
    let bytes = ColumnChunk::new(source, range.clone());
    let (mut start, mut dictionary, mut stored, mut largest, mut second) = (range.start, 0_u64, 0, 0, 0);
    while start < range.end {
        let Ok(header) = bytes.header(start) else { break };
        let Ok(page) = PageHeader::of(&header) else { break };
        start = start.saturating_add(header.len() as u64).saturating_add(page.stored);
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

/// The sizes in a page header.
struct PageHeader {
    is_dictionary: bool,
    stored: u64,
    unfolded: u64,
    /// Bytes of the decoded lengths.
    lengths: u64,
}

impl PageHeader {
    fn of(header: &[u8]) -> Result<PageHeader, ThriftError> {
        let mut cursor = Cursor { bytes: header };
        let (mut number, mut kind_of_page, mut sizes) = (0, 0, [0; 2]);
        let mut lengths = 0;
        while let Some(wire_type) = cursor.field(&mut number)? {
            match number {
                1 => kind_of_page = cursor.signed()?,
                2 => sizes[0] = cursor.signed()?,
                3 => sizes[1] = cursor.signed()?,
                5 => lengths = lengths_of(&mut cursor, 2)?,
                8 => lengths = lengths_of(&mut cursor, 4)?,
                _ => cursor.skip(wire_type)?,
            }
        }
        let [unfolded, stored] = sizes.map(u64::try_from);
        let negative = |_| ThriftError::new("a size of 0 or more", "a negative one");
        Ok(PageHeader {
            is_dictionary: kind_of_page == DICTIONARY_PAGE,
            stored: stored.map_err(negative)?,
            unfolded: unfolded.map_err(negative)?,
            lengths,
        })
    }
}

/// Bytes of the decoded lengths of a data page, whose encoding is in field `encoding_field`.
fn lengths_of(cursor: &mut Cursor<'_>, encoding_field: i64) -> Result<u64, ThriftError> {
    let (mut number, mut values, mut encoding) = (0, 0, 0);
    while let Some(wire_type) = cursor.field(&mut number)? {
        match number {
            1 => values = cursor.signed()?,
            field if field == encoding_field => encoding = cursor.signed()?,
            _ => cursor.skip(wire_type)?,
        }
    }
    let packed = matches!(encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY);
    Ok(if packed { u64::try_from(values).unwrap_or(0).saturating_mul(LENGTH_BYTES) } else { 0 })
}
