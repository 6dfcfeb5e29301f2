//! Verifies the invariants of packed number columns.

use super::{expect_equal, violation};
use crate::column::lanes::interleaved_bytes;
use crate::column::{FENCE_RANKS, Numbers, RowOrder, ZONE_ROWS, Zone};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::order::NAN_KEY;
use crate::section::SectionKind;

/// Ranks of one batch.
const BLOCK_RANKS: u32 = 512;

pub(super) fn verify(
    data: &Numbers<'_>,
    meta: &ColumnMeta,
    column: u32,
    rows: u32,
) -> Result<(), FormatError> {
    verify_frames(data, column, rows)?;
    let (mut nulls, mut nans) = (0u64, 0u64);
    for (number, start) in (0..rows).step_by(ZONE_ROWS).enumerate() {
        let zone = zone_of(data, column, start, rows.min(start.saturating_add(ZONE_ROWS as u32)))?;
        nulls += u64::from(zone.null_count);
        nans += u64::from(zone.nan_count);
        if data.zones.get(number) != Some(zone) {
            return Err(violation(
                SectionKind::Zones,
                column,
                "zone does not fit its values",
                0,
                number as u64,
            ));
        }
    }
    expect_equal(SectionKind::Validity, column, "nulls", meta.null_count, nulls)?;
    expect_equal(SectionKind::Values, column, "NaNs", meta.nan_count, nans)?;
    if let Some(bits) = data.validity
        && !rows.is_multiple_of(8)
        && bits.last().is_some_and(|last| last >> (rows % 8) != 0)
    {
        return Err(violation(SectionKind::Validity, column, "bits beyond the last row", 0, 1));
    }
    if data.order().is_known() { verify_order(data, meta, column, rows) } else { Ok(()) }
}

fn verify_frames(data: &Numbers<'_>, column: u32, rows: u32) -> Result<(), FormatError> {
    let mut at = 0u64;
    for (number, start) in (0..rows as usize).step_by(ZONE_ROWS).enumerate() {
        let count = ZONE_ROWS.min(rows as usize - start);
        let (frame, _) = data
            .values
            .zone(number)
            .ok_or_else(|| violation(SectionKind::Frames, column, "offset and width", 128, number as u64))?;
        expect_equal(SectionKind::Frames, column, "offset of a zone", at, frame.offset)?;
        let is_exact = data.values.is_exact(number);
        expect_equal(SectionKind::Frames, column, "reserved bytes and bits", 1, is_exact.into())?;
        let float_width = !data.is_float() || (frame.width == 64 && frame.base == 0);
        if !float_width || (data.width == 8 && frame.width > 64) {
            return Err(violation(SectionKind::Frames, column, "width of a zone", 64, frame.width.into()));
        }
        at += interleaved_bytes(count, frame.width) as u64;
    }
    expect_equal(SectionKind::Values, column, "length", at, data.values.packed_bytes())
}

fn zone_of(data: &Numbers<'_>, column: u32, start: u32, end: u32) -> Result<Zone, FormatError> {
    let mut keys: Vec<u128> = Vec::with_capacity(ZONE_ROWS);
    if data.width == 16 {
        keys.extend((start..end).map_while(|row| data.wide_order_key(row)));
    } else {
        let mut values = Vec::with_capacity(ZONE_ROWS);
        let _ = data.values.copy_range(start as usize, (end - start) as usize, &mut values);
        keys.extend(values.iter().map(|value| u128::from(data.key_of(*value))));
    }
    if keys.len() != (end - start) as usize {
        return Err(violation(SectionKind::Values, column, "length", end.into(), start.into()));
    }
    let mut zone = Zone::EMPTY;
    for (row, key) in (start..end).zip(keys) {
        match data.is_valid(row) {
            false => zone.null_count += 1,
            true if data.is_float() && key == u128::from(NAN_KEY) => zone.nan_count += 1,
            true => zone.include(key),
        }
    }
    Ok(zone)
}

/// Verifies that (key, row) ascends strictly over values, and rows ascend over nulls. So no row occurs twice.
fn verify_order(data: &Numbers<'_>, meta: &ColumnMeta, column: u32, rows: u32) -> Result<(), FormatError> {
    let order = data.order();
    let kind = if matches!(order, RowOrder::FileOrder { .. }) {
        SectionKind::Values
    } else {
        SectionKind::Permutation
    };
    let valid = data.valid_ranks();
    let mut last: Option<(u128, u32)> = None;
    let mut distinct = 0u64;
    let mut block = Vec::with_capacity(BLOCK_RANKS as usize);
    let mut keys = Vec::with_capacity(BLOCK_RANKS as usize);
    for start in (0..rows).step_by(BLOCK_RANKS as usize) {
        block.clear();
        keys.clear();
        let inside = order.copy_rows(start..rows.min(start.saturating_add(BLOCK_RANKS)), &mut block);
        // Keys are fetched in batches, so that their cache misses overlap.
        keys.extend(block.iter().map_while(|row| data.wide_order_key(*row)));
        if !inside || keys.len() != block.len() {
            return Err(violation(kind, column, "row of a rank", rows.into(), start.into()));
        }
        for ((rank, row), key) in (start..).zip(block.iter().copied()).zip(keys.iter().copied()) {
            if data.is_valid(row) != (rank < valid) {
                return Err(violation(
                    kind,
                    column,
                    "rows without a value come last",
                    valid.into(),
                    rank.into(),
                ));
            }
            let key = if rank < valid { key } else { 0 };
            if rank == valid {
                last = None;
            }
            if last.is_some_and(|last| last >= (key, row)) {
                return Err(violation(kind, column, "order of rows", 0, rank.into()));
            }
            if rank < valid {
                distinct += u64::from(last.is_none_or(|(before, _)| before != key));
                if rank % FENCE_RANKS == 0 && data.fence(rank / FENCE_RANKS) != Some(key) {
                    return Err(violation(SectionKind::Fences, column, "fence key", 0, rank.into()));
                }
            }
            last = Some((key, row));
        }
    }
    expect_equal(SectionKind::Columns, column, "distinct values", distinct, meta.distinct.unwrap_or(0))
}
