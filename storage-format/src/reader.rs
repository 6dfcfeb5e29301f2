//! Opens a store file in O(columns): parses nothing that grows with the number of rows. Does not depend on queries.

use std::path::Path;
use std::sync::OnceLock;

use crate::blocks::{Group, find_groups};
use crate::checksum::{BLOCK_SIZE_BYTES, block_count, checksum, fingerprint, section_checksum};
use crate::column::ColumnData;
use crate::column::entries::Entries;
use crate::column::narrow_floats::NarrowFloatTexts;
use crate::column::view::{ColumnSections, ColumnView};
use crate::column_record::{COLUMN_RECORD_SIZE, ColumnMeta, Storage};
use crate::error::{FormatError, Place, corrupt};
use crate::fingerprint::Fingerprint;
use crate::fsst::Symbols;
use crate::layout::Header;
use crate::limits::{NUMBER_DICTIONARY_ENTRIES_MAX, SOURCE_SCHEMA_BYTES_MAX};
use crate::mapped_file::MappedFile;
use crate::section::{NO_COLUMN, SectionKind, SectionRecord, decode_directory};

pub(crate) enum Bytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Bytes::Mapped(file) => file.bytes(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// An open store file. Cheap to share; reads take no lock.
pub struct Table {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) records: Vec<SectionRecord>,
    columns: Vec<ColumnMeta>,
    sections: Vec<ColumnSections>,
    /// The entries of dictionaries, by column, copied at the first access.
    entries: Vec<OnceLock<Box<Entries>>>,
    /// The encoded texts of narrow floats, by column, filled at the first access.
    narrow_texts: Vec<OnceLock<NarrowFloatTexts>>,
    /// The columns that share row blocks, in their order.
    pub(crate) groups: Vec<Group>,
    /// The symbols of texts, by column, decoded at the first access.
    symbols: Vec<OnceLock<Box<Symbols>>>,
    by_name: std::collections::HashMap<String, usize>,
    rows: u32,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Table({}, {} rows)", self.fingerprint(), self.rows)
    }
}

/// A section, for reports.
#[derive(Debug, Clone)]
pub struct SectionInfo {
    /// Name of the kind, or `unknown`.
    pub kind: &'static str,
    /// The column; `None` for a section of the whole file.
    pub column: Option<u32>,
    /// Position in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// Bytes of an item; 0 without a fixed width.
    pub width: u16,
    pub items: u64,
    /// XXH3 of the block checksums.
    pub checksum: u64,
    /// Whether the section is an index, which only accelerates sorting and filtering.
    pub index: bool,
}

impl Table {
    /// Opens a file: checks header, trailer, directory, exact length, and the place and length of every section.
    ///
    /// # Errors
    /// [`FormatError::File`] around the reason. Damage inside a section is found by [`Table::verify`].
    pub fn open(path: &Path) -> Result<Table, FormatError> {
        let open = || Table::new(Bytes::Mapped(MappedFile::open(path)?), true);
        open().map_err(|error| error.in_file(path))
    }

    /// Opens a file that has no row blocks yet, so that they can be made of its codes and numbers. It has no texts.
    pub(crate) fn open_without_blocks(path: &Path) -> Result<Table, FormatError> {
        Table::new(Bytes::Mapped(MappedFile::open(path)?), false)
    }

