//! A whole table as text, split into units at known offsets, so that a byte range is encoded without the bytes
//! before it. Does not depend on sockets.

use std::ops::Range;
use std::sync::Arc;

use mercato_format::{FormatError, Table};

use crate::render::limits::{UNIT_BYTES, UNIT_BYTES_MAX};
use crate::render::parallel_encoder::{Progress, Unit};
use crate::render::{Combinations, Format, RenderedLengths, RowWriter};
use mercato_base::marks::RowMark;

/// Bytes of the first unit of a download; each unit may be twice as long as the one before, up to `UNIT_BYTES`.
const FIRST_UNIT_BYTES: u64 = 32 * 1024;

/// Rows encoded before the length of the output is checked.
const STEP_ROWS_MAX: usize = 512;

/// The encoded table: its format and the offset of every chunk of rows.
pub struct Document<'t> {
    table: &'t Table,
    format: Format,
    combinations: Arc<Combinations>,
    lengths: RenderedLengths<'t>,
}

impl<'t> Document<'t> {
    /// A table in a format; `lengths` belong to the same table and format.
    #[must_use]
    pub fn new(table: &'t Table, format: Format, lengths: RenderedLengths<'t>) -> Document<'t> {
        Document { table, format, combinations: Arc::default(), lengths }
    }

    #[must_use]
    pub fn table(&self) -> &'t Table {
        self.table
    }

    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lengths.total_bytes()
    }

    /// The units that cover a byte range. The first begins at or before the range, the last ends at or behind it. An
    /// empty range has none.
    #[must_use]
    pub fn units(&self, bytes: Range<u64>) -> Units<'_, 't> {
        let last = self.lengths.chunk_count().saturating_sub(1);
        let before_rows = bytes.start < self.boundary(1);
        let chunk = if before_rows { 0 } else { self.lengths.chunk_at(bytes.start).unwrap_or(last) };
        Units {
            document: self,
            chunk,
            end: if bytes.is_empty() { 0 } else { bytes.end },
            bytes: FIRST_UNIT_BYTES,
        }
    }

    /// The offset of a chunk. The header belongs to the first chunk, the footer to the last.
    fn boundary(&self, chunk: u32) -> u64 {
        match chunk {
            0 => 0,
            _ if chunk >= self.lengths.chunk_count() => self.bytes(),
            _ => self.lengths.offset_of_chunk(chunk).unwrap_or(0),
        }
    }
}

/// Units in order, each of as many chunks as fit and at least one. The first units are small, so that the first byte is
/// sent soon; each may be twice as long as the one before, up to `UNIT_BYTES`.
pub struct Units<'d, 't> {
    document: &'d Document<'t>,
    chunk: u32,
    end: u64,
    bytes: u64,
}

impl<'t> Iterator for Units<'_, 't> {
    type Item = DocumentUnit<'t>;

    fn next(&mut self) -> Option<DocumentUnit<'t>> {
        let (document, first) = (self.document, self.chunk);
        // A table without rows is one unit: the header and the footer.
        let count = document.lengths.chunk_count().max(1);
        let start = document.boundary(first);
        if first >= count || start >= self.end {
            return None;
        }
        let longest = self.bytes;
        self.bytes = longest.saturating_mul(2).min(UNIT_BYTES);
        let fits = |next: u32| document.boundary(next.saturating_add(1)).saturating_sub(start) <= longest;
        let mut next = first.saturating_add(1);
        while next < count && document.boundary(next) < self.end && fits(next) {
            next = next.saturating_add(1);
        }
        self.chunk = next;
        let last = document.lengths.rows_of_chunk(next.saturating_sub(1));
        Some(DocumentUnit {
            table: document.table,
            format: document.format,
            combinations: Arc::clone(&document.combinations),
            rows: document.lengths.rows_of_chunk(first).start..last.end,
            begins: first == 0,
            ends: next == count,
            bytes: start..document.boundary(next),
        })
    }
}

/// A range of the document.
#[derive(Debug)]
pub struct DocumentUnit<'t> {
    table: &'t Table,
    format: Format,
    combinations: Arc<Combinations>,
    rows: Range<u32>,
    begins: bool,
    ends: bool,
    bytes: Range<u64>,
}

impl DocumentUnit<'_> {
    /// Its bytes in the document.
    #[must_use]
    pub fn bytes(&self) -> Range<u64> {
        self.bytes.clone()
    }

    #[must_use]
    pub fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// Whether it is the last unit.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// The error of a unit whose encoded length is wrong.
    #[must_use]
    pub fn mismatch(&self) -> FormatError {
        self.table.damaged(0)
    }
}

impl Unit for DocumentUnit<'_> {
    fn encode(&self, done: usize, out: &mut Vec<u8>) -> Result<Progress, FormatError> {
        let columns: Vec<usize> = (0..self.table.columns().len()).collect();
        let mut writer =
            RowWriter::for_unit(self.format, self.table, &columns, self.rows.len(), &self.combinations)?;
        if self.begins && done == 0 {
            writer.begin(out);
        }
        let start = self.rows.start.saturating_add(u32::try_from(done).unwrap_or(u32::MAX));
        if start > 0 {
            writer.go_on();
        }
        let length = self.bytes.end.saturating_sub(self.bytes.start);
        out.reserve(usize::try_from(length).unwrap_or(UNIT_BYTES_MAX).min(UNIT_BYTES_MAX));
        let rows: Vec<u32> = (start..self.rows.end).collect();
        let mut marks = Vec::new();
        let encoded = encode_some(&mut writer, &rows, out, &mut marks)?;
        let complete = encoded == rows.len();
        if complete && self.ends {
            writer.end(out);
        }
        Ok(Progress::new(done.saturating_add(encoded), complete, marks))
    }
}

