//! A spool of bytes: in memory while it is small, and in an unnamed temporary file when it grows.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::FormatError;

/// Size of writes to the file and of reads from it, bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A buffer that is written once and read from the start any number of times.
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    file_bytes: u64,
    memory_max: usize,
    directory: PathBuf,
}

impl Spool {
    /// A spool that keeps at most `memory_max` bytes in memory and spills into `directory`.
    pub(crate) fn new(memory_max: u64, directory: &Path) -> Spool {
        let memory_max = usize::try_from(memory_max).unwrap_or(usize::MAX);
        Spool {
            memory: Vec::new(),
            file: None,
            file_bytes: 0,
            memory_max,
            directory: directory.to_path_buf(),
        }
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> u64 {
        self.file_bytes + self.memory.len() as u64
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory.capacity() as u64
    }

    /// Appends bytes.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() >= self.memory_max && self.memory.len() >= PIECE_BYTES {
            self.spill()?;
        }
        Ok(())
    }

    /// Releases unused capacity.
    pub(crate) fn shrink(&mut self) {
        self.memory.shrink_to_fit();
    }

    /// Moves the bytes in memory to the file.
    pub(crate) fn spill(&mut self) -> Result<(), FormatError> {
        if self.memory.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            let file =
                tempfile::tempfile_in(&self.directory).map_err(FormatError::io("create a temporary file"))?;
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.memory).map_err(FormatError::io("write a temporary file"))?;
        }
        self.file_bytes += self.memory.len() as u64;
        self.memory_max = PIECE_BYTES;
        self.memory.clear();
        self.memory.shrink_to(PIECE_BYTES);
        Ok(())
    }

    /// Fills `out` with the bytes from `at` on.
    pub(crate) fn read_at(&self, at: u64, out: &mut [u8]) -> Result<(), FormatError> {
        let in_file =
            usize::try_from(self.file_bytes.saturating_sub(at)).unwrap_or(usize::MAX).min(out.len());
        let (head, tail) = out.split_at_mut_checked(in_file).unwrap_or_default();
        if let Some(file) = self.file.as_ref().filter(|_| !head.is_empty()) {
            file.read_exact_at(head, at).map_err(FormatError::io("read a temporary file"))?;
        }
        let from = usize::try_from(at.saturating_sub(self.file_bytes)).unwrap_or(usize::MAX);
        let memory = self.memory.get(from..).and_then(|memory| memory.get(..tail.len()));
        match memory {
            Some(memory) => tail.copy_from_slice(memory),
            None if tail.is_empty() => {}
            None => {
                let end = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(FormatError::io("read a temporary file")(end));
            }
        }
        Ok(())
    }

    /// Reads all bytes in order, in pieces whose length is a multiple of `unit`, except the last.
    pub(crate) fn read(
        &self,
        unit: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        if let Some(file) = &self.file {
            let mut buffer = vec![0u8; PIECE_BYTES / unit.max(1) * unit.max(1)];
            let mut at = 0;
            while at < self.file_bytes {
                let now = usize::try_from(self.file_bytes - at).unwrap_or(usize::MAX).min(buffer.len());
                let piece = buffer.get_mut(..now).unwrap_or_default();
                file.read_exact_at(piece, at).map_err(FormatError::io("read a temporary file"))?;
                take(piece)?;
                at += now as u64;
            }
        }
        if self.memory.is_empty() { Ok(()) } else { take(&self.memory) }
    }

    /// Reads all bytes as words of four.
    pub(crate) fn read_words(
        &self,
        mut take: impl FnMut(u32) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.read(4, &mut |piece| {
            piece.as_chunks().0.iter().try_for_each(|word| take(u32::from_le_bytes(*word)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_bytes_from_memory_and_disk() {
        let directory = tempfile::tempdir().unwrap();
        for memory_max in [u64::MAX, 1 << 20] {
            let mut spool = Spool::new(memory_max, directory.path());
            for number in 0..700_000u64 {
                spool.push(&number.to_le_bytes()).unwrap();
            }
            assert_eq!(spool.file.is_some(), memory_max != u64::MAX);
            let mut next = 0u64;
            let mut check = |piece: &[u8]| {
                for word in piece.as_chunks::<8>().0 {
                    assert_eq!(u64::from_le_bytes(*word), next);
                    next += 1;
                }
                Ok(())
            };
            spool.read(8, &mut check).unwrap();
            assert_eq!((next, spool.len()), (700_000, 5_600_000));
            for number in [0u64, 1, 131_071, 131_072, 524_287, 699_998] {
                let mut two = [0u8; 16];
                spool.read_at(number * 8, &mut two).unwrap();
                let expected = [number.to_le_bytes(), (number + 1).to_le_bytes()].concat();
                assert_eq!(two, *expected);
            }
            assert!(spool.read_at(699_999 * 8, &mut [0u8; 9]).is_err());
            spool.read_at(700_000 * 8, &mut []).unwrap();
        }
    }
}
