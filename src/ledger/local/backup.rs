//! One file that holds the whole books of one moment, made while they are in use, and the way back.
//!
//! ```text
//! magic `MRCBKUP2` │ records of the checkpoint │ segments of the log │ SHA-256 of all before
//! records:  sequence u64 │ entries u64 │ (key length u32, value length u32, key, value)… │ u32 of all ones
//! segments: (number u64, length u64, bytes)… │ u64 of all ones
//! ```
//!
//! Integers are big-endian. The checkpoint comes first, so the log reaches beyond it; what follows in the log is replayed when
//! the books are opened. Request counters of the day are left out. Knows no network.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::super::backup::{BackupError, BackupSummary};
use super::super::changes::Changes;
use super::super::checkpoint::{Checkpoint, Mark};
use super::super::error::{ChargeError, OpenError};
use super::super::key_space;
use super::super::log::{LogReader, segment_name};
use super::opening::{checkpoint_path, log_folder, log_path};
use super::reading::inspect;
use crate::clock::Moment;
use crate::limits::ledger::{BACKUP_RECORDS_PER_STEP, RECORD_BYTES_MAX};

const MAGIC: &[u8; 8] = b"MRCBKUP2";
const NO_MORE_RECORDS: u32 = u32::MAX;
const NO_MORE_SEGMENTS: u64 = u64::MAX;
const SUM_BYTES: usize = 32;

/// Writes a backup into a folder, of a checkpoint that nobody changes while `G` is held, and of the log behind it.
pub(super) fn write<G>(
    folder: &Path,
    now: Moment,
    source: impl FnOnce() -> Result<(G, Arc<Checkpoint>, LogReader), ChargeError>,
) -> Result<BackupSummary, BackupError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Io { path, source }
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    let stamp = now.rfc3339().replace(['-', ':'], "");
    let path = folder.join(format!("ledger-{stamp}.backup"));
    let unfinished = path.with_extension("unfinished");
    let file = File::options().write(true).create_new(true).open(&unfinished).map_err(at(&unfinished))?;
    let written = source().map_err(BackupError::from).and_then(|(guard, checkpoint, log)| {
        let mut out = Hashing { inner: BufWriter::new(file), hash: Sha256::new(), bytes: 0 };
        let records = write_checkpoint(&mut out, &checkpoint).map_err(at(&unfinished))?;
        drop((guard, checkpoint));
        write_log(&mut out, &log).map_err(at(&unfinished))?;
        Ok((finish(out).map_err(at(&unfinished))?, records, log.last_sequence()))
    });
    let (bytes, records, last_sequence) = written.inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
    fs::rename(&unfinished, &path).map_err(at(&path))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))?;
    Ok(BackupSummary { path, bytes, records, last_sequence })
}

fn write_checkpoint(out: &mut Hashing<BufWriter<File>>, checkpoint: &Checkpoint) -> io::Result<u64> {
    let mark = checkpoint.mark().map_err(io::Error::other)?;
    out.write_all(MAGIC)?;
    out.write_all(&mark.sequence.to_be_bytes())?;
    out.write_all(&mark.entries.to_be_bytes())?;
    let mut records = 0;
    for found in checkpoint.scan(&[], &[]) {
        let (key, value) = found.map_err(io::Error::other)?;
        if key.starts_with(key_space::COUNTER) || Checkpoint::is_own(&key) {
            continue;
        }
        out.write_all(&length(&key)?.to_be_bytes())?;
        out.write_all(&length(&value)?.to_be_bytes())?;
        out.write_all(&key)?;
        out.write_all(&value)?;
        records += 1;
    }
    out.write_all(&NO_MORE_RECORDS.to_be_bytes())?;
    Ok(records)
}

fn write_log(out: &mut Hashing<BufWriter<File>>, log: &LogReader) -> io::Result<()> {
    for segment in log.segments() {
        out.write_all(&segment.number.to_be_bytes())?;
        out.write_all(&segment.bytes.to_be_bytes())?;
        log.copy_segment(segment.number, out).map_err(io::Error::other)?;
    }
    out.write_all(&NO_MORE_SEGMENTS.to_be_bytes())
}

fn finish(mut out: Hashing<BufWriter<File>>) -> io::Result<u64> {
    let sum = out.hash.clone().finalize();
    out.write_all(&sum)?;
    let file = out.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(out.bytes)
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    match u32::try_from(bytes.len()) {
        Ok(length) if bytes.len() <= RECORD_BYTES_MAX => Ok(length),
        _ => Err(io::Error::other(format!(
            "a record of {} bytes is longer than {RECORD_BYTES_MAX}",
            bytes.len()
        ))),
    }
}

