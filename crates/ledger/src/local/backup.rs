//! Backup of the books of one moment into one file, made while they are in use, and its restoration.
//!
//! ```text
//! magic `MRCBKUP3` │ sequence u64 │ entries u64 │ block… │ SHA-256 of all before
//! block: kind (one byte) │ length u64 │ so many bytes
//! kinds: `R` records of the checkpoint (`changes.rs`) │ `S` number u64 and bytes of a segment of the log │ `E` the end
//! ```
//!
//! Integers are big-endian. The checkpoint comes first, so the log reaches beyond it; the rest of the log is replayed
//! when the books are opened. Request counters of the day are left out.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::opening::{checkpoint_path, log_folder, log_path};
use super::reading::inspect;
use crate::backup::{BackupError, BackupSummary};
use crate::changes::{Changes, split};
use crate::checkpoint::{Checkpoint, Mark};
use crate::error::{BooksError, OpenError};
use crate::key_space;
use crate::log::{LogReader, segment_name};
use mercato_base::clock::Moment;

const MAGIC: &[u8; 8] = b"MRCBKUP3";
const RECORDS: u8 = b'R';
const SEGMENT: u8 = b'S';
const END: u8 = b'E';
const SUM_BYTES: usize = 32;
/// Records written to a restored checkpoint at a time.
const BACKUP_RECORDS_PER_STEP: usize = 4_096;

/// Writes a backup into a folder: the checkpoint, which does not change while `G` is held, and the log behind it.
pub fn write<G>(
    folder: &Path,
    now: Moment,
    source: impl FnOnce() -> Result<(G, Arc<Checkpoint>, LogReader), BooksError>,
) -> Result<BackupSummary, BackupError> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    let stamp = now.rfc3339().replace(['-', ':'], "");
    let path = folder.join(format!("ledger-{stamp}.backup"));
    let unfinished = path.with_extension("unfinished");
    let file = File::options().write(true).create_new(true).open(&unfinished).map_err(at(&unfinished))?;
    let written = source().map_err(BackupError::from).and_then(|(guard, checkpoint, log)| {
        let mut out = Hashing { inner: BufWriter::new(file), hash: Sha256::new(), bytes: 0 };
        let records = write_checkpoint(&mut out, &checkpoint).map_err(at(&unfinished))?;
        drop((guard, checkpoint));
        let bytes = write_log(&mut out, &log).and_then(|()| finish(out)).map_err(at(&unfinished))?;
        Ok((bytes, records, log.last_sequence()))
    });
    let (bytes, records, last_sequence) = written.inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
    fs::rename(&unfinished, &path).map_err(at(&path))?;
    sync_folder(folder)?;
    Ok(BackupSummary { path, bytes, records, last_sequence })
}

fn write_checkpoint(out: &mut impl Write, checkpoint: &Checkpoint) -> io::Result<u64> {
    let mark = checkpoint.mark().map_err(io::Error::other)?;
    out.write_all(MAGIC)?;
    out.write_all(&[mark.sequence.to_be_bytes(), mark.entries.to_be_bytes()].concat())?;
    let (mut step, mut records) = (Changes::default(), 0);
    for found in checkpoint.scan(&[], &[]) {
        let (key, value) = found.map_err(io::Error::other)?;
        if key.starts_with(key_space::COUNTER) || Checkpoint::is_own(&key) {
            continue;
        }
        step.put(key, value);
        records += 1;
        if step.len() == BACKUP_RECORDS_PER_STEP {
            write_records(out, &std::mem::take(&mut step))?;
        }
    }
    write_records(out, &step)?;
    Ok(records)
}

fn write_records(out: &mut impl Write, records: &Changes) -> io::Result<()> {
    let mut bytes = Vec::new();
    let encoded = records.encode(&mut bytes);
    encoded.map_err(|length| io::Error::other(format!("a record of {length} bytes is too long")))?;
    begin_block(out, RECORDS, bytes.len() as u64)?;
    out.write_all(&bytes)
}

fn write_log(out: &mut impl Write, log: &LogReader) -> io::Result<()> {
    for segment in log.segments() {
        begin_block(out, SEGMENT, segment.bytes.saturating_add(size_of::<u64>() as u64))?;
        out.write_all(&segment.number.to_be_bytes())?;
        log.copy_segment(segment.number, out).map_err(io::Error::other)?;
    }
    begin_block(out, END, 0)
}

fn begin_block(out: &mut impl Write, kind: u8, length: u64) -> io::Result<()> {
    out.write_all(&[kind])?;
    out.write_all(&length.to_be_bytes())
}

