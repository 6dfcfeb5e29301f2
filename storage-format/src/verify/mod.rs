//! Verifies a whole file: all checksums, padding, and invariants of FORMAT.md. Columns run in parallel.

use rayon::prelude::*;

use crate::checksum::{BLOCK_SIZE_BYTES, block_count, checksum, section_checksum};
use crate::column::{ColumnData, RowOrder};
use crate::error::{FormatError, Place, corrupt};
use crate::layout::{HEADER_SIZE, u64_at};
use crate::reader::Table;
use crate::section::{SectionKind, SectionRecord};

mod blocks;
mod dictionary;
mod numbers;
mod texts;

/// The progress of a verification, reported from several threads.
#[derive(Debug, Clone, Copy)]
pub struct VerifyProgress {
    /// Columns of the table.
    pub columns: usize,
    pub column: usize,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyReport {
    /// Sections whose checksums hold.
    pub sections: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Columns whose invariants hold.
    pub columns: u64,
}

/// A block of bytes and its stored checksum.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Position in the file.
    pub offset: u64,
    /// Bytes, at most [`BLOCK_SIZE_BYTES`].
    pub len: usize,
    expected: u64,
    place: Place,
}

impl Block {
    /// Compares the stored checksum with that of the bytes.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] when they differ.
    pub fn check(&self, found: u64) -> Result<(), FormatError> {
        if found == self.expected {
            return Ok(());
        }
        let Block { offset, expected, place, .. } = *self;
        Err(FormatError::ChecksumMismatch { place, offset, expected, found })
    }
}

