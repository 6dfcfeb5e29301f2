//! Writes finished columns into a file: sections, directory, trailer, header; then syncs, verifies and renames it.

use std::collections::HashSet;
use std::fs::{File, Permissions};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tempfile::NamedTempFile;

use crate::checksum::{BlockHasher, checksum, fingerprint};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::fingerprint::Fingerprint;
use crate::layout::{HEADER_SIZE, Header, SECTION_ALIGNMENT, TRAILER_SIZE, VERSION_MINOR};
use crate::limits::{COLUMNS_MAX, NAME_BYTES_MAX, SOURCE_SCHEMA_BYTES_MAX};
use crate::reader::Table;
use crate::rendered_lengths::{RenderedLengths, encode_lengths};
use crate::section::{NO_COLUMN, RECORD_SIZE, SectionKind, SectionRecord};
use crate::statistics::ColumnStatistics;
use crate::verify::VerifyProgress;
use crate::writer::blocks::{self, PendingTexts};
use crate::writer::segment::{ColumnSegment, SectionData};
use crate::writer::spool::Spool;
use crate::writer::target::Target;
use crate::writer::temporary_file;

/// The metadata of the source.
#[derive(Debug, Clone, Default)]
pub struct TableMetadata {
    /// The schema of the source as text, at most 16 MiB.
    pub source_schema: String,
    /// Name and version of the writing program, at most 32 bytes.
    pub created_by: String,
}

/// The summary of a written file.
#[derive(Debug, Clone)]
pub struct TableSummary {
    pub file_bytes: u64,
    /// Rows of the table.
    pub row_count: u64,
    pub fingerprint: Fingerprint,
}

/// Writes one store file. Dropped before [`TableWriter::commit`], it leaves nothing behind.
pub struct TableWriter {
    path: PathBuf,
    replaces: bool,
    target: Target,
    metadata: TableMetadata,
    position: u64,
    rows: Option<u64>,
    records: Vec<SectionRecord>,
    blocks: Vec<u64>,
    columns: Vec<ColumnMeta>,
    /// The texts of columns whose row blocks are not written yet.
    texts: PendingTexts,
    has_row_blocks: bool,
    names: HashSet<String>,
}

impl TableWriter {
    /// Creates a temporary file beside `target`, and removes abandoned temporary files there.
    ///
    /// # Errors
    /// [`FormatError::Io`] when the folder cannot be written to, [`FormatError::LimitExceeded`] for a too long schema.
    pub fn create(target: &Path, metadata: TableMetadata) -> Result<TableWriter, FormatError> {
        let file = temporary_file::create(target).map_err(FormatError::io("create the file"))?;
        TableWriter::new(target, Target::File(file), metadata)
    }

    /// A writer of a table that no file keeps. Long texts are spilled beside `path`.
    pub(super) fn in_memory(path: &Path, metadata: TableMetadata) -> Result<TableWriter, FormatError> {
        TableWriter::new(path, Target::Memory(Cursor::default()), metadata)
    }

    fn new(path: &Path, mut target: Target, metadata: TableMetadata) -> Result<TableWriter, FormatError> {
        limit("bytes of the source schema", metadata.source_schema.len(), SOURCE_SCHEMA_BYTES_MAX)?;
        target.write_all(&[0; HEADER_SIZE]).map_err(FormatError::io("write the header"))?;
        Ok(TableWriter {
            path: path.to_path_buf(),
            replaces: true,
            target,
            metadata,
            position: HEADER_SIZE as u64,
            rows: None,
            records: Vec::new(),
            blocks: Vec::new(),
            columns: Vec::new(),
            texts: PendingTexts::new(folder_of(path)),
            has_row_blocks: false,
            names: HashSet::new(),
        })
    }

    /// The temporary path of the file before [`TableWriter::commit`].
    #[must_use]
    pub fn temporary_path(&self) -> &Path {
        self.target.path()
    }

    /// Makes [`TableWriter::commit`] fail instead of replacing an existing target.
    #[must_use]
    pub fn without_replacing(self) -> TableWriter {
        TableWriter { replaces: false, ..self }
    }

    /// Adds the next column.
    ///
    /// # Errors
    /// [`FormatError::RowCountMismatch`], [`FormatError::DuplicateColumn`], [`FormatError::LimitExceeded`] or
    /// [`FormatError::Io`].
    pub fn append(&mut self, segment: ColumnSegment) -> Result<(), FormatError> {
        let name = segment.meta.name.clone();
        let expected = *self.rows.get_or_insert(segment.rows);
        if segment.rows != expected {
            return Err(FormatError::RowCountMismatch { column: name, expected, found: segment.rows });
        }
        limit("columns of a table", self.columns.len() + 1, COLUMNS_MAX)?;
        limit("bytes of a column name", name.len(), NAME_BYTES_MAX)?;
        limit("bytes of a column's source type", segment.meta.source_type.len(), NAME_BYTES_MAX)?;
        if !self.names.insert(name.clone()) {
            return Err(FormatError::DuplicateColumn { column: name });
        }
        let column = u32::try_from(self.columns.len()).unwrap_or(NO_COLUMN);
        for section in &segment.sections {
            self.write_section(section, column)?;
        }
        self.texts.push(segment.texts)?;
        self.columns.push(segment.meta);
        Ok(())
    }

