//! Reads rows for printing: copies the block of each row once for each group, compares it with its checksum, and takes
//! the cells of the wanted columns out of the copies, column by column. Does not depend on formats.

use std::ops::Range;

use super::{Block, BlockColumn, CellForm, Group, Packing};
use crate::column::bits;
use crate::column::put_packed_json;
use crate::error::FormatError;
use crate::fsst::Symbols;
use crate::reader::Table;

/// The cells of one column for a batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellValues {
    /// Codes of a dictionary; its number of entries for null.
    Codes(Vec<u32>),
    /// Numbers of 64 bits, or the bits of doubles. A value behind a null is arbitrary.
    Numbers { values: Vec<i64>, valid: Vec<bool> },
    /// Numbers of 128 bits. A value behind a null is arbitrary.
    Wide { values: Vec<i128>, valid: Vec<bool> },
    /// JSON texts one behind the other with [`crate::column::TEXT_PADDING`] bytes or more behind the last, which are
    /// arbitrary; start and end of each text.
    Texts { json: Vec<u8>, spans: Vec<(usize, usize)> },
}

/// Copied blocks whose cells are taken out together take at most so many bytes, and one block.
const COPIES_BYTES_MAX: usize = 64 << 10;

/// Reads the cells of some columns.
pub struct RowReader<'t> {
    table: &'t Table,
    groups: Vec<WantedGroup<'t>>,
    cells: Vec<CellValues>,
    copies: Vec<u8>,
    runs: Vec<Run>,
}

/// A group, and its wanted columns.
struct WantedGroup<'t> {
    group: &'t Group,
    columns: Vec<WantedColumn<'t>>,
}

struct WantedColumn<'t> {
    /// Its place among the wanted columns.
    place: usize,
    number: usize,
    column: BlockColumn,
    symbols: Option<&'t Symbols>,
}

