//! Writes rows in one of the formats. A format is the bytes around the cells; the cells are the same for all.

use mercato_format::{FormatError, Table};

use crate::limits::render::JOINED_ROWS_MIN;
use crate::render::cell_copy::{CellColumn, PADDING_BYTES, Piece};
use crate::render::cells::{CellEncoder, Cells};
use crate::render::joined::{Combinations, JoinedColumns, JoinedEncoder};
use crate::render::{Format, csv, json, ndjson, sse};

/// Rows gathered at a time: enough to overlap the cache misses of a gather, few enough to stay in the first caches.
const BATCH_ROWS: usize = 256;

/// Which text a cell has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellText {
    Json,
    Csv,
}

/// The bytes around the cells.
pub(crate) struct Layout {
    /// Which text the cells have.
    pub(crate) text: CellText,
    /// Before everything.
    pub(crate) begin: Vec<u8>,
    /// Before each cell of a row, one a column.
    pub(crate) before_cell: Vec<Vec<u8>>,
    /// After the last cell of a row.
    pub(crate) row_end: &'static [u8],
    /// Between two rows.
    pub(crate) between_rows: &'static [u8],
    /// After everything.
    pub(crate) end: &'static [u8],
}

impl Layout {
    /// What stands around the cells of columns with these names.
    pub(crate) fn of<'n>(format: Format, names: impl Iterator<Item = &'n str>) -> Layout {
        match format {
            Format::Json => json::layout(names),
            Format::Csv => csv::layout(names),
            Format::Ndjson => ndjson::layout(names),
            Format::Sse => sse::layout(names),
        }
    }
}

/// What a client should know of the rows written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderNotes {
    /// NaN and infinities that JSON shows as null.
    pub non_finite: u64,
}

/// Writes rows of some columns of a table, batch by batch.
pub struct RowWriter<'t> {
    table: &'t Table,
    layout: Layout,
    pieces: Pieces,
    sources: Vec<Source<'t>>,
    cells: Vec<Cells<'t>>,
    written: bool,
    notes: RenderNotes,
}

impl<'t> RowWriter<'t> {
    /// A writer for the columns, in their order.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] for a column that the table does not have.
    pub fn new(format: Format, table: &'t Table, columns: &[usize]) -> Result<RowWriter<'t>, FormatError> {
        Self::from_parts(table, columns, layout_of(format, table, columns), &[])
    }

    /// The same for a unit of so many rows; when they are many, neighbouring columns with few values are encoded as
    /// one. `combinations` are those of the same format, table and columns, or new ones.
    ///
    /// # Errors
    /// As [`RowWriter::new`].
    pub fn for_unit(
        format: Format,
        table: &'t Table,
        columns: &[usize],
        rows: usize,
        combinations: &'t Combinations,
    ) -> Result<RowWriter<'t>, FormatError> {
        let layout = layout_of(format, table, columns);
        let is_worth_it = rows >= JOINED_ROWS_MIN;
        let joined = if is_worth_it { combinations.of(table, columns, &layout) } else { &[] };
        Self::from_parts(table, columns, layout, joined)
    }

    fn from_parts(
        table: &'t Table,
        columns: &[usize],
        layout: Layout,
        joined: &'t [JoinedColumns],
    ) -> Result<RowWriter<'t>, FormatError> {
        let (mut sources, mut before_cell) = (Vec::new(), Vec::new());
        let mut joined = joined.iter().peekable();
        let mut place = 0;
        while let Some(column) = columns.get(place) {
            before_cell.push(Piece::of(layout.before_cell.get(place).map_or(&[], Vec::as_slice)));
            let (source, width) = match joined.next_if(|joined| joined.first == place) {
                Some(joined) => (Source::Joined(joined.encoder(table)?), joined.columns.len()),
                None => (Source::Column(CellEncoder::new(table, *column, layout.text)?), 1),
            };
            sources.push(source);
            place += width;
        }
        let cells = sources.iter().map(Source::empty_cells).collect();
        let pieces = Pieces {
            before_cell,
            row_end: Piece::of(layout.row_end),
            between_rows: Piece::of(layout.between_rows),
        };
        Ok(RowWriter { table, layout, pieces, sources, cells, written: false, notes: RenderNotes::default() })
    }

    /// Appends what stands before all rows.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.layout.begin);
    }

    /// Says that rows stand before those that come next, which another writer has written.
    pub fn go_on(&mut self) {
        self.written = true;
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged; what was appended by then
    /// is of no use.
    pub fn rows(&mut self, rows: &[u32], out: &mut Vec<u8>) -> Result<(), FormatError> {
        for batch in rows.chunks(BATCH_ROWS) {
            for (source, cells) in self.sources.iter().zip(&mut self.cells) {
                self.notes.non_finite += source.gather(batch, cells)?;
            }
            self.encode(batch.len(), out);
        }
        // Asked last, because rows that were found in lost pages are wrong as well.
        self.table.check_intact()
    }

    /// Appends what stands after all rows.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.layout.end);
    }

    /// What a client should know of the rows so far.
    #[must_use]
    pub fn notes(&self) -> RenderNotes {
        self.notes
    }

    /// Writes into room that is made for the whole batch, so that nothing has to grow in between.
    fn encode(&mut self, count: usize, out: &mut Vec<u8>) {
        let Pieces { before_cell, row_end, between_rows } = &self.pieces;
        let columns: Vec<CellColumn<'_>> = before_cell
            .iter()
            .zip(&self.cells)
            .map(|(before, cells)| CellColumn::new(before, cells.forms()))
            .collect();
        let bytes: usize = columns.iter().map(|column| column.total_len(count)).sum();
        let start = out.len();
        out.resize(start + bytes + count * (row_end.len() + between_rows.len()) + PADDING_BYTES, 0);
        let target = out.get_mut(start..).unwrap_or_default();
        let mut at = 0;
        for number in 0..count {
            if self.written {
                at = between_rows.put(target, at);
            }
            self.written = true;
            for column in &columns {
                at = column.put(number, target, at);
            }
            at = row_end.put(target, at);
        }
        out.truncate(start + at);
    }
}

/// What stands around the cells.
struct Pieces {
    before_cell: Vec<Piece>,
    row_end: Piece,
    between_rows: Piece,
}

/// Where the cells of a cell_copy come from.
enum Source<'t> {
    Column(CellEncoder<'t>),
    Joined(JoinedEncoder<'t>),
}

impl<'t> Source<'t> {
    fn empty_cells(&self) -> Cells<'t> {
        match self {
            Source::Column(encoder) => encoder.empty_cells(),
            Source::Joined(encoder) => encoder.empty_cells(),
        }
    }

    fn gather(&self, rows: &[u32], cells: &mut Cells<'t>) -> Result<u64, FormatError> {
        match self {
            Source::Column(encoder) => encoder.gather(rows, cells),
            Source::Joined(encoder) => encoder.gather(rows, cells).map(|()| 0),
        }
    }
}

fn layout_of(format: Format, table: &Table, columns: &[usize]) -> Layout {
    let names =
        columns.iter().filter_map(|column| table.columns().get(*column)).map(|meta| meta.name.as_str());
    Layout::of(format, names)
}