    /// Writes the row blocks of all columns, once.
    fn write_row_blocks(&mut self) -> Result<(), FormatError> {
        if std::mem::replace(&mut self.has_row_blocks, true) {
            return Ok(());
        }
        let folder = folder_of(&self.path).to_path_buf();
        let texts = std::mem::replace(&mut self.texts, PendingTexts::new(&folder));
        let mut first = 0;
        while first < self.columns.len() {
            let write = |table: &Table| blocks::write(table, &texts, first, &folder);
            let (next, groups) = self.read_file(false, write)?;
            for group in groups {
                for section in &group.sections {
                    self.write_section(section, group.first)?;
                }
            }
            first = next;
        }
        Ok(())
    }

    /// Opens the appended columns with the reader, so that sections derived from them can be appended. No column may
    /// follow.
    ///
    /// # Errors
    /// [`FormatError::Io`], or the error of `read`.
    pub fn read_back<T>(
        &mut self,
        read: impl FnOnce(&Table) -> Result<T, FormatError>,
    ) -> Result<T, FormatError> {
        self.write_row_blocks()?;
        self.read_file(true, read)
    }

    fn read_file<T>(
        &mut self,
        with_blocks: bool,
        read: impl FnOnce(&Table) -> Result<T, FormatError>,
    ) -> Result<T, FormatError> {
        let (position, records, blocks) = (self.position, self.records.len(), self.blocks.len());
        self.complete()?;
        let outcome = read(&self.target.open(with_blocks)?)?;
        // The table is closed, so no map covers the bytes that the next section overwrites.
        self.records.truncate(records);
        self.blocks.truncate(blocks);
        self.position = position;
        self.target.cut(position)?;
        Ok(outcome)
    }

    /// Computes and appends the statistics of all columns. Call it after the last column. Columns run in parallel.
    ///
    /// # Errors
    /// [`FormatError::Io`].
    pub fn append_statistics(&mut self) -> Result<(), FormatError> {
        let counted: Vec<ColumnStatistics> = self.read_back(|table| {
            let columns = 0..table.columns().len();
            columns.into_par_iter().map(|column| ColumnStatistics::of(table, column)).collect()
        })?;
        for (column, statistics) in (0u32..).zip(counted) {
            let bytes = statistics.encode();
            self.write_bytes(SectionKind::Statistics, column, 0, 1, &bytes)?;
        }
        Ok(())
    }

