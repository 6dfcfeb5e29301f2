//! Writes columns of numbers: a dictionary for few distinct values, or else frame of reference with fences and a
//! permutation.

use std::collections::{HashMap, HashSet};

use crate::column::ZONE_ROWS;
use crate::column_record::{ColumnMeta, SortIndex, Storage};
use crate::encode::{
    push_date, push_decimal, push_finite, push_float_csv, push_integer, push_timestamp, push_wide,
};
use crate::error::FormatError;
use crate::limits::NUMBER_DICTIONARY_ENTRIES_MAX;
use crate::order::{float_key, integer_key, number_of, wide_key};
use crate::packed_numbers::{FRAME_RECORD_SIZE, pack_zone};
use crate::schema::ColumnKind;
use crate::section::SectionKind;
use crate::writer::dictionary::{self, DictionaryParts, EntryTexts};
use crate::writer::number_order::write_order;
use crate::writer::segment::{SectionSet, ZoneBuilder};
use crate::writer::spool::Spool;
use crate::writer::validity::Validity;

/// Largest range of integers whose codes are looked up in a table instead of a hash map.
const TABLE_RANGE_MAX: u128 = 1 << 22;

/// The input of a number column.
pub(crate) struct NumberSource<'a> {
    pub(crate) kind: ColumnKind,
    pub(crate) spool: &'a Spool,
    /// Bytes of a spooled number, 8 or 16.
    pub(crate) width: usize,
    pub(crate) validity: &'a Validity,
    pub(crate) stats: NumberStats,
}

/// Statistics of the input. Keys are order keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberStats {
    pub(crate) smallest: u128,
    pub(crate) largest: u128,
    pub(crate) in_file_order: bool,
    pub(crate) nan_count: u64,
    pub(crate) negative_zero: bool,
}

impl NumberSource<'_> {
    /// Calls `take` with the stored number of every row, `None` for null. Each width has its own loop, so that the
    /// closure is inlined.
    pub(super) fn read(
        &self,
        mut take: impl FnMut(Option<i128>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut row = 0u64;
        let all_valid = self.validity.null_count() == 0;
        self.spool.read(self.width, &mut |piece| {
            let start = row;
            row += (piece.len() / self.width) as u64;
            let narrow = piece.as_chunks::<8>().0;
            if self.width == 16 {
                let wide = piece.as_chunks::<16>().0.iter().zip(start..);
                return wide.into_iter().try_for_each(|(word, row)| {
                    take(self.validity.get(row).then(|| i128::from_le_bytes(*word)))
                });
            }
            if all_valid {
                return narrow.iter().try_for_each(|word| take(Some(i64::from_le_bytes(*word).into())));
            }
            let mut rows = narrow.iter().zip(start..);
            rows.try_for_each(|(word, row)| {
                take(self.validity.get(row).then(|| i64::from_le_bytes(*word).into()))
            })
        })
    }

    pub(super) fn key(&self, stored: i128) -> u128 {
        number_key(self.kind, self.width, stored)
    }
}

/// The order key of a stored number.
#[inline]
pub(crate) fn number_key(kind: ColumnKind, width: usize, stored: i128) -> u128 {
    if width == 16 {
        return wide_key(stored);
    }
    #[expect(clippy::cast_possible_truncation, reason = "numbers of width 8 fit 64 bits")]
    let narrow = stored as i64;
    if kind == ColumnKind::Float {
        float_key(f64::from_bits(narrow.cast_unsigned())).into()
    } else {
        integer_key(narrow).into()
    }
}

/// Writes the column, and returns the reason for its encoding.
pub(crate) fn write(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &NumberSource<'_>,
    sort_index: bool,
    sort_memory: u64,
) -> Result<String, FormatError> {
    meta.number_width = u8::try_from(source.width).unwrap_or(8);
    meta.nan_count = source.stats.nan_count;
    match distinct_numbers(source)? {
        Ok(entries) => {
            let reason = format!("{} distinct values in {} rows", entries.len(), source.validity.rows());
            meta.storage = Storage::Dictionary;
            write_dictionary(set, meta, source, &entries, sort_index, sort_memory)?;
            Ok(reason)
        }
        Err(reason) => {
            meta.storage = Storage::Numbers;
            write_packed(set, source)?;
            if sort_index {
                write_order(set, meta, source, sort_memory)?;
            } else {
                meta.sort_index = SortIndex::None;
            }
            Ok(reason.into())
        }
    }
}

