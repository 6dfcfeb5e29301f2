//! Charges that were refused while nobody knew whether the database applied them: a journal in the data directory.
//!
//! ```text
//! UNSETTLED/BOOKS-SERVER    one file for each process, which has it locked; only while there are such charges
//! a line                    half a SHA-256 of what follows it, in hexadecimal │ space │ the charge as JSON
//! ```
//!
//! A line is durable before the later of two moments: when the commit is sent, and when the client is refused. It goes when
//! the outcome is known and what was applied is taken back. A process takes over the lines that dead ones left. Does not depend
//! on the database.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::transaction::BatchId;
use crate::request::{Undo, short_hash};

/// Bytes of a journal; charges beyond are not noted.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;
/// Journals of former processes that a start takes over.
const JOURNALS_MAX: usize = 256;

/// The identity of a charge that was sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ChargeId {
    pub batch: BatchId,
    /// Its place in the batch, from one on.
    pub place: i32,
}

/// A charge that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SentCharge {
    pub id: ChargeId,
    /// Whether it was sold together with others in one statement: then the row of the batch has the number of its entry.
    pub is_plain: bool,
    pub undo: Undo,
}

/// The journal of a process.
pub struct Journal {
    folder: PathBuf,
    /// How the journals of these books begin.
    prefix: String,
    name: String,
    open: Mutex<Open>,
    /// How many appends are durable. Whoever waits for this lock may find its own among them.
    synced: Mutex<u64>,
}

#[derive(Default)]
struct Open {
    file: Option<Arc<File>>,
    length: u64,
    appends: u64,
    /// Charges that are not settled.
    left: BTreeSet<ChargeId>,
}

impl Journal {
    /// The journal of this server of these books. Touches nothing.
    pub fn new(folder: &Path, books: i64, server: i64) -> Journal {
        let prefix = format!("{books}-");
        let name = format!("{prefix}{server}");
        Journal { folder: folder.to_owned(), prefix, name, open: Mutex::default(), synced: Mutex::new(0) }
    }

    /// Notes charges, durably. A journal that cannot be written is told to the log: it does not change what clients are told.
    pub fn note<'c>(&self, charges: impl IntoIterator<Item = &'c SentCharge>) {
        if let Err(error) = self.append(charges).and_then(|appends| self.sync(appends)) {
            let folder = self.folder.display();
            tracing::error!(%error, %folder, "a charge that may have to be taken back after a crash is not noted");
        }
    }

    /// The outcome of a charge is known, and what was applied is taken back.
    pub fn settle(&self, id: &ChargeId) {
        let open = &mut *self.open.lock();
        if !open.left.remove(id) || !open.left.is_empty() {
            return;
        }
        // A line that is found again is harmless: a charge is taken back once.
        if open.file.take().is_some()
            && let Err(error) = fs::remove_file(self.folder.join(&self.name))
        {
            tracing::warn!(%error, "a journal of charges is left behind");
        }
        open.length = 0;
    }

    /// The first batch of a server of which a charge is not settled.
    pub fn first_batch(&self, server: i64) -> Option<i64> {
        let open = self.open.lock();
        open.left.iter().map(|id| id.batch).find(|batch| batch.server == server).map(|batch| batch.number)
    }

    /// The charges that former processes left. They are noted here before the files that had them go.
    pub fn take_over(&self) -> io::Result<Vec<SentCharge>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut taken = Vec::new();
        for entry in entries.take(JOURNALS_MAX) {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().filter(|name| name.starts_with(&self.prefix) && *name != self.name);
            let Some(file) =
                name.and_then(|_| File::options().read(true).append(true).open(entry.path()).ok())
            else {
                continue;
            };
            // Its process lives, or another one is just taking it over.
            if file.try_lock().is_err() {
                continue;
            }
            let mut bytes = Vec::new();
            (&file).take(JOURNAL_BYTES_MAX).read_to_end(&mut bytes)?;
            // An empty one may be about to be locked.
            if !bytes.is_empty() {
                let charges = read(&bytes);
                if !charges.is_empty() {
                    self.append(&charges).and_then(|appends| self.sync(appends))?;
                    taken.extend(charges);
                }
                fs::remove_file(entry.path())?;
            }
            drop(file.unlock());
        }
        Ok(taken)
    }

    fn append<'c>(&self, charges: impl IntoIterator<Item = &'c SentCharge>) -> io::Result<u64> {
        let (mut lines, mut ids) = (String::new(), Vec::new());
        for charge in charges {
            let text = serde_json::to_string(charge)?;
            let _ = writeln!(lines, "{} {text}", checksum(text.as_bytes()));
            ids.push(charge.id);
        }
        let open = &mut *self.open.lock();
        let length = open.length.saturating_add(lines.len() as u64);
        if length > JOURNAL_BYTES_MAX {
            return Err(io::Error::other(format!("it would have more than {JOURNAL_BYTES_MAX} bytes")));
        }
        let file = match &open.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(open.file.insert(Arc::new(self.create()?))),
        };
        if let Err(error) = (&*file).write_all(lines.as_bytes()) {
            drop(file.set_len(open.length));
            return Err(error);
        }
        open.length = length;
        open.left.extend(ids);
        open.appends = open.appends.saturating_add(1);
        Ok(open.appends)
    }

    /// Many clients are refused at one moment: one sync is for all that have appended.
    fn sync(&self, appends: u64) -> io::Result<()> {
        let mut synced = self.synced.lock();
        if *synced >= appends {
            return Ok(());
        }
        let (file, all) = {
            let open = self.open.lock();
            (open.file.clone(), open.appends)
        };
        file.map_or(Ok(()), |file| file.sync_data())?;
        *synced = all;
        Ok(())
    }

    fn create(&self) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let file = File::options().create(true).append(true).open(self.folder.join(&self.name))?;
        file.try_lock()?;
        File::open(&self.folder)?.sync_all()?;
        self.folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())?;
        Ok(file)
    }
}

