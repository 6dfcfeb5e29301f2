//! Reads rows for printing: visits the block of each row once for each group, compares it with its checksum, and takes
//! the cells of the wanted columns out of it. Does not depend on formats.

use super::{Block, BlockColumn, CellForm, Group};
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
        Ok(RowReader { table, groups, cells, buffer: Vec::new() })
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
            let block_rows = wanted.group.block_rows;
            let block_of = |row: &u32| wanted.group.block_of(*row);
            for run in rows.chunk_by(|one, other| block_of(one) == block_of(other)) {
                let number = run.first().map_or(0, block_of);
                let block = self.table.sound_block(wanted.group, number, &mut self.buffer)?;
                let run = Run::of(run, block_rows);
                for column in &wanted.columns {
                    let cells = self.cells.get_mut(column.place);
                    let read = cells.and_then(|cells| column.read(block, &run, cells));
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

/// Rows of one block.
struct Run<'r> {
    rows: &'r [u32],
    block_rows: u32,
    /// Whether they are all rows of the block in their order, and whole groups of items.
    is_whole: bool,
}

impl<'r> Run<'r> {
    fn of(rows: &'r [u32], block_rows: u32) -> Run<'r> {
        let follow =
            || rows.windows(2).all(|pair| matches!(pair, [one, next] if one.wrapping_add(1) == *next));
        let is_whole = rows.len() == block_rows as usize
            && rows.len().is_multiple_of(bits::GROUP_ITEMS)
            && rows.first().is_some_and(|row| row & (block_rows - 1) == 0)
            && follow();
        Run { rows, block_rows, is_whole }
    }

    fn each_place(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|row| (row & (self.block_rows - 1)) as usize)
    }

    /// Appends the items of the rows, of at most 64 bits each; `None` when the bytes end before.
    #[inline]
    fn items<T: Clone + Default>(
        &self,
        items: &[u8],
        width: u32,
        out: &mut Vec<T>,
        convert: impl Fn(u64) -> T,
    ) -> Option<()> {
        if self.is_whole {
            let start = out.len();
            out.resize(start + self.rows.len(), T::default());
            return bits::unpack(items, width, out.get_mut(start..)?, convert);
        }
        for place in self.each_place() {
            out.push(convert(bits::get(items, place, width)?));
        }
        Some(())
    }
}

impl WantedColumn<'_> {
    /// Appends the cells of rows that lie in one block; `None` when it is damaged.
    #[inline]
    fn read(&self, block: Block<'_>, run: &Run<'_>, cells: &mut CellValues) -> Option<()> {
        let BlockColumn { width, base, at, .. } = self.column;
        let items = block.padded.get(at..)?;
        match cells {
            CellValues::Codes(codes) => {
                #[expect(clippy::cast_possible_truncation, reason = "a code has at most 32 bits")]
                run.items(items, width, codes, |code| code as u32)?;
            }
            CellValues::Numbers { values, valid } => {
                #[expect(clippy::cast_possible_truncation, reason = "the column's numbers are 64 bits wide")]
                let base = base as i64;
                run.items(items, width, values, |delta| base.wrapping_add(delta.cast_signed()))?;
                self.read_validity(block, run, valid)?;
            }
            CellValues::Wide { values, valid } => {
                for place in run.each_place() {
                    values.push(base.wrapping_add(bits::get_wide(items, place, width)?.cast_signed()));
                }
                self.read_validity(block, run, valid)?;
            }
            CellValues::Texts { json, spans } => self.read_texts(block, run, json, spans)?,
        }
        Some(())
    }

    fn read_texts(
        &self,
        block: Block<'_>,
        run: &Run<'_>,
        json: &mut Vec<u8>,
        spans: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        let mut texts = block.texts(&self.column, run.block_rows)?;
        let symbols = self.symbols?;
        let mut at = spans.last().map_or(0, |(_, end)| *end);
        for place in run.each_place() {
            let end = put_packed_json(symbols, texts.get(place)?, json, at)?;
            spans.push((at, end));
            at = end;
        }
        Some(())
    }

    #[inline]
    fn read_validity(&self, block: Block<'_>, run: &Run<'_>, valid: &mut Vec<bool>) -> Option<()> {
        match self.column.validity {
            Some(at) => run.items(block.padded.get(at..)?, 1, valid, |bit| bit == 1),
            None => {
                valid.resize(valid.len() + run.rows.len(), true);
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
