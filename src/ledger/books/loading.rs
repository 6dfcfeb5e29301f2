//! Takes the books up from the store, checks them, and settles what a crash left open.
//!
//! Reads every account, key and open reservation, and adds up the newest entries again. Refuses what contradicts
//! itself: a wrong balance is worse than no answer. Knows no thread.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::super::account::AccountRecord;
use super::super::audit::Audit;
use super::super::codec::{DecodeError, RecordReader, RecordWriter};
use super::super::directory::Directory;
use super::super::entry::Entry;
use super::super::error::OpenError;
use super::super::hold::{HoldRecord, Outcome, Progress};
use super::super::id::{AccountId, KeyId, ReservationId};
use super::super::key_record::KeyRecord;
use super::super::key_space;
use super::super::relation::{Relation, RelationKey};
use super::super::store::{Changes, Store};
use super::{Account, Books, Hold};
use crate::clock::Moment;
use crate::limits::ledger::{ENTRIES_CHECKED_AT_START_MAX, ENTRIES_PER_PAGE_MAX};

const FORMAT: &str = "ledger format";
const FORMAT_VERSION: u8 = 1;

/// The streams of this process whose reservations are open, when the books are taken up again while it runs.
pub(in super::super) type LiveStreams = HashMap<ReservationId, Arc<Progress>>;

impl Books {
    /// Takes the books up. Reservations that no live stream stands behind are settled, which is written with the
    /// next commit.
    pub(in super::super) fn load(
        path: &Path,
        mut store: Box<dyn Store>,
        directory: Arc<Directory>,
        live: &LiveStreams,
        now: Moment,
    ) -> Result<Books, LoadError> {
        match load(path, store.as_mut(), live) {
            Ok(loaded) => {
                let mut books = loaded.into_books(path, store, directory, now);
                match books.settle_orphans(live, now) {
                    Ok(()) => Ok(books),
                    Err(error) => Err(LoadError { error, store: books.store }),
                }
            }
            Err(error) => Err(LoadError { error, store }),
        }
    }

    fn settle_orphans(&mut self, live: &LiveStreams, now: Moment) -> Result<(), OpenError> {
        let orphans = self.holds.values().filter(|hold| !live.contains_key(&hold.record.id));
        let mut orphans: Vec<_> = orphans.map(|hold| (hold.record.id, hold.record.delivered)).collect();
        orphans.sort_unstable();
        for (id, rows) in orphans {
            let outcome = Outcome { rows, is_answered: rows > 0, is_whole: false, is_waived: false, at: now };
            if let Err(error) = self.settle(id, outcome, "left open by a stop") {
                return Err(self
                    .failure
                    .take()
                    .map_or_else(|| contradiction(&self.path, error.to_string()), Into::into));
            }
        }
        Ok(())
    }

    /// Lets go of everything but the store.
    pub(in super::super) fn into_store(self) -> Box<dyn Store> {
        self.store
    }
}

/// Books that could not be taken up, and the store, which may do better another time.
pub(in super::super) struct LoadError {
    pub(in super::super) error: OpenError,
    pub(in super::super) store: Box<dyn Store>,
}

struct Loaded {
    accounts: HashMap<AccountId, Account>,
    keys: Vec<KeyRecord>,
    holds: HashMap<ReservationId, Hold>,
    relations: BTreeMap<RelationKey, Relation>,
    relations_changed_at: Option<Moment>,
    last_sequence: u64,
}

impl Loaded {
    fn into_books(self, path: &Path, store: Box<dyn Store>, directory: Arc<Directory>, now: Moment) -> Books {
        let next = |greatest: Option<u64>| greatest.unwrap_or(0) + 1;
        let mut books = Books {
            path: path.to_owned(),
            store,
            directory,
            changes: Changes::default(),
            next_sequence: self.last_sequence + 1,
            next_account: next(self.accounts.keys().map(|id| id.number()).max()),
            next_key: next(self.keys.iter().map(|key| key.id.number()).max()),
            next_reservation: next(self.holds.keys().map(|id| id.number()).max()),
            changed_accounts: self.accounts.keys().copied().collect(),
            accounts: self.accounts,
            keys: HashMap::new(),
            key_handles: HashSet::new(),
            keys_of: HashMap::new(),
            holds: self.holds,
            settled_claims: HashSet::new(),
            closed_holds: Vec::new(),
            usage: HashMap::new(),
            usage_day: now.day(),
            changed_keys: HashSet::new(),
            relations: self.relations,
            relations_changed: true,
            relations_changed_at: self.relations_changed_at,
            latest: now,
            counters_cleaned_until: Vec::new(),
            failure: None,
        };
        let mut keys = self.keys;
        keys.sort_unstable_by_key(|key| key.id);
        for key in keys {
            books.take_in_key(key);
        }
        books.publish();
        books
    }
}

