//! The newest entry that is known to be on the disk, kept beside the store.
//!
//! A log store that loses its end opens as an older, consistent state. The watermark tells that apart from a clean
//! start. It is written after the store was synced, never before, so it is never ahead of what is safe. Knows one
//! file of 24 bytes and no record.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

const FILE: &str = "watermark";
const MAGIC: [u8; 8] = *b"MRCMARK1";
const SIZE: usize = MAGIC.len() + size_of::<u64>() + size_of::<u64>();
const _: () = assert!(SIZE == 24);

/// The open file.
pub(super) struct Watermark {
    file: File,
}

impl Watermark {
    /// Opens or creates the file in the folder of the books; returns the sequence that it holds, zero when new.
    pub(super) fn open(directory: &Path) -> io::Result<(Watermark, u64)> {
        let path = Watermark::path(directory);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = [0; SIZE];
        let sequence = match file.metadata()?.len() {
            0 => 0,
            _ => {
                file.read_exact_at(&mut bytes, 0)?;
                decode(&bytes).ok_or(io::ErrorKind::InvalidData)?
            }
        };
        Ok((Watermark { file }, sequence))
    }

    /// The path of the file.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// Notes that every entry up to this one is safe. One small write in place, which the kernel does not tear.
    pub(super) fn raise(&self, sequence: u64) -> io::Result<()> {
        self.file.write_all_at(&encode(sequence), 0)
    }
}

fn encode(sequence: u64) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let checksum = xxh3_64(&[MAGIC, sequence.to_be_bytes()].concat());
    for (target, source) in
        bytes.iter_mut().zip(MAGIC.into_iter().chain(sequence.to_be_bytes()).chain(checksum.to_be_bytes()))
    {
        *target = source;
    }
    bytes
}

fn decode(bytes: &[u8; SIZE]) -> Option<u64> {
    let (_, rest) = bytes.split_first_chunk::<8>()?;
    let (sequence, _) = rest.split_first_chunk::<8>()?;
    let sequence = u64::from_be_bytes(*sequence);
    (encode(sequence) == *bytes).then_some(sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_reads_back_and_a_changed_byte_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (mark, sequence) = Watermark::open(folder.path()).unwrap();
        assert_eq!(sequence, 0);
        mark.raise(300).unwrap();
        assert_eq!(Watermark::open(folder.path()).unwrap().1, 300);
        std::fs::write(Watermark::path(folder.path()), [0; SIZE]).unwrap();
        assert!(Watermark::open(folder.path()).is_err());
    }
}
