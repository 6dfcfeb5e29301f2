//! Verifies the invariants of text columns.

use std::borrow::Cow;

use super::{expect_equal, violation};
use crate::column::{RowOrder, Texts, ZONE_ROWS, Zone};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::text::{any_byte, csv_needs_quotes, json_string_text, push_json_string};

/// Ranks of one batch.
const BLOCK_RANKS: u32 = 512;

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
    let mut nulls = 0u64;
    let mut csv_plain = true;
    if data.table.symbols_of(data.number).is_err() {
        return Err(violation(SectionKind::Symbols, column, "version, lengths and bytes", 1, 0));
    }
    let mut reader = data.reader();
    for row in 0..rows {
        if reader.is_null(row) == Some(true) {
            nulls += 1;
            continue;
        }
        let text = reader
            .json(row)
            .and_then(json_text)
            .ok_or_else(|| violation(SectionKind::RowBlocks, column, "JSON string", 1, row.into()))?;
        csv_plain &= matches!(text, Cow::Borrowed(_)) && !csv_needs_quotes(&text);
    }
    expect_equal(SectionKind::RowBlocks, column, "nulls", meta.null_count, nulls)?;
    expect_equal(SectionKind::Columns, column, "CSV flag", csv_plain.into(), meta.csv_plain.into())?;
    if data.order().is_known() {
        verify_order(data, meta, column, rows)?;
    }
    verify_zones(data, column, rows)
}

fn verify_order(data: &Texts<'_>, meta: &ColumnMeta, column: u32, rows: u32) -> Result<(), FormatError> {
    let order = data.order();
    let kind = if matches!(order, RowOrder::FileOrder { .. }) {
        SectionKind::RowBlocks
    } else {
        SectionKind::Permutation
    };
    let valid = data.valid_ranks();
    let (mut run, mut distinct) = (0u32, 0u64);
    let mut before: Option<(Vec<u8>, u32)> = None;
    let mut reader = data.reader();
    let mut block = Vec::with_capacity(BLOCK_RANKS as usize);
    for start in (0..rows).step_by(BLOCK_RANKS as usize) {
        block.clear();
        let inside = order.copy_rows(start..rows.min(start.saturating_add(BLOCK_RANKS)), &mut block);
        if !inside || block.iter().any(|row| *row >= rows) {
            return Err(violation(kind, column, "row of a rank", rows.into(), start.into()));
        }
        data.fetch(&block);
        for (rank, row) in (start..).zip(block.iter().copied()) {
            let text = reader.text(row).flatten();
            if text.is_some() != (rank < valid) {
                return Err(violation(
                    kind,
                    column,
                    "rows without a value come last",
                    valid.into(),
                    rank.into(),
                ));
            }
            let text = text.unwrap_or_default();
            if rank == valid {
                (run, before) = (valid, None);
            }
            let differs = before.as_ref().is_none_or(|(last, _)| *last != *text);
            if before.as_ref().is_some_and(|(last, last_row)| (last.as_slice(), last_row) >= (&*text, &row)) {
                return Err(violation(kind, column, "order of rows", 0, rank.into()));
            }
            if differs && rank < valid {
                (run, distinct) = (rank, distinct + 1);
            }
            let found = data.ranks.and_then(|ranks| ranks.get(row as usize)).unwrap_or(u32::MAX);
            expect_equal(SectionKind::Ranks, column, "rank of a row", run.into(), found.into())?;
            let (mut last, _) = before.take().unwrap_or_default();
            last.clear();
            last.extend_from_slice(&text);
            before = Some((last, row));
        }
    }
    expect_equal(SectionKind::Columns, column, "distinct values", distinct, meta.distinct.unwrap_or(0))
}

fn verify_zones(data: &Texts<'_>, column: u32, rows: u32) -> Result<(), FormatError> {
    let mut reader = data.reader();
    for (number, start) in (0..rows).step_by(ZONE_ROWS).enumerate() {
        let mut zone = Zone::EMPTY;
        for row in start..rows.min(start.saturating_add(ZONE_ROWS as u32)) {
            if reader.is_null(row) == Some(true) {
                zone.null_count += 1;
            } else if let Some(ranks) = data.ranks {
                zone.include(ranks.get(row as usize).unwrap_or(u32::MAX).into());
            } else {
                zone.include(0);
                zone.include(u128::MAX);
            }
        }
        if data.zones.get(number) != Some(zone) {
            return Err(violation(
                SectionKind::Zones,
                column,
                "zone does not fit its texts",
                0,
                number as u64,
            ));
        }
    }
    Ok(())
}
