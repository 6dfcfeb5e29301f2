//! Excel workbooks of one sheet, straight from the columns: a ZIP whose sheet is encoded and deflated in batches, each
//! on its own, so that batches are made in parallel and sent as they come. The same rows make the same bytes. Does not
//! depend on status codes or sockets.

mod cells;
mod lengths;
mod package;
mod parts;
mod sheet;

use mercato_format::{FormatError, RowReader, Table};

use crate::render::{Labels, RenderNotes};
use cells::Column;
pub use lengths::{XLSX_VERSION, xlsx_lengths};
use package::Package;
pub use package::{Packed, Tally};
use sheet::Deflater;

/// Rows of a sheet beneath its header row. Excel has no more.
pub const XLSX_ROWS_MAX: u32 = 1_048_575;
/// Bytes of XML of a batch, before it is deflated. The last row of a batch goes beyond.
const BATCH_BYTES: u64 = 1024 * 1024;
/// The number of the first row beneath the header row.
const FIRST_ROW: u64 = 2;
/// Rows that are read at a time.
const READ_ROWS: usize = 64;

/// Encodes rows of some columns of a table as a workbook.
#[derive(Debug)]
pub struct XlsxEncoder<'t> {
    table: &'t Table,
    columns: Vec<Column<'t>>,
    package: Package,
}

impl<'t> XlsxEncoder<'t> {
    /// An encoder for the columns, in their order.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] for a column that the table does not have, or a damaged one.
    pub fn new(
        table: &'t Table,
        columns: &[usize],
        labels: Labels<'_>,
    ) -> Result<XlsxEncoder<'t>, FormatError> {
        let columns = columns.iter().enumerate().map(|(place, number)| Column::new(table, *number, place));
        let columns = columns.collect::<Result<_, _>>()?;
        let package = Package::new(&parts::of(labels));
        Ok(XlsxEncoder { table, columns, package })
    }

    /// Appends the package up to the first row, with the header row. Returns what the end has to know of it.
    pub fn begin(&self, out: &mut Vec<u8>) -> Tally {
        self.package.begin(out);
        let mut deflater = Deflater::new();
        parts::push_sheet_begin(&self.columns, &mut deflater, out);
        let mut tally = Tally::default();
        tally.add(deflater.finish(out));
        tally
    }

    /// Appends as many of `rows` as fit a batch: at least one, if there is one. `before` rows of the sheet come before
    /// them. Returns their number, what the end has to know of them, and notes on them.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged. Then discard the appended
    /// bytes.
    pub fn batch(
        &self,
        rows: &[u32],
        before: u64,
        out: &mut Vec<u8>,
    ) -> Result<(usize, Packed, RenderNotes), FormatError> {
        let mut deflater = Deflater::new();
        let mut notes = RenderNotes::default();
        let mut done = 0;
        let mut digits = itoa::Buffer::new();
        let columns: Vec<usize> = self.columns.iter().map(Column::number).collect();
        let mut reader = RowReader::new(self.table, &columns)?;
        for (at, number) in (0..rows.len()).zip(before.saturating_add(FIRST_ROW)..) {
            let within = at % READ_ROWS;
            if within == 0 {
                let end = at.saturating_add(READ_ROWS).min(rows.len());
                reader.read(rows.get(at..end).unwrap_or_default())?;
            }
            let number = digits.format(number);
            deflater.push(b"<row r=\"");
            deflater.push(number.as_bytes());
            deflater.push(b"\">");
            for (place, column) in self.columns.iter().enumerate() {
                let cells = reader.cells(place);
                let pushed =
                    cells.and_then(|cells| column.push(cells, within, number, deflater.text(), &mut notes));
                pushed.ok_or_else(|| self.table.damaged(column.number()))?;
                deflater.drain_if_full(out);
            }
            deflater.push(b"</row>");
            done += 1;
            if deflater.bytes() >= BATCH_BYTES {
                break;
            }
        }
        let packed = deflater.finish(out);
        // Check last: rows gathered from lost pages are wrong too.
        self.table.check_intact()?;
        Ok((done, packed, notes))
    }

    /// Appends the end of the sheet and of the package. `tally` knows all batches.
    pub fn end(&self, mut tally: Tally, out: &mut Vec<u8>) {
        let mut deflater = Deflater::new();
        deflater.push(parts::SHEET_END);
        let start = out.len();
        let mut last = deflater.finish(out);
        out.extend_from_slice(&sheet::LAST_BLOCK);
        last.deflated = (out.len().saturating_sub(start)) as u64;
        tally.add(last);
        self.package.end(&tally, out);
    }

    #[must_use]
    pub fn table(&self) -> &'t Table {
        self.table
    }
}

/// Appends rows as a complete workbook.
///
/// # Errors
/// [`FormatError::Corrupt`] or [`FormatError::LostPage`] when the store file is damaged.
pub fn render_xlsx(
    table: &Table,
    columns: &[usize],
    rows: &[u32],
    labels: Labels<'_>,
    out: &mut Vec<u8>,
) -> Result<RenderNotes, FormatError> {
    let encoder = XlsxEncoder::new(table, columns, labels)?;
    let mut tally = encoder.begin(out);
    let (mut notes, mut done) = (RenderNotes::default(), 0);
    while done < rows.len() {
        let rest = rows.get(done..).unwrap_or_default();
        let (count, packed, of_batch) = encoder.batch(rest, done as u64, out)?;
        tally.add(packed);
        notes.cut_texts = notes.cut_texts.saturating_add(of_batch.cut_texts);
        done = done.saturating_add(count);
    }
    encoder.end(tally, out);
    Ok(notes)
}
