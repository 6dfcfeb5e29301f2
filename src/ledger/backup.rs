//! One file that holds the whole books of one moment, made while they are in use, and the way back.
//!
//! ```text
//! ┌──────────────────┬─────────────────────────────────────────────┬───────────────────────────┐
//! │ magic, 8 bytes   │ records: key length u32, value length u32,  │ end: two u32 of all ones, │
//! │ `MRCBKUP1`       │ key, value                                  │ count u64, SHA-256        │
//! └──────────────────┴─────────────────────────────────────────────┴───────────────────────────┘
//! ```
//!
//! Numbers are big-endian; the SHA-256 covers everything before it. Old entries are copied in steps between two
//! batches, because they never change; the rest follows in one step, which makes the copy consistent. Request
//! counters of the day are left out. Knows no network.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Ledger;
use super::books::Books;
use super::error::{ChargeError, OpenError};
use super::key_space;
use super::report::inspect_store;
use super::store::{Changes, Record, SledStore, Store};
use super::watermark::Watermark;
use crate::clock::Moment;
use crate::limits::ledger::{BACKUP_RECORDS_PER_STEP, RECORD_BYTES_MAX};

const MAGIC: &[u8; 8] = b"MRCBKUP1";
const END: u32 = u32::MAX;
const LAST_STEP_WAIT: Duration = Duration::from_secs(600);

/// Why a backup was not made or not taken back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no backup, or not the one that was written.
    #[error("{}: {detail}; use another backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected and found.
        detail: String,
    },
    /// There are books already.
    #[error("{}: there are books already; move the folder away first", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The restored books do not open or do not balance.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The running books refuse.
    #[error(transparent)]
    Ledger(#[from] ChargeError),
}

/// What a backup holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupSummary {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// The newest entry in it.
    pub last_sequence: u64,
}

