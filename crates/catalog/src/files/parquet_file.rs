//! The Parquet file of a version, which publication writes beside the store file. It is served as it is.
//!
//! Its record has the SHA-256 of the whole, for clients, and a checksum for each block. Every block is compared with its
//! checksum when it is read, so no request sends damaged bytes, and no start has to wait. Does not depend on the bytes of
//! Parquet.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mercato_format::Fingerprint;
use mercato_format::checksum::{checksum, fingerprint};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::CatalogError;
use crate::files::data_directory::{DatasetFolder, version_of_file_name};
use crate::files::file_identity::FileIdentity;
use crate::publish::record::Record;

/// Smallest block with a checksum of its own, bytes.
const BLOCK_BYTES_MIN: u64 = 256 * 1024;
/// Checksums of a file at most: larger files have larger blocks, so that the record of a dataset stays small.
const BLOCK_COUNT_MAX: u64 = 8_192;
const CHECKSUM_BYTES: usize = 8;
const SHA256_BYTES: usize = 32;

/// The record of the file among the publications. The seal detects edits, as that of the store file does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParquetFact {
    bytes: u64,
    /// In base64, as `Repr-Digest` has it.
    sha256: String,
    block_bytes: u64,
    /// XXH3 of 64 bits of every block, little-endian, one after the other, in base64.
    checksums: String,
    seal: String,
}

impl ParquetFact {
    /// Reads the file at a path for the record of a version with this content; `None` when there is none.
    pub fn of(path: &Path, content: Fingerprint) -> Result<Option<Self>, CatalogError> {
        let Some(identity) = FileIdentity::of(path)? else { return Ok(None) };
        let block_bytes = block_bytes(identity.size());
        let fault = |error| CatalogError::io(path, "read it", error);
        let mut file = File::open(path).map_err(fault)?;
        let (mut sha256, mut checksums, mut block) = (Sha256::new(), Vec::new(), Vec::new());
        for position in (0..identity.size()).step_by(usize::try_from(block_bytes).unwrap_or(usize::MAX)) {
            let count = block_bytes.min(identity.size().saturating_sub(position));
            block.resize(usize::try_from(count).unwrap_or(usize::MAX), 0);
            file.read_exact(&mut block).map_err(fault)?;
            sha256.update(&block);
            checksums.extend_from_slice(&checksum(&block).to_le_bytes());
        }
        let mut fact = Self {
            bytes: identity.size(),
            sha256: STANDARD.encode(sha256.finalize()),
            block_bytes,
            checksums: STANDARD.encode(checksums),
            seal: String::new(),
        };
        fact.seal = fact.seal_for(content);
        Ok(Some(fact))
    }

    /// Length of the file in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn seal_for(&self, content: Fingerprint) -> String {
        let Self { bytes, sha256, block_bytes, checksums, .. } = self;
        let sealed = format!("{bytes} {sha256} {block_bytes} {checksums} {content}");
        Fingerprint(fingerprint(sealed.as_bytes())).to_string()
    }

    /// The checksums of the blocks; `None` when the record was edited.
    fn opened(&self, content: Fingerprint) -> Option<Vec<u64>> {
        let checksums = STANDARD.decode(&self.checksums).ok()?;
        let (checksums, rest) = checksums.as_chunks::<CHECKSUM_BYTES>();
        let count = self.bytes.div_ceil(self.block_bytes.max(1));
        let is_whole = rest.is_empty()
            && u64::try_from(checksums.len()).is_ok_and(|found| found == count)
            && self.block_bytes == block_bytes(self.bytes)
            && self.seal == self.seal_for(content);
        is_whole.then(|| checksums.iter().copied().map(u64::from_le_bytes).collect())
    }
}

/// The size of the blocks of a file, a power of two.
fn block_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_COUNT_MAX).next_power_of_two().max(BLOCK_BYTES_MIN)
}

/// The Parquet file of a version.
#[derive(Debug)]
pub struct ParquetFile {
    path: PathBuf,
    identity: FileIdentity,
    bytes: u64,
    sha256: Vec<u8>,
    block_bytes: u64,
    checksums: Vec<u64>,
    is_damaged: AtomicBool,
}

