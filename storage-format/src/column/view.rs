//! Builds a column from its sections, and checks that the length of each fits the row count.

use crate::array::UintArray;
use crate::column::bits::{BITS_PADDING, BitArray, bit_width, code_width, packed_bytes};
use crate::column::lanes::{LANES_PADDING, interleaved_bytes};
use crate::column::row_order::StoredOrder;
use crate::column::{
    ColumnData, Dictionary, FENCE_RANKS, Numbers, Runs, TEXT_PADDING, TextTable, Texts, ZONE_RECORD_SIZE,
    ZONE_ROWS, Zones,
};
use crate::column_record::{ColumnMeta, SortIndex, Storage};
use crate::error::{FormatError, Place, corrupt};
use crate::fsst::SYMBOLS_SECTION_BYTES_MAX;
use crate::packed_numbers::{FRAME_RECORD_SIZE, PackedNumbers};
use crate::reader::Table;
use crate::schema::ColumnKind;
use crate::section::{SectionKind, SectionRecord};

/// The directory records of one column, by kind.
#[derive(Clone)]
pub(crate) struct ColumnSections {
    records: [Option<u32>; COLUMN_KINDS],
}

impl Default for ColumnSections {
    fn default() -> ColumnSections {
        ColumnSections { records: [None; COLUMN_KINDS] }
    }
}

const COLUMN_KINDS: usize = SectionKind::BlockColumns as usize - SectionKind::Codes as usize + 1;

impl ColumnSections {
    /// The entry for a section kind; `None` for a kind of the whole file.
    pub(crate) fn slot(&mut self, kind: u16) -> Option<&mut Option<u32>> {
        self.records.get_mut(usize::from(kind).checked_sub(SectionKind::Codes as usize)?)
    }

    pub(crate) fn record_numbers(&self) -> impl Iterator<Item = u32> {
        self.records.iter().flatten().copied()
    }

    pub(crate) fn record_number(&self, kind: SectionKind) -> Option<u32> {
        *self.records.get(kind as usize - SectionKind::Codes as usize)?
    }
}

/// The sections of one column.
pub(crate) struct ColumnView<'a> {
    pub(crate) table: &'a Table,
    pub(crate) meta: &'a ColumnMeta,
    pub(crate) sections: &'a ColumnSections,
    pub(crate) number: u32,
}