fn load(path: &Path, store: &mut dyn Store, live: &LiveStreams) -> Result<Loaded, OpenError> {
    check_format(path, store)?;
    let mut loaded = Loaded {
        accounts: HashMap::new(),
        keys: Vec::new(),
        holds: HashMap::new(),
        relations: BTreeMap::new(),
        relations_changed_at: None,
        last_sequence: 0,
    };
    for_each(path, store, key_space::ACCOUNT, |number, value| {
        let record = AccountRecord::decode(AccountId::from_number(number), value)?;
        loaded.accounts.insert(record.id, Account { record, reserved: 0, open: BTreeSet::new() });
        Ok(())
    })?;
    for_each(path, store, key_space::API_KEY, |number, value| {
        loaded.keys.push(KeyRecord::decode(KeyId::from_number(number), value)?);
        Ok(())
    })?;
    for_each(path, store, key_space::RESERVATION, |number, value| {
        let record = HoldRecord::decode(ReservationId::from_number(number), value)?;
        if let Some(account) = loaded.accounts.get_mut(&record.account) {
            account.reserved += record.credits();
            account.open.insert(record.id);
        }
        let progress = live.get(&record.id).cloned().unwrap_or_else(|| Progress::new(record.at));
        loaded.holds.insert(record.id, Hold { record, progress });
        Ok(())
    })?;
    load_relations(path, store, &mut loaded)?;
    loaded.last_sequence = last_sequence(path, store)?;
    check_newest(path, store, &loaded)?;
    Ok(loaded)
}

fn load_relations(path: &Path, store: &dyn Store, loaded: &mut Loaded) -> Result<(), OpenError> {
    for_each_record(store, key_space::RELATION, key_space::RELATION.to_vec(), |key, value| {
        let relation = Relation::decode(key, value).map_err(|source| record_error(path, source))?;
        loaded.relations.insert(relation.key.clone(), relation);
        Ok(())
    })?;
    let changed_at = store.get(&key_space::relations_changed_at())?;
    let millis = changed_at.and_then(|value| value.try_into().ok()).map(i64::from_be_bytes);
    loaded.relations_changed_at = millis.map(Moment::from_unix_millis);
    Ok(())
}

/// Makes sure that this program can read the records; a new store is marked with the present version.
pub(in super::super) fn check_format(path: &Path, store: &mut dyn Store) -> Result<(), OpenError> {
    let key = key_space::format_version();
    if let Some(value) = store.get(&key)? {
        RecordReader::new(FORMAT, FORMAT_VERSION, &value).map_err(|source| record_error(path, source))?;
        return Ok(());
    }
    if !store.scan(&[], &[], 1)?.is_empty() {
        return Err(contradiction(path, "there are records, but the format version is missing".to_owned()));
    }
    let mut changes = Changes::default();
    changes.put(key, RecordWriter::new(FORMAT_VERSION).finish());
    store.write(&changes)?;
    Ok(store.sync()?)
}

/// Adds up the newest entries again and compares them with the accounts and the open reservations.
fn check_newest(path: &Path, store: &dyn Store, loaded: &Loaded) -> Result<(), OpenError> {
    let first = loaded.last_sequence.saturating_sub(ENTRIES_CHECKED_AT_START_MAX) + 1;
    let mut audit = Audit::new(first);
    read_entries(path, store, first, |entry| audit.add(&entry))?;
    let accounts = loaded.accounts.values().map(|account| &account.record);
    let report = audit.finish(accounts, loaded.holds.values().map(|hold| &hold.record));
    match report.differences.into_iter().next() {
        Some(finding) => Err(contradiction(path, finding)),
        None => Ok(()),
    }
}

pub(in super::super) fn read_entries(
    path: &Path,
    store: &dyn Store,
    first: u64,
    mut take: impl FnMut(Entry),
) -> Result<(), OpenError> {
    let from = key_space::entry(first);
    for_each_from(path, store, key_space::ENTRY, from, |number, value| {
        take(Entry::decode(number, value)?);
        Ok(())
    })
}

fn last_sequence(path: &Path, store: &dyn Store) -> Result<u64, OpenError> {
    let Some((key, _)) = store.last(key_space::ENTRY)? else { return Ok(0) };
    key_space::number(&key).ok_or_else(|| contradiction(path, "an entry without a sequence".to_owned()))
}

pub(in super::super) fn for_each(
    path: &Path,
    store: &dyn Store,
    prefix: &[u8],
    take: impl FnMut(u64, &[u8]) -> Result<(), DecodeError>,
) -> Result<(), OpenError> {
    for_each_from(path, store, prefix, prefix.to_vec(), take)
}

fn for_each_from(
    path: &Path,
    store: &dyn Store,
    prefix: &[u8],
    from: Vec<u8>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), DecodeError>,
) -> Result<(), OpenError> {
    for_each_record(store, prefix, from, |key, value| {
        let number = key_space::number(key);
        let number = number.ok_or_else(|| contradiction(path, "a key that is not a number".to_owned()))?;
        take(number, value).map_err(|source| record_error(path, source))
    })
}

fn for_each_record(
    store: &dyn Store,
    prefix: &[u8],
    mut from: Vec<u8>,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    loop {
        let page = store.scan(prefix, &from, ENTRIES_PER_PAGE_MAX)?;
        for (key, value) in &page {
            take(key, value)?;
        }
        match page.last() {
            Some((last, _)) if page.len() == ENTRIES_PER_PAGE_MAX => from = [last.as_slice(), &[0]].concat(),
            _ => return Ok(()),
        }
    }
}

fn record_error(path: &Path, source: DecodeError) -> OpenError {
    OpenError::Record { directory: path.to_owned(), source }
}

fn contradiction(path: &Path, finding: String) -> OpenError {
    OpenError::Unbalanced { directory: path.to_owned(), finding }
}