impl ParquetFile {
    /// The file at a path, as the record of a version with this content describes it; `None` when it is absent or the
    /// record was edited. A file of another length is damaged.
    pub fn find(path: PathBuf, fact: &ParquetFact, content: Fingerprint) -> Option<Self> {
        let checksums = fact.opened(content)?;
        let identity = FileIdentity::of(&path).ok().flatten()?;
        let sha256 = STANDARD.decode(&fact.sha256).ok().filter(|sha256| sha256.len() == SHA256_BYTES)?;
        Some(Self {
            path,
            identity,
            bytes: fact.bytes,
            sha256,
            block_bytes: fact.block_bytes,
            checksums,
            is_damaged: AtomicBool::new(identity.size() != fact.bytes),
        })
    }

    /// The Parquet file beside a store file of a data directory; `None` without a record of it.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn beside(store: &Path, content: Fingerprint) -> Result<Option<Self>, CatalogError> {
        let version = store.file_name().and_then(|name| name.to_str()).and_then(version_of_file_name);
        let folder = store.parent().and_then(Path::parent).map(|folder| DatasetFolder::at(folder.to_owned()));
        let Some((version, folder)) = version.zip(folder) else { return Ok(None) };
        if folder.versions().as_path() != store.parent().unwrap_or(store) {
            return Ok(None);
        }
        let record = Record::read(&folder)?;
        let fact = record.as_ref().and_then(|record| record.parquet(&version, content));
        Ok(fact.and_then(|fact| Self::find(folder.parquet(&version), fact, content)))
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The SHA-256 of its bytes, in base64.
    pub fn sha256(&self) -> String {
        STANDARD.encode(&self.sha256)
    }

    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub fn sha256_hex(&self) -> String {
        self.sha256.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Its path, for the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether some of its bytes turned out to be others than those that were published.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// Whether the other describes the same unchanged file.
    pub fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity && self.sha256 == other.sha256 && self.checksums == other.checksums
    }

    /// Opens the file.
    ///
    /// # Errors
    /// When it is gone or cannot be opened.
    pub fn open(self: &Arc<Self>) -> io::Result<OpenParquet> {
        Ok(OpenParquet { file: File::open(&self.path)?, parquet: Arc::clone(self) })
    }

    /// Compares every block with its checksum. `read` receives the number of bytes just read, and stops the work by its
    /// error.
    ///
    /// # Errors
    /// Those of `read`; the inner ones say why the file is not sound.
    pub fn check<E>(
        self: &Arc<Self>,
        read: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<io::Result<()>, E> {
        let open = match self.open() {
            Ok(open) => open,
            Err(error) => return Ok(Err(error)),
        };
        let (mut position, mut block) = (0, Vec::new());
        while position < self.bytes {
            if let Err(error) = open.read_block(position, &mut block) {
                return Ok(Err(error));
            }
            let count = u64::try_from(block.len()).unwrap_or(u64::MAX);
            position = position.saturating_add(count);
            read(count)?;
        }
        Ok(Ok(()))
    }
}

/// An open Parquet file. It can be read even after its version was removed.
#[derive(Debug)]
pub struct OpenParquet {
    file: File,
    parquet: Arc<ParquetFile>,
}

impl OpenParquet {
    pub fn file(&self) -> &ParquetFile {
        &self.parquet
    }

