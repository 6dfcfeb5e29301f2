//! A file as a `ChunkReader`: positioned reads from many threads, bounded by the file and stopped by an
//! interruption. Does not depend on columns.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::panic_guard;

/// The buffer of a sequential read, bytes: more than most page headers have.
const READ_BYTES: usize = 4 * 1024;

/// A Parquet file for any number of readers, each with its own position.
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<File>,
    length: u64,
    path: Arc<PathBuf>,
    interruption: Interruption,
}

impl Source {
    pub fn open(path: &Path, interruption: &Interruption) -> Result<Source, Failure> {
        let file = File::open(path).map_err(Failure::io(path, "open"))?;
        let attributes = file.metadata().map_err(Failure::io(path, "read the attributes of"))?;
        if !attributes.is_file() {
            return Err(Failure::refused(
                path.display().to_string(),
                "file",
                "a regular file",
                if attributes.is_dir() { "a directory".to_owned() } else { "a device or pipe".to_owned() },
                "name a file; copy a pipe to a file first",
            ));
        }
        Ok(Source {
            file: Arc::new(file),
            length: attributes.len(),
            path: Arc::new(path.to_path_buf()),
            interruption: interruption.clone(),
        })
    }

    /// A file without a name, which messages call `name`.
    pub fn of_spilled(file: File, name: &str, interruption: &Interruption) -> io::Result<Source> {
        let length = file.metadata()?.len();
        let path = Arc::new(PathBuf::from(name));
        Ok(Source { file: Arc::new(file), length, path, interruption: interruption.clone() })
    }

    /// Size of the file, bytes.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.length
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.interruption.is_requested()
    }

    /// Reads `length` bytes at `start`, or fails.
    ///
    /// # Errors
    /// When the range exceeds the file (checked before any allocation), when the read fails, and after an interruption.
    pub fn read_exactly(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if self.is_cancelled() {
            return Err(io::Error::other("ended by a signal"));
        }
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("{length} bytes at byte {start} reach past the end of the file at {}", self.length),
            ));
        }
        panic_guard::progressed();
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let reader = SourceReader { source: self.clone(), position: start };
        Ok(BufReader::with_capacity(READ_BYTES, reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        Ok(Bytes::from(self.read_exactly(start, length)?))
    }
}

/// A sequential read, which fails at the end of the file: the Parquet library would take an empty read for skipped bytes.
pub struct SourceReader {
    source: Source,
    position: u64,
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.source.length.saturating_sub(self.position);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if count == 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a read past the end of the file"));
        }
        let bytes = self.source.read_exactly(self.position, count)?;
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = from;
        }
        self.position += count as u64;
        Ok(count)
    }
}
