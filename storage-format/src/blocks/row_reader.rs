//! Reads rows for printing: visits the block of each row once for each group, compares it with its checksum, and takes
//! the cells of the wanted columns out of it. Does not depend on formats.

use super::{Block, BlockColumn, CellForm, Group, bits};
use crate::column::{TextReader, push_packed_json};
use crate::error::FormatError;
use crate::fsst::Symbols;
use crate::reader::Table;

/// Rows of a block from which on all its items are unpacked together.
const DENSE_ROWS_MIN: usize = 16;

/// The cells of one column for a batch of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellValues {
    /// Codes of a dictionary; its number of entries for null.
    Codes(Vec<u32>),
    /// Numbers of 64 bits, or the bits of doubles. A value behind a null is arbitrary.
    Numbers { values: Vec<i64>, valid: Vec<bool> },
    /// Numbers of 128 bits. A value behind a null is arbitrary.
    Wide { values: Vec<i128>, valid: Vec<bool> },
    /// JSON texts one behind the other, and start and end of each.
    Texts { json: Vec<u8>, spans: Vec<(usize, usize)> },
}

/// Reads the cells of some columns.
pub struct RowReader<'t> {
    table: &'t Table,
    groups: Vec<WantedGroup<'t>>,
    cells: Vec<CellValues>,
    buffer: Vec<u8>,
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
            let layout = table.block_layout(group).ok_or_else(damaged)?;
            let column = number.checked_sub(group.columns.start).and_then(|at| layout.columns.get(at));
            let column = *column.ok_or_else(damaged)?;
            let symbols = match column.form {
                CellForm::Texts => Some(table.symbols_of(number).ok_or_else(damaged)?),
                _ => None,
            };
            cells.push(CellValues::empty(column.form));
            let wanted = WantedColumn { place, number, column, symbols };
            match groups.iter_mut().find(|found| found.group.columns == group.columns) {
                Some(found) => found.columns.push(wanted),
                None => groups.push(WantedGroup { group, columns: vec![wanted] }),
            }
        }
        Ok(RowReader { table, groups, cells, buffer: Vec::new() })
    }

    /// Replaces the cells by those of `rows`.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] or [`FormatError::Corrupt`] when a block is damaged, or a row does not exist.
    pub fn read(&mut self, rows: &[u32]) -> Result<(), FormatError> {
        self.cells.iter_mut().for_each(CellValues::clear);
        for wanted in &self.groups {
            let first = wanted.columns.first().map_or(0, |column| column.number);
            if rows.iter().any(|row| *row >= self.table.row_count()) {
                return Err(self.table.damaged(first));
            }
            wanted.group.fetch(self.table, rows);
            let block_rows = wanted.group.block_rows;
            let number_of = |row: u32| row.checked_div(block_rows).unwrap_or(0);
            for run in rows.chunk_by(|one, other| number_of(*one) == number_of(*other)) {
                let number = run.first().map_or(0, |row| number_of(*row));
                let block = self.table.sound_block(wanted.group, number, &mut self.buffer)?;
                for column in &wanted.columns {
                    let cells = self.cells.get_mut(column.place);
                    let read = cells.and_then(|cells| column.read(block, block_rows, run, cells));
                    read.ok_or_else(|| self.table.damaged(column.number))?;
                }
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

impl WantedColumn<'_> {
    /// Appends the cells of rows that lie in one block; `None` when it is damaged.
    #[inline]
    fn read(&self, block: Block<'_>, block_rows: u32, rows: &[u32], cells: &mut CellValues) -> Option<()> {
        let BlockColumn { width, base, at, .. } = self.column;
        let within = |row: &u32| (row & (block_rows - 1)) as usize;
        let items = block.padded.get(at..)?;
        let is_full = block_rows as usize == bits::ITEMS;
        match cells {
            CellValues::Codes(codes) => {
                let take = |code: u64| codes.push(u32::try_from(code).unwrap_or(u32::MAX));
                each_item(items, width, is_full, rows.iter().map(within), take)?;
            }
            CellValues::Numbers { values, valid } => {
                #[expect(clippy::cast_possible_truncation, reason = "the column's numbers are 64 bits wide")]
                let base = base as i64;
                let take = |delta: u64| values.push(base.wrapping_add(delta.cast_signed()));
                each_item(items, width, is_full, rows.iter().map(within), take)?;
                self.read_validity(block, is_full, rows.iter().map(within), valid)?;
            }
            CellValues::Wide { values, valid } => {
                for row in rows {
                    values.push(base.wrapping_add(bits::get_wide(items, within(row), width)?.cast_signed()));
                }
                self.read_validity(block, is_full, rows.iter().map(within), valid)?;
            }
            CellValues::Texts { json, spans } => {
                let mut places = [0usize; TextReader::PLACES];
                let last = rows.iter().map(within).max()?;
                let part = block.texts(&self.column, block_rows)?;
                part.places(last + 1, &mut places)?;
                let symbols = self.symbols?;
                let bytes = block.bytes();
                for row in rows {
                    let pair = places.get(within(row)..)?.first_chunk::<2>()?;
                    let [from, to] = *pair;
                    let start = json.len();
                    push_packed_json(symbols, bytes.get(from..to)?, json)?;
                    spans.push((start, json.len()));
                }
            }
        }
        Some(())
    }

    #[inline]
    fn read_validity(
        &self,
        block: Block<'_>,
        is_full: bool,
        rows: impl ExactSizeIterator<Item = usize>,
        valid: &mut Vec<bool>,
    ) -> Option<()> {
        let Some(at) = self.column.validity else {
            valid.extend(rows.map(|_| true));
            return Some(());
        };
        each_item(block.padded.get(at..)?, 1, is_full, rows, |bit| valid.push(bit == 1))
    }
}

/// Calls `take` with the items at `places`, of at most 64 bits each; `None` when the bytes end before. `is_full` says that
/// there are 64 items.
#[inline]
fn each_item(
    items: &[u8],
    width: u8,
    is_full: bool,
    places: impl ExactSizeIterator<Item = usize>,
    mut take: impl FnMut(u64),
) -> Option<()> {
    if places.len() < DENSE_ROWS_MIN || !is_full {
        for place in places {
            take(bits::get(items, place, width)?);
        }
        return Some(());
    }
    let mut unpacked = [0; bits::ITEMS];
    bits::unpack(items, width, &mut unpacked)?;
    for place in places {
        take(*unpacked.get(place)?);
    }
    Some(())
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

    fn clear(&mut self) {
        match self {
            CellValues::Codes(codes) => codes.clear(),
            CellValues::Numbers { values, valid } => {
                values.clear();
                valid.clear();
            }
            CellValues::Wide { values, valid } => {
                values.clear();
                valid.clear();
            }
            CellValues::Texts { json, spans } => {
                json.clear();
                spans.clear();
            }
        }
    }
}
