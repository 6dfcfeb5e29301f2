//! The books themselves: what is true now, and the changes that the next write will carry.
//!
//! One thread at a time holds them. An operation first decides, from memory, and then changes memory and notes
//! the records to write; `commit` writes all that was noted at once. If that fails, memory is worth nothing and is
//! loaded anew. Knows no thread, no channel and no clock.

mod charging;
mod claiming;
mod cleaning;
mod downloading;
mod holding;
mod loading;
mod operating;
mod recovering;
mod relating;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::account::AccountRecord;
use super::directory::Directory;
use super::entry::{Entry, EntryKind};
use super::error::{ChargeError, Unavailable};
use super::hold::{HoldRecord, Progress};
use super::id::{AccountId, KeyId, ReservationId};
use super::key_record::KeyRecord;
use super::key_space;
use super::relation::{Relation, RelationKey, Relations};
use super::store::{Changes, Record, Store, StoreError, SyncDone};
use super::usage::Usage;
use crate::clock::{Moment, UtcDay};
use crate::limits::ledger::USAGE_LINES_CACHED_MAX;

pub(super) use claiming::Claimed;
pub(super) use holding::Reserved;
pub(super) use loading::{LiveStreams, LoadError, check_format, for_each, read_entries};
pub(super) use operating::{Credit, NewKey};
pub(super) use relating::Removal;

/// An account and what is held back of it.
pub(super) struct Account {
    pub(super) record: AccountRecord,
    pub(super) reserved: u64,
    /// Its open reservations.
    pub(super) open: BTreeSet<ReservationId>,
}

/// An open reservation and the stream that it pays for.
pub(super) struct Hold {
    pub(super) record: HoldRecord,
    pub(super) progress: Arc<Progress>,
}

/// What is true now.
pub(super) struct Books {
    path: PathBuf,
    store: Box<dyn Store>,
    directory: Arc<Directory>,
    changes: Changes,
    accounts: HashMap<AccountId, Account>,
    keys: HashMap<KeyId, KeyRecord>,
    key_handles: HashSet<u64>,
    keys_of: HashMap<AccountId, usize>,
    holds: HashMap<ReservationId, Hold>,
    /// What settled answers have had remembered since the last commit.
    settled_claims: HashSet<Vec<u8>>,
    /// Settled since the last commit; forgotten once that is written.
    closed_holds: Vec<Hold>,
    usage: HashMap<(AccountId, String), Usage>,
    usage_day: UtcDay,
    changed_accounts: HashSet<AccountId>,
    changed_keys: HashSet<KeyId>,
    relations: BTreeMap<RelationKey, Relation>,
    relations_changed: bool,
    relations_changed_at: Option<Moment>,
    next_sequence: u64,
    next_account: u64,
    next_key: u64,
    next_reservation: u64,
    latest: Moment,
    counters_cleaned_until: Vec<u8>,
    failure: Option<StoreError>,
}

/// The parts of an entry that differ from kind to kind.
#[derive(Default)]
pub(super) struct EntryDetail<'t> {
    pub(super) rows: u64,
    pub(super) cents: u64,
    pub(super) related: u64,
    pub(super) request_id: &'t str,
    pub(super) dataset: &'t str,
    pub(super) note: &'t str,
}

impl Books {
    /// The newest entry, those of operations that are not written yet included.
    pub(super) const fn last_sequence(&self) -> u64 {
        self.next_sequence.saturating_sub(1)
    }

    /// The newest entry in the store.
    pub(super) fn written_sequence(&self) -> u64 {
        let last = self.store.last(key_space::ENTRY).ok().flatten();
        last.and_then(|(key, _)| key_space::number(&key)).unwrap_or(0)
    }

    pub(super) fn open_reservations(&self) -> usize {
        self.holds.len()
    }

    pub(super) fn account(&self, id: AccountId) -> Result<&Account, ChargeError> {
        self.accounts.get(&id).ok_or(ChargeError::UnknownAccount { account: id })
    }

    /// Every account as written last or changed since, in no order.
    pub(super) fn accounts(&self) -> impl Iterator<Item = &AccountRecord> {
        self.accounts.values().map(|account| &account.record)
    }

    pub(super) fn holds(&self) -> impl Iterator<Item = &HoldRecord> {
        self.holds.values().map(|hold| &hold.record)
    }

    /// The open reservations of one account, the oldest first. Those of others cost nothing here.
    fn holds_of(&self, account: AccountId) -> impl Iterator<Item = &HoldRecord> {
        let open = self.accounts.get(&account).into_iter().flat_map(|account| &account.open);
        open.filter_map(|id| self.holds.get(id)).map(|hold| &hold.record)
    }