/// Encodes rows until `out` is longer than `UNIT_BYTES_MAX`, and marks every step. Returns the number of encoded rows, at
/// least one.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn encode_some(
    writer: &mut RowWriter<'_>,
    rows: &[u32],
    out: &mut Vec<u8>,
    marks: &mut Vec<RowMark>,
) -> Result<usize, FormatError> {
    let before = out.len();
    let marked = marks.last().map_or(0, |mark| mark.rows);
    let mut done = 0;
    // Start small: the length of the rows is unknown.
    let mut step = 16;
    while done < rows.len() && (out.len() < UNIT_BYTES_MAX || done == 0) {
        let end = done.saturating_add(step).min(rows.len());
        writer.rows(rows.get(done..end).unwrap_or_default(), out)?;
        done = end;
        marks.push(RowMark { end: out.len(), rows: marked.saturating_add(done) });
        let each = out.len().saturating_sub(before).checked_div(done).unwrap_or(0).saturating_add(1);
        // Half of what would fit, and at most twice as many as before: rows may become longer.
        let room = UNIT_BYTES_MAX.saturating_sub(out.len()) / 2;
        step = room.checked_div(each).unwrap_or(0).min(step.saturating_mul(2)).clamp(1, STEP_ROWS_MAX);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues, write_table};

    use super::*;
    use crate::render::{count_lengths, render_rows};

    fn table(rows: i64, text: impl Fn(i64) -> String) -> (Table, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.mcol");
        let texts = (0..rows).map(|row| Some(text(row))).collect();
        let numbers = ColumnValues::Integers((0..rows).map(Some).collect());
        let columns = [
            Column::new("number", ColumnKind::Integer, numbers),
            Column::new("text", ColumnKind::Text, ColumnValues::Texts(texts)),
        ];
        write_table(&path, &columns).unwrap();
        (Table::open(&path).unwrap(), folder)
    }

    /// The output of the units of a range, and the largest piece.
    fn encoded(document: &Document<'_>, range: Range<u64>) -> (u64, Vec<u8>, usize) {
        let (mut all, mut start, mut largest) = (Vec::new(), None, 0);
        for unit in document.units(range) {
            let first = *start.get_or_insert(unit.bytes().start);
            assert_eq!(unit.bytes().start, first + all.len() as u64);
            let mut progress = Progress::new(0, false, Vec::new());
            while !progress.complete {
                let mut piece = Vec::new();
                let before = progress.rows;
                progress = unit.encode(before, &mut piece).unwrap();
                check_marks(&progress.marks, &piece, progress.rows - before);
                largest = largest.max(piece.len());
                all.extend_from_slice(&piece);
            }
            assert_eq!(unit.bytes().end, first + all.len() as u64);
        }
        (start.unwrap_or(0), all, largest)
    }

    /// Every mark stands behind a row, at most `STEP_ROWS_MAX` rows behind the one before; the last one has all rows.
    fn check_marks(marks: &[RowMark], piece: &[u8], rows: usize) {
        let last = marks.last().copied().unwrap_or(RowMark { end: 0, rows: 0 });
        assert!(last.rows == rows && last.end <= piece.len(), "{marks:?}");
        for two in marks.windows(2) {
            assert!(two[0].end < two[1].end && (1..=STEP_ROWS_MAX).contains(&(two[1].rows - two[0].rows)));
        }
        for mark in marks {
            assert!(matches!(piece[mark.end - 1], b'\n' | b'}'), "{mark:?}");
        }
    }

    fn check(table: &Table, format: Format) {
        let rows: Vec<u32> = (0..table.row_count()).collect();
        let mut whole = Vec::new();
        render_rows(format, table, &[0, 1], &rows, &mut whole).unwrap();
        let document = Document::new(table, format, count_lengths(table, format).unwrap());
        let length = whole.len() as u64;
        assert_eq!(document.bytes(), length);
        let (start, all, largest) = encoded(&document, 0..length);
        assert!(start == 0 && all == whole, "{format:?}");
        assert!(largest < UNIT_BYTES_MAX * 3 / 2, "{largest}");
        let chunks =
            (0..document.lengths.chunk_count()).map(|c| document.boundary(c + 1) - document.boundary(c));
        let unit_max = chunks.max().unwrap_or(0).max(UNIT_BYTES);
        for step in 1..20 {
            let first = length * step / 20;
            let range = first..(first + length / 50 + step).min(length);
            let (start, bytes, _) = encoded(&document, range.clone());
            let end = start + bytes.len() as u64;
            if !range.is_empty() {
                assert!(start <= range.start && end >= range.end, "{range:?}: {start}..{end}");
                assert!(
                    bytes.len() as u64 <= length / 50 + step + 2 * unit_max,
                    "nothing far before or behind it"
                );
            }
            assert_eq!(bytes, whole[start as usize..end as usize]);
        }
        assert!(encoded(&document, 5..5).1.is_empty());
    }

    #[test]
    fn range_units_match_whole_document() {
        let (small, _folder) = table(5_000, |row| format!("text {row}"));
        let (one, _folder_of_one) = table(1, |_| String::new());
        let (none, _folder_of_none) = table(0, |_| String::new());
        for format in [Format::Csv, Format::Json, Format::Ndjson] {
            for table in [&small, &one, &none] {
                check(table, format);
            }
        }
    }

    #[test]
    fn splits_units_of_long_rows() {
        let (wide, _folder) = table(1_500, |row| "long ".repeat(1 + (row as usize * 37) % 4_000));
        for format in [Format::Csv, Format::Json, Format::Ndjson] {
            check(&wide, format);
        }
    }
}
