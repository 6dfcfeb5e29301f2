//! The byte ranges of column chunks, corrected for bugs of old writers. A dictionary offset of 0, or behind the data,
//! does not count, and a chunk of an old parquet-mr may be one page header longer than its metadata says. Does not
//! depend on pages.

use std::ops::Range;

use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// The longest header of a dictionary page, bytes. parquet-mr before 1.2.9 did not count it (PARQUET-816).
const UNCOUNTED_HEADER_BYTES_MAX: u64 = 100;
const COUNTED_SINCE: [u64; 3] = [1, 2, 9];

/// Corrects the offset of every chunk to the start of its first page.
pub fn with_true_starts(metadata: ParquetMetaData) -> Result<ParquetMetaData> {
    let is_false = |chunk: &ColumnChunkMetaData| {
        let (dictionary, data) = (chunk.dictionary_page_offset(), chunk.data_page_offset());
        // For a column without rows, some writers keep a dictionary and write 0 as the data offset.
        dictionary.is_some_and(|start| start == 0 || (data > 0 && start > data))
    };
    if !metadata.row_groups().iter().any(|group| group.columns().iter().any(is_false)) {
        return Ok(metadata);
    }
    let mut builder = metadata.into_builder();
    let groups = builder.take_row_groups().into_iter().map(|group| {
        let chunks = group.columns().iter().map(|chunk| match is_false(chunk) {
            true => chunk.clone().into_builder().set_dictionary_page_offset(None).build(),
            false => Ok(chunk.clone()),
        });
        let chunks = chunks.collect::<Result<_>>()?;
        group.into_builder().set_column_metadata(chunks).build()
    });
    let groups = groups.collect::<Result<_>>()?;
    Ok(builder.set_row_groups(groups).build())
}

/// The byte range of a chunk, by the footer.
#[must_use]
pub fn range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).unsigned_abs();
    start..start.saturating_add(chunk.compressed_size().unsigned_abs())
}

/// Bytes that a chunk may have beyond its counted size; 0 except for old writers.
#[must_use]
pub fn uncounted_bytes(metadata: &ParquetMetaData) -> u64 {
    match metadata.file_metadata().created_by() {
        Some(writer) if is_uncounted(writer) => UNCOUNTED_HEADER_BYTES_MAX,
        _ => 0,
    }
}

fn is_uncounted(created_by: &str) -> bool {
    let Some(rest) = created_by.strip_prefix("parquet-mr") else { return false };
    let version = rest.trim_start().strip_prefix("version ").unwrap_or("0");
    let numbers = version.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok());
    let found: Vec<u64> = numbers.take(COUNTED_SINCE.len()).collect();
    found.as_slice() < COUNTED_SINCE.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_uncounted_bytes_of_old_parquet_mr_only() {
        for old in ["parquet-mr version 1.2.8 (build abc)", "parquet-mr version 1.1", "parquet-mr"] {
            assert!(is_uncounted(old), "{old}");
        }
        for new in ["parquet-mr version 1.2.9", "parquet-mr version 1.10.0", "parquet-cpp version 1.0.0", "x"]
        {
            assert!(!is_uncounted(new), "{new}");
        }
    }
}
