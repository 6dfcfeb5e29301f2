//! Excel workbooks of one sheet, straight from the columns: a ZIP whose sheet is encoded and deflated in batches, each
//! on its own, so that batches are made in parallel and sent as they come. The same rows make the same bytes. Does not
//! depend on status codes or sockets.

mod cells;
mod package;
mod parts;
mod sheet;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mercato_format::{FormatError, Table};

use crate::render::limits::XLSX_UNIT_ROWS_MAX;
use crate::render::{BatchEncoder, Labels, RenderNotes};
use cells::Column;
use package::{Package, Packed};
use sheet::Deflater;

/// The version of the encoding, which tags of downloads contain. Raise it whenever a byte changes, also by an update of
/// the library that deflates.
pub const XLSX_VERSION: u32 = 1;

/// Rows of a sheet beneath its header row. Excel has no more.
pub const XLSX_ROWS_MAX: u32 = 1_048_575;
/// Bytes of XML of a batch, before it is deflated. The last row of a batch goes beyond.
const BATCH_BYTES: u64 = 1024 * 1024;
/// The numbers of the header row and of the first row beneath it.
const HEADER_ROW: u64 = 1;
const FIRST_ROW: u64 = 2;

/// Encodes rows of some columns of a table as a workbook.
#[derive(Debug)]
pub struct XlsxEncoder<'t> {
    table: &'t Table,
    columns: Vec<Column<'t>>,
    package: Package,
    /// Deflated pieces of the sheet, by the number of their first row: its end states their sum.
    pieces: Mutex<BTreeMap<u64, Packed>>,
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
        Ok(XlsxEncoder { table, columns, package, pieces: Mutex::default() })
    }

    /// As [`BatchEncoder::batch`], with notes on the rows.
    fn noted_batch(
        &self,
        rows: &[u32],
        before: u64,
        out: &mut Vec<u8>,
    ) -> Result<(usize, RenderNotes), FormatError> {
        let first = before.saturating_add(FIRST_ROW);
        let mut deflater = Deflater::new();
        let mut notes = RenderNotes::default();
        let mut done = 0;
        let mut digits = itoa::Buffer::new();
        for (row, number) in rows.iter().zip(first..) {
            let number = digits.format(number);
            deflater.push(b"<row r=\"");
            deflater.push(number.as_bytes());
            deflater.push(b"\">");
            for column in &self.columns {
                let pushed = column.push(*row, number, deflater.text(), &mut notes);
                pushed.ok_or_else(|| self.table.damaged(column.number()))?;
                deflater.drain_if_full(out);
            }
            deflater.push(b"</row>");
            done += 1;
            if deflater.bytes() >= BATCH_BYTES {
                break;
            }
        }
        self.note(first, deflater.finish(out));
        // Check last: rows gathered from lost pages are wrong too.
        self.table.check_intact()?;
        Ok((done, notes))
    }

    fn note(&self, first: u64, piece: Packed) {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).insert(first, piece);
    }
}

impl BatchEncoder for XlsxEncoder<'_> {
    fn rows_max(&self) -> usize {
        XLSX_UNIT_ROWS_MAX
    }

    fn begin(&self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.package.begin(out);
        let mut deflater = Deflater::new();
        parts::push_sheet_begin(&self.columns, &mut deflater, out);
        self.note(HEADER_ROW, deflater.finish(out));
        Ok(())
    }

    fn batch(&self, rows: &[u32], before: u64, out: &mut Vec<u8>) -> Result<usize, FormatError> {
        Ok(self.noted_batch(rows, before, out)?.0)
    }

    fn end(&self, out: &mut Vec<u8>) {
        let mut deflater = Deflater::new();
        deflater.push(parts::SHEET_END);
        let start = out.len();
        let mut last = deflater.finish(out);
        out.extend_from_slice(&sheet::LAST_BLOCK);
        last.deflated = (out.len().saturating_sub(start)) as u64;
        self.note(u64::MAX, last);
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        self.package.end(pieces.values(), out);
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
    encoder.begin(out)?;
    let (mut notes, mut done) = (RenderNotes::default(), 0);
    while done < rows.len() {
        let rest = rows.get(done..).unwrap_or_default();
        let (count, of_batch) = encoder.noted_batch(rest, done as u64, out)?;
        notes.cut_texts = notes.cut_texts.saturating_add(of_batch.cut_texts);
        done = done.saturating_add(count);
    }
    encoder.end(out);
    Ok(notes)
}
