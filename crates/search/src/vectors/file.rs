//! The vector file: keeps vectors across restarts.
//!
//! One file for each model: a header, then fixed-length records with a checksum each. Records are appended; a torn or
//! damaged one is skipped, and its vector is built again. The file is a cache: losing it costs time only.
//!
//! ```text
//! header   0  magic "MERCVEC1"   8  dimensions u32   12  zero u32   16  model fingerprint [32]   48  XXH3 of bytes 0..48
//! record   0  key [32]          32  dimensions × f32                then XXH3 of what stands before it in the record
//! ```
//!
//! All numbers are little-endian. Does not depend on datasets: a key is the hash of the texts.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::arithmetic::length;

/// The hash of the texts of a vector.
pub type TextKey = [u8; 32];

const MAGIC: &[u8; 8] = b"MERCVEC1";
const CHECKSUM_BYTES: usize = size_of::<u64>();
const HEADER_BODY_BYTES: usize = 48;
const HEADER_BYTES: usize = HEADER_BODY_BYTES + CHECKSUM_BYTES;
const KEY_BYTES: usize = 32;
const NUMBER_BYTES: usize = size_of::<f32>();
/// Records that are read back at most.
const RECORDS_MAX: usize = 1_000_000;
/// Files of other models that stay for when an operator goes back.
const OTHER_FILES_KEPT: usize = 2;
/// How far the length of a stored vector may be from 1.
const LENGTH_TOLERANCE: f32 = 1e-3;
const FILE_PREFIX: &str = "vectors-";
const FILE_SUFFIX: &str = ".bin";

/// The file of one model, open for appending.
pub struct VectorFile {
    path: PathBuf,
    file: File,
    dimensions: usize,
    model: [u8; 32],
    records: usize,
}

/// The content of a file.
#[derive(Debug, Default)]
pub struct StoredVectors {
    /// Vectors of length 1 by the key of their texts.
    pub vectors: HashMap<TextKey, Vec<f32>>,
    /// Records that were passed over because they are damaged.
    pub damaged: usize,
}

impl VectorFile {
    /// Opens the file of a model under `folder`, creating both where they are absent; a file that is none is begun anew.
    pub fn open(folder: &Path, model: [u8; 32], dimensions: usize) -> io::Result<(Self, StoredVectors)> {
        fs::create_dir_all(folder)?;
        let name: String = model.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(format!("{FILE_PREFIX}{name}{FILE_SUFFIX}"));
        remove_old_files(folder, &path)?;
        let stored = match File::open(&path) {
            Ok(file) => read(file, &model, dimensions)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let sound = stored.as_ref().is_some_and(|stored| stored.damaged == 0);
        let stored = stored.unwrap_or_default();
        let records = stored.vectors.len();
        if !sound {
            let vectors = stored.vectors.iter().map(|(key, vector)| (key, vector.as_slice()));
            write_anew(&path, &model, dimensions, vectors)?;
        }
        let file = OpenOptions::new().append(true).open(&path)?;
        Ok((Self { path, file, dimensions, model, records }, stored))
    }

    /// Appends vectors and waits until they are on disk.
    pub fn append(&mut self, vectors: &[(TextKey, Vec<f32>)]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(vectors.len().saturating_mul(record_bytes(self.dimensions)));
        for (key, vector) in vectors.iter().filter(|(_, vector)| vector.len() == self.dimensions) {
            encode_record(&mut bytes, key, vector);
        }
        self.records = self.records.saturating_add(vectors.len());
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }

    /// Records in the file, also those of texts that nobody has any more.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Rewrites the file with these vectors only.
    pub fn compact<'a>(&mut self, vectors: impl Iterator<Item = (&'a TextKey, &'a [f32])>) -> io::Result<()> {
        self.records = write_anew(&self.path, &self.model, self.dimensions, vectors)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        Ok(())
    }
}

const fn record_bytes(dimensions: usize) -> usize {
    dimensions.saturating_mul(NUMBER_BYTES).saturating_add(KEY_BYTES + CHECKSUM_BYTES)
}

fn header(model: &[u8; 32], dimensions: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&u32::try_from(dimensions).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(&0_u32.to_le_bytes());
    bytes.extend_from_slice(model);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn encode_record(bytes: &mut Vec<u8>, key: &TextKey, vector: &[f32]) {
    let start = bytes.len();
    bytes.extend_from_slice(key);
    for number in vector {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let checksum = xxh3_64(bytes.get(start..).unwrap_or_default());
    bytes.extend_from_slice(&checksum.to_le_bytes());
}

/// A record with a right checksum and a vector of length 1.
fn decode_record(record: &[u8]) -> Option<(TextKey, Vec<f32>)> {
    let (body, checksum) = record.split_last_chunk::<CHECKSUM_BYTES>()?;
    if xxh3_64(body) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let (key, numbers) = body.split_first_chunk::<KEY_BYTES>()?;
    let (numbers, rest) = numbers.as_chunks::<NUMBER_BYTES>();
    let vector: Vec<f32> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let unit = (length(&vector) - 1.0).abs() <= LENGTH_TOLERANCE;
    (unit && rest.is_empty()).then_some((*key, vector))
}

/// All sound records; nothing when the header is not that of this model.
fn read(file: File, model: &[u8; 32], dimensions: usize) -> io::Result<Option<StoredVectors>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("the file of vectors is no regular file"));
    }
    let mut file = BufReader::with_capacity(1024 * 1024, file);
    let mut found = [0_u8; HEADER_BYTES];
    if !fill(&mut file, &mut found)? || found.as_slice() != header(model, dimensions) {
        return Ok(None);
    }
    let mut stored = StoredVectors::default();
    let mut record = vec![0_u8; record_bytes(dimensions)];
    for _ in 0..RECORDS_MAX {
        if file.fill_buf_is_empty()? {
            break;
        }
        let whole = fill(&mut file, &mut record)?;
        match decode_record(&record).filter(|_| whole) {
            Some((key, vector)) => drop(stored.vectors.insert(key, vector)),
            None => stored.damaged = stored.damaged.saturating_add(1),
        }
    }
    Ok(Some(stored))
}

