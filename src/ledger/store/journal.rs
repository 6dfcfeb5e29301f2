//! What the store may not hold yet, in a file that is written front to back and then from its front again.
//!
//! A process that dies takes nothing with it that it has handed to the operating system, and one sync of this file
//! makes it safe from a loss of power too. So a batch is safe after one write here; the store is brought up to it later,
//! or at the next opening. ARIES calls this redo from a log of whole values. There are two files, so that batches go on
//! into one while the store takes over what the other holds.
//!
//! ```text
//! record: XXH3-64 of what follows (u64) │ length of the changes (u32) │ number (u64) │ changes
//! change: length of the key (u32) │ length of the value (u32, all ones: the key goes) │ key │ value
//! ```
//!
//! Integers are little-endian. Numbers count up by one and never begin anew, so what an earlier round left behind
//! the newest record is told by its number. A record that is cut or torn ends the file: nobody was told of it, or the
//! power failed. Knows files and bytes; knows no sled.

use std::collections::TryReserveError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::Changes;
use crate::limits::ledger::JOURNAL_BYTES_MAX;

/// The two files.
pub(super) const FILES: [&str; 2] = ["journal", "journal-2"];
const HEAD_BYTES: usize = size_of::<u64>() + size_of::<u32>() + size_of::<u64>();
const REMOVED: u32 = u32::MAX;

/// The open file and the place of the next record.
pub(super) struct Journal {
    path: PathBuf,
    file: Arc<File>,
    end: u64,
    is_dirty: bool,
    buffer: Vec<u8>,
}

impl Journal {
    /// Opens one of [`FILES`] in the folder of the books, or creates it. The next record goes to its front, so whatever
    /// it holds must have been read before the first [`Journal::append`].
    pub(super) fn open(directory: &Path, name: &str) -> io::Result<Journal> {
        let path = directory.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        Ok(Journal { path, file: Arc::new(file), end: 0, is_dirty: false, buffer: Vec::new() })
    }

    /// The file, for an error.
    pub(super) fn file_path(&self) -> &Path {
        &self.path
    }

    /// Everything that was written after the batch `number`: all of it in one, with the number of the last batch.
    /// Nothing when there is none, or when the file goes on after a gap.
    pub(super) fn read_after(&self, number: u64) -> io::Result<Option<(u64, Changes)>> {
        let bytes = self.read()?;
        let (mut rest, mut expected, mut last) = (bytes.as_slice(), None, None);
        let mut changes = Changes::default();
        while let Some((found, body, after)) = split_record(rest) {
            if expected.is_some_and(|expected| found != expected) {
                break;
            }
            if found > number {
                if last.is_none() && found != number + 1 {
                    return Ok(None);
                }
                take_changes(body, &mut changes)?;
                last = Some(found);
            }
            (rest, expected) = (after, found.checked_add(1));
        }
        Ok(last.map(|last| (last, changes)))
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let length = self.file.metadata()?.len().min(JOURNAL_BYTES_MAX);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|error: TryReserveError| io::Error::other(error))?;
        bytes.resize(length, 0);
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Whether a batch fits behind the newest record.
    pub(super) fn has_room(&mut self, number: u64, changes: &Changes) -> io::Result<bool> {
        encode(number, changes, &mut self.buffer)?;
        Ok(self.end.saturating_add(self.buffer.len() as u64) <= JOURNAL_BYTES_MAX)
    }

    /// Hands the batch that [`Journal::has_room`] was asked about to the operating system, in one write.
    pub(super) fn append(&mut self) -> io::Result<()> {
        self.is_dirty = true;
        self.file.write_all_at(&self.buffer, self.end)?;
        self.end = self.end.saturating_add(self.buffer.len() as u64);
        Ok(())
    }

    /// Bytes of the records since the front.
    pub(super) const fn bytes(&self) -> u64 {
        self.end
    }

    /// The file, when it holds something that is not forced onto the disk: the caller forces it.
    pub(super) fn take_dirty(&mut self) -> Option<Arc<File>> {
        std::mem::take(&mut self.is_dirty).then(|| Arc::clone(&self.file))
    }

    /// Begins at the front again: the store holds everything on its own.
    pub(super) fn rewind(&mut self) {
        self.end = 0;
    }
}

fn encode(number: u64, changes: &Changes, out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    out.resize(HEAD_BYTES, 0);
    for (key, value) in changes.iter() {
        out.extend(length(key.len())?.to_le_bytes());
        out.extend(value.map_or(Ok(REMOVED), |value| length(value.len()))?.to_le_bytes());
        out.extend(key);
        out.extend(value.unwrap_or_default());
    }
    let body = length(out.len() - HEAD_BYTES)?;
    put(out, size_of::<u64>(), &body.to_le_bytes());
    put(out, size_of::<u64>() + size_of::<u32>(), &number.to_le_bytes());
    let checksum = xxh3_64(out.get(size_of::<u64>()..).unwrap_or_default());
    put(out, 0, &checksum.to_le_bytes());
    Ok(())
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    for (target, source) in out.iter_mut().skip(at).zip(bytes) {
        *target = *source;
    }
}

