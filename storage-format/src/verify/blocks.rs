//! Verifies row blocks: checksums, places, and that the blocks are those which the columns give. Only packed texts are
//! nowhere else.

use rayon::prelude::*;

use super::{expect_equal, violation};
use crate::blocks::encode::{Cells, Piece, packing};
use crate::blocks::{BlockLayout, Group};
use crate::column::{ColumnData, TextReader};
use crate::error::FormatError;
use crate::reader::Table;
use crate::section::SectionKind;

/// Blocks, and their bytes on average, that are made again at a time.
const PIECE_BLOCKS: u64 = 64;
const PIECE_BYTES: u64 = 1 << 20;

pub(super) fn verify(table: &Table, group: &Group) -> Result<(), FormatError> {
    let first = u32::try_from(group.columns.start).unwrap_or(u32::MAX);
    let refuse = |kind, what| violation(kind, first, what, 0, 1);
    let layout = table.block_layout(group);
    let layout = layout.map_err(|_| refuse(SectionKind::BlockColumns, "bases, widths and zeros"))?;
    for (column, found) in group.columns.clone().zip(&layout.columns) {
        let has_nulls = table.columns().get(column).is_some_and(|meta| meta.null_count > 0);
        let rows = table.row_count().into();
        let expected = packing(&table.stored_column(column)?, has_nulls, rows, group.block_rows);
        if expected.ok_or_else(|| table.damaged(column))? != found.packing {
            return Err(refuse(SectionKind::BlockColumns, "base and widths of a column"));
        }
    }
    let blocks = table.row_count().div_ceil(group.block_rows);
    let mut at = 0;
    for number in 0..blocks {
        let place = table.block_place(group, number).unwrap_or(usize::MAX..usize::MAX);
        if place.start != at || place.end < at {
            return Err(violation(
                SectionKind::BlockPlaces,
                first,
                "start of a block",
                at as u64,
                place.start as u64,
            ));
        }
        at = place.end;
    }
    let len = table.block_bytes(group);
    if blocks == 0 && table.first_place(group) != Some(0) {
        return Err(refuse(SectionKind::BlockPlaces, "start of the first block"));
    }
    expect_equal(SectionKind::BlockPlaces, first, "end of the last block", len, at as u64)?;
    let each = len.checked_div(blocks.into()).unwrap_or(0).max(1);
    let step = u32::try_from((PIECE_BYTES / each).clamp(1, PIECE_BLOCKS)).unwrap_or(1);
    (0..blocks.div_ceil(step)).into_par_iter().try_for_each(|piece| {
        let numbers = piece * step..blocks.min((piece + 1) * step);
        verify_piece(table, group, layout, numbers)
    })
}

fn verify_piece(
    table: &Table,
    group: &Group,
    layout: &BlockLayout,
    numbers: std::ops::Range<u32>,
) -> Result<(), FormatError> {
    let first = u32::try_from(group.columns.start).unwrap_or(u32::MAX);
    let mut buffer = Vec::new();
    for number in numbers.clone() {
        buffer.clear();
        table.copy_sound_block(group, number, &mut buffer)?;
    }
    let start = u64::from(numbers.start) * u64::from(group.block_rows);
    let end = (u64::from(numbers.end) * u64::from(group.block_rows)).min(table.row_count().into());
    let mut cells = Vec::with_capacity(group.columns.len());
    for column in group.columns.clone() {
        let found = match table.stored_column(column)? {
            ColumnData::Texts(texts) => packed_texts(&mut texts.reader(), start, end),
            data => Cells::of(&data, start, end - start),
        };
        cells.push(found.ok_or_else(|| table.damaged(column))?);
    }
    let rows = usize::try_from(end - start).unwrap_or(0);
    let piece =
        Piece { layout, cells: &cells, first: group.columns.start, block_rows: group.block_rows, rows };
    let mut number = numbers.start;
    for (bytes, lengths) in piece.encode(number) {
        let mut rest = bytes.as_slice();
        for length in lengths {
            let found = table.block(group, number).map(|block| block.bytes());
            let expected = rest.split_off(..usize::try_from(length).unwrap_or(0));
            if found != expected || expected.is_none() {
                let what = "block differs from its columns";
                return Err(violation(SectionKind::RowBlocks, first, what, 0, number.into()));
            }
            number += 1;
        }
    }
    Ok(())
}

fn packed_texts(reader: &mut TextReader<'_>, start: u64, end: u64) -> Option<Cells> {
    let (mut places, mut bytes) = (vec![0], Vec::new());
    for row in start..end {
        bytes.extend_from_slice(reader.packed(u32::try_from(row).ok()?)?);
        places.push(bytes.len());
    }
    Some(Cells::Texts(places, bytes))
}
