//! Verifies the invariants of text columns.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::{expect_equal, violation};
use crate::column::{RowOrder, Texts, ZONE_ROWS, Zone};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::text::{any_byte, csv_needs_quotes, json_string_text, push_json_string};

/// Ranks of one batch.
const BLOCK_RANKS: u32 = 512;
/// Ranks of one task.
const PIECE_RANKS: u32 = 65_536;

/// The text of a JSON string, if it is valid UTF-8 with the escapes of the format.
pub(super) fn json_text(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    let text = json_string_text(json)?;
    std::str::from_utf8(&text).ok()?;
    let exact = match &text {
        Cow::Borrowed(text) => !any_byte(text, |byte| byte < 0x20 || byte == b'"'),
        Cow::Owned(text) => {
            let mut again = Vec::with_capacity(json.len());
            push_json_string(&mut again, text);
            again == json
        }
    };
    exact.then_some(text)
}

pub(super) fn verify(data: &Texts<'_>, meta: &ColumnMeta, column: u32, rows: u32) -> Result<(), FormatError> {
    if data.table.symbols_of(data.number).is_err() {
        return Err(violation(SectionKind::Symbols, column, "version, lengths and bytes", 1, 0));
    }
    let zones = (0..rows.div_ceil(ZONE_ROWS as u32)).into_par_iter();
    let zones = zones.map(|zone| verify_zone(data, column, zone, rows));
    let (nulls, csv_plain) = zones
        .try_reduce(|| (0, true), |(nulls, csv_plain), (more, too)| Ok((nulls + more, csv_plain && too)))?;
    expect_equal(SectionKind::RowBlocks, column, "nulls", meta.null_count, nulls)?;
    expect_equal(SectionKind::Columns, column, "CSV flag", csv_plain.into(), meta.csv_plain.into())?;
    if !data.order().is_known() {
        return Ok(());
    }
    let pieces = (0..rows.div_ceil(PIECE_RANKS)).into_par_iter();
    let distinct = pieces.map(|piece| {
        let start = piece * PIECE_RANKS;
        verify_order(data, column, start..rows.min(start.saturating_add(PIECE_RANKS)))
    });
    let distinct = distinct.try_reduce(|| 0, |one, other| Ok(one + other))?;
    expect_equal(SectionKind::Columns, column, "distinct values", distinct, meta.distinct.unwrap_or(0))
}

/// Verifies the texts of a zone and its record. Returns its nulls, and whether no text needs quotes in CSV.
fn verify_zone(data: &Texts<'_>, column: u32, number: u32, rows: u32) -> Result<(u64, bool), FormatError> {
    let start = number * ZONE_ROWS as u32;
    let end = rows.min(start.saturating_add(ZONE_ROWS as u32));
    let mut ranks = Vec::with_capacity(ZONE_ROWS);
    if let Some(stored) = data.ranks {
        let _ = stored.copy_range(start as usize, (end - start) as usize, &mut ranks);
    }
    let (mut zone, mut csv_plain, mut reader) = (Zone::EMPTY, true, data.reader());
    for (at, row) in (start..end).enumerate() {
        if reader.is_null(row) == Some(true) {
            zone.null_count += 1;
            continue;
        }
        let text = reader
            .json(row)
            .and_then(json_text)
            .ok_or_else(|| violation(SectionKind::RowBlocks, column, "JSON string", 1, row.into()))?;
        csv_plain &= matches!(text, Cow::Borrowed(_)) && !csv_needs_quotes(&text);
        if data.ranks.is_some() {
            zone.include(ranks.get(at).copied().unwrap_or(u32::MAX).into());
        } else {
            zone.include(0);
            zone.include(u128::MAX);
        }
    }
    if data.zones.get(number as usize) != Some(zone) {
        return Err(violation(SectionKind::Zones, column, "zone does not fit its texts", 0, number.into()));
    }
    Ok((zone.null_count.into(), csv_plain))
}

/// A text and its place in the order.
struct Placed {
    text: Vec<u8>,
    row: u32,
    run: u32,
}

/// Verifies the order of consecutive ranks, and the ranks of their rows. Returns how many runs begin among them. The rank
/// before the first is taken for verified, because it belongs to other ranks.
fn verify_order(data: &Texts<'_>, column: u32, ranks: Range<u32>) -> Result<u64, FormatError> {
    let order = data.order();
    let kind = if matches!(order, RowOrder::FileOrder { .. }) {
        SectionKind::RowBlocks
    } else {
        SectionKind::Permutation
    };
    let (valid, mut distinct) = (data.valid_ranks(), 0);
    let mut reader = data.reader();
    let rank_of = |row: u32| data.ranks.and_then(|ranks| ranks.get(row as usize)).unwrap_or(u32::MAX);
    let mut before = ranks.start.checked_sub(1).and_then(|rank| {
        let row = order.row_at(rank)?;
        let text = reader.text(row)?.unwrap_or_default().into_owned();
        Some(Placed { text, row, run: rank_of(row) })
    });
    let mut block = Vec::with_capacity(BLOCK_RANKS as usize);
    for start in ranks.clone().step_by(BLOCK_RANKS as usize) {
        block.clear();
        let inside = order.copy_rows(start..ranks.end.min(start.saturating_add(BLOCK_RANKS)), &mut block);
        if !inside || block.iter().any(|row| *row >= data.rows) {
            return Err(violation(kind, column, "row of a rank", data.rows.into(), start.into()));
        }
        data.fetch(&block);
        for (rank, row) in (start..).zip(block.iter().copied()) {
            let text = reader.text(row).flatten();
            if text.is_some() != (rank < valid) {
                let what = "rows without a value come last";
                return Err(violation(kind, column, what, valid.into(), rank.into()));
            }
            let text = text.unwrap_or_default();
            if rank == valid {
                before = None;
            }
            let last = before.as_ref();
            if last.is_some_and(|last| (last.text.as_slice(), last.row) >= (&*text, row)) {
                return Err(violation(kind, column, "order of rows", 0, rank.into()));
            }
            let run = match last {
                _ if rank >= valid => valid,
                Some(last) if last.text == *text => last.run,
                _ => {
                    distinct += 1;
                    rank
                }
            };
            expect_equal(SectionKind::Ranks, column, "rank of a row", run.into(), rank_of(row).into())?;
            let mut kept = before.take().map(|last| last.text).unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(&text);
            before = Some(Placed { text: kept, row, run });
        }
    }
    Ok(distinct)
}