fn length(bytes: usize) -> io::Result<u32> {
    let length = u32::try_from(bytes).ok().filter(|length| *length != REMOVED);
    length.ok_or_else(|| io::Error::other(format!("{bytes} bytes do not fit into a record of the journal")))
}

/// The number and the changes of the first record, and what follows it; nothing when it is cut or torn.
fn split_record(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (checksum, covered) = bytes.split_first_chunk::<8>()?;
    let (length, rest) = covered.split_first_chunk::<4>()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (body, after) = rest.split_at_checked(length)?;
    let covered = covered.get(..size_of::<u32>() + size_of::<u64>() + length)?;
    (xxh3_64(covered) == u64::from_le_bytes(*checksum)).then_some((u64::from_le_bytes(*number), body, after))
}

fn take_changes(mut body: &[u8], changes: &mut Changes) -> io::Result<()> {
    while !body.is_empty() {
        let (key, value, rest) = split_change(body).ok_or(io::ErrorKind::InvalidData)?;
        match value {
            Some(value) => changes.put(key.to_vec(), value.to_vec()),
            None => changes.remove(key.to_vec()),
        }
        body = rest;
    }
    Ok(())
}

type Change<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn split_change(body: &[u8]) -> Option<Change<'_>> {
    let (key_length, rest) = body.split_first_chunk::<4>()?;
    let (value_length, rest) = rest.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*key_length)).ok()?)?;
    let value_length = u32::from_le_bytes(*value_length);
    if value_length == REMOVED {
        return Some((key, None, rest));
    }
    let (value, rest) = rest.split_at_checked(usize::try_from(value_length).ok()?)?;
    Some((key, Some(value), rest))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

    fn changes(batch: &Batch) -> Changes {
        let mut changes = Changes::default();
        for (key, value) in batch {
            match value {
                Some(value) => changes.put(key.clone(), value.clone()),
                None => changes.remove(key.clone()),
            }
        }
        changes
    }

    fn append(journal: &mut Journal, number: u64, batch: &Batch) {
        assert!(journal.has_room(number, &changes(batch)).unwrap());
        journal.append().unwrap();
    }

    fn sorted(changes: &Changes) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        changes.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect()
    }

    fn batches() -> impl Strategy<Value = Vec<Batch>> {
        let bytes = || prop::collection::vec(0_u8..4, 0..4);
        let batch = prop::collection::vec((bytes(), prop::option::of(bytes())), 0..5);
        prop::collection::vec(batch, 0..8)
    }

    proptest! {
        /// Cut anywhere, the file gives exactly the batches that are whole, and never a part of one.
        #[test]
        fn a_file_cut_anywhere_gives_whole_batches(
            first in batches(), second in batches(), known in 0_u64..8, cut in any::<prop::sample::Index>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut journal = Journal::open(folder.path(), FILES[0]).unwrap();
            let mut number = 0;
            for batch in &first {
                number += 1;
                append(&mut journal, number, batch);
            }
            // The second round overwrites the front of the first, which leaves its end behind the newest record.
            journal.rewind();
            let base = number;
            let mut ends = Vec::new();
            for batch in &second {
                number += 1;
                append(&mut journal, number, batch);
                ends.push(journal.end);
            }
            let length = journal.file.metadata().unwrap().len();
            let cut = if length == 0 { 0 } else { cut.index(length as usize + 1) as u64 };
            journal.file.set_len(cut).unwrap();
            let whole = ends.iter().take_while(|end| **end <= cut).count();
            let known = base + known.min(second.len() as u64);
            let found = journal.read_after(known).unwrap();
            let expected: BTreeMap<_, _> =
                second.iter().take(whole).skip((known - base) as usize).flat_map(|batch| sorted(&changes(batch))).collect();
            let last = base + whole as u64;
            match found {
                Some((number, changes)) => {
                    prop_assert_eq!(number, last);
                    prop_assert_eq!(sorted(&changes), expected);
                }
                None => prop_assert!(last <= known),
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), known in any::<u64>()) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(FILES[0]), bytes).unwrap();
            prop_assert!(Journal::open(folder.path(), FILES[0]).unwrap().read_after(known).unwrap().is_none());
        }
    }

    #[test]
    fn a_gap_after_what_the_store_holds_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), FILES[0]).unwrap();
        append(&mut journal, 7, &vec![(b"a".to_vec(), None)]);
        assert!(journal.read_after(5).unwrap().is_none());
        assert_eq!(journal.read_after(6).unwrap().unwrap().0, 7);
        assert!(journal.read_after(7).unwrap().is_none());
    }
}