impl Ledger {
    /// Writes a backup into a folder. The file carries the time in its name and appears only when it is whole.
    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| BackupError::Io { path, source }
        };
        fs::create_dir_all(folder).map_err(at(folder))?;
        let stamp = now.rfc3339().replace(['-', ':'], "");
        let path = folder.join(format!("ledger-{stamp}.backup"));
        let unfinished = path.with_extension("unfinished");
        let file = File::options().write(true).create_new(true).open(&unfinished).map_err(at(&unfinished))?;
        let written = self.write_backup(file).map_err(|error| match error {
            WriteError::Io(source) => at(&unfinished)(source),
            WriteError::Ledger(error) => error.into(),
        });
        let (bytes, records, last_sequence) = match written {
            Ok(written) => written,
            Err(error) => {
                drop(fs::remove_file(&unfinished));
                return Err(error);
            }
        };
        fs::rename(&unfinished, &path).map_err(at(&path))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))?;
        Ok(BackupSummary { path, bytes, records, last_sequence })
    }

    fn write_backup(&self, file: File) -> Result<(u64, u64, u64), WriteError> {
        let mut out = BackupWriter::new(file)?;
        let mut from = key_space::ENTRY.to_vec();
        loop {
            let start = from.clone();
            let step = self.queue.submit(move |books| books.read_step(&start))?.wait()?;
            let Some((last, _)) = step.last().filter(|_| step.len() == BACKUP_RECORDS_PER_STEP) else {
                break;
            };
            from = [last.as_slice(), &[0]].concat();
            out.put_all(&step)?;
        }
        let last_step = self.queue.submit(move |books| {
            let done = out.put_rest(books, &from);
            Ok(done.map(|()| (out, books.written_sequence())))
        })?;
        let (out, last_sequence) = last_step.wait_at_most(LAST_STEP_WAIT)??;
        let (bytes, records) = out.finish()?;
        Ok((bytes, records, last_sequence))
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Ledger(#[from] ChargeError),
}

impl Books {
    fn read_step(&mut self, from: &[u8]) -> Result<Vec<Record>, ChargeError> {
        self.page(key_space::ENTRY, from, BACKUP_RECORDS_PER_STEP)
            .map_err(|_| super::error::Unavailable::Down.into())
    }
}

struct BackupWriter {
    out: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
    records: u64,
}

impl BackupWriter {
    fn new(file: File) -> io::Result<BackupWriter> {
        let mut writer =
            BackupWriter { out: BufWriter::new(file), hash: Sha256::new(), bytes: 0, records: 0 };
        writer.write(MAGIC)?;
        Ok(writer)
    }

    fn put_all(&mut self, records: &[Record]) -> io::Result<()> {
        for (key, value) in records {
            self.write(&length(key)?.to_be_bytes())?;
            self.write(&length(value)?.to_be_bytes())?;
            self.write(key)?;
            self.write(value)?;
            self.records += 1;
        }
        Ok(())
    }

    /// The entries from `from` on and everything that is no entry, in one go.
    fn put_rest(&mut self, books: &Books, from: &[u8]) -> Result<(), WriteError> {
        for (prefix, start) in key_space::BACKED_UP.iter().map(|prefix| match *prefix {
            key_space::ENTRY => (*prefix, from),
            other => (other, other),
        }) {
            let mut start = start.to_vec();
            loop {
                let page = books.page(prefix, &start, BACKUP_RECORDS_PER_STEP);
                let page = page.map_err(|_| ChargeError::from(super::error::Unavailable::Down))?;
                self.put_all(&page)?;
                let Some((last, _)) = page.last() else { break };
                start = [last.as_slice(), &[0]].concat();
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<(u64, u64)> {
        self.write(&END.to_be_bytes())?;
        self.write(&END.to_be_bytes())?;
        self.write(&self.records.to_be_bytes())?;
        let checksum = self.hash.clone().finalize();
        self.write(&checksum)?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok((self.bytes, self.records))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }
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

/// Makes the books of a folder, which must hold none, from a backup. Checks the file first and the books afterwards.
pub fn restore(file: &Path, folder: &Path) -> Result<BackupSummary, BackupError> {
    let at = |source| BackupError::Io { path: file.to_owned(), source };
    let mut nothing = |_: Record| Ok(());
    read_backup(file, &mut nothing)?;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(BackupError::NotEmpty { path: folder.to_owned() });
    }
    let mut store = SledStore::open(folder).map_err(OpenError::from)?;
    let mut changes = Changes::default();
    let mut waiting = 0;
    let records = read_backup(file, &mut |(key, value)| {
        changes.put(key, value);
        waiting += 1;
        if waiting == BACKUP_RECORDS_PER_STEP {
            store.write(&changes).map_err(OpenError::from)?;
            changes.clear();
            waiting = 0;
        }
        Ok(())
    })?;
    store.write(&changes).map_err(OpenError::from)?;
    store.sync().map_err(OpenError::from)?;
    let report = inspect_store(folder, &store)?;
    if let Some(finding) = report.differences.into_iter().next() {
        return Err(OpenError::Unbalanced { directory: folder.to_owned(), finding }.into());
    }
    let last = store.last(key_space::ENTRY).map_err(OpenError::from)?;
    let last_sequence = last.and_then(|(key, _)| key_space::number(&key)).unwrap_or(0);
    let marked = Watermark::open(folder).and_then(|(mark, _)| mark.raise(last_sequence));
    marked.map_err(|source| BackupError::Io { path: folder.to_owned(), source })?;
    let bytes = fs::metadata(file).map_err(at)?.len();
    Ok(BackupSummary { path: file.to_owned(), bytes, records, last_sequence })
}

/// Reads every record and, at the end, compares count and checksum.
fn read_backup(
    path: &Path,
    take: &mut dyn FnMut(Record) -> Result<(), BackupError>,
) -> Result<u64, BackupError> {
    let damaged = |detail: &str| BackupError::Damaged { path: path.to_owned(), detail: detail.to_owned() };
    let at = |source: io::Error| match source.kind() {
        io::ErrorKind::UnexpectedEof => damaged("the file ends too early"),
        _ => BackupError::Io { path: path.to_owned(), source },
    };
    let mut input =
        BackupReader { input: BufReader::new(File::open(path).map_err(at)?), hash: Sha256::new() };
    if input.read(MAGIC.len()).map_err(at)? != MAGIC {
        return Err(damaged("expected a backup of the books, found another kind of file"));
    }
    let mut records = 0;
    loop {
        let key_length = input.number().map_err(at)?;
        let value_length = input.number().map_err(at)?;
        if (key_length, value_length) == (END, END) {
            break;
        }
        let (key_length, value_length) = (key_length as usize, value_length as usize);
        if key_length == 0 || key_length > RECORD_BYTES_MAX || value_length > RECORD_BYTES_MAX {
            return Err(damaged("a record has an impossible length"));
        }
        let key = input.read(key_length).map_err(at)?;
        let value = input.read(value_length).map_err(at)?;
        take((key, value))?;
        records += 1;
    }
    let count = [input.number().map_err(at)?, input.number().map_err(at)?];
    let computed = input.hash.clone().finalize();
    let kept = input.read(computed.len()).map_err(at)?;
    if (u64::from(count[0]) << 32 | u64::from(count[1])) != records || kept != computed.as_slice() {
        return Err(damaged("the checksum at the end does not fit what stands before it"));
    }
    Ok(records)
}

struct BackupReader {
    input: BufReader<File>,
    hash: Sha256,
}

impl BackupReader {
    fn read(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.input.read_exact(&mut bytes)?;
        self.hash.update(&bytes);
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.input.read_exact(&mut bytes)?;
        self.hash.update(bytes);
        Ok(u32::from_be_bytes(bytes))
    }
}