impl<'t> RowReader<'t> {
    /// A reader of these columns, in their order.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] for a column that the table does not have, or whose layout is damaged.
    pub fn new(table: &'t Table, columns: &[usize]) -> Result<RowReader<'t>, FormatError> {
        let mut groups: Vec<WantedGroup<'t>> = Vec::new();
        let mut cells = Vec::with_capacity(columns.len());
        for (place, number) in columns.iter().copied().enumerate() {
            let damaged = || table.damaged(number);
            let group = table.group_of(number).ok_or_else(damaged)?;
            let layout = table.block_layout(group)?;
            let column = number.checked_sub(group.columns.start).and_then(|at| layout.columns.get(at));
            let column = *column.ok_or_else(damaged)?;
            let symbols = match column.form {
                CellForm::Texts => Some(table.symbols_of(number)?),
                _ => None,
            };
            cells.push(CellValues::empty(column.form));
            let wanted = WantedColumn { place, number, column, symbols };
            match groups.iter_mut().find(|found| found.group.columns == group.columns) {
                Some(found) => found.columns.push(wanted),
                None => {
                    let mut together = Vec::with_capacity(columns.len());
                    together.push(wanted);
                    groups.push(WantedGroup { group, columns: together });
                }
            }
        }
        Ok(RowReader { table, groups, cells, copies: Vec::new(), runs: Vec::new() })
    }

    /// Replaces the cells by those of `rows`.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] or [`FormatError::Corrupt`] when a block is damaged, or a row does not exist.
    pub fn read(&mut self, rows: &[u32]) -> Result<(), FormatError> {
        self.cells.iter_mut().for_each(|cells| cells.clear_for(rows.len()));
        for wanted in &self.groups {
            let first = wanted.columns.first().map_or(0, |column| column.number);
            if rows.iter().any(|row| *row >= self.table.row_count()) {
                return Err(self.table.damaged(first));
            }
            wanted.group.fetch(self.table, rows);
            let mut left = rows;
            while !left.is_empty() {
                let (copied, behind) = left.split_at(copy_blocks(
                    self.table,
                    wanted.group,
                    left,
                    &mut self.copies,
                    &mut self.runs,
                )?);
                let block_rows = wanted.group.block_rows;
                let copies = Copies { blocks: &self.copies, runs: &self.runs, rows: copied, block_rows };
                for column in &wanted.columns {
                    let cells = self.cells.get_mut(column.place);
                    let read = cells.and_then(|cells| column.read(&copies, cells));
                    read.ok_or_else(|| self.table.damaged(column.number))?;
                }
                left = behind;
            }
        }
        Ok(())
    }

    /// The cells of the column at a place.
    #[must_use]
    pub fn cells(&self, place: usize) -> Option<&CellValues> {
        self.cells.get(place)
    }

    /// The cells of the column at a place, to be changed in place.
    pub fn cells_mut(&mut self, place: usize) -> Option<&mut CellValues> {
        self.cells.get_mut(place)
    }
}

/// Copies the blocks of the first rows, and returns how many rows they are.
fn copy_blocks(
    table: &Table,
    group: &Group,
    rows: &[u32],
    copies: &mut Vec<u8>,
    runs: &mut Vec<Run>,
) -> Result<usize, FormatError> {
    copies.clear();
    runs.clear();
    let mut copied = 0;
    let block_of = |row: &u32| group.block_of(*row);
    for run in rows.chunk_by(|one, other| block_of(one) == block_of(other)) {
        let at = copies.len();
        if at > COPIES_BYTES_MAX {
            break;
        }
        let len = table.copy_sound_block(group, run.first().map_or(0, block_of), copies)?;
        runs.push(Run {
            at,
            len,
            rows: copied..copied + run.len(),
            is_whole: is_whole(run, group.block_rows),
        });
        copied += run.len();
    }
    Ok(copied)
}

/// Whether rows are all of a block in their order, and whole groups of items.
fn is_whole(run: &[u32], block_rows: u32) -> bool {
    let follow = || run.windows(2).all(|pair| matches!(pair, [one, next] if one.wrapping_add(1) == *next));
    run.len() == block_rows as usize
        && run.len().is_multiple_of(bits::GROUP_ITEMS)
        && run.first().is_some_and(|row| row & (block_rows - 1) == 0)
        && follow()
}

/// Rows of one block.
struct Run {
    /// Where the copy of the block begins, and its length without padding.
    at: usize,
    len: usize,
    /// Their places among the rows.
    rows: Range<usize>,
    is_whole: bool,
}

/// Copied blocks, and the rows that are wanted of them.
struct Copies<'a> {
    blocks: &'a [u8],
    runs: &'a [Run],
    rows: &'a [u32],
    block_rows: u32,
}

impl<'a> Copies<'a> {
    /// Each run with its rows and the bytes from its block on.
    fn each(&self) -> impl Iterator<Item = Option<(&Run, &'a [u32], &'a [u8])>> {
        let (blocks, rows) = (self.blocks, self.rows);
        self.runs.iter().map(move |run| Some((run, rows.get(run.rows.clone())?, blocks.get(run.at..)?)))
    }

    /// The place of a row in its block.
    #[inline]
    fn place(&self, row: u32) -> usize {
        (row & (self.block_rows - 1)) as usize
    }

    /// Appends the items at position `at` of each block, of at most 64 bits each, to which the block's base is added;
    /// `None` when the bytes end before.
    #[inline]
    fn items<T: Clone + Default>(
        &self,
        at: usize,
        packing: Packing,
        out: &mut Vec<T>,
        convert: impl Fn(u64) -> T,
    ) -> Option<()> {
        let Packing { width, block_base_width, .. } = packing;
        let start = out.len();
        out.resize(start + self.rows.len(), T::default());
        let out = out.get_mut(start..)?;
        for run in self.each() {
            let (run, rows, block) = run?;
            let (mut items, out) = (block.get(at..)?, out.get_mut(run.rows.clone())?);
            let mut base = 0;
            if block_base_width > 0 {
                base = bits::get(items, 0, block_base_width)?;
                items = items.get(bits::packed_bytes(1, block_base_width)..)?;
            }
            if run.is_whole {
                bits::unpack(items, width, out, |item| convert(base.wrapping_add(item)))?;
                continue;
            }
            for (row, slot) in rows.iter().zip(out) {
                let item = bits::get(items, self.place(*row), width)?;
                *slot = convert(base.wrapping_add(item));
            }
        }
        Some(())
    }
}

