//! The section directory: the kinds of sections, and the 64-byte record of each section.

use crate::error::{FormatError, Place, corrupt};
use crate::layout::{HEADER_SIZE, SECTION_ALIGNMENT, put, u16_at, u32_at, u64_at};

/// Bytes of a directory record.
pub const RECORD_SIZE: usize = 64;
/// The column number of a section that belongs to the whole file.
pub const NO_COLUMN: u32 = u32::MAX;
/// The reader must know the section kind, or refuse the file.
pub const FLAG_REQUIRED: u16 = 1;

/// The kind of a section. Its numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum SectionKind {
    /// One fixed-size record for each column.
    Columns = 1,
    /// Names and other short texts that the column records point into.
    Strings = 2,
    /// The schema of the source, as text.
    SourceSchema = 3,
    /// XXH3 of every block of every section.
    BlockChecksums = 4,
    /// Offset of each chunk of rows in each export format.
    RenderedLengths = 5,
    /// Dictionary code of every row.
    Codes = 16,
    /// Dictionary entries as numbers.
    DictionaryValues = 17,
    /// Offset of each entry's JSON text.
    JsonOffsets = 18,
    /// JSON texts of the entries.
    JsonBytes = 19,
    /// Offset of each entry's CSV text, if it cannot be derived from the JSON text.
    CsvOffsets = 20,
    /// CSV texts of the entries.
    CsvBytes = 21,
    /// First rank of every code.
    RunOffsets = 22,
    /// Plain numbers, packed by zone.
    Values = 24,
    /// Base and width of each zone of plain numbers.
    Frames = 25,
    /// One bit a row: 1 for a value, 0 for null.
    Validity = 26,
    /// Order key at every 1,024th rank.
    Fences = 27,
    /// First rank of the run of each row's text.
    Ranks = 31,
    /// Smallest and largest key, nulls and NaNs of every 8,192 rows.
    Zones = 32,
    /// Statistics of the column.
    Statistics = 33,
    /// Row ids ordered by value, then row.
    Permutation = 40,
    /// Start of each code's posting list.
    PostingStarts = 41,
    /// The rows of each code.
    Postings = 42,
    /// The symbols that texts are packed with.
    Symbols = 50,
    /// All cells of a group of columns, block by block.
    RowBlocks = 51,
    /// Start of each block.
    BlockPlaces = 52,
    /// Base and width of each column of the group.
    BlockColumns = 53,
}

const KINDS: [SectionKind; 26] = [
    SectionKind::Columns,
    SectionKind::Strings,
    SectionKind::SourceSchema,
    SectionKind::BlockChecksums,
    SectionKind::RenderedLengths,
    SectionKind::Codes,
    SectionKind::DictionaryValues,
    SectionKind::JsonOffsets,
    SectionKind::JsonBytes,
    SectionKind::CsvOffsets,
    SectionKind::CsvBytes,
    SectionKind::RunOffsets,
    SectionKind::Values,
    SectionKind::Frames,
    SectionKind::Validity,
    SectionKind::Fences,
    SectionKind::Ranks,
    SectionKind::Zones,
    SectionKind::Statistics,
    SectionKind::Permutation,
    SectionKind::PostingStarts,
    SectionKind::Postings,
    SectionKind::Symbols,
    SectionKind::RowBlocks,
    SectionKind::BlockPlaces,
    SectionKind::BlockColumns,
];

impl SectionKind {
    /// The kind of a code, if this version knows it.
    #[must_use]
    pub fn from_code(code: u16) -> Option<SectionKind> {
        KINDS.into_iter().find(|kind| *kind as u16 == code)
    }

    /// The name in messages, reports and FORMAT.md.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SectionKind::Columns => "columns",
            SectionKind::Strings => "strings",
            SectionKind::SourceSchema => "source_schema",
            SectionKind::BlockChecksums => "block_checksums",
            SectionKind::RenderedLengths => "rendered_lengths",
            SectionKind::Codes => "codes",
            SectionKind::DictionaryValues => "dictionary_values",
            SectionKind::JsonOffsets => "json_offsets",
            SectionKind::JsonBytes => "json_bytes",
            SectionKind::CsvOffsets => "csv_offsets",
            SectionKind::CsvBytes => "csv_bytes",
            SectionKind::RunOffsets => "run_offsets",
            SectionKind::Values => "values",
            SectionKind::Frames => "frames",
            SectionKind::Validity => "validity",
            SectionKind::Fences => "fences",
            SectionKind::Ranks => "ranks",
            SectionKind::Zones => "zones",
            SectionKind::Statistics => "statistics",
            SectionKind::Permutation => "permutation",
            SectionKind::PostingStarts => "posting_starts",
            SectionKind::Postings => "postings",
            SectionKind::Symbols => "symbols",
            SectionKind::RowBlocks => "row_blocks",
            SectionKind::BlockPlaces => "block_places",
            SectionKind::BlockColumns => "block_columns",
        }
    }

    /// Whether a reader that does not know the kind may skip it.
    fn is_optional(self) -> bool {
        matches!(self, SectionKind::RenderedLengths | SectionKind::Statistics)
    }

    /// The flags of the kind's directory records.
    #[must_use]
    pub fn flags(self) -> u16 {
        if self.is_optional() { 0 } else { FLAG_REQUIRED }
    }

    /// Whether the section only makes sorting and filtering faster.
    #[must_use]
    pub fn is_index(self) -> bool {
        matches!(
            self,
            SectionKind::RunOffsets
                | SectionKind::Permutation
                | SectionKind::PostingStarts
                | SectionKind::Postings
                | SectionKind::Fences
                | SectionKind::Ranks
                | SectionKind::Zones
        )
    }
}

