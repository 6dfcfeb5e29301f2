//! Writes columns of texts: a dictionary if texts repeat, or else the texts with ranks and a permutation.

mod sort;
mod source;

use crate::column::bits::bit_width;
use crate::column_record::{ColumnMeta, SortIndex, Storage};
use crate::error::FormatError;
use crate::fsst::{ESCAPE, Encoder, SAMPLE_BYTES_MAX, SAMPLE_PIECE_BYTES};
use crate::section::SectionKind;
use crate::text::{csv_needs_quotes, push_json_string};
use crate::writer::blocks::PackedTexts;
use crate::writer::dictionary::{self, DictionaryParts, EntryTexts, csv_of_strings};
use crate::writer::segment::{BitWriter, Bits, SectionSet, UintWriter, ZoneBuilder};
use crate::writer::sort::Passes;
use crate::writer::validity::Validity;

pub(crate) use source::TextSource;

/// Writes the column, and returns the reason for its encoding.
pub(crate) fn write(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &mut TextSource,
    sort_index: bool,
    sort_memory: u64,
) -> Result<String, FormatError> {
    source.retry_interning()?;
    match source.interned() {
        Some(distinct) if source.repeats(distinct as u64) => {
            meta.storage = Storage::Dictionary;
            write_dictionary(set, meta, source, sort_index, sort_memory)?;
            Ok(format!("{distinct} distinct values in {} rows", source.rows))
        }
        _ => {
            source.stop_interning()?;
            meta.storage = Storage::Texts;
            if sort_index {
                write_order(set, meta, source, sort_memory)?;
            } else {
                set.add_zones(&zones_without_ranks(source)?)?;
            }
            write_texts(set, meta, source)?;
            Ok("texts seldom repeat".into())
        }
    }
}

fn write_dictionary(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &mut TextSource,
    sort_index: bool,
    sort_memory: u64,
) -> Result<(), FormatError> {
    let texts = source.take_interned();
    let entries = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    let mut sorted: Vec<(&[u8], u32)> = texts.iter().map(|text| &**text).zip(0u32..).collect();
    sorted.sort_unstable();
    let mut code_of = vec![0u32; texts.len()];
    let mut json = EntryTexts::default();
    for (code, (text, provisional)) in (0u32..).zip(&sorted) {
        json.push(|out| push_json_string(out, text));
        if let Some(slot) = code_of.get_mut(*provisional as usize) {
            *slot = code;
        }
    }
    let csv = csv_of_strings(json.iter());
    meta.csv_plain = csv.is_none();
    let in_file_order = source.in_file_order;
    let parts = DictionaryParts { json, csv, values: Vec::new(), entries, nan_code: None, in_file_order };
    dictionary::write(set, meta, parts, sort_index, sort_memory, &|take| {
        source.read_codes(&mut |code| {
            take(code.map_or(entries, |code| code_of.get(code as usize).copied().unwrap_or(entries)))
        })
    })
}

/// Writes symbols, and packs the texts for the row blocks.
fn write_texts(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &TextSource,
) -> Result<(), FormatError> {
    let mut encoder = encoder_of(source)?;
    let (mut bytes, mut lengths) = (set.spool(), set.spool());
    let (mut csv_plain, mut longest) = (true, 0);
    let (mut json, mut packed) = (Vec::new(), Vec::new());
    source.read_texts(&mut |text| {
        packed.clear();
        match text {
            Some(text) => {
                json.clear();
                push_json_string(&mut json, text);
                csv_plain &= json.len() == text.len() + 2 && !csv_needs_quotes(text);
                encoder.pack(json.get(1..json.len() - 1).unwrap_or_default(), &mut packed);
            }
            None => packed.push(ESCAPE),
        }
        let length = u32::try_from(packed.len()).unwrap_or(u32::MAX);
        longest = longest.max(length);
        lengths.push(&length.to_le_bytes())?;
        bytes.push(&packed)
    })?;
    meta.csv_plain = csv_plain;
    set.add_bytes(SectionKind::Symbols, 0, 0, &encoder.symbols().encode())?;
    set.texts = Some(PackedTexts { bytes, lengths, longest });
    Ok(())
}

