//! What a table is written to: a temporary file beside its target, or memory.

use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::FormatError;
use crate::reader::Table;

pub(super) enum Target {
    File(NamedTempFile),
    Memory(Cursor<Vec<u8>>),
}

impl Target {
    /// Opens what was written so far. Without row blocks, they can be made of its codes and numbers.
    pub(super) fn open(&self, with_blocks: bool) -> Result<Table, FormatError> {
        match self {
            Target::File(file) if with_blocks => Table::open(file.path()),
            Target::File(file) => Table::open_without_blocks(file.path()),
            Target::Memory(bytes) => Table::of_memory(bytes.get_ref().clone(), with_blocks),
        }
    }

    /// Opens a complete table.
    pub(super) fn into_table(self) -> Result<Table, FormatError> {
        match self {
            Target::File(file) => Table::open(file.path()),
            Target::Memory(bytes) => Table::of_memory(bytes.into_inner(), true),
        }
    }

    /// The temporary path of the file; empty in memory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Target::File(file) => file.path(),
            Target::Memory(_) => Path::new(""),
        }
    }

    /// Removes everything from `position` on, where the next bytes are written.
    pub(super) fn cut(&mut self, position: u64) -> Result<(), FormatError> {
        match self {
            Target::File(file) => {
                file.as_file().set_len(position).map_err(FormatError::io("cut the file"))?
            }
            Target::Memory(bytes) => {
                bytes.get_mut().truncate(usize::try_from(position).unwrap_or(usize::MAX))
            }
        }
        self.seek(SeekFrom::Start(position)).map(drop).map_err(FormatError::io("go back in the file"))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(file) => file.write(bytes),
            Target::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File(file) => file.flush(),
            Target::Memory(memory) => memory.flush(),
        }
    }
}

impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Target::File(file) => file.seek(to),
            Target::Memory(memory) => memory.seek(to),
        }
    }
}
