//! Verifies the invariants of dictionary columns.

use super::{expect_equal, violation};
use crate::column::{Dictionary, Postings, RowOrder, TextTable, ZONE_ROWS, Zone};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::schema::ColumnKind;
use crate::section::SectionKind;
use crate::text::push_csv_field;
use crate::verify::texts::json_text;
use crate::writer::{TakeZone, build_postings, push_json_number};

/// Memory for posting lists that are built again, bytes.
const POSTINGS_MEMORY_BYTES: u64 = 32 * 1024 * 1024;

pub(super) fn verify(
    data: &Dictionary<'_>,
    meta: &ColumnMeta,
    column: u32,
    rows: u32,
) -> Result<(), FormatError> {
    let violated =
        |kind, what, expected: u64, found: u64| Err(violation(kind, column, what, expected, found));
    let mut counts = vec![0u32; data.entries as usize + 1];
    let mut codes = Vec::with_capacity(ZONE_ROWS);
    for (zone, start) in (0..rows as usize).step_by(ZONE_ROWS).enumerate() {
        codes.clear();
        let count = ZONE_ROWS.min(rows as usize - start);
        if !data.codes.copy_range(start, count, &mut codes) {
            return violated(SectionKind::Codes, "length", rows.into(), start as u64);
        }
        for code in &codes {
            match counts.get_mut(*code as usize) {
                Some(count) => *count += 1,
                None => {
                    return violated(
                        SectionKind::Codes,
                        "code above the dictionary",
                        data.entries.into(),
                        (*code).into(),
                    );
                }
            }
        }
        if data.zones.get(zone) != Some(zone_of(data, &codes)) {
            return violated(SectionKind::Zones, "zone does not fit its codes", 0, zone as u64);
        }
    }
    verify_runs(data, column, &counts)?;
    expect_equal(
        SectionKind::Codes,
        column,
        "nulls",
        meta.null_count,
        counts.last().copied().unwrap_or(0).into(),
    )?;
    let nans = (0..data.entries)
        .find(|code| data.value_is_nan(*code))
        .and_then(|code| counts.get(code as usize).copied());
    expect_equal(SectionKind::Codes, column, "NaNs", meta.nan_count, nans.unwrap_or(0).into())?;
    verify_order(data, column, rows)?;
    verify_entries(data, meta, column)
}

fn zone_of(data: &Dictionary<'_>, codes: &[u32]) -> Zone {
    let mut zone = Zone::EMPTY;
    let nan = data.entries.checked_sub(1).filter(|last| data.value_is_nan(*last));
    for code in codes {
        match *code {
            code if code == data.entries => zone.null_count += 1,
            code if Some(code) == nan => zone.nan_count += 1,
            code => zone.include(code.into()),
        }
    }
    zone
}

fn verify_runs(data: &Dictionary<'_>, column: u32, counts: &[u32]) -> Result<(), FormatError> {
    let mut rank = 0u32;
    for (code, count) in (0u32..).zip(counts) {
        if *count == 0 && code < data.entries {
            return Err(violation(SectionKind::Codes, column, "rows of an entry", 1, 0));
        }
        let found = data.first_rank(code).unwrap_or(u32::MAX);
        expect_equal(SectionKind::RunOffsets, column, "first rank of a code", rank.into(), found.into())?;
        rank = rank.saturating_add(*count);
    }
    let end = data.first_rank(data.entries + 1).unwrap_or(u32::MAX);
    expect_equal(SectionKind::RunOffsets, column, "end", rank.into(), end.into())
}

/// Verifies that rows of a run ascend and have its code. With verified run lengths, this proves a permutation.
fn verify_order(data: &Dictionary<'_>, column: u32, rows: u32) -> Result<(), FormatError> {
    match data.order() {
        RowOrder::Unknown => Ok(()),
        RowOrder::FileOrder { .. } => {
            let ordered = (1..rows as usize).all(|row| data.codes.get(row - 1) <= data.codes.get(row));
            expect_equal(SectionKind::Codes, column, "file order", 1, ordered.into())
        }
        RowOrder::Postings(postings) => verify_postings(data, &postings, column),
        RowOrder::Permutation(ranks) => {
            let mut run = Vec::new();
            for code in 0..=data.entries {
                let range = data.ranks(code..code + 1).unwrap_or(0..0);
                run.clear();
                let inside = ranks.copy_range(range.start as usize, range.len(), &mut run);
                let ascending = run.is_sorted_by(|a, b| a < b);
                let coded = run.iter().all(|row| data.codes.get(*row as usize) == Some(code));
                if !(inside && ascending && coded) {
                    return Err(violation(SectionKind::Permutation, column, "run of a code", code.into(), 0));
                }
            }
            Ok(())
        }
    }
}