/// Fills `bytes`; false when the file ends before.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

trait AtEnd {
    fn fill_buf_is_empty(&mut self) -> io::Result<bool>;
}

impl AtEnd for BufReader<File> {
    fn fill_buf_is_empty(&mut self) -> io::Result<bool> {
        Ok(io::BufRead::fill_buf(self)?.is_empty())
    }
}

/// Writes a file beside its place, syncs it and renames it. Says how many records it has.
fn write_anew<'a>(
    path: &Path,
    model: &[u8; 32],
    dimensions: usize,
    vectors: impl Iterator<Item = (&'a TextKey, &'a [f32])>,
) -> io::Result<usize> {
    let beside = path.with_extension("new");
    let mut file = BufWriter::new(File::create(&beside)?);
    file.write_all(&header(model, dimensions))?;
    let mut records = 0_usize;
    let mut bytes = Vec::with_capacity(record_bytes(dimensions));
    for (key, vector) in vectors.filter(|(_, vector)| vector.len() == dimensions) {
        bytes.clear();
        encode_record(&mut bytes, key, vector);
        file.write_all(&bytes)?;
        records = records.saturating_add(1);
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&beside, path)?;
    Ok(records)
}

/// Removes files of models that were used longest ago.
fn remove_old_files(folder: &Path, present: &Path) -> io::Result<()> {
    let mut others = Vec::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name();
        let ours =
            name.to_str().is_some_and(|name| name.starts_with(FILE_PREFIX) && name.ends_with(FILE_SUFFIX));
        if ours && item.path() != present {
            others.push((item.metadata()?.modified()?, item.path()));
        }
    }
    others.sort();
    let removed = others.len().saturating_sub(OTHER_FILES_KEPT);
    others.iter().take(removed).try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODEL: [u8; 32] = [7; 32];

    fn vector(at: u8) -> (TextKey, Vec<f32>) {
        let angle = f32::from(at);
        ([at; 32], vec![angle.sin(), angle.cos()])
    }

    fn opened(folder: &Path) -> (VectorFile, StoredVectors) {
        VectorFile::open(folder, MODEL, 2).unwrap()
    }

    fn only_file(folder: &Path) -> PathBuf {
        fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
    }

    #[test]
    fn keeps_appended_vectors_after_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, stored) = opened(folder.path());
        assert!(stored.vectors.is_empty());
        file.append(&[vector(1), vector(2)]).unwrap();
        file.append(&[vector(3)]).unwrap();
        let (mut file, stored) = opened(folder.path());
        assert_eq!((stored.vectors.len(), stored.damaged, file.records()), (3, 0, 3));
        assert_eq!(stored.vectors.get(&[2; 32]), Some(&vector(2).1));
        let (key, kept) = vector(2);
        file.compact(std::iter::once((&key, kept.as_slice()))).unwrap();
        file.append(&[vector(9)]).unwrap();
        let (_, stored) = opened(folder.path());
        let mut keys: Vec<u8> = stored.vectors.keys().map(|key| key[0]).collect();
        keys.sort_unstable();
        assert_eq!(keys, [2, 9]);
    }

    #[test]
    fn starts_empty_for_another_model_or_size() {
        let folder = tempfile::tempdir().unwrap();
        opened(folder.path()).0.append(&[vector(1)]).unwrap();
        let (_, stored) = VectorFile::open(folder.path(), [8; 32], 2).unwrap();
        assert!(stored.vectors.is_empty());
        assert_eq!(opened(folder.path()).1.vectors.len(), 1);
        let (_, stored) = VectorFile::open(folder.path(), MODEL, 3).unwrap();
        assert!(stored.vectors.is_empty());
        for model in 20..30 {
            VectorFile::open(folder.path(), [model; 32], 2).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), OTHER_FILES_KEPT + 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn drops_damaged_records(
            at in 0_usize..1000, bit in 0_u8..8, cut in proptest::option::of(0_usize..1000),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let whole: Vec<_> = (1..=5).map(vector).collect();
            opened(folder.path()).0.append(&whole).unwrap();
            let path = only_file(folder.path());
            let mut bytes = fs::read(&path).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            bytes.truncate(cut.unwrap_or(bytes.len()));
            fs::write(&path, &bytes).unwrap();
            let (_, stored) = opened(folder.path());
            for (key, found) in &stored.vectors {
                prop_assert_eq!(found, &vector(key[0]).1);
            }
            prop_assert!(stored.vectors.len() < 5);
            // A damaged record is reported once, and later records are still read.
            let (mut file, again) = opened(folder.path());
            prop_assert_eq!((again.damaged, again.vectors.len()), (0, stored.vectors.len()));
            file.append(&[vector(77)]).unwrap();
            prop_assert_eq!(opened(folder.path()).1.vectors.len(), stored.vectors.len() + 1);
        }
    }
}