/// Chooses symbols from a sample: pieces of texts at equal distances, or all texts where they are few.
fn encoder_of(source: &TextSource) -> Result<Encoder, FormatError> {
    let step = source.text_bytes.saturating_mul(SAMPLE_PIECE_BYTES as u64) / SAMPLE_BYTES_MAX as u64;
    let (mut sample, mut seen, mut next) = (Vec::new(), 0u64, 0u64);
    source.read_texts(&mut |text| {
        let Some(text) = text else { return Ok(()) };
        let end = seen + text.len() as u64;
        if next < end {
            let into = usize::try_from(next - seen).unwrap_or(0) / SAMPLE_PIECE_BYTES * SAMPLE_PIECE_BYTES;
            let piece = text.get(into..).unwrap_or_default();
            let mut json = Vec::new();
            push_json_string(&mut json, piece.get(..SAMPLE_PIECE_BYTES).unwrap_or(piece));
            sample.push(json.get(1..json.len() - 1).unwrap_or_default().to_vec());
            next = if step <= SAMPLE_PIECE_BYTES as u64 { end } else { (next + step).max(end) };
        }
        seen = end;
        Ok(())
    })?;
    Ok(Encoder::train(&sample.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Writes ranks, the permutation (unless the file order is sorted) and zones.
fn write_order(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &TextSource,
    sort_memory: u64,
) -> Result<(), FormatError> {
    let rows = u32::try_from(source.rows).unwrap_or(u32::MAX);
    let valid = rows - u32::try_from(source.null_count).unwrap_or(u32::MAX);
    let mut permutation = BitWriter::new(set.spool(), bit_width(rows.saturating_sub(1)));
    let mut run_starts = Validity::default();
    let mut distinct = 0u64;
    if source.in_file_order {
        meta.sort_index = SortIndex::FileOrder;
        let mut last: Option<Vec<u8>> = None;
        source.read_texts(&mut |text| {
            if let Some(text) = text {
                let differs = last.as_deref() != Some(text);
                last = Some(text.to_vec());
                distinct += u64::from(differs);
                run_starts.push(differs);
            }
            Ok(())
        })?;
        for row in 0..rows {
            permutation.push(row)?;
        }
    } else {
        meta.sort_index = SortIndex::Permutation;
        sort::visit_sorted(source, sort_memory, &mut |row, differs| {
            distinct += u64::from(differs);
            run_starts.push(differs);
            permutation.push(row)
        })?;
        let mut row = 0u32;
        source.read_texts(&mut |text| {
            let null = text.is_none();
            row += 1;
            if null { permutation.push(row - 1) } else { Ok(()) }
        })?;
    }
    meta.distinct = Some(distinct);
    let permutation = permutation.finish()?;
    let order = Order { permutation: &permutation, run_starts: &run_starts, rows, valid };
    let zones = write_ranks(set, &order, sort_memory)?;
    if meta.sort_index == SortIndex::Permutation {
        set.add(SectionKind::Permutation, 0, permutation.items, permutation.spool);
    }
    set.add_zones(&zones)
}

struct Order<'a> {
    permutation: &'a Bits,
    run_starts: &'a Validity,
    rows: u32,
    valid: u32,
}

/// Inverts the permutation in windows, so that memory is bounded for any row count.
fn write_ranks(
    set: &mut SectionSet<'_>,
    order: &Order<'_>,
    memory: u64,
) -> Result<Vec<crate::column::Zone>, FormatError> {
    let mut ranks = UintWriter::new(set.spool(), bit_width(order.valid));
    let mut zones = ZoneBuilder::new();
    let window_rows = u32::try_from(memory / 4).unwrap_or(u32::MAX).max(65_536);
    let mut passes = Passes::new();
    let mut start = 0u32;
    while start < order.rows {
        passes.spend()?;
        let end = order.rows.min(start.saturating_add(window_rows));
        for rank in ranks_of_window(order, start, end)? {
            if rank == order.valid {
                zones.null();
            } else {
                zones.value(rank.into());
            }
            ranks.push(rank)?;
        }
        start = end;
    }
    let ranks = ranks.finish()?;
    set.add(SectionKind::Ranks, 0, ranks.items, ranks.spool);
    Ok(zones.finish())
}

fn ranks_of_window(order: &Order<'_>, start: u32, end: u32) -> Result<Vec<u32>, FormatError> {
    let mut window = vec![order.valid; (end - start) as usize];
    let (mut rank, mut run) = (0u32, 0u32);
    order.permutation.read(|row| {
        if rank < order.valid {
            if order.run_starts.bit(u64::from(rank)) {
                run = rank;
            }
            if let Some(slot) = row.checked_sub(start).and_then(|at| window.get_mut(at as usize)) {
                *slot = run;
            }
        }
        rank += 1;
        Ok(())
    })?;
    Ok(window)
}

/// Zones of a column without ranks: null counts and an open key range.
fn zones_without_ranks(source: &TextSource) -> Result<Vec<crate::column::Zone>, FormatError> {
    let mut zones = ZoneBuilder::new();
    source.read_texts(&mut |text| {
        match text {
            Some(_) => {
                zones.widest();
            }
            None => zones.null(),
        }
        Ok(())
    })?;
    Ok(zones.finish())
}