/// Makes the books of a folder, which must hold none, from a backup. Checks the file first and the books afterwards; the
/// folder is there only when both are right.
pub fn restore(file: &Path, folder: &Path) -> Result<BackupSummary, BackupError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Io { path, source }
    };
    check_sum(file)?;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(BackupError::NotEmpty { path: folder.to_owned() });
    }
    let beside = folder.with_extension("restoring");
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(at(&beside))?;
    }
    let mut input = BufReader::new(File::open(file).map_err(at(file))?);
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(|error| damaged(file, &error))?;
    let records = restore_checkpoint(&mut input, file, &checkpoint_path(&beside))?;
    restore_log(&mut input, file, &log_path(&beside))?;
    let report = inspect(&beside)?;
    if let Some(finding) = report.differences.into_iter().next() {
        return Err(OpenError::Unbalanced { directory: beside, finding }.into());
    }
    let log = log_folder(&beside).map_err(OpenError::from)?;
    let last_sequence = LogReader::over(&[log]).map_err(OpenError::from)?.last_sequence();
    if folder.exists() {
        fs::remove_dir(folder).map_err(at(folder))?;
    }
    fs::rename(&beside, folder).map_err(at(folder))?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(at(parent))?;
    let bytes = fs::metadata(file).map_err(at(file))?.len();
    Ok(BackupSummary { path: file.to_owned(), bytes, records, last_sequence })
}

/// Compares the sum at the end of a backup with what stands before it.
fn check_sum(path: &Path) -> Result<(), BackupError> {
    let at = |source| BackupError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(at)?;
    let length = file.metadata().map_err(at)?.len();
    let mut input = Hashing { inner: BufReader::new(file), hash: Sha256::new(), bytes: 0 };
    let mut magic = [0; MAGIC.len()];
    let begins_right = input.read_exact(&mut magic).is_ok() && magic == *MAGIC;
    let Some(rest) = length.checked_sub((MAGIC.len() + SUM_BYTES) as u64).filter(|_| begins_right) else {
        let detail = "expected a backup of the books, found another kind of file".to_owned();
        return Err(BackupError::Damaged { path: path.to_owned(), detail });
    };
    io::copy(&mut Read::by_ref(&mut input).take(rest), &mut io::sink()).map_err(at)?;
    let computed = input.hash.clone().finalize();
    let mut kept = [0; SUM_BYTES];
    input.read_exact(&mut kept).map_err(|error| damaged(path, &error))?;
    if kept == computed.as_slice() {
        return Ok(());
    }
    let detail = "the checksum at the end does not fit what stands before it".to_owned();
    Err(BackupError::Damaged { path: path.to_owned(), detail })
}

fn restore_checkpoint(input: &mut impl Read, file: &Path, folder: &Path) -> Result<u64, BackupError> {
    let mark = Mark { sequence: number(input, file)?, entries: number(input, file)? };
    let checkpoint = Checkpoint::open(folder).map_err(OpenError::from)?;
    let (mut changes, mut records) = (Changes::default(), 0);
    loop {
        let key_length = short_number(input, file)?;
        if key_length == NO_MORE_RECORDS {
            break;
        }
        let value_length = short_number(input, file)?;
        let key = bytes(input, key_length, file)?;
        changes.put(key, bytes(input, value_length, file)?);
        records += 1;
        if changes.len() == BACKUP_RECORDS_PER_STEP {
            checkpoint.write(&std::mem::take(&mut changes), Mark::default()).map_err(OpenError::from)?;
        }
    }
    checkpoint.write(&changes, mark).map_err(OpenError::from)?;
    Ok(records)
}

fn restore_log(input: &mut impl Read, file: &Path, folder: &Path) -> Result<(), BackupError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Io { path, source }
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    loop {
        let segment = number(input, file)?;
        if segment == NO_MORE_SEGMENTS {
            break;
        }
        let length = number(input, file)?;
        let path = folder.join(segment_name(segment));
        let mut out = File::create_new(&path).map_err(at(&path))?;
        let copied = io::copy(&mut Read::by_ref(input).take(length), &mut out).map_err(at(&path))?;
        if copied != length {
            return Err(damaged(file, &io::ErrorKind::UnexpectedEof.into()));
        }
        out.sync_all().map_err(at(&path))?;
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

fn number(input: &mut impl Read, file: &Path) -> Result<u64, BackupError> {
    let mut number = [0; 8];
    input.read_exact(&mut number).map_err(|error| damaged(file, &error))?;
    Ok(u64::from_be_bytes(number))
}

fn short_number(input: &mut impl Read, file: &Path) -> Result<u32, BackupError> {
    let mut number = [0; 4];
    input.read_exact(&mut number).map_err(|error| damaged(file, &error))?;
    Ok(u32::from_be_bytes(number))
}

fn bytes(input: &mut impl Read, length: u32, file: &Path) -> Result<Vec<u8>, BackupError> {
    let length = length as usize;
    if length > RECORD_BYTES_MAX {
        return Err(damaged(file, &io::Error::other("a record has an impossible length")));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).map_err(|error| damaged(file, &error))?;
    Ok(bytes)
}

fn damaged(path: &Path, error: &io::Error) -> BackupError {
    BackupError::Damaged { path: path.to_owned(), detail: error.to_string() }
}

/// Adds everything that passes to a hash.
struct Hashing<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}