impl Table {
    /// All blocks of all sections, in directory order, for incremental verification. The table of checksums is
    /// excluded: its damage shows as a mismatch of a block.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the file has no such table.
    pub fn blocks(&self) -> Result<impl Iterator<Item = Block> + '_, FormatError> {
        let table = self.block_table()?;
        let others = |record: &&SectionRecord| record.kind != SectionKind::BlockChecksums as u16;
        Ok(self.records.iter().filter(others).flat_map(move |record| {
            (0..block_count(record.len)).map(move |number| {
                let start = number * BLOCK_SIZE_BYTES as u64;
                let len = record.len.saturating_sub(start).min(BLOCK_SIZE_BYTES as u64);
                let at = usize::try_from(record.first_block.saturating_add(number)).unwrap_or(usize::MAX);
                let word = at.saturating_mul(8);
                let expected = table.get(word..word.saturating_add(8)).map_or(0, |word| u64_at(word, 0));
                let len = usize::try_from(len).unwrap_or(BLOCK_SIZE_BYTES);
                Block { offset: record.offset + start, len, expected, place: record.place() }
            })
        }))
    }

    /// The bytes of the header, which identify the file.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.file().get(..HEADER_SIZE).unwrap_or_default()
    }

    /// Checks every checksum and every invariant.
    ///
    /// # Errors
    /// The first violation: of checksums in file order, then of columns.
    pub fn verify(&self, progress: &(dyn Fn(VerifyProgress) + Sync)) -> Result<VerifyReport, FormatError> {
        self.verify_padding()?;
        let blocks = self.block_table()?;
        self.records.par_iter().try_for_each(|record| self.verify_section(record, blocks))?;
        self.verify_rendered_lengths()?;
        self.groups.par_iter().try_for_each(|group| blocks::verify(self, group))?;
        let columns = self.columns().len();
        (0..columns).into_par_iter().try_for_each(|column| {
            self.verify_column(column)?;
            self.verify_statistics(column)?;
            self.column_records(column).for_each(|record| self.release_large(record));
            progress(VerifyProgress { columns, column });
            Ok::<(), FormatError>(())
        })?;
        Ok(VerifyReport {
            sections: self.records.len() as u64,
            bytes: self.file_bytes(),
            columns: columns as u64,
        })
    }

    fn verify_padding(&self) -> Result<(), FormatError> {
        let mut free_from = HEADER_SIZE as u64;
        let ends = self.records.iter().map(|record| (record.offset, record.offset + record.len));
        for (start, end) in ends.chain([(self.header.directory_offset, 0)]) {
            let gap = usize::try_from(free_from).ok().zip(usize::try_from(start).ok());
            let bytes = gap.and_then(|(from, to)| self.file().get(from..to)).unwrap_or_default();
            if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
                return Err(corrupt(Place::Padding, "bytes that must be zero", 0, free_from + at as u64));
            }
            free_from = end;
        }
        Ok(())
    }

    fn block_table(&self) -> Result<&[u8], FormatError> {
        let place = Place::File(SectionKind::BlockChecksums);
        let found = self.records.iter().find(|record| record.kind == SectionKind::BlockChecksums as u16);
        found
            .and_then(|record| self.section(record, 0))
            .ok_or_else(|| corrupt(place, "number of such sections", 1, 0))
    }

    fn verify_section(&self, record: &SectionRecord, block_table: &[u8]) -> Result<(), FormatError> {
        let bytes = self.section(record, 0).unwrap_or_default();
        let blocks: Vec<u64> = bytes.chunks(BLOCK_SIZE_BYTES).map(checksum).collect();
        let found = section_checksum(&blocks);
        let own_table = record.kind == SectionKind::BlockChecksums as u16;
        for (number, found) in blocks.iter().enumerate().filter(|_| !own_table) {
            let at = usize::try_from(record.first_block)
                .unwrap_or(usize::MAX)
                .saturating_add(number)
                .saturating_mul(8);
            let expected = block_table.get(at..at.saturating_add(8)).map_or(0, |word| u64_at(word, 0));
            if expected != *found {
                let offset = record.offset + (number * BLOCK_SIZE_BYTES) as u64;
                return Err(FormatError::ChecksumMismatch {
                    place: record.place(),
                    offset,
                    expected,
                    found: *found,
                });
            }
        }
        if found != record.checksum || blocks.len() as u64 != block_count(record.len) {
            let (offset, expected) = (record.offset, record.checksum);
            return Err(FormatError::ChecksumMismatch { place: record.place(), offset, expected, found });
        }
        self.release_large(record);
        Ok(())
    }

    /// Releases verified sections, because verification reads every section only once.
    fn release_large(&self, record: &SectionRecord) {
        if record.len >= BLOCK_SIZE_BYTES as u64 {
            self.release(record);
        }
    }

    fn verify_column(&self, column: usize) -> Result<(), FormatError> {
        let Some(meta) = self.columns().get(column) else {
            return Ok(());
        };
        let number = u32::try_from(column).unwrap_or(u32::MAX);
        let rows = self.row_count();
        let data = self.stored_column(column)?;
        if let RowOrder::Permutation(ranks) = data.order()
            && !ranks.ends_in_zeros()
        {
            return Err(violation(SectionKind::Permutation, number, "bits behind the last rank", 0, 1));
        }
        let (kind, items) = match &data {
            ColumnData::Dictionary(data) => (SectionKind::Codes, Some(data.codes)),
            ColumnData::Texts(data) => (SectionKind::Ranks, data.ranks),
            ColumnData::Numbers(_) => (SectionKind::Values, None),
        };
        if items.is_some_and(|items| !items.lanes().ends_in_zeros()) {
            return Err(violation(kind, number, "bits of no item", 0, 1));
        }
        match data {
            ColumnData::Dictionary(data) => dictionary::verify(&data, meta, number, rows),
            ColumnData::Numbers(data) => numbers::verify(&data, meta, number, rows),
            ColumnData::Texts(data) => texts::verify(&data, meta, number, rows),
        }
    }
}

/// A violation in a section of a column.
fn violation(kind: SectionKind, column: u32, what: &'static str, expected: u64, found: u64) -> FormatError {
    corrupt(Place::Column(kind, column), what, expected, found)
}

/// `Ok` when equal.
fn expect_equal(
    kind: SectionKind,
    column: u32,
    what: &'static str,
    expected: u64,
    found: u64,
) -> Result<(), FormatError> {
    if expected == found { Ok(()) } else { Err(violation(kind, column, what, expected, found)) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::section::NO_COLUMN;

    #[test]
    fn verifies_each_column_section_once() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1.mcol");
        let table = Table::open(&golden).unwrap();
        let mut passed = 0;
        for column in 0..table.columns().len() {
            for record in table.column_records(column) {
                assert_eq!(record.column as usize, column);
                passed += 1;
            }
        }
        assert_eq!(passed, table.records.iter().filter(|record| record.column != NO_COLUMN).count());
    }
}