/// One record of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionRecord {
    /// Code of the section kind.
    pub kind: u16,
    /// [`FLAG_REQUIRED`] or nothing.
    pub flags: u16,
    /// The column, or [`NO_COLUMN`].
    pub column: u32,
    /// Bytes of an item; 0 without a fixed width.
    pub width: u16,
    /// Minor version of the first reader that knows the kind.
    pub minimal_minor: u16,
    /// Position in the file, a multiple of 64.
    pub offset: u64,
    /// Length in bytes without padding.
    pub len: u64,
    pub items: u64,
    /// XXH3 of the block checksums.
    pub checksum: u64,
    /// Number of the section's first block in the block checksums.
    pub first_block: u64,
}

impl SectionRecord {
    /// The place of the section, for messages.
    #[must_use]
    pub fn place(&self) -> Place {
        match SectionKind::from_code(self.kind) {
            Some(kind) if self.column == NO_COLUMN => Place::File(kind),
            Some(kind) => Place::Column(kind, self.column),
            None => Place::Directory,
        }
    }

    /// Encodes the 64 bytes of the record.
    #[must_use]
    pub fn encode(&self) -> [u8; RECORD_SIZE] {
        let mut out = [0u8; RECORD_SIZE];
        put(&mut out, 0, &self.kind.to_le_bytes());
        put(&mut out, 2, &self.flags.to_le_bytes());
        put(&mut out, 4, &self.column.to_le_bytes());
        put(&mut out, 8, &self.width.to_le_bytes());
        put(&mut out, 10, &self.minimal_minor.to_le_bytes());
        put(&mut out, 16, &self.offset.to_le_bytes());
        put(&mut out, 24, &self.len.to_le_bytes());
        put(&mut out, 32, &self.items.to_le_bytes());
        put(&mut out, 40, &self.checksum.to_le_bytes());
        put(&mut out, 48, &self.first_block.to_le_bytes());
        out
    }

    /// Reads one record; `bytes` are its 64 bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> SectionRecord {
        SectionRecord {
            kind: u16_at(bytes, 0),
            flags: u16_at(bytes, 2),
            column: u32_at(bytes, 4),
            width: u16_at(bytes, 8),
            minimal_minor: u16_at(bytes, 10),
            offset: u64_at(bytes, 16),
            len: u64_at(bytes, 24),
            items: u64_at(bytes, 32),
            checksum: u64_at(bytes, 40),
            first_block: u64_at(bytes, 48),
        }
    }
}

/// Decodes the directory, and checks that the sections are aligned, sorted and disjoint, between header and directory.
///
/// # Errors
/// [`FormatError::UnsupportedSection`] for an unknown required section, [`FormatError::Corrupt`] for the rest.
pub fn decode_directory(
    bytes: &[u8],
    end_of_sections: u64,
    columns: u32,
) -> Result<Vec<SectionRecord>, FormatError> {
    let mut records = Vec::with_capacity(bytes.len() / RECORD_SIZE);
    let mut free_from = HEADER_SIZE as u64;
    for (number, chunk) in bytes.chunks_exact(RECORD_SIZE).enumerate() {
        let record = SectionRecord::decode(chunk);
        check_kind(&record, number)?;
        if record.encode() != chunk {
            return Err(corrupt(record.place(), "reserved bytes of its directory record", 0, 1));
        }
        if record.offset < free_from || !record.offset.is_multiple_of(SECTION_ALIGNMENT) {
            return Err(corrupt(
                record.place(),
                "offset before the end of the section before",
                free_from,
                record.offset,
            ));
        }
        free_from =
            record.offset.checked_add(record.len).filter(|end| *end <= end_of_sections).ok_or_else(|| {
                corrupt(record.place(), "end beyond the directory", end_of_sections, record.offset)
            })?;
        check_owner(&record, columns)?;
        records.push(record);
    }
    Ok(records)
}

/// Kinds below 16 belong to the whole file, the others to a column.
fn check_owner(record: &SectionRecord, columns: u32) -> Result<(), FormatError> {
    let of_file = record.kind < SectionKind::Codes as u16;
    let known = SectionKind::from_code(record.kind).is_some();
    if known && of_file != (record.column == NO_COLUMN)
        || (record.column != NO_COLUMN && record.column >= columns)
    {
        return Err(corrupt(record.place(), "column number", columns.into(), record.column.into()));
    }
    if record.flags & !FLAG_REQUIRED != 0 {
        return Err(corrupt(
            record.place(),
            "flags that this version does not define",
            0,
            record.flags.into(),
        ));
    }
    Ok(())
}

fn check_kind(record: &SectionRecord, number: usize) -> Result<(), FormatError> {
    if SectionKind::from_code(record.kind).is_none() && record.flags & FLAG_REQUIRED != 0 {
        return Err(FormatError::UnsupportedSection {
            record: u32::try_from(number).unwrap_or(u32::MAX),
            kind: record.kind,
            minimal_minor: record.minimal_minor,
        });
    }
    Ok(())
}