/// The sorted distinct numbers, or the reason against a dictionary.
fn distinct_numbers(source: &NumberSource<'_>) -> Result<Result<Vec<i128>, &'static str>, FormatError> {
    if source.stats.negative_zero {
        return Ok(Err("negative zero and zero are equal but are encoded differently"));
    }
    let valid = source.validity.rows() - source.validity.null_count();
    let always = source.kind == ColumnKind::Boolean;
    let most = NUMBER_DICTIONARY_ENTRIES_MAX.min(if always {
        2
    } else {
        usize::try_from(valid / 2).unwrap_or(usize::MAX)
    });
    let mut seen = NumberSet::for_range(source);
    let mut full = false;
    source.read(|value| {
        if let (Some(value), false) = (value, full) {
            full = seen.insert(source, value) > most;
        }
        Ok(())
    })?;
    if full {
        return Ok(Err("more distinct values than half of the rows or 65,536"));
    }
    let mut entries = seen.into_values(source);
    entries.sort_unstable_by_key(|value| source.key(*value));
    Ok(Ok(entries))
}

/// A set of numbers: a bitmap for a small range, or else a hash set.
enum NumberSet {
    Bits { bits: Vec<u64>, count: usize },
    Hash(HashSet<i128, foldhash::fast::FixedState>),
}

impl NumberSet {
    fn for_range(source: &NumberSource<'_>) -> NumberSet {
        let range = source.stats.largest.saturating_sub(source.stats.smallest);
        if source.kind != ColumnKind::Float && range < (1 << 26) {
            let words = usize::try_from(range / 64 + 1).unwrap_or(1);
            return NumberSet::Bits { bits: vec![0; words], count: 0 };
        }
        NumberSet::Hash(HashSet::default())
    }

    fn insert(&mut self, source: &NumberSource<'_>, value: i128) -> usize {
        match self {
            NumberSet::Bits { bits, count } => {
                let at = usize::try_from(source.key(value) - source.stats.smallest).unwrap_or(usize::MAX);
                if let Some(word) = bits.get_mut(at / 64) {
                    *count += usize::from(*word >> (at % 64) & 1 == 0);
                    *word |= 1 << (at % 64);
                }
                *count
            }
            NumberSet::Hash(seen) => {
                seen.insert(canonical(source.kind, value));
                seen.len()
            }
        }
    }

    fn into_values(self, source: &NumberSource<'_>) -> Vec<i128> {
        match self {
            NumberSet::Hash(seen) => seen.into_iter().collect(),
            NumberSet::Bits { bits, count } => {
                let width = u8::try_from(source.width).unwrap_or(8);
                let smallest = number_of(source.stats.smallest, width).unwrap_or(0);
                let mut values = Vec::with_capacity(count);
                for (number, word) in (0i128..).zip(bits) {
                    values.extend(
                        (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| smallest + number * 64 + bit),
                    );
                }
                values
            }
        }
    }
}

/// Maps all NaNs to one value.
fn canonical(kind: ColumnKind, stored: i128) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "doubles are spooled in 64 bits")]
    let is_nan = kind == ColumnKind::Float && f64::from_bits((stored as i64).cast_unsigned()).is_nan();
    if is_nan { f64::NAN.to_bits().cast_signed().into() } else { stored }
}

fn write_dictionary(
    set: &mut SectionSet<'_>,
    meta: &mut ColumnMeta,
    source: &NumberSource<'_>,
    entries: &[i128],
    sort_index: bool,
    sort_memory: u64,
) -> Result<(), FormatError> {
    let null_code = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let mut json = EntryTexts::default();
    let mut values = Vec::with_capacity(entries.len() * source.width);
    for value in entries {
        json.push(|out| push_json_number(out, source.kind, *value));
        values.extend_from_slice(value.to_le_bytes().get(..source.width).unwrap_or_default());
    }
    let finite = |value: &i128| source.kind != ColumnKind::Float || double(*value).is_finite();
    let csv = (!entries.iter().all(finite)).then(|| {
        let mut texts = EntryTexts::default();
        entries.iter().for_each(|value| texts.push(|out| push_float_csv(out, double(*value))));
        texts
    });
    let nan_code =
        entries.iter().position(|value| source.kind == ColumnKind::Float && double(*value).is_nan());
    let parts = DictionaryParts {
        json,
        csv,
        values,
        entries: null_code,
        nan_code: nan_code.and_then(|code| u32::try_from(code).ok()),
        in_file_order: source.stats.in_file_order,
    };
    let finder = CodeFinder::new(source, entries);
    dictionary::write(set, meta, parts, sort_index, sort_memory, &|take| {
        source.read(|value| take(value.map_or(null_code, |value| finder.code(source, value))))
    })
}