    /// Opens a file in memory.
    ///
    /// # Errors
    /// As [`Table::open`], without the path.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Table, FormatError> {
        Table::of_memory(bytes, true)
    }

    /// A file in memory. Without row blocks, they can be made of its codes and numbers.
    pub(crate) fn of_memory(bytes: Vec<u8>, with_blocks: bool) -> Result<Table, FormatError> {
        Table::new(Bytes::Owned(bytes), with_blocks)
    }

    fn new(bytes: Bytes, with_blocks: bool) -> Result<Table, FormatError> {
        let file = bytes.all();
        let header = Header::decode(file)?;
        let directory =
            section_bytes(file, header.directory_offset, header.directory_size, 0).unwrap_or_default();
        check_directory(&header, directory)?;
        let records = decode_directory(directory, header.directory_offset, header.column_count)?;
        let (columns, sections) = read_columns(file, &header, &records)?;
        let groups =
            if with_blocks { find_groups(&records, &sections, header.row_count)? } else { Vec::new() };
        let by_name =
            columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect();
        let rows = u32::try_from(header.row_count).unwrap_or(u32::MAX);
        let narrow_texts = columns.iter().map(|_| OnceLock::new()).collect();
        let symbols = columns.iter().map(|_| OnceLock::new()).collect();
        let entries = columns.iter().map(|_| OnceLock::new()).collect();
        let table = Table {
            bytes,
            header,
            records,
            columns,
            sections,
            entries,
            narrow_texts,
            groups,
            symbols,
            by_name,
            rows,
        };
        table.check_file_sections()?;
        table.advise_blocks();
        for (column, meta) in table.columns.iter().enumerate() {
            if with_blocks || meta.storage != Storage::Texts {
                table.stored_column(column)?;
            }
        }
        Ok(table)
    }

    /// Rows of the table.
    #[must_use]
    pub fn row_count(&self) -> u32 {
        self.rows
    }

    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_size
    }

    /// Bytes of the file that are in memory, whole pages; `None` when the system does not tell. It looks at each page.
    #[must_use]
    pub fn resident_bytes(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Mapped(file) => file.resident_bytes(),
            Bytes::Owned(bytes) => Some(bytes.len() as u64),
        }
    }

    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.header.fingerprint)
    }

    /// Name and version of the program that wrote the file.
    #[must_use]
    pub fn writer(&self) -> &str {
        &self.header.writer
    }

    /// The metadata of all columns.
    #[must_use]
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    /// The number of the column with this name.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The schema of the source as text, empty when it is not UTF-8.
    #[must_use]
    pub fn source_schema(&self) -> &str {
        let record = self.records.iter().find(|record| record.kind == SectionKind::SourceSchema as u16);
        record.and_then(|record| std::str::from_utf8(self.section(record, 0)?).ok()).unwrap_or_default()
    }

    /// All sections in file order.
    pub fn sections(&self) -> impl Iterator<Item = SectionInfo> + '_ {
        self.records.iter().map(|record| {
            let kind = SectionKind::from_code(record.kind);
            SectionInfo {
                kind: kind.map_or("unknown", SectionKind::name),
                column: (record.column != NO_COLUMN).then_some(record.column),
                offset: record.offset,
                len: record.len,
                width: record.width,
                items: record.items,
                checksum: record.checksum,
                index: kind.is_some_and(SectionKind::is_index),
            }
        })
    }

    /// The values of a column. Entries of a dictionary are as they were written, whatever happens to the file; texts of
    /// floats have the width of the source.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] when the entries of a dictionary are damaged; [`FormatError::Corrupt`] when a
    /// section is missing or has the wrong length, never after a successful open.
    pub fn column(&self, column: usize) -> Result<ColumnData<'_>, FormatError> {
        let stored = self.stored_column(column)?;
        let (ColumnData::Dictionary(data), Some(meta)) = (stored, self.columns.get(column)) else {
            return Ok(stored);
        };
        let data = self.entries_of(column)?.apply_to(data);
        Ok(ColumnData::Dictionary(match self.narrow_texts.get(column) {
            Some(texts)
                if meta.is_narrow_float() && data.entries as usize <= NUMBER_DICTIONARY_ENTRIES_MAX =>
            {
                texts.get_or_init(|| NarrowFloatTexts::of(&data, meta.float_width())).apply_to(data)
            }
            _ => data,
        }))
    }

    fn entries_of(&self, column: usize) -> Result<&Entries, FormatError> {
        let entries = self.entries.get(column).ok_or_else(|| self.damaged(column))?;
        get_or_try_init(entries, || Entries::of(self, column))
    }

    /// The symbols of a column of texts.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] or [`FormatError::Corrupt`] when they are damaged, or the column has none.
    pub(crate) fn symbols_of(&self, column: usize) -> Result<&Symbols, FormatError> {
        let damaged = || self.damaged(column);
        let symbols = self.symbols.get(column).ok_or_else(damaged)?;
        get_or_try_init(symbols, || {
            let section = self.column_section(column, SectionKind::Symbols).ok_or_else(damaged)?;
            Symbols::decode(&self.sound_copy(section)?).ok_or_else(damaged)
        })
    }

    /// A copy of a section that is as it was written.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`].
    pub(crate) fn sound_copy(&self, record: &SectionRecord) -> Result<Vec<u8>, FormatError> {
        let copy = self.section(record, 0).unwrap_or_default().to_vec();
        let blocks: Vec<u64> = copy.chunks(BLOCK_SIZE_BYTES).map(checksum).collect();
        let found = section_checksum(&blocks);
        if found == record.checksum {
            return Ok(copy);
        }
        let (place, offset, expected) = (record.place(), record.offset, record.checksum);
        Err(FormatError::ChecksumMismatch { place, offset, expected, found })
    }

    /// The values of a column, with the stored texts.
    ///
    /// # Errors
    /// As [`Table::column`].
    pub(crate) fn stored_column(&self, column: usize) -> Result<ColumnData<'_>, FormatError> {
        let number = u32::try_from(column).unwrap_or(u32::MAX);
        let (Some(meta), Some(sections)) = (self.columns.get(column), self.sections.get(column)) else {
            return Err(corrupt(
                Place::File(SectionKind::Columns),
                "column number",
                self.columns.len() as u64,
                number.into(),
            ));
        };
        ColumnView { table: self, meta, sections, number }.data()
    }

    /// The section of a column, if it has one of that kind.
    pub(crate) fn column_section(&self, column: usize, kind: SectionKind) -> Option<&SectionRecord> {
        self.records.get(self.sections.get(column)?.record_number(kind)? as usize)
    }

    /// The sections of a column that this version knows, without a scan of other columns' sections.
    pub(crate) fn column_records(&self, column: usize) -> impl Iterator<Item = &SectionRecord> {
        let numbers = self.sections.get(column).into_iter().flat_map(ColumnSections::record_numbers);
        numbers.filter_map(|number| self.records.get(number as usize))
    }

    /// Checks that all data read so far came from the file. A page that the system cannot read, because the file was
    /// truncated or its disk failed, reads as zeros; results based on it must be discarded.
    ///
    /// # Errors
    /// [`FormatError::LostPage`], after the first lost page.
    pub fn check_intact(&self) -> Result<(), FormatError> {
        match &self.bytes {
            Bytes::Mapped(file) if !file.is_intact() => Err(FormatError::LostPage),
            _ => Ok(()),
        }
    }

    /// The error for a value of `column` that points outside its section.
    #[must_use]
    pub fn damaged(&self, column: usize) -> FormatError {
        let number = u32::try_from(column).unwrap_or(u32::MAX);
        corrupt(Place::Column(SectionKind::Columns, number), "a value points outside its section", 0, 1)
    }

    /// Releases the memory of a section, which is read again on the next access.
    pub(crate) fn release(&self, record: &SectionRecord) {
        if let (Bytes::Mapped(file), Ok(start), Ok(len)) =
            (&self.bytes, usize::try_from(record.offset), usize::try_from(record.len))
        {
            file.release(start..start.saturating_add(len));
        }
    }

    pub(crate) fn file(&self) -> &[u8] {
        self.bytes.all()
    }

    /// A section, and `padding` bytes behind it.
    pub(crate) fn section(&self, record: &SectionRecord, padding: usize) -> Option<&[u8]> {
        section_bytes(self.file(), record.offset, record.len, padding)
    }

    fn check_file_sections(&self) -> Result<(), FormatError> {
        let blocks: u64 = self
            .records
            .iter()
            .filter(|record| record.kind != SectionKind::BlockChecksums as u16)
            .map(|record| block_count(record.len))
            .sum();
        let optional = SectionKind::RenderedLengths as u16;
        let found = self.records.iter().filter(|record| record.kind == optional).count();
        if found > 1 {
            let place = Place::File(SectionKind::RenderedLengths);
            return Err(corrupt(place, "number of such sections", 1, found as u64));
        }
        let place = Place::File(SectionKind::BlockChecksums);
        let table = self.records.iter().find(|record| record.kind == SectionKind::BlockChecksums as u16);
        let found = table.map_or(0, |record| record.len);
        if found != blocks * 8 {
            return Err(corrupt(place, "length", blocks * 8, found));
        }
        Ok(())
    }
}