/// Verifies that the lists are those that the codes give.
fn verify_postings(data: &Dictionary<'_>, postings: &Postings<'_>, column: u32) -> Result<(), FormatError> {
    let runs: Vec<u32> = (0..=data.entries + 1).map_while(|code| data.first_rank(code)).collect();
    let rows = data.codes.len();
    let zones = |take: &mut TakeZone<'_>| {
        let mut codes = Vec::with_capacity(ZONE_ROWS);
        (0..rows).step_by(ZONE_ROWS).try_for_each(|start| {
            codes.clear();
            let _ = data.codes.copy_range(start, ZONE_ROWS.min(rows - start), &mut codes);
            take(&codes)
        })
    };
    let mut at = 0usize;
    let start = |code: u32, at: usize| {
        let found = postings.start(code).unwrap_or(u32::MAX);
        expect_equal(SectionKind::PostingStarts, column, "start of a list", at as u64 / 8, found.into())
    };
    build_postings(&runs, POSTINGS_MEMORY_BYTES, &zones, &mut |code, list| {
        start(code, at)?;
        let end = at + list.len();
        if postings.bytes().get(at..end) != Some(list) {
            return Err(violation(SectionKind::Postings, column, "list of a code", code.into(), at as u64));
        }
        at = end;
        Ok(())
    })?;
    start(data.entries + 1, at)?;
    expect_equal(SectionKind::Postings, column, "length", at as u64, postings.bytes().len() as u64)
}

fn verify_entries(data: &Dictionary<'_>, meta: &ColumnMeta, column: u32) -> Result<(), FormatError> {
    verify_table(&data.json, column, SectionKind::JsonOffsets, data.entries)?;
    if let Some(csv) = &data.csv {
        verify_table(csv, column, SectionKind::CsvOffsets, data.entries)?;
    }
    expect_equal(
        SectionKind::Columns,
        column,
        "distinct values",
        data.entries.into(),
        meta.distinct.unwrap_or(0),
    )?;
    if data.json.get(data.entries) != Some(b"null") {
        return Err(violation(SectionKind::JsonBytes, column, "text of null", 0, 1));
    }
    if meta.kind == ColumnKind::Text {
        verify_strings(data, meta, column)
    } else {
        verify_numbers(data, meta, column)
    }
}

fn verify_table(
    table: &TextTable<'_>,
    column: u32,
    kind: SectionKind,
    entries: u32,
) -> Result<(), FormatError> {
    let mut at = 0u32;
    for entry in 0..=entries {
        let (start, end) = table.span(entry).unwrap_or((u32::MAX, 0));
        if start != at || end < start {
            return Err(violation(kind, column, "start of an entry", at.into(), start.into()));
        }
        at = end;
    }
    expect_equal(kind, column, "end of the last entry", table.bytes().len() as u64, at.into())
}

fn verify_strings(data: &Dictionary<'_>, meta: &ColumnMeta, column: u32) -> Result<(), FormatError> {
    let mut last: Option<Vec<u8>> = None;
    let mut expected_csv = Vec::new();
    for code in 0..data.entries {
        let json = data.json.get(code).unwrap_or_default();
        let text = json_text(json)
            .ok_or_else(|| violation(SectionKind::JsonBytes, column, "JSON string", 1, code.into()))?;
        if last.as_deref().is_some_and(|last| last >= text.as_ref()) {
            return Err(violation(SectionKind::JsonBytes, column, "order of entries", 0, code.into()));
        }
        expected_csv.clear();
        push_csv_field(&mut expected_csv, &text);
        let csv = match &data.csv {
            Some(table) => table.get(code),
            None => json.get(1..json.len().saturating_sub(1)),
        };
        if csv != Some(&expected_csv) {
            return Err(violation(SectionKind::CsvBytes, column, "CSV text of an entry", 0, code.into()));
        }
        last = Some(text.into_owned());
    }
    expect_equal(SectionKind::Columns, column, "CSV flag", data.csv.is_none().into(), meta.csv_plain.into())
}

fn verify_numbers(data: &Dictionary<'_>, meta: &ColumnMeta, column: u32) -> Result<(), FormatError> {
    let mut text = Vec::new();
    let mut last = None;
    for code in 0..data.entries {
        let key = data.number_key(code);
        if key.is_none() || last >= key {
            return Err(violation(SectionKind::DictionaryValues, column, "order of entries", 0, code.into()));
        }
        last = key;
        text.clear();
        let stored = match meta.kind {
            ColumnKind::Float => data.float(code).map(|value| i128::from(value.to_bits().cast_signed())),
            _ => data.integer(code),
        };
        push_json_number(&mut text, meta.kind, stored.unwrap_or(0));
        if data.json.get(code) != Some(&text) {
            return Err(violation(SectionKind::JsonBytes, column, "printed number", 0, code.into()));
        }
        if let Some(csv) = &data.csv {
            text.clear();
            crate::encode::push_float_csv(&mut text, data.float(code).unwrap_or(0.0));
            if csv.get(code) != Some(&text) {
                return Err(violation(SectionKind::CsvBytes, column, "printed number", 0, code.into()));
            }
        }
    }
    Ok(())
}
