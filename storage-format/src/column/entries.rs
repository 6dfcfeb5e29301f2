//! The entries of a dictionary: copied out of the file at their first use, and compared with their checksums, so that no
//! later damage of the file reaches a cell.

use crate::column::{Dictionary, TEXT_PADDING, TextTable};
use crate::error::FormatError;
use crate::reader::Table;
use crate::section::SectionKind;

/// Values and texts of all entries.
#[derive(Debug)]
pub(crate) struct Entries {
    values: Vec<u8>,
    json: Texts,
    csv: Option<Texts>,
}

/// Offsets, and texts with their padding.
#[derive(Debug)]
struct Texts {
    offsets: Vec<u8>,
    bytes: Vec<u8>,
}

impl Entries {
    /// Copies the entries of a column.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] when they are not as they were written.
    pub(crate) fn of(table: &Table, column: usize) -> Result<Entries, FormatError> {
        let copy = |kind| match table.column_section(column, kind) {
            Some(record) => table.sound_copy(record).map(Some),
            None => Ok(None),
        };
        let texts = |offsets, bytes| {
            let (Some(offsets), Some(mut bytes)) = (copy(offsets)?, copy(bytes)?) else { return Ok(None) };
            bytes.extend_from_slice(&[0; TEXT_PADDING]);
            Ok(Some(Texts { offsets, bytes }))
        };
        Ok(Entries {
            values: copy(SectionKind::DictionaryValues)?.unwrap_or_default(),
            json: texts(SectionKind::JsonOffsets, SectionKind::JsonBytes)?
                .ok_or_else(|| table.damaged(column))?,
            csv: texts(SectionKind::CsvOffsets, SectionKind::CsvBytes)?,
        })
    }

    /// The dictionary with these entries.
    pub(crate) fn apply_to<'a>(&'a self, data: Dictionary<'a>) -> Dictionary<'a> {
        let csv = self.csv.as_ref().map(Texts::table);
        Dictionary { values: &self.values, json: self.json.table(), csv, ..data }
    }
}

impl Texts {
    fn table(&self) -> TextTable<'_> {
        TextTable::new(&self.offsets, &self.bytes)
    }
}
