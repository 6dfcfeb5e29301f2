//! Moves whole books from one place to another: a folder, or a database.
//!
//! ```text
//! source closed, open reservations settled ──► entries in their order, then records ──► target, which no server opens yet
//! target read back: the same sums, the same bytes? ──► source still closed? ──► target becomes books
//! ```
//!
//! Entries keep their numbers and moments. Between two places travel entries and records by key, as the log has them (`records/`);
//! what a place derives from them, such as indexes, it makes itself. Nothing is kept in memory that grows with entries. Does not
//! depend on files or tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::audit::AuditReport;
use super::codec::Record;
use super::entry::Entry;
use super::error::OpenError;
use super::key_space;
use super::local::moving as files;
use super::postgres::moving as tables;
use mercato_base::clock::Moment;
use mercato_database::{DatabaseAddress, SchemaFault, Trouble};

/// Items between two calls of the observer of a move.
const ITEMS_PER_NOTE: u64 = 4_096;

#[derive(Debug, Clone)]
pub enum BooksPlace {
    /// A folder of files.
    Folder(PathBuf),
    Database(Box<DatabaseAddress>),
}

/// The books that were moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovedBooks {
    pub accounts: u64,
    pub entries: u64,
    /// Records of all kinds: accounts, keys, logins, usage and so on.
    pub records: u64,
    /// The sum of all balances.
    pub credits: u64,
    /// The number of the newest entry, or zero.
    pub last_sequence: u64,
}

/// What a move is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveStep {
    /// It copies: items so far.
    Copying(u64),
    /// It reads the copy: items so far, and how many there are.
    Comparing(u64, u64),
}

/// Why books were not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// A place does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A place is not as it must be.
    #[error("{0}")]
    Refused(String),
    /// The copy is not what was copied.
    #[error("the copy differs from its source, so it was not taken into use: {0}")]
    Differs(String),
}

impl From<Trouble> for MoveError {
    fn from(trouble: Trouble) -> MoveError {
        MoveError::Open(trouble.into())
    }
}

impl From<SchemaFault> for MoveError {
    fn from(fault: SchemaFault) -> MoveError {
        MoveError::Open(fault.into())
    }
}

/// One thing of the books.
pub enum Item {
    Entry(Entry),
    /// Key and value.
    Record(Vec<u8>, Vec<u8>),
}

/// Takes items, one after the other.
pub type Take<'t> = &'t mut dyn FnMut(Item) -> Result<(), MoveError>;

/// Books that nobody changes.
pub trait Source {
    /// Hands on all entries in their order, then all records that travel. Then adds the entries up.
    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError>;
    /// Refuses when somebody opened the books meanwhile.
    fn refuse_opened(&mut self) -> Result<(), MoveError>;
}

/// Books that are being made.
pub trait Target {
    /// Takes the next thing: all entries in their order, then records by key.
    fn put(&mut self, item: Item) -> Result<(), MoveError>;
    /// Everything was put: reads it back, as a source does.
    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError>;
    /// Makes the books such that servers open them.
    fn publish(self: Box<Self>) -> Result<(), MoveError>;
}

/// Whether records of this key travel. Others are derived from those, or belong to the place.
pub fn travels(key: &[u8]) -> bool {
    match key_space::kind(key) {
        key_space::META => key == key_space::relations_changed_at(),
        key_space::EXPIRY | key_space::CHECKOUT_OF => false,
        _ => !super::checkpoint::is_own(key),
    }
}

/// Moves books. Open reservations of the source are settled first, as at a start. Neither place may be open by a server, and the
/// target must hold no books. The source stays as it is.
///
/// A target that is not whole, because the move was interrupted, is opened by no server; the same move again begins anew.
pub fn move_books(
    from: &BooksPlace,
    to: &BooksPlace,
    now: Moment,
    mut observe: impl FnMut(MoveStep),
) -> Result<MovedBooks, MoveError> {
    let mut source: Box<dyn Source> = match from {
        BooksPlace::Folder(path) => Box::new(files::Closed::open(path, now)?),
        BooksPlace::Database(address) => Box::new(tables::Closed::open(address, now)?),
    };
    let mut target: Box<dyn Target> = match to {
        BooksPlace::Folder(path) => Box::new(files::Unfinished::create(path)?),
        BooksPlace::Database(address) => Box::new(tables::Unfinished::begin(address)?),
    };
    let mut sent = Tally::default();
    let expected = source.read(&mut |item| {
        sent.add(&item);
        if sent.items().is_multiple_of(ITEMS_PER_NOTE) {
            observe(MoveStep::Copying(sent.items()));
        }
        target.put(item)
    })?;
    if let Some(finding) = expected.differences.first() {
        return Err(MoveError::Refused(format!("the source contradicts itself: {finding}")));
    }
    observe(MoveStep::Comparing(0, sent.items()));
    let mut arrived = Tally::default();
    let found = target.read(&mut |item| {
        arrived.add(&item);
        if arrived.items().is_multiple_of(ITEMS_PER_NOTE) {
            observe(MoveStep::Comparing(arrived.items(), sent.items()));
        }
        Ok(())
    })?;
    if found != expected {
        return Err(MoveError::Differs(format!("expected {expected:?}, found {found:?}")));
    }
    sent.compare(&arrived)?;
    source.refuse_opened()?;
    target.publish()?;
    Ok(MovedBooks {
        accounts: expected.accounts,
        entries: expected.entries,
        records: sent.items().saturating_sub(expected.entries),
        credits: expected.credits,
        last_sequence: expected.last_sequence,
    })
}

/// How many things of each kind there were, and a sum over their bytes that does not depend on the order of records.
#[derive(Default, PartialEq, Eq)]
struct Tally {
    kinds: BTreeMap<u8, (u64, u64)>,
}

/// The kind of entries in a tally.
const ENTRY: u8 = 0;

impl Tally {
    fn add(&mut self, item: &Item) {
        let (kind, hash) = match item {
            Item::Entry(entry) => (ENTRY, xxh3_64_with_seed(&entry.encode(), entry.sequence)),
            Item::Record(key, value) => {
                (key.first().copied().unwrap_or(ENTRY), xxh3_64_with_seed(value, xxh3_64(key)))
            }
        };
        let (count, sum) = self.kinds.entry(kind).or_default();
        *count += 1;
        *sum = sum.wrapping_add(hash);
    }

    fn items(&self) -> u64 {
        self.kinds.values().map(|(count, _)| count).sum()
    }

    fn compare(&self, found: &Tally) -> Result<(), MoveError> {
        let kinds = self.kinds.keys().chain(found.kinds.keys());
        let (of, none) = (|tally: &Tally, kind| tally.kinds.get(kind).copied(), (0, 0));
        for kind in kinds {
            let (expected, found) = (of(self, kind).unwrap_or(none), of(found, kind).unwrap_or(none));
            if expected != found {
                let name = if *kind == ENTRY {
                    "entries".to_owned()
                } else {
                    format!("records of kind `{}`", char::from(*kind))
                };
                let finding = format!(
                    "{name}: expected {} with sum {:016x}, found {} with sum {:016x}",
                    expected.0, expected.1, found.0, found.1
                );
                return Err(MoveError::Differs(finding));
            }
        }
        Ok(())
    }
}

/// Where the books of a folder are made before they are whole.
pub fn beside(folder: &Path) -> PathBuf {
    folder.with_extension("moving")
}
