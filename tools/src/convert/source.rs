//! A Parquet file as bytes: positioned reads that many threads share, each inside the file, none after a signal has
//! ended the conversion. Knows no column.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::convert::pages::column_chunk::{ColumnChunk, HeaderReader};
use crate::failure::Failure;
use crate::interruption::Interruption;

/// A Parquet file that any number of readers share without sharing a position.
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<File>,
    length: u64,
    path: Arc<PathBuf>,
    interruption: Interruption,
}

impl Source {
    /// Opens a regular file, which is read until an end is requested.
    ///
    /// # Errors
    /// The operating system's, and a refusal of anything that is no regular file.
    pub fn open(path: &Path, interruption: &Interruption) -> Result<Source, Failure> {
        let file = File::open(path).map_err(Failure::io(path, "open"))?;
        let attributes = file.metadata().map_err(Failure::io(path, "read the attributes of"))?;
        if !attributes.is_file() {
            return Err(Failure::Refused {
                file: path.display().to_string(),
                section: "file".into(),
                expected: "a regular file".into(),
                found: if attributes.is_dir() { "a directory".into() } else { "a device or pipe".into() },
                remedy: "name one Parquet file; copy a pipe to a file first".into(),
            });
        }
        Ok(Source {
            file: Arc::new(file),
            length: attributes.len(),
            path: Arc::new(path.to_path_buf()),
            interruption: interruption.clone(),
        })
    }

    /// Bytes of the file.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.length
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the conversion is to end before it is done.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.interruption.is_requested()
    }

    /// Whether `path` leads to this very file.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let identity = |attributes: std::fs::Metadata| (attributes.dev(), attributes.ino());
        match (self.file.metadata(), std::fs::metadata(path)) {
            (Ok(own), Ok(other)) => identity(own) == identity(other),
            _ => false,
        }
    }

    /// The bytes at `start`, all of them or an error.
    ///
    /// # Errors
    /// When they reach past the end of the file, before anything is allocated, or cannot be read, and after a signal.
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
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        ColumnChunk::new(self, 0..self.length).get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        Ok(Bytes::from(self.read_exactly(start, length)?))
    }
}