/// What a cell holds, or is given first.
pub(crate) fn get_or_try_init<T>(
    cell: &OnceLock<Box<T>>,
    make: impl FnOnce() -> Result<T, FormatError>,
) -> Result<&T, FormatError> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = Box::new(make()?);
    Ok(cell.get_or_init(|| made))
}

fn check_directory(header: &Header, directory: &[u8]) -> Result<(), FormatError> {
    let found = checksum(directory);
    if found != header.directory_checksum {
        let (offset, expected) = (header.directory_offset, header.directory_checksum);
        return Err(FormatError::ChecksumMismatch { place: Place::Directory, offset, expected, found });
    }
    if fingerprint(directory) != header.fingerprint {
        return Err(corrupt(Place::Header, "fingerprint differs from the directory's", 0, 1));
    }
    Ok(())
}

fn section_bytes(file: &[u8], offset: u64, len: u64, padding: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?.checked_add(padding)?;
    file.get(start..end)
}

fn read_columns(
    file: &[u8],
    header: &Header,
    records: &[SectionRecord],
) -> Result<(Vec<ColumnMeta>, Vec<ColumnSections>), FormatError> {
    let find = |kind: SectionKind| {
        let mut found =
            records.iter().filter(|record| record.kind == kind as u16 && record.column == NO_COLUMN);
        match (found.next(), found.next()) {
            (Some(record), None) => Ok(section_bytes(file, record.offset, record.len, 0).unwrap_or_default()),
            (first, _) => Err(corrupt(
                Place::File(kind),
                "number of such sections",
                1,
                if first.is_some() { 2 } else { 0 },
            )),
        }
    };
    let (table, strings) = (find(SectionKind::Columns)?, find(SectionKind::Strings)?);
    check_small_sections(file, records)?;
    if find(SectionKind::SourceSchema)?.len() > SOURCE_SCHEMA_BYTES_MAX {
        let place = Place::File(SectionKind::SourceSchema);
        return Err(corrupt(place, "length above the limit", SOURCE_SCHEMA_BYTES_MAX as u64, u64::MAX));
    }
    find(SectionKind::BlockChecksums)?;
    let expected = header.column_count as usize * COLUMN_RECORD_SIZE;
    if table.len() != expected {
        return Err(corrupt(
            Place::File(SectionKind::Columns),
            "length",
            expected as u64,
            table.len() as u64,
        ));
    }
    let columns: Vec<ColumnMeta> = (0u32..)
        .zip(table.chunks_exact(COLUMN_RECORD_SIZE))
        .map(|(number, record)| ColumnMeta::decode(record, strings, number, header.row_count))
        .collect::<Result<_, _>>()?;
    let names: std::collections::HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if names.len() != columns.len() {
        return Err(corrupt(
            Place::File(SectionKind::Columns),
            "distinct names",
            columns.len() as u64,
            names.len() as u64,
        ));
    }
    Ok((columns, index_sections(header, records)?))
}