impl<'a> ColumnView<'a> {
    /// The values of the column.
    pub(crate) fn data(&self) -> Result<ColumnData<'a>, FormatError> {
        match self.meta.storage {
            Storage::Dictionary => self.dictionary().map(ColumnData::Dictionary),
            Storage::Numbers => self.numbers().map(ColumnData::Numbers),
            Storage::Texts => self.texts().map(ColumnData::Texts),
        }
    }

    fn dictionary(&self) -> Result<Dictionary<'a>, FormatError> {
        let entries = self.meta.entries;
        let offsets = (u64::from(entries) + 2) * 4;
        let (values, value_width) = match self.meta.kind {
            ColumnKind::Text => (<&[u8]>::default(), 0),
            _ => {
                let width = self.meta.number_width;
                (self.exact(SectionKind::DictionaryValues, u64::from(entries) * u64::from(width), 0)?, width)
            }
        };
        let csv = match self.record(SectionKind::CsvOffsets) {
            None => None,
            Some(_) => Some(TextTable::new(
                self.exact(SectionKind::CsvOffsets, offsets, 0)?,
                self.padded(SectionKind::CsvBytes, TEXT_PADDING)?,
            )),
        };
        let json = TextTable::new(
            self.exact(SectionKind::JsonOffsets, offsets, 0)?,
            self.padded(SectionKind::JsonBytes, TEXT_PADDING)?,
        );
        Ok(Dictionary {
            codes: self.array(SectionKind::Codes, code_width(entries, self.meta.null_count > 0))?,
            entries,
            json,
            csv,
            values,
            value_width,
            kind: self.meta.kind,
            runs: Runs::new(self.exact(SectionKind::RunOffsets, offsets, 0)?, entries),
            order: self.order()?,
            zones: self.zones()?,
        })
    }

    fn numbers(&self) -> Result<Numbers<'a>, FormatError> {
        let rows = self.table.row_count() as usize;
        let values = self.padded(SectionKind::Values, LANES_PADDING)?;
        let frames =
            self.exact(SectionKind::Frames, (rows.div_ceil(ZONE_ROWS) * FRAME_RECORD_SIZE) as u64, 0)?;
        let values =
            PackedNumbers::new(values, frames, rows).ok_or_else(|| self.refuse(SectionKind::Values, 0, 0))?;
        let validity = match self.meta.null_count {
            0 => None,
            _ => Some(self.exact(SectionKind::Validity, (rows as u64).div_ceil(8), 0)?),
        };
        let valid = u64::from(self.table.row_count()) - self.meta.null_count;
        let fences = match self.meta.sort_index {
            SortIndex::None => <&[u8]>::default(),
            _ => {
                let count = valid.div_ceil(u64::from(FENCE_RANKS));
                self.exact(SectionKind::Fences, count * u64::from(self.meta.number_width), 0)?
            }
        };
        Ok(Numbers {
            values,
            width: self.meta.number_width,
            null_count: u32::try_from(self.meta.null_count).unwrap_or(u32::MAX),
            kind: self.meta.kind,
            validity,
            fences,
            order: self.order()?,
            zones: self.zones()?,
        })
    }

    fn texts(&self) -> Result<Texts<'a>, FormatError> {
        let null_count = u32::try_from(self.meta.null_count).unwrap_or(u32::MAX);
        let valid = self.table.row_count().saturating_sub(null_count);
        let ranks = match self.meta.sort_index {
            SortIndex::None => None,
            _ => Some(self.array(SectionKind::Ranks, bit_width(valid))?),
        };
        self.check_symbols()?;
        let number = self.number as usize;
        let group = self.table.group_of(number).ok_or_else(|| self.refuse(SectionKind::RowBlocks, 1, 0))?;
        Ok(Texts {
            null_count,
            ranks,
            csv_plain: self.meta.csv_plain,
            rows: self.table.row_count(),
            table: self.table,
            group,
            number,
            order: self.order()?,
            zones: self.zones()?,
        })
    }

    fn check_symbols(&self) -> Result<(), FormatError> {
        let kind = SectionKind::Symbols;
        match self.record(kind) {
            Some(record) if record.len <= SYMBOLS_SECTION_BYTES_MAX => Ok(()),
            found => Err(self.refuse(kind, SYMBOLS_SECTION_BYTES_MAX, found.map_or(0, |record| record.len))),
        }
    }

    fn order(&self) -> Result<StoredOrder<'a>, FormatError> {
        Ok(match self.meta.sort_index {
            SortIndex::None => StoredOrder::Unknown,
            SortIndex::FileOrder => StoredOrder::FileOrder,
            SortIndex::Postings => {
                let starts = (u64::from(self.meta.entries) + 2) * 4;
                StoredOrder::Postings {
                    starts: self.exact(SectionKind::PostingStarts, starts, 0)?,
                    padded: self.padded(SectionKind::Postings, BITS_PADDING)?,
                }
            }
            SortIndex::Permutation => {
                let rows = self.table.row_count();
                let kind = SectionKind::Permutation;
                let width = bit_width(rows.saturating_sub(1));
                let bytes = self.exact(kind, packed_bytes(rows as usize, width) as u64, BITS_PADDING)?;
                let array = BitArray::new(bytes, width, rows as usize);
                StoredOrder::Permutation(array.ok_or_else(|| self.refuse(kind, width.into(), 0))?)
            }
        })
    }

    fn zones(&self) -> Result<Zones<'a>, FormatError> {
        let count = (self.table.row_count() as usize).div_ceil(ZONE_ROWS);
        self.exact(SectionKind::Zones, (count * ZONE_RECORD_SIZE) as u64, 0).map(Zones::new)
    }

    /// An array with one item of `width` bits a row.
    fn array(&self, kind: SectionKind, width: u32) -> Result<UintArray<'a>, FormatError> {
        let rows = self.table.row_count() as usize;
        let bytes = self.exact(kind, interleaved_bytes(rows, width) as u64, LANES_PADDING)?;
        UintArray::new(bytes, width, rows).ok_or_else(|| self.refuse(kind, u32::BITS.into(), width.into()))
    }

    fn exact(&self, kind: SectionKind, expected: u64, padding: usize) -> Result<&'a [u8], FormatError> {
        let found = self.record(kind).map_or(0, |record| record.len);
        if found != expected || self.record(kind).is_none() {
            return Err(corrupt(Place::Column(kind, self.number), "length", expected, found));
        }
        self.padded(kind, padding)
    }

    fn padded(&self, kind: SectionKind, padding: usize) -> Result<&'a [u8], FormatError> {
        self.record(kind)
            .and_then(|record| self.table.section(record, padding))
            .ok_or_else(|| self.refuse(kind, 1, 0))
    }

    fn record(&self, kind: SectionKind) -> Option<&'a SectionRecord> {
        self.table.records.get(self.sections.record_number(kind)? as usize)
    }

    fn refuse(&self, kind: SectionKind, expected: u64, found: u64) -> FormatError {
        corrupt(Place::Column(kind, self.number), "section is missing or of the wrong width", expected, found)
    }
}