    /// Fills `block` with the block that holds a position, and returns where it begins.
    ///
    /// # Errors
    /// When the block cannot be read, or is another one than was published; then the file counts as damaged.
    pub fn read_block(&self, position: u64, block: &mut Vec<u8>) -> io::Result<u64> {
        let parquet = &self.parquet;
        let number = position.checked_div(parquet.block_bytes).unwrap_or(0);
        let start = number.saturating_mul(parquet.block_bytes);
        let expected = usize::try_from(number).ok().and_then(|number| parquet.checksums.get(number));
        let expected = expected.ok_or(io::ErrorKind::InvalidInput)?;
        let length = parquet.block_bytes.min(parquet.bytes.saturating_sub(start));
        block.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        let outcome = self.file.read_exact_at(block, start).and_then(|()| {
            if checksum(block) == *expected {
                return Ok(());
            }
            let reason = format!("the {length} bytes at {start} differ from those that were published");
            Err(io::Error::new(io::ErrorKind::InvalidData, reason))
        });
        if let Err(error) = &outcome
            && matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
        {
            parquet.is_damaged.store(true, Ordering::Release);
        }
        outcome.map(|()| start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: Fingerprint = Fingerprint([7; 16]);

    fn written(folder: &Path, bytes: &[u8]) -> (PathBuf, ParquetFact) {
        let path = folder.join("1.0.0.parquet");
        std::fs::write(&path, bytes).unwrap();
        let fact = ParquetFact::of(&path, CONTENT).unwrap().unwrap();
        (path, fact)
    }

    fn found(path: &Path, fact: &ParquetFact) -> Arc<ParquetFile> {
        Arc::new(ParquetFile::find(path.to_owned(), fact, CONTENT).unwrap())
    }

    fn check(file: &Arc<ParquetFile>) -> io::Result<()> {
        file.check::<()>(&mut |_| Ok(())).unwrap()
    }

    #[test]
    fn reads_sound_blocks_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes: Vec<u8> = (0..700_000_u32).map(|at| (at * 31 % 251) as u8).collect();
        let (path, fact) = written(folder.path(), &bytes);
        let file = found(&path, &fact);
        let (open, mut block) = (file.open().unwrap(), Vec::new());
        for position in [0, 262_143, 262_144, 600_000, 699_999] {
            let start = open.read_block(position, &mut block).unwrap();
            let end = (start + 262_144).min(700_000);
            assert!(start <= position && position < end);
            assert_eq!(block, bytes[start as usize..end as usize], "{position}");
        }
        assert!(open.read_block(800_000, &mut block).is_err() && !file.is_damaged());
        assert!(check(&file).is_ok());
        bytes[300_000] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(open.read_block(0, &mut block).is_ok() && !file.is_damaged());
        assert!(open.read_block(262_144, &mut block).unwrap_err().to_string().contains("at 262144"));
        assert!(file.is_damaged());
    }

    #[test]
    fn every_change_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = [3; 1_000];
        let (path, fact) = written(folder.path(), &bytes);
        for (what, changed) in [("shorter", vec![3; 999]), ("longer", vec![3; 1_001]), ("none", Vec::new())] {
            std::fs::write(&path, changed).unwrap();
            assert!(found(&path, &fact).is_damaged(), "{what}");
        }
        for at in [0, 500, 999] {
            let mut changed = bytes;
            changed[at] = 4;
            std::fs::write(&path, changed).unwrap();
            let file = found(&path, &fact);
            assert!(!file.is_damaged() && check(&file).is_err() && file.is_damaged(), "{at}");
        }
        std::fs::write(&path, bytes).unwrap();
        let file = found(&path, &fact);
        std::fs::write(&path, [3; 900]).unwrap();
        assert!(check(&file).is_err() && file.is_damaged(), "cut after it was found");
        std::fs::remove_file(&path).unwrap();
        assert!(ParquetFile::find(path.clone(), &fact, CONTENT).is_none());
        assert!(ParquetFact::of(&path, CONTENT).unwrap().is_none());
    }

    #[test]
    fn forgets_edited_record() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fact) = written(folder.path(), b"PAR1 rows PAR1");
        let text = serde_json::to_string(&fact).unwrap();
        assert_eq!(serde_json::from_str::<ParquetFact>(&text).unwrap(), fact);
        assert!(ParquetFile::find(path.clone(), &fact, Fingerprint([8; 16])).is_none(), "other content");
        let (mut bytes, mut sha256, mut checksums, mut blocks) =
            (fact.clone(), fact.clone(), fact.clone(), fact.clone());
        bytes.bytes += 1;
        sha256.sha256 = STANDARD.encode([1; 32]);
        checksums.checksums = STANDARD.encode([1; 8]);
        blocks.block_bytes = 0;
        for edited in [bytes, sha256, checksums, blocks] {
            assert!(ParquetFile::find(path.clone(), &edited, CONTENT).is_none(), "{edited:?}");
        }
    }

    #[test]
    fn blocks_of_large_files_stay_few() {
        for (bytes, expected) in
            [(0, 1), (1, 1), (256 << 10, 1), (2 << 30, 1), ((2 << 30) + 1, 2), (1 << 40, 512)]
        {
            let found = block_bytes(bytes);
            assert_eq!(found, expected * BLOCK_BYTES_MIN, "{bytes}");
            assert!(bytes.div_ceil(found) <= BLOCK_COUNT_MAX);
        }
    }

    #[test]
    fn stops_check_without_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fact) = written(folder.path(), b"rows");
        let file = found(&path, &fact);
        assert_eq!(file.check(&mut |_| Err("stop")).unwrap_err(), "stop");
        assert!(!file.is_damaged());
    }
}
