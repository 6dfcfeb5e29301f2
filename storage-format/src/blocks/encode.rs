//! Makes row blocks of cells, for the writer, and for the verification, which makes them again.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    BlockColumn, BlockLayout, CHECKSUM_SIZE, CellForm, Packing, TEXT_HEAD_SIZE, block_salt, plain_packing,
};
use crate::checksum::checksum;
use crate::column::bits::{BitPacker, bit_width, pack};
use crate::column::{ColumnData, ZONE_ROWS};
use crate::layout::put;

/// Blocks of one task.
const TASK_BLOCKS: usize = 64;

/// The cells of a column in a piece of rows.
pub(crate) enum Cells {
    Codes(Vec<u32>),
    Numbers(Vec<i64>, Vec<bool>),
    Wide(Vec<i128>, Vec<bool>),
    /// Start of each packed text in the bytes, then the end.
    Texts(Vec<usize>, Vec<u8>),
}

impl Cells {
    /// The codes or numbers of rows; `None` for texts, and when the file is damaged.
    pub(crate) fn of(data: &ColumnData<'_>, row: u64, count: u64) -> Option<Cells> {
        let (start, len) = (usize::try_from(row).ok()?, usize::try_from(count).ok()?);
        match data {
            ColumnData::Dictionary(data) => {
                let mut codes = Vec::with_capacity(len);
                data.codes.copy_range(start, len, &mut codes).then_some(Cells::Codes(codes))
            }
            ColumnData::Numbers(data) => {
                let rows = u32::try_from(start).ok()?..u32::try_from(start + len).ok()?;
                let valid = rows.clone().map(|row| data.is_valid(row)).collect();
                if data.width == 16 {
                    let values = rows.map(|row| data.values.get_wide(row as usize));
                    return Some(Cells::Wide(values.collect::<Option<_>>()?, valid));
                }
                let mut values = Vec::with_capacity(len);
                data.values.copy_range(start, len, &mut values).then_some(Cells::Numbers(values, valid))
            }
            ColumnData::Texts(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Codes(codes) => codes.len(),
            Cells::Numbers(values, _) => values.len(),
            Cells::Wide(values, _) => values.len(),
            Cells::Texts(places, _) => places.len().saturating_sub(1),
        }
    }

    /// The code of a row, or its number less the base; `None` for null and for texts.
    #[inline]
    fn delta(&self, row: usize, base: i128) -> Option<u128> {
        let is_valid = |valid: &[bool]| valid.get(row).copied().unwrap_or(false);
        match self {
            Cells::Codes(codes) => codes.get(row).map(|code| u128::from(*code)),
            #[expect(clippy::cast_possible_truncation, reason = "the numbers are 64 bits wide")]
            Cells::Numbers(values, valid) if is_valid(valid) => {
                values.get(row).map(|value| u128::from(value.wrapping_sub(base as i64).cast_unsigned()))
            }
            Cells::Wide(values, valid) if is_valid(valid) => {
                values.get(row).map(|value| value.wrapping_sub(base).cast_unsigned())
            }
            _ => None,
        }
    }

    /// The smallest and the largest delta of rows; the first is above the other when there is none.
    fn range(&self, rows: Range<usize>, packing: Packing) -> (u128, u128) {
        let deltas = rows.filter_map(|row| self.delta(row, packing.base));
        deltas.fold((u128::MAX, 0), |(smallest, largest), delta| (smallest.min(delta), largest.max(delta)))
    }
}

/// The packing with block bases where it takes fewer bytes, as it does for columns whose neighbours are alike, else the
/// plain one. `None` when the file is damaged. Rows are looked at only while block bases may pay.
pub(crate) fn packing(data: &ColumnData<'_>, has_nulls: bool, rows: u64, block_rows: u32) -> Option<Packing> {
    let plain = plain_packing(data, has_nulls);
    if matches!(data, ColumnData::Texts(_)) {
        return Some(plain);
    }
    let mut spread = Packing { width: 0, block_base_width: plain.width, ..plain };
    for row in (0..rows).step_by(ZONE_ROWS) {
        let cells = Cells::of(data, row, (rows - row).min(ZONE_ROWS as u64))?;
        for start in (0..cells.len()).step_by(block_rows as usize) {
            let rows = start..cells.len().min(start + block_rows as usize);
            let (smallest, largest) = cells.range(rows, plain);
            spread.width = spread.width.max(bit_width(largest.saturating_sub(smallest)));
        }
        if spread.bytes(block_rows) >= plain.bytes(block_rows) {
            return Some(plain);
        }
    }
    Some(if spread.bytes(block_rows) < plain.bytes(block_rows) { spread } else { plain })
}

/// Rows whose blocks are made together.
pub(crate) struct Piece<'a> {
    pub(crate) layout: &'a BlockLayout,
    pub(crate) cells: &'a [Cells],
    /// The first column of the group.
    pub(crate) first: usize,
    pub(crate) block_rows: u32,
    pub(crate) rows: usize,
}