#[expect(clippy::cast_possible_truncation, reason = "doubles are spooled in 64 bits")]
fn double(stored: i128) -> f64 {
    f64::from_bits((stored as i64).cast_unsigned())
}

/// Maps numbers to codes.
enum CodeFinder {
    Table(Vec<u32>),
    Hash(HashMap<i128, u32, foldhash::fast::FixedState>),
}

impl CodeFinder {
    fn new(source: &NumberSource<'_>, entries: &[i128]) -> CodeFinder {
        let range = source.stats.largest.saturating_sub(source.stats.smallest);
        if source.kind == ColumnKind::Float || range >= TABLE_RANGE_MAX {
            return CodeFinder::Hash(entries.iter().copied().zip(0u32..).collect());
        }
        let mut table = vec![0u32; usize::try_from(range).unwrap_or(0) + 1];
        for (value, code) in entries.iter().zip(0u32..) {
            let at = usize::try_from(source.key(*value) - source.stats.smallest).unwrap_or(usize::MAX);
            if let Some(slot) = table.get_mut(at) {
                *slot = code;
            }
        }
        CodeFinder::Table(table)
    }

    #[inline]
    fn code(&self, source: &NumberSource<'_>, value: i128) -> u32 {
        match self {
            CodeFinder::Table(table) => {
                let at = usize::try_from(source.key(value) - source.stats.smallest).unwrap_or(usize::MAX);
                table.get(at).copied().unwrap_or(0)
            }
            CodeFinder::Hash(map) => map.get(&canonical(source.kind, value)).copied().unwrap_or(0),
        }
    }
}

/// Appends the JSON text of a stored number.
pub(crate) fn push_json_number(out: &mut Vec<u8>, kind: ColumnKind, stored: i128) {
    let narrow = i64::try_from(stored).unwrap_or(if stored < 0 { i64::MIN } else { i64::MAX });
    match kind {
        ColumnKind::Text | ColumnKind::Integer => match i64::try_from(stored) {
            Ok(narrow) => push_integer(out, narrow),
            Err(_) => push_wide(out, stored),
        },
        ColumnKind::Decimal { scale, .. } => push_decimal(out, stored, scale),
        ColumnKind::Float => {
            if !push_finite(out, double(stored)) {
                out.extend_from_slice(b"null");
            }
        }
        ColumnKind::Boolean => out.extend_from_slice(if stored == 0 { b"false" } else { b"true" }),
        ColumnKind::Date => {
            out.push(b'"');
            push_date(out, narrow);
            out.push(b'"');
        }
        ColumnKind::Timestamp { unit } => {
            out.push(b'"');
            push_timestamp(out, narrow, unit);
            out.push(b'"');
        }
    }
}

/// Writes values, frames, validity and zones.
fn write_packed(set: &mut SectionSet<'_>, source: &NumberSource<'_>) -> Result<(), FormatError> {
    let mut values = set.spool();
    let (mut frames, mut packed): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut zones = ZoneBuilder::new();
    let mut zone: Vec<Option<i128>> = Vec::with_capacity(ZONE_ROWS);
    let is_float = source.kind == ColumnKind::Float;
    let mut flush = |zone: &mut Vec<Option<i128>>| {
        packed.clear();
        frames.extend_from_slice(&pack_zone(zone, is_float, values.len(), &mut packed).encode());
        zone.clear();
        values.push(&packed)
    };
    source.read(|value| {
        match value {
            None => zones.null(),
            Some(value) if is_float && double(value).is_nan() => zones.nan(),
            Some(value) => zones.value(source.key(value)),
        }
        zone.push(value);
        if zone.len() == ZONE_ROWS { flush(&mut zone) } else { Ok(()) }
    })?;
    if !zone.is_empty() {
        flush(&mut zone)?;
    }
    set.add(SectionKind::Values, 0, source.validity.rows(), values);
    set.add_bytes(SectionKind::Frames, 32, (frames.len() / FRAME_RECORD_SIZE) as u64, &frames)?;
    if source.validity.null_count() > 0 {
        set.add_bytes(SectionKind::Validity, 0, source.validity.rows(), &source.validity.to_bytes())?;
    }
    set.add_zones(&zones.finish())
}
