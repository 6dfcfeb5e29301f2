//! The memory map: the only unsafe code of the workspace, behind a type that hands out bytes.
#![expect(unsafe_code, reason = "mapping a file is the one unsafe operation of the workspace")]

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};

use crate::error::FormatError;

/// A whole file, mapped read-only.
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps a file that nobody writes to.
    ///
    /// Store files are made under another name, synced, renamed and never written again; they carry mode 0444.
    ///
    /// # Errors
    /// [`FormatError::Io`] when the file cannot be opened or mapped, [`FormatError::WrongLength`] when it is empty.
    pub fn open(path: &Path) -> Result<MappedFile, FormatError> {
        let file = File::open(path).map_err(FormatError::io("open"))?;
        let length = file.metadata().map_err(FormatError::io("read the file's length"))?.len();
        if length == 0 {
            return Err(FormatError::WrongLength { expected: crate::layout::FILE_SIZE_MIN as u64, found: 0 });
        }
        // SAFETY: The map is read-only and private to this value. What Rust demands is that the bytes keep their
        // value while the map is alive. Store files are complete before they get their name, have mode 0444, are
        // replaced by rename and removed by unlink, and both of these leave the mapped inode alone. Nothing read
        // from the map is trusted: every index and every string is checked where it is used, so that even a file
        // that an operator overwrites in place can lead to a wrong answer or an error, but not to a wild access.
        let map = unsafe { MmapOptions::new().map(&file) }.map_err(FormatError::io("map"))?;
        Ok(MappedFile { map })
    }

    /// All bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Takes the pages of a range out of this process's memory; they are read again where they are needed again.
    pub fn release(&self, range: Range<usize>) {
        let (Some(len), true) = (range.end.checked_sub(range.start), range.end <= self.map.len()) else {
            return;
        };
        // SAFETY: What makes this advice unsafe is that it drops changes to private pages. The map is read-only, so no
        // page of it was ever changed, and the next access brings back the same bytes of the same immutable file.
        let released =
            unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, len) };
        // Advice that the kernel does not take changes no result, so its refusal is of no interest.
        drop(released);
    }

    /// Tells the kernel that the file will be read from start to end.
    pub fn advise_sequential(&self) {
        // Advice that the kernel does not take changes no result, so its refusal is of no interest.
        let _ = self.map.advise(Advice::Sequential);
    }
}
