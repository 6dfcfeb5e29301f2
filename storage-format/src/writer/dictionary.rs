//! Writes dictionary columns: codes, encoded entries, run offsets, and the order: posting lists, or a permutation by a
//! counting sort of the codes.

use std::ops::Range;

use crate::column::bits::{bit_width, code_width};
use crate::column_record::{ColumnMeta, SortIndex};
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::text::{csv_needs_quotes, json_string_text, push_csv_field};
use crate::writer::postings;
use crate::writer::segment::{BitWriter, SectionSet, TakeUint, UintWriter, Uints, ZoneBuilder};
use crate::writer::sort::Passes;

/// The encoded texts of all entries, in code order.
#[derive(Default)]
pub(crate) struct EntryTexts {
    offsets: Vec<u8>,
    bytes: Vec<u8>,
}

impl EntryTexts {
    pub(crate) fn push(&mut self, print: impl FnOnce(&mut Vec<u8>)) {
        self.mark();
        print(&mut self.bytes);
    }

    fn mark(&mut self) {
        // Dictionaries stay far below 4 GiB: `TEXT_DICTIONARY_BYTES_MAX`.
        let at = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.offsets.extend_from_slice(&at.to_le_bytes());
    }

    fn add_to(
        mut self,
        set: &mut SectionSet<'_>,
        offsets: SectionKind,
        bytes: SectionKind,
    ) -> Result<(), FormatError> {
        self.mark();
        set.add_bytes(offsets, 4, self.offsets.len() as u64 / 4, &self.offsets)?;
        set.add_bytes(bytes, 0, self.bytes.len() as u64, &self.bytes)
    }
}

/// The input of the dictionary writer, from number or text columns.
pub(crate) struct DictionaryParts {
    /// JSON texts of the entries, without the one for null.
    pub(crate) json: EntryTexts,
    /// CSV texts, if they cannot be derived from the JSON texts.
    pub(crate) csv: Option<EntryTexts>,
    /// Entries as numbers, empty for texts.
    pub(crate) values: Vec<u8>,
    pub(crate) entries: u32,
    /// The code of NaN, if it occurs.
    pub(crate) nan_code: Option<u32>,
    /// Whether the rows are sorted in file order.
    pub(crate) in_file_order: bool,
}