impl Drop for Journal {
    /// Closing the file would not do: a child that another thread is just starting may have it open too.
    fn drop(&mut self) {
        if let Some(file) = &self.open.get_mut().file {
            drop(file.unlock());
        }
    }
}

/// The charges of a journal. A last line that is torn is normal; other damage is told.
fn read(bytes: &[u8]) -> Vec<SentCharge> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    // What stands behind the last line feed was never whole, and its client not refused.
    let _ = lines.next_back();
    let charges = lines.filter_map(|line| {
        let charge = read_line(line);
        if charge.is_none() {
            tracing::error!("a line of a journal of charges is damaged; its charge is not taken back");
        }
        charge
    });
    charges.collect()
}

fn read_line(line: &[u8]) -> Option<SentCharge> {
    let line = std::str::from_utf8(line).ok()?;
    let (sum, text) = line.split_once(' ')?;
    let charge: SentCharge = serde_json::from_str(text).ok().filter(|_| sum == checksum(text.as_bytes()))?;
    (charge.id.place > 0).then_some(charge)
}

fn checksum(text: &[u8]) -> String {
    short_hash(&[text]).iter().fold(String::new(), |mut sum, byte| {
        let _ = write!(sum, "{byte:02x}");
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AccountId;
    use mercato_base::clock::Moment;

    fn charge(number: i64, place: i32) -> SentCharge {
        let undo = Undo {
            account: AccountId::from_number(3),
            key: None,
            sequence: 0,
            credits: 7,
            rows: 7,
            free_month: None,
            remembered: vec![(b"C".to_vec(), None), (b"G".to_vec(), Some(vec![1, 2]))],
            dataset: "orders".to_owned(),
            request_id: "a \"b\"\n".to_owned(),
            at: Moment::from_unix_millis(5),
        };
        let id = ChargeId { batch: BatchId { server: 9, number }, place };
        SentCharge { id, is_plain: true, undo }
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    #[test]
    fn is_gone_when_everything_is_settled() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("journals");
        let journal = Journal::new(&folder, 1, 9);
        assert!(journal.take_over().unwrap().is_empty() && !folder.exists());
        let (first, second) = (charge(4, 1), charge(5, 2));
        journal.note([&first, &second]);
        assert_eq!((files(&folder), journal.first_batch(9), journal.first_batch(8)), (1, Some(4), None));
        journal.settle(&first.id);
        journal.settle(&first.id);
        assert_eq!((files(&folder), journal.first_batch(9)), (1, Some(5)));
        journal.settle(&second.id);
        assert_eq!((files(&folder), journal.first_batch(9)), (0, None));
        journal.note([&first]);
        assert_eq!(files(&folder), 1);
    }

    #[test]
    fn takes_over_what_dead_process_of_same_books_left() {
        let folder = tempfile::tempdir().unwrap();
        let charges = [charge(4, 1), charge(4, 2), charge(5, 1)];
        let first = Journal::new(folder.path(), 1, 9);
        first.note(&charges);
        assert!(Journal::new(folder.path(), 1, 10).take_over().unwrap().is_empty(), "it lives");
        drop(first);
        assert!(Journal::new(folder.path(), 2, 10).take_over().unwrap().is_empty(), "other books");
        let second = Journal::new(folder.path(), 1, 10);
        assert_eq!(second.take_over().unwrap(), charges);
        assert_eq!(files(folder.path()), 1);
        drop(second);
        let third = Journal::new(folder.path(), 1, 11);
        assert_eq!(third.take_over().unwrap(), charges, "it died before they were settled");
        charges.iter().for_each(|charge| third.settle(&charge.id));
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn reads_what_is_whole_of_damaged_journal() {
        let folder = tempfile::tempdir().unwrap();
        let charges = [charge(4, 1), charge(4, 2), charge(5, 1)];
        let journal = Journal::new(folder.path(), 1, 9);
        journal.note(&charges);
        let bytes = fs::read(folder.path().join("1-9")).unwrap();
        assert_eq!(read(&bytes), charges);
        for end in 0..bytes.len() {
            let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(read(&bytes[..end]), charges[..whole], "{end}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(read(&damaged).iter().all(|charge| charges.contains(charge)), "{place}");
        }
        let mut unsound = charge(4, 1);
        unsound.id.place = -1;
        let text = serde_json::to_string(&unsound).unwrap();
        assert!(read(format!("{} {text}\n", checksum(text.as_bytes())).as_bytes()).is_empty());
    }
}