/// Checks the checksums of the column records and the names, which are read at open. Both are small.
fn check_small_sections(file: &[u8], records: &[SectionRecord]) -> Result<(), FormatError> {
    for record in records.iter().filter(|record| record.kind <= SectionKind::Strings as u16) {
        let bytes = section_bytes(file, record.offset, record.len, 0).unwrap_or_default();
        let blocks: Vec<u64> = bytes.chunks(BLOCK_SIZE_BYTES).map(checksum).collect();
        let (expected, found) = (record.checksum, section_checksum(&blocks));
        if expected != found {
            let (place, offset) = (record.place(), record.offset);
            return Err(FormatError::ChecksumMismatch { place, offset, expected, found });
        }
    }
    Ok(())
}

fn index_sections(header: &Header, records: &[SectionRecord]) -> Result<Vec<ColumnSections>, FormatError> {
    let mut sections = vec![ColumnSections::default(); header.column_count as usize];
    for (number, record) in (0u32..).zip(records) {
        let slot = sections.get_mut(record.column as usize).and_then(|column| column.slot(record.kind));
        if let Some(slot) = slot {
            if slot.is_some() {
                return Err(corrupt(record.place(), "number of such sections", 1, 2));
            }
            *slot = Some(number);
        }
    }
    Ok(sections)
}