/// Writes codes, runs and order. `codes` calls its argument with the code of every row; null is `entries`.
pub(crate) fn write(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    mut parts: DictionaryParts,
    sort_index: bool,
    sort_memory: u64,
    codes: &dyn Fn(&mut TakeUint<'_>) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let entries = parts.entries;
    let mut writer = UintWriter::new(set.spool(), code_width(entries, meta.null_count > 0));
    let mut zones = ZoneBuilder::new();
    let mut counts = vec![0u32; entries as usize + 1];
    codes(&mut |code| {
        match code {
            _ if code == entries => zones.null(),
            _ if Some(code) == parts.nan_code => zones.nan(),
            _ => zones.value(code.into()),
        }
        if let Some(count) = counts.get_mut(code as usize) {
            *count += 1;
        }
        writer.push(code)
    })?;
    let codes = writer.finish()?;
    meta.entries = entries;
    meta.distinct = Some(entries.into());
    let runs = run_starts(&counts);
    let table_rows = runs.last().copied().unwrap_or(0);
    meta.sort_index = match (sort_index, parts.in_file_order) {
        (false, _) => SortIndex::None,
        (true, true) => SortIndex::FileOrder,
        (true, false) if postings::are_smaller(entries, table_rows) => SortIndex::Postings,
        (true, false) => SortIndex::Permutation,
    };
    match meta.sort_index {
        SortIndex::None | SortIndex::FileOrder => (),
        SortIndex::Postings => postings::write(set, &codes, &runs, sort_memory)?,
        SortIndex::Permutation => {
            let width_in_bits = bit_width(table_rows.saturating_sub(1));
            let mut permutation = BitWriter::new(set.spool(), width_in_bits);
            permute(&codes, &runs, sort_memory, &mut permutation)?;
            let permutation = permutation.finish()?;
            set.add(SectionKind::Permutation, 0, permutation.items, permutation.spool);
        }
    }
    set.add(SectionKind::Codes, 0, codes.items, codes.spool);
    if meta.number_width > 0 {
        set.add_bytes(
            SectionKind::DictionaryValues,
            meta.number_width.into(),
            entries.into(),
            &parts.values,
        )?;
    }
    parts.json.push(|out| out.extend_from_slice(b"null"));
    parts.json.add_to(set, SectionKind::JsonOffsets, SectionKind::JsonBytes)?;
    if let Some(mut csv) = parts.csv {
        csv.push(|_| ());
        csv.add_to(set, SectionKind::CsvOffsets, SectionKind::CsvBytes)?;
    }
    let run_bytes: Vec<u8> = runs.iter().flat_map(|start| start.to_le_bytes()).collect();
    set.add_bytes(SectionKind::RunOffsets, 4, runs.len() as u64, &run_bytes)?;
    set.add_zones(&zones.finish())
}

/// First rank of every code, and the row count at the end.
fn run_starts(counts: &[u32]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut sum = 0u32;
    starts.push(0);
    for count in counts {
        sum = sum.saturating_add(*count);
        starts.push(sum);
    }
    starts
}

/// Builds the permutation by a counting sort in windows: each pass over the codes places the rows whose rank is in the
/// window, so memory is bounded for any row count.
fn permute(codes: &Uints, runs: &[u32], memory: u64, out: &mut BitWriter) -> Result<(), FormatError> {
    let rows = runs.last().copied().unwrap_or(0);
    let window_rows = u32::try_from(memory / 4).unwrap_or(u32::MAX).max(65_536);
    let mut passes = Passes::new();
    let mut start = 0u32;
    while start < rows {
        passes.spend()?;
        let window = start..rows.min(start.saturating_add(window_rows));
        out.push_all(&place_window(codes, runs, window.clone())?)?;
        start = window.end;
    }
    Ok(())
}

fn place_window(codes: &Uints, runs: &[u32], window: Range<u32>) -> Result<Vec<u32>, FormatError> {
    let mut next = runs.to_vec();
    let mut placed = vec![0u32; (window.end - window.start) as usize];
    let mut row = 0u32;
    codes.read(|code| {
        if let Some(rank) = next.get_mut(code as usize) {
            if let Some(slot) = rank.checked_sub(window.start).and_then(|at| placed.get_mut(at as usize)) {
                *slot = row;
            }
            *rank += 1;
        }
        row += 1;
        Ok(())
    })?;
    Ok(placed)
}

/// CSV texts of JSON strings; `None` when the JSON text without quotes is the CSV text of every entry.
pub(crate) fn csv_of_strings<'a>(json: impl Iterator<Item = &'a [u8]> + Clone) -> Option<EntryTexts> {
    let plain = |text: &[u8]| {
        json_string_text(text)
            .is_some_and(|raw| matches!(raw, std::borrow::Cow::Borrowed(_)) && !csv_needs_quotes(&raw))
    };
    if json.clone().all(plain) {
        return None;
    }
    let mut texts = EntryTexts::default();
    for text in json {
        let raw = json_string_text(text).unwrap_or_default();
        texts.push(|out| push_csv_field(out, &raw));
    }
    Some(texts)
}

impl EntryTexts {
    /// The texts, in code order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = self.offsets.as_chunks::<4>().0;
        (0..starts.len()).map(move |entry| {
            let at = |entry: usize| starts.get(entry).map(|word| u32::from_le_bytes(*word) as usize);
            self.bytes
                .get(at(entry).unwrap_or(0)..at(entry + 1).unwrap_or(self.bytes.len()))
                .unwrap_or_default()
        })
    }
}