    /// Writes what the operations since the last commit changed. Says whether there was anything to write.
    pub(super) fn commit(&mut self) -> Result<bool, StoreError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        for id in &self.changed_accounts {
            if let Some(account) = self.accounts.get(id) {
                self.changes.put(key_space::account(*id), account.record.encode());
            }
        }
        for id in &self.changed_keys {
            if let Some(key) = self.keys.get(id) {
                self.changes.put(key_space::api_key(*id), key.encode());
            }
        }
        if self.changes.is_empty() {
            return Ok(false);
        }
        self.store.write(&self.changes)?;
        Ok(true)
    }

    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.store.sync()
    }

    /// Has everything written so far synced by and by, and `done` called after it; says whether that has begun.
    pub(super) fn sync_later(&mut self, done: SyncDone) -> Result<bool, StoreError> {
        self.store.sync_later(done)
    }

    /// Shows what was written to everybody.
    pub(super) fn publish(&mut self) {
        for id in self.changed_accounts.drain() {
            if let Some(account) = self.accounts.get(&id) {
                self.directory.publish_account(&account.record, account.reserved);
            }
        }
        for id in self.changed_keys.drain() {
            if let Some(key) = self.keys.get(&id) {
                self.directory.publish_key(key);
            }
        }
        if std::mem::take(&mut self.relations_changed) {
            let revision = self.directory.relations().revision().wrapping_add(1);
            let shown = Relations::new(&self.relations, revision, self.relations_changed_at);
            self.directory.publish_relations(shown);
        }
        self.changes.clear();
        self.closed_holds.clear();
        self.settled_claims.clear();
    }

    /// Adds a line. The caller has made sure that the balance allows it.
    fn append(
        &mut self,
        id: AccountId,
        kind: EntryKind,
        amount: i64,
        at: Moment,
        detail: &EntryDetail<'_>,
    ) -> Result<u64, ChargeError> {
        let sequence = self.next_sequence;
        let account = self.accounts.get_mut(&id).ok_or(ChargeError::UnknownAccount { account: id })?;
        let purse = &mut account.record.purse;
        let Some(balance) = purse.balance.checked_add_signed(amount) else {
            let required = amount.unsigned_abs();
            return Err(ChargeError::InsufficientCredits { required, available: purse.balance });
        };
        purse.balance = balance;
        account.record.last_sequence = sequence;
        let entry = Entry {
            sequence,
            account: id,
            kind,
            amount,
            balance,
            at,
            rows: detail.rows,
            cents: detail.cents,
            related: detail.related,
            request_id: detail.request_id.to_owned(),
            dataset: detail.dataset.to_owned(),
            note: detail.note.to_owned(),
        };
        self.changes.put(key_space::entry(sequence), entry.encode());
        self.changed_accounts.insert(id);
        self.next_sequence += 1;
        Ok(sequence)
    }

    /// The value under a key, changes that are not written yet included.
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, ChargeError> {
        match self.changes.get(key) {
            Some(changed) => Ok(changed.map(<[u8]>::to_vec)),
            None => self.store.get(key).map_err(|error| self.fail(error)),
        }
    }

    /// A store that cannot be read spoils the whole batch: nothing of it is written.
    fn fail(&mut self, error: StoreError) -> ChargeError {
        self.failure.get_or_insert(error);
        Unavailable::Down.into()
    }

    fn fail_damaged(&mut self, detail: String) -> ChargeError {
        let path = self.path.clone();
        self.fail(StoreError::Damaged { path, detail })
    }

    fn usage_entry(&mut self, id: AccountId, dataset: &str, day: UtcDay) -> Result<Usage, ChargeError> {
        if day != self.usage_day || self.usage.len() >= USAGE_LINES_CACHED_MAX {
            self.usage.clear();
            self.usage_day = day;
        }
        if let Some(usage) = self.usage.get(&(id, dataset.to_owned())) {
            return Ok(*usage);
        }
        match self.get(&key_space::usage(id, day, dataset))? {
            None => Ok(Usage::default()),
            Some(bytes) => Usage::decode(&bytes).map_err(|error| self.fail_damaged(error.to_string())),
        }
    }

    fn put_usage(&mut self, id: AccountId, dataset: &str, day: UtcDay, usage: Usage) {
        self.changes.put(key_space::usage(id, day, dataset), usage.encode());
        self.usage.insert((id, dataset.to_owned()), usage);
    }

    /// The latest moment that an operation brought along.
    pub(super) const fn latest(&self) -> Moment {
        self.latest
    }

    /// A page of records that follows `from`, for readers that go through the store step by step.
    pub(super) fn page(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.scan(prefix, from, limit)
    }
}
