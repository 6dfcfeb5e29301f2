//! Validates the numbers of a Parquet footer: rows and sizes are consistent and inside the limits, and column chunks do
//! not overlap. Does not depend on types.

use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::convert::footer::chunk_offsets;
use crate::convert::plan::{DAMAGED, ErrorContext};
use crate::failure::Failure;

/// Row groups of a Parquet file.
const ROW_GROUPS_MAX: usize = 1_000_000;

/// Rows of a Parquet file, the same as a store file holds.
const ROWS_MAX: u64 = u32::MAX as u64 - 1;

const FOOTER: &str = "Parquet footer";

/// Returns the number of rows when all numbers are consistent.
pub(in crate::convert) fn check(
    metadata: &ParquetMetaData,
    file_bytes: u64,
    context: &ErrorContext,
) -> Result<u64, Failure> {
    let groups = metadata.num_row_groups();
    if groups > ROW_GROUPS_MAX {
        let expected = format!("at most {ROW_GROUPS_MAX} row groups");
        return Err(context.refusal(
            FOOTER,
            expected,
            groups.to_string(),
            "rewrite it with larger row groups",
        ));
    }
    let (mut rows, mut ranges) = (0_u64, Vec::new());
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let section = format!("row group {index}");
        let found = group.num_rows();
        let more = u64::try_from(found)
            .map_err(|_| context.refusal(&section, "0 rows or more".into(), found.to_string(), DAMAGED))?;
        rows = rows.saturating_add(more);
        for chunk in group.columns() {
            let name = || format!("{section}, column `{}`", chunk.column_path().string());
            let range = checked_range(chunk, file_bytes)
                .map_err(|error| context.refusal(&name(), error.0, error.1, DAMAGED))?;
            ranges.push(range);
        }
    }
    check_disjoint(ranges, context)?;
    if rows > ROWS_MAX {
        let remedy = "split the file into several datasets";
        return Err(context.refusal(FOOTER, format!("at most {ROWS_MAX} rows"), rows.to_string(), remedy));
    }
    let said = metadata.file_metadata().num_rows();
    if u64::try_from(said) != Ok(rows) {
        let expected = format!("{rows} rows, the sum of the row groups");
        return Err(context.refusal(FOOTER, expected, said.to_string(), DAMAGED));
    }
    Ok(rows)
}

/// The byte range of a chunk, or the expected and the found value when it is invalid.
fn checked_range(chunk: &ColumnChunkMetaData, file_bytes: u64) -> Result<Range<u64>, (String, String)> {
    let offset = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let numbers = [offset, chunk.compressed_size(), chunk.uncompressed_size(), chunk.num_values()];
    if let Some(negative) = numbers.iter().find(|number| **number < 0) {
        return Err(("offsets, lengths and counts of 0 or more".into(), negative.to_string()));
    }
    let range = chunk_offsets::range(chunk);
    if range.end > file_bytes {
        let found = format!("{} to {}", range.start, range.end);
        return Err((format!("bytes inside the file of {file_bytes}"), found));
    }
    Ok(range)
}

fn check_disjoint(mut ranges: Vec<Range<u64>>, context: &ErrorContext) -> Result<(), Failure> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    for pair in ranges.windows(2) {
        if let [first, second] = pair
            && second.start < first.end
        {
            let found = format!("bytes {} to {} in two", second.start, first.end);
            return Err(context.refusal(FOOTER, "every byte in one column chunk".into(), found, DAMAGED));
        }
    }
    Ok(())
}