fn finish(mut out: Hashing<BufWriter<File>>) -> io::Result<u64> {
    let sum = out.hash.clone().finalize();
    out.write_all(&sum)?;
    let file = out.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(out.bytes)
}

/// Makes the books of a folder, which must hold none, from a backup. Checks the file first and the books afterwards; the
/// folder is there only when both are right.
pub fn restore(file: &Path, folder: &Path) -> Result<BackupSummary, BackupError> {
    check_sum(file)?;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(BackupError::NotEmpty { path: folder.to_owned() });
    }
    let beside = folder.with_extension("restoring");
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(at(&beside))?;
    }
    let records = restore_files(file, &beside)?;
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
    sync_folder(folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let bytes = fs::metadata(file).map_err(at(file))?.len();
    Ok(BackupSummary { path: file.to_owned(), bytes, records, last_sequence })
}

/// Verifies the hash at the end of a backup.
fn check_sum(path: &Path) -> Result<(), BackupError> {
    let file = File::open(path).map_err(at(path))?;
    let length = file.metadata().map_err(at(path))?.len();
    let mut input = Hashing { inner: BufReader::new(file), hash: Sha256::new(), bytes: 0 };
    let mut magic = [0; MAGIC.len()];
    let begins_right = input.read_exact(&mut magic).is_ok() && magic == *MAGIC;
    let Some(rest) = length.checked_sub((MAGIC.len() + SUM_BYTES) as u64).filter(|_| begins_right) else {
        return Err(damaged(path, "expected a backup of the books, found another kind of file"));
    };
    io::copy(&mut Read::by_ref(&mut input).take(rest), &mut io::sink()).map_err(at(path))?;
    let computed = input.hash.clone().finalize();
    let mut kept = [0; SUM_BYTES];
    input.read_exact(&mut kept).map_err(at(path))?;
    if kept == computed.as_slice() {
        return Ok(());
    }
    Err(damaged(path, "the checksum at the end does not match the content"))
}

/// Restores checkpoint and log from a verified backup. Returns the number of records in the checkpoint.
fn restore_files(file: &Path, folder: &Path) -> Result<u64, BackupError> {
    let mut input = BufReader::new(File::open(file).map_err(at(file))?);
    let cut = |error: io::Error| damaged(file, &error.to_string());
    let [_, sequence, entries] = [take_number(&mut input), take_number(&mut input), take_number(&mut input)];
    let mark = Mark { sequence: sequence.map_err(cut)?, entries: entries.map_err(cut)? };
    let checkpoint = Checkpoint::open(&checkpoint_path(folder)).map_err(OpenError::from)?;
    let log = log_path(folder);
    fs::create_dir_all(&log).map_err(at(&log))?;
    let mut records = 0;
    loop {
        let mut kind = [0];
        input.read_exact(&mut kind).map_err(cut)?;
        let length = take_number(&mut input).map_err(cut)?;
        let mut block = Read::by_ref(&mut input).take(length);
        match kind {
            [RECORDS] => {
                let mut bytes = Vec::new();
                block.read_to_end(&mut bytes).map_err(cut)?;
                let mut step = Changes::default();
                for change in split(&bytes) {
                    let (key, value) = change.ok_or_else(|| damaged(file, "a record is cut"))?;
                    step.set(key, value);
                }
                records += step.len() as u64;
                checkpoint.write(&step, Mark::default()).map_err(OpenError::from)?;
            }
            [SEGMENT] => {
                let path = log.join(segment_name(take_number(&mut block).map_err(cut)?));
                let mut out = File::create_new(&path).map_err(at(&path))?;
                io::copy(&mut block, &mut out).and_then(|_| out.sync_all()).map_err(at(&path))?;
            }
            [END] => break,
            [other] => return Err(damaged(file, &format!("there is a block of the unknown kind {other}"))),
        }
        if block.limit() > 0 {
            return Err(damaged(file, "a block is cut"));
        }
    }
    checkpoint.write(&Changes::default(), mark).map_err(OpenError::from)?;
    sync_folder(&log)?;
    Ok(records)
}

fn take_number(input: &mut impl Read) -> io::Result<u64> {
    let mut number = [0; 8];
    input.read_exact(&mut number)?;
    Ok(u64::from_be_bytes(number))
}

fn sync_folder(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

/// Names the file in an error of the system.
fn at(path: &Path) -> impl Fn(io::Error) -> BackupError + use<> {
    let path = path.to_owned();
    move |source| BackupError::Io { path: path.clone(), source }
}

fn damaged(path: &Path, detail: &str) -> BackupError {
    BackupError::Damaged { path: path.to_owned(), detail: detail.to_owned() }
}

/// Hashes all bytes that pass.
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