    /// Appends the lengths of the table in its export formats. Call it after the last column.
    ///
    /// # Errors
    /// [`FormatError::RowCountMismatch`] for lengths of another table, [`FormatError::Io`].
    pub fn append_rendered_lengths(&mut self, lengths: &[RenderedLengths<'_>; 3]) -> Result<(), FormatError> {
        let expected = self.rows.unwrap_or(0);
        if let Some(other) = lengths.iter().find(|lengths| u64::from(lengths.row_count()) != expected) {
            let (column, found) = ("rendered lengths".to_owned(), other.row_count().into());
            return Err(FormatError::RowCountMismatch { column, expected, found });
        }
        let bytes = encode_lengths(lengths);
        self.write_bytes(SectionKind::RenderedLengths, NO_COLUMN, 0, 3, &bytes)
    }

    /// Completes and syncs the file, verifies it through the reader, and renames it into place.
    ///
    /// # Errors
    /// [`FormatError::Io`], or the errors of [`Table::verify`]. The target is then unchanged.
    pub fn commit(mut self, progress: &(dyn Fn(VerifyProgress) + Sync)) -> Result<TableSummary, FormatError> {
        self.write_row_blocks()?;
        let header = self.complete()?;
        if let Target::File(file) = self.target {
            publish(file, &self.path, self.replaces, progress)?;
        }
        Ok(TableSummary {
            file_bytes: header.file_size,
            row_count: header.row_count,
            fingerprint: Fingerprint(header.fingerprint),
        })
    }

    /// Completes a table in memory and opens it.
    pub(super) fn into_table(mut self) -> Result<Table, FormatError> {
        self.write_row_blocks()?;
        self.complete()?;
        self.target.into_table()
    }

    /// Writes the sections after the columns, directory, trailer and header.
    fn complete(&mut self) -> Result<Header, FormatError> {
        self.write_file_sections()?;
        let header = self.write_directory()?;
        self.target.seek(SeekFrom::Start(0)).map_err(FormatError::io("write the header"))?;
        self.target.write_all(&header.encode()).map_err(FormatError::io("write the header"))?;
        Ok(header)
    }

    fn write_section(&mut self, section: &SectionData, column: u32) -> Result<(), FormatError> {
        self.pad()?;
        let offset = self.position;
        let mut hasher = BlockHasher::default();
        let target = &mut self.target;
        section.bytes.read(1, &mut |piece| {
            hasher.update(piece);
            target.write_all(piece).map_err(FormatError::io("write a section"))
        })?;
        let len = section.bytes.len();
        self.position += len;
        let (blocks, checksum) = hasher.finish();
        let first_block = self.blocks.len() as u64;
        self.blocks.extend_from_slice(&blocks);
        self.records.push(SectionRecord {
            kind: section.kind as u16,
            flags: section.kind.flags(),
            column,
            width: section.width,
            minimal_minor: VERSION_MINOR,
            offset,
            len,
            items: section.items,
            checksum,
            first_block,
        });
        Ok(())
    }

    fn pad(&mut self) -> Result<(), FormatError> {
        let aligned = self.position.next_multiple_of(SECTION_ALIGNMENT);
        let zeros = [0u8; SECTION_ALIGNMENT as usize];
        let padding = zeros.get(..usize::try_from(aligned - self.position).unwrap_or(0)).unwrap_or_default();
        self.target.write_all(padding).map_err(FormatError::io("write padding"))?;
        self.position = aligned;
        Ok(())
    }

    fn write_file_sections(&mut self) -> Result<(), FormatError> {
        let mut strings = Vec::new();
        let records: Vec<u8> = self.columns.iter().flat_map(|column| column.encode(&mut strings)).collect();
        let columns = self.columns.len() as u64;
        let schema = self.metadata.source_schema.clone().into_bytes();
        self.write_bytes(SectionKind::Columns, NO_COLUMN, 128, columns, &records)?;
        self.write_bytes(SectionKind::Strings, NO_COLUMN, 0, strings.len() as u64, &strings)?;
        self.write_bytes(SectionKind::SourceSchema, NO_COLUMN, 0, schema.len() as u64, &schema)?;
        let blocks: Vec<u8> = self.blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        self.write_bytes(SectionKind::BlockChecksums, NO_COLUMN, 8, blocks.len() as u64 / 8, &blocks)
    }

    fn write_bytes(
        &mut self,
        kind: SectionKind,
        column: u32,
        width: u16,
        items: u64,
        bytes: &[u8],
    ) -> Result<(), FormatError> {
        let mut spool = Spool::new(u64::MAX, folder_of(&self.path));
        spool.push(bytes)?;
        self.write_section(&SectionData { kind, width, items, bytes: spool }, column)
    }

    fn write_directory(&mut self) -> Result<Header, FormatError> {
        self.pad()?;
        let directory: Vec<u8> = self.records.iter().flat_map(SectionRecord::encode).collect();
        let directory_size = (self.records.len() * RECORD_SIZE) as u64;
        let header = Header {
            minor: VERSION_MINOR,
            file_size: self.position + directory_size + TRAILER_SIZE as u64,
            row_count: self.rows.unwrap_or(0),
            column_count: u32::try_from(self.columns.len()).unwrap_or(u32::MAX),
            section_count: u32::try_from(self.records.len()).unwrap_or(u32::MAX),
            directory_offset: self.position,
            directory_size,
            directory_checksum: checksum(&directory),
            fingerprint: fingerprint(&directory),
            writer: self.metadata.created_by.clone(),
        };
        let target = &mut self.target;
        target.write_all(&directory).map_err(FormatError::io("write the directory"))?;
        target.write_all(&header.encode_trailer()).map_err(FormatError::io("write the trailer"))?;
        Ok(header)
    }
}

/// Syncs a complete file, verifies it through the reader, and renames it into place.
fn publish(
    mut file: NamedTempFile,
    path: &Path,
    replaces: bool,
    progress: &(dyn Fn(VerifyProgress) + Sync),
) -> Result<(), FormatError> {
    let open = file.as_file_mut();
    open.set_permissions(Permissions::from_mode(0o444)).map_err(FormatError::io("set the file's mode"))?;
    open.sync_all().map_err(FormatError::io("sync the file"))?;
    Table::open(file.path())?.verify(progress)?;
    let persisted = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|error| FormatError::io("rename the file")(error.error))?;
    let folder = File::open(folder_of(path)).map_err(FormatError::io("open the folder"))?;
    folder.sync_all().map_err(FormatError::io("sync the folder"))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

fn limit(what: &str, found: usize, limit: usize) -> Result<(), FormatError> {
    if found <= limit {
        return Ok(());
    }
    Err(FormatError::LimitExceeded {
        what: what.into(),
        limit: limit as u64,
        found: found as u64,
        remedy: "make it smaller or drop columns",
    })
}