impl Piece<'_> {
    /// The blocks from `number` on, in order: their bytes and the length of each.
    pub(crate) fn encode(&self, number: u32) -> Vec<(Vec<u8>, Vec<u64>)> {
        let step = self.block_rows as usize;
        let starts: Vec<usize> = (0..self.rows).step_by(step).collect();
        let numbered: Vec<(u32, usize)> = (number..).zip(starts).collect();
        let tasks = numbered.par_chunks(TASK_BLOCKS).map(|task| {
            let (mut out, mut lengths) = (Vec::new(), Vec::with_capacity(task.len()));
            for (number, start) in task {
                let before = out.len();
                self.push_block(*start, (self.rows - start).min(step), *number, &mut out);
                lengths.push((out.len() - before) as u64);
            }
            (out, lengths)
        });
        tasks.collect()
    }

    fn push_block(&self, start: usize, count: usize, number: u32, out: &mut Vec<u8>) {
        let at = out.len();
        let texts = self.layout.columns.iter().filter(|column| column.form == CellForm::Texts).count();
        out.resize(at + CHECKSUM_SIZE + texts * TEXT_HEAD_SIZE, 0);
        let empty = (self.block_rows as usize).saturating_sub(count);
        let columns = || self.layout.columns.iter().zip(self.cells);
        for (column, cells) in columns() {
            push_items(column, cells, start..start + count, empty, out);
        }
        for (column, cells) in columns() {
            if let Cells::Texts(places, bytes) = cells {
                let head = (out.len() - at, places.get(start..=start + count).unwrap_or_default());
                let width = push_texts(head.1, bytes, empty, out);
                let place = u32::try_from(head.0).unwrap_or(u32::MAX);
                put(out, at + column.at, &place.to_le_bytes());
                put(out, at + column.at + 4, &[u8::try_from(width).unwrap_or(u8::MAX)]);
            }
        }
        let body = out.get(at + CHECKSUM_SIZE..).unwrap_or_default();
        let sum = checksum(body) ^ block_salt(self.first, number);
        put(out, at, &sum.to_le_bytes());
    }
}

/// Appends the validity and the items of a column, and zeros for `empty` rows behind the last one.
fn push_items(column: &BlockColumn, cells: &Cells, rows: Range<usize>, empty: usize, out: &mut Vec<u8>) {
    let packing = column.packing;
    if matches!(cells, Cells::Texts(..)) {
        return;
    }
    let delta = |row: usize| cells.delta(row, packing.base);
    if column.validity.is_some() {
        let valid = rows.clone().map(|row| u64::from(delta(row).is_some()));
        pack(valid.chain(std::iter::repeat_n(0, empty)), 1, out);
    }
    let mut block_base = 0;
    if packing.block_base_width > 0 {
        let (smallest, largest) = cells.range(rows.clone(), packing);
        block_base = if smallest <= largest { smallest } else { 0 };
        let mut packer = BitPacker::default();
        packer.push_wide(block_base, packing.block_base_width, out);
        packer.finish(out);
    }
    let mut packer = BitPacker::default();
    for row in rows {
        packer.push_wide(delta(row).map_or(0, |delta| delta - block_base), packing.width, out);
    }
    (0..empty).for_each(|_| packer.push_wide(0, packing.width, out));
    packer.finish(out);
}

/// Appends lengths and bytes of texts, and returns the width of the lengths.
fn push_texts(places: &[usize], bytes: &[u8], empty: usize, out: &mut Vec<u8>) -> u32 {
    let lengths = || places.iter().zip(places.iter().skip(1)).map(|(start, end)| (end - start) as u64);
    let width = bit_width(lengths().max().unwrap_or(0));
    pack(lengths().chain(std::iter::repeat_n(0, empty)), width, out);
    let (from, to) = (places.first().copied().unwrap_or(0), places.last().copied().unwrap_or(0));
    out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
    width
}