impl WantedColumn<'_> {
    /// Appends the cells of rows; `None` when a block is damaged.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "codes have 32 bits at most, and narrow numbers 64")]
    fn read(&self, copies: &Copies<'_>, cells: &mut CellValues) -> Option<()> {
        let BlockColumn { packing, at, .. } = self.column;
        match cells {
            CellValues::Codes(codes) => copies.items(at, packing, codes, |code| code as u32),
            CellValues::Numbers { values, valid } => {
                let base = packing.base as i64;
                let value = |delta: u64| base.wrapping_add(delta.cast_signed());
                copies.items(at, packing, values, value)?;
                self.read_validity(copies, valid)
            }
            CellValues::Wide { values, valid } => {
                for run in copies.each() {
                    let (_, rows, block) = run?;
                    let block_base = bits::get_wide(block.get(at..)?, 0, packing.block_base_width)?;
                    let items = block.get(at + bits::packed_bytes(1, packing.block_base_width)..)?;
                    for row in rows {
                        let place = copies.place(*row);
                        let delta = block_base.wrapping_add(bits::get_wide(items, place, packing.width)?);
                        values.push(packing.base.wrapping_add(delta.cast_signed()));
                    }
                }
                self.read_validity(copies, valid)
            }
            CellValues::Texts { json, spans } => self.read_texts(copies, json, spans),
        }
    }

    fn read_texts(
        &self,
        copies: &Copies<'_>,
        json: &mut Vec<u8>,
        spans: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        let symbols = self.symbols?;
        let mut at = spans.last().map_or(0, |(_, end)| *end);
        for run in copies.each() {
            let (run, rows, padded) = run?;
            let mut texts = Block { padded, len: run.len }.texts(&self.column, copies.block_rows)?;
            for row in rows {
                let packed = texts.get(copies.place(*row))?;
                let end = put_packed_json(symbols, packed, json, at)?;
                spans.push((at, end));
                at = end;
            }
        }
        Some(())
    }

    #[inline]
    fn read_validity(&self, copies: &Copies<'_>, valid: &mut Vec<bool>) -> Option<()> {
        match self.column.validity {
            Some(at) => {
                let packing = Packing { width: 1, ..Packing::default() };
                copies.items(at, packing, valid, |bit| bit == 1)
            }
            None => {
                valid.resize(valid.len() + copies.rows.len(), true);
                Some(())
            }
        }
    }
}

impl CellValues {
    fn empty(form: CellForm) -> CellValues {
        match form {
            CellForm::Codes => CellValues::Codes(Vec::new()),
            CellForm::Numbers => CellValues::Numbers { values: Vec::new(), valid: Vec::new() },
            CellForm::Wide => CellValues::Wide { values: Vec::new(), valid: Vec::new() },
            CellForm::Texts => CellValues::Texts { json: Vec::new(), spans: Vec::new() },
        }
    }

    /// Removes all cells and makes room for those of `rows` rows.
    fn clear_for(&mut self, rows: usize) {
        fn cleared<T>(values: &mut Vec<T>, rows: usize) {
            values.clear();
            values.reserve(rows);
        }
        match self {
            CellValues::Codes(codes) => cleared(codes, rows),
            CellValues::Numbers { values, valid } => {
                cleared(values, rows);
                cleared(valid, rows);
            }
            CellValues::Wide { values, valid } => {
                cleared(values, rows);
                cleared(valid, rows);
            }
            // The bytes are written anew.
            CellValues::Texts { spans, .. } => cleared(spans, rows),
        }
    }
}
