//! The row writer. Formats differ in the separators around the cells; JSON and CSV differ in the text of the cells.

use mercato_format::{ColumnMeta, FormatError, RowReader, Table};

use crate::render::cell_copy::{CellColumn, PADDING_BYTES, Piece};
use crate::render::cells::{CellEncoder, Cells};
use crate::render::joined::JOINED_ROWS_MIN;
use crate::render::joined::{Combinations, JoinedColumns, JoinedEncoder};
use crate::render::{Format, csv, json, ndjson, sse};

/// Rows of a batch: enough to overlap the cache misses of a gather, few enough for the L1 cache.
const BATCH_ROWS: usize = 256;

/// The text form of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellText {
    Json,
    Csv,
}

/// The separators of a format.
pub(crate) struct Layout {
    /// The text form of the cells.
    pub(crate) text: CellText,
    /// Header of the document.
    pub(crate) begin: Vec<u8>,
    /// Before each cell of a row, one for each column.
    pub(crate) before_cell: Vec<Piece>,
    /// After the last cell of a row.
    pub(crate) row_end: &'static [u8],
    /// Between two rows.
    pub(crate) between_rows: &'static [u8],
    /// Footer of the document.
    pub(crate) end: &'static [u8],
}

impl Layout {
    /// The separators for these columns.
    pub(crate) fn of(format: Format, columns: &[&ColumnMeta]) -> Layout {
        let names = columns.iter().map(|column| column.name.as_str());
        match format {
            Format::Json => json::layout(names),
            Format::Csv => csv::layout(columns),
            Format::Ndjson => ndjson::layout(names),
            Format::Sse => sse::layout(names),
        }
    }
}

/// Notes for the client on the written rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderNotes {
    /// NaNs and infinities shown as null in JSON.
    pub non_finite: u64,
    /// Texts that were cut, because a cell of Excel does not hold them.
    pub cut_texts: u64,
}

/// Writes rows of some columns of a table, batch by batch.
pub struct RowWriter<'t> {
    table: &'t Table,
    layout: Layout,
    pieces: Pieces,
    sources: Vec<Source<'t>>,
    cells: Vec<Cells<'t>>,
    reader: RowReader<'t>,
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

    /// A writer for a unit of `rows` rows. It joins neighbouring columns with few values when the rows are many.
    /// `combinations` belong to the same format, table and columns, or are new.
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
        mut layout: Layout,
        joined: &'t [JoinedColumns],
    ) -> Result<RowWriter<'t>, FormatError> {
        let (mut sources, mut before_cell) =
            (Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
        let mut separators = std::mem::take(&mut layout.before_cell).into_iter();
        let mut joined = joined.iter().peekable();
        let mut place = 0;
        while let Some(column) = columns.get(place) {
            before_cell.extend(separators.next());
            let (source, width) = match joined.next_if(|joined| joined.first == place) {
                Some(joined) => (Source::Joined(joined.encoder(table)), joined.columns.len()),
                None => (Source::Column(CellEncoder::new(table, *column, layout.text)?), 1),
            };
            sources.push(source);
            separators.by_ref().take(width.saturating_sub(1)).for_each(drop);
            place += width;
        }
        let cells = sources.iter().map(Source::empty_cells).collect();
        let pieces = Pieces {
            before_cell,
            row_end: Piece::of(layout.row_end),
            between_rows: Piece::of(layout.between_rows),
            lone_null: Piece::of(if columns.len() == 1 { csv::LONE_NULL } else { b"" }),
        };
        let (reader, notes) = (RowReader::new(table, columns)?, RenderNotes::default());
        Ok(RowWriter { table, layout, pieces, sources, cells, reader, written: false, notes })
    }

    /// Appends the header.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.layout.begin);
    }

    /// Continues after rows of another writer.
    pub fn go_on(&mut self) {
        self.written = true;
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged. Then discard the appended
    /// bytes.
    pub fn rows(&mut self, rows: &[u32], out: &mut Vec<u8>) -> Result<(), FormatError> {
        for batch in rows.chunks(BATCH_ROWS) {
            self.reader.read(batch)?;
            let mut place = 0;
            for (source, cells) in self.sources.iter().zip(&mut self.cells) {
                self.notes.non_finite += source.encode(&mut self.reader, place, cells)?;
                place += source.width();
            }
            self.encode(batch.len(), out);
        }
        // Check last: rows gathered from lost pages are wrong too.
        self.table.check_intact()
    }

    /// Appends the footer.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.layout.end);
    }

    /// Notes on the rows so far.
    #[must_use]
    pub fn notes(&self) -> RenderNotes {
        self.notes
    }

    /// Resizes the output once for the whole batch.
    fn encode(&mut self, count: usize, out: &mut Vec<u8>) {
        let Pieces { before_cell, row_end, between_rows, lone_null } = &self.pieces;
        let columns: Vec<CellColumn<'_>> = before_cell
            .iter()
            .zip(&self.cells)
            .map(|(before, cells)| CellColumn::new(before, cells.forms()))
            .collect();
        let bytes: usize = columns.iter().map(|column| column.total_len(count)).sum();
        let row_bytes = row_end.len() + between_rows.len() + lone_null.len();
        let start = out.len();
        out.resize(start + bytes + count * row_bytes + PADDING_BYTES, 0);
        let target = out.get_mut(start..).unwrap_or_default();
        let mut at = 0;
        for number in 0..count {
            if self.written {
                at = between_rows.put(target, at);
            }
            self.written = true;
            let row = at;
            for column in &columns {
                at = column.put(number, target, at);
            }
            if at == row {
                at = lone_null.put(target, at);
            }
            at = row_end.put(target, at);
        }
        out.truncate(start + at);
    }
}

struct Pieces {
    before_cell: Vec<Piece>,
    row_end: Piece,
    between_rows: Piece,
    /// What stands in a row that would be empty.
    lone_null: Piece,
}

/// The source of a column of cells.
#[expect(
    clippy::large_enum_variant,
    reason = "few columns are joined, and a box would be an allocation a column"
)]
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

    /// Columns of the table.
    fn width(&self) -> usize {
        match self {
            Source::Column(_) => 1,
            Source::Joined(encoder) => encoder.width(),
        }
    }

    /// Encodes the cells that the reader has from `place` on.
    fn encode(
        &self,
        reader: &mut RowReader<'_>,
        place: usize,
        cells: &mut Cells<'t>,
    ) -> Result<u64, FormatError> {
        match self {
            Source::Column(encoder) => encoder.encode(reader, place, cells),
            Source::Joined(encoder) => encoder.encode(reader, place, cells).map(|()| 0),
        }
    }
}

fn layout_of(format: Format, table: &Table, columns: &[usize]) -> Layout {
    let metas: Vec<&ColumnMeta> = columns.iter().filter_map(|column| table.columns().get(*column)).collect();
    Layout::of(format, &metas)
}
