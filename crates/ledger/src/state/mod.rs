//! The state of the books in memory, on which operations decide.
//!
//! One thread at a time has it. An operation first decides, then changes the tables and collects the records to
//! write; the caller appends them to the log. If that fails, the tables are discarded and loaded again. Does not
//! depend on threads or clocks; it reads the log but never writes it.

mod below;
mod expiry;
mod loading;
mod memtable;
mod part;
mod payload;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::account::AccountRecord;
use super::changes::Changes;
use super::checkpoint::{Pair, StoreError};
use super::codec::{DecodeError, Record};
use super::directory::Directory;
use super::entry::Entry;
use super::error::{BooksError, Unavailable};
use super::id::{AccountId, KeyId, ReservationId};
use super::key_record::KeyRecord;
use super::key_space;
use super::progress::Progress;
use super::relation::{Relation, RelationKey, Relations};
use super::reservation_record::ReservationRecord;
use crate::operations::charges::Spent;
use crate::people::Logins;
use memtable::Memtable;
use mercato_base::clock::Moment;

pub use below::Below;
pub use loading::{LiveStreams, Loading};
pub use part::{Next, Part, SpentOnDay};
pub use payload::{Read, Written, read_batch};

/// An account and its reserved credits.
pub struct Account {
    pub record: AccountRecord,
    pub reserved: u64,
    pub open: BTreeSet<ReservationId>,
    pub closed_at: Option<Moment>,
    /// How often it was changed, where several servers change it; else zero.
    pub version: u64,
}

impl Account {
    /// An account of which nothing is set aside.
    pub const fn new(record: AccountRecord) -> Account {
        Account { record, reserved: 0, open: BTreeSet::new(), closed_at: None, version: 0 }
    }
}

/// An open reservation and the stream that it pays for.
pub struct OpenReservation {
    pub record: ReservationRecord,
    pub progress: Arc<Progress>,
}

/// How much there is of what is bounded over all accounts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Totals {
    pub accounts: usize,
    pub keys: usize,
    pub sessions: usize,
}

/// The state of the books.
pub struct State {
    pub path: PathBuf,
    pub directory: Arc<Directory>,
    pub below: Arc<dyn Below>,
    pub memtable: Memtable,
    /// The records of the current operation.
    pub written: Written,
    pub accounts: HashMap<AccountId, Account>,
    pub keys: HashMap<KeyId, KeyRecord>,
    pub key_handles: HashSet<u64>,
    pub keys_of: HashMap<AccountId, usize>,
    pub reservations: HashMap<ReservationId, OpenReservation>,
    /// Settled by operations that may not be safe from a loss of power: the sequence number, and the reservation.
    pub closed_reservations: Vec<(u64, OpenReservation)>,
    /// Of keys with a cap on credits, as far as it was asked for.
    pub spent_by_key: HashMap<KeyId, Spent>,
    pub changed_accounts: HashSet<AccountId>,
    pub changed_keys: HashSet<KeyId>,
    pub logins: Logins,
    pub relations: BTreeMap<RelationKey, Relation>,
    pub relations_changed: bool,
    pub relations_changed_at: Option<Moment>,
    /// Of books of which this state is a part.
    pub beside: Totals,
    pub next_sequence: u64,
    pub entries: u64,
    pub next_account: u64,
    pub next_key: u64,
    pub next_reservation: u64,
    pub next_checkout: u64,
    pub latest: Moment,
    pub failure: Option<StoreError>,
}

impl State {
    /// A state without records.
    pub fn empty(below: Arc<dyn Below>) -> State {
        State {
            path: PathBuf::new(),
            directory: Arc::<Directory>::default(),
            below,
            memtable: Memtable::default(),
            written: Written::default(),
            accounts: HashMap::new(),
            keys: HashMap::new(),
            key_handles: HashSet::new(),
            keys_of: HashMap::new(),
            reservations: HashMap::new(),
            closed_reservations: Vec::new(),
            spent_by_key: HashMap::new(),
            changed_accounts: HashSet::new(),
            changed_keys: HashSet::new(),
            logins: Logins::default(),
            relations: BTreeMap::new(),
            relations_changed: false,
            relations_changed_at: None,
            beside: Totals::default(),
            next_sequence: 0,
            entries: 0,
            next_account: 0,
            next_key: 0,
            next_reservation: 0,
            next_checkout: 0,
            latest: Moment::from_unix_millis(0),
            failure: None,
        }
    }

    /// The number that the next record gets.
    pub const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Changes an account. Nothing comes of a change that does not add up: then a record is wrong.
    pub fn change_account(
        &mut self,
        account: AccountId,
        change: impl FnOnce(&mut Account) -> Option<()>,
    ) -> Result<(), BooksError> {
        let found = self.accounts.get_mut(&account).ok_or(BooksError::UnknownAccount { account })?;
        if change(found).is_none() {
            return Err(self.fail_damaged(format!("the credits set aside of {account} do not add up")));
        }
        self.changed_accounts.insert(account);
        Ok(())
    }

    /// How much the books have of what is bounded, also outside this part of them.
    pub fn totals(&self) -> Totals {
        let Totals { accounts, keys, sessions } = self.beside;
        Totals {
            accounts: accounts.max(self.accounts.len()),
            keys: keys.max(self.keys.len()),
            sessions: sessions.max(self.logins.sessions().len()),
        }
    }

    /// Notes the moment of an operation.
    pub fn hear(&mut self, at: Moment) {
        self.latest = self.latest.max(at);
    }

    /// The latest moment that an operation brought along.
    pub const fn latest(&self) -> Moment {
        self.latest
    }

    /// Notes a record that changes nothing, so that writing it shows whether the books can be written.
    pub fn prove_writable(&mut self) {
        let latest = self.latest.unix_millis().to_be_bytes().to_vec();
        self.written.changes.put(key_space::recovered_at(), latest);
    }

    /// Entries in the books.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    pub fn open_reservations(&self) -> usize {
        self.reservations.len()
    }

    pub fn account(&self, id: AccountId) -> Result<&Account, BooksError> {
        self.accounts.get(&id).ok_or(BooksError::UnknownAccount { account: id })
    }

    /// An account to which something may be sold.
    pub fn open(&self, id: AccountId) -> Result<&Account, BooksError> {
        let account = self.account(id)?;
        if account.closed_at.is_some() { Err(BooksError::AccountClosed { account: id }) } else { Ok(account) }
    }

    /// Every account, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountRecord> {
        self.accounts.values().map(|account| &account.record)
    }

    pub fn reservations(&self) -> impl Iterator<Item = &ReservationRecord> {
        self.reservations.values().map(|open| &open.record)
    }

    /// The open reservations of one account, the oldest first. Those of others cost nothing here.
    pub fn reservations_of(&self, account: AccountId) -> impl Iterator<Item = &ReservationRecord> {
        let open = self.accounts.get(&account).into_iter().flat_map(|account| &account.open);
        open.filter_map(|id| self.reservations.get(id)).map(|open| &open.record)
    }

    /// The records of the operation, to be appended to the log; `None` if it changed nothing. An operation that met a
    /// damaged record fails; if it has changed nothing, only this operation fails.
    pub fn take_written(&mut self) -> Result<Option<Written>, StoreError> {
        let is_unchanged =
            self.written.is_empty() && self.changed_accounts.is_empty() && self.changed_keys.is_empty();
        match self.failure.take() {
            Some(error @ StoreError::Damaged { .. }) if is_unchanged => {
                tracing::error!(%error, "an operation on the books is refused");
                return Ok(None);
            }
            Some(failure) => return Err(failure),
            None => {}
        }
        let changes = &mut self.written.changes;
        for account in self.changed_accounts.iter().filter_map(|id| self.accounts.get(id)) {
            changes.put(key_space::account(account.record.id), account.record.encode());
        }
        for key in self.changed_keys.iter().filter_map(|id| self.keys.get(id)) {
            changes.put(key_space::api_key(key.id), key.encode());
        }
        self.entries += self.written.entries();
        Ok(Some(std::mem::take(&mut self.written)).filter(|written| !written.is_empty()))
    }

    /// Publishes all changes up to this sequence number, which are in the log.
    pub fn appended(&mut self, written: Written, last: u64) {
        self.next_sequence = last + 1;
        self.memtable.absorb(written.changes);
        self.publish();
    }

    fn publish(&mut self) {
        for id in self.changed_accounts.drain() {
            if let Some(account) = self.accounts.get(&id) {
                let Account { record, reserved, closed_at, version, .. } = account;
                self.directory.publish_account(record, *reserved, *closed_at, *version);
            }
        }
        for id in self.changed_keys.drain() {
            if let Some(key) = self.keys.get(&id) {
                self.directory.publish_key(key);
            }
        }
        self.logins.publish(&self.directory);
        if std::mem::take(&mut self.relations_changed) {
            let revision = self.directory.relations().revision().wrapping_add(1);
            let shown = Relations::new(&self.relations, revision, self.relations_changed_at);
            self.directory.publish_relations(shown);
        }
    }

    pub fn take_in_key(&mut self, record: KeyRecord) -> KeyId {
        let id = record.id;
        self.key_handles.insert(record.hash.handle());
        *self.keys_of.entry(record.account).or_default() += 1;
        self.keys.insert(id, record);
        self.changed_keys.insert(id);
        id
    }

    /// The changes for the next checkpoint, up to the newest operation; `None` while a checkpoint is being written.
    pub fn seal(&mut self) -> Option<Arc<Changes>> {
        self.memtable.seal()
    }

    /// Drops the sealed changes, which the checkpoint now holds.
    pub fn release(&mut self) {
        self.memtable.release();
    }

    /// Records that wait for the next checkpoint.
    pub fn unwritten(&self) -> usize {
        self.memtable.len()
    }

    /// Adds an entry and sets its number and balance. The caller has checked the balance.
    pub fn append(&mut self, mut entry: Entry<&str>) -> Result<u64, BooksError> {
        let id = entry.account;
        let account = self.accounts.get_mut(&id).ok_or(BooksError::UnknownAccount { account: id })?;
        let available = account.record.balance.credits;
        let Some(credits) = available.checked_add_signed(entry.amount) else {
            let amount = entry.amount;
            return Err(
                self.fail_damaged(format!("{id} has {available} credits: {amount} cannot be entered"))
            );
        };
        account.record.balance.credits = credits;
        (entry.sequence, entry.balance) = (self.next_sequence, credits);
        account.record.last_sequence = entry.sequence;
        self.written.push(&entry);
        self.changed_accounts.insert(id);
        self.next_sequence += 1;
        Ok(entry.sequence)
    }

    /// The record under a key, as of now.
    pub fn read<R: Record + DeserializeOwned>(&mut self, key: &[u8]) -> Result<Option<R>, BooksError> {
        let Some(bytes) = self.get(key)? else { return Ok(None) };
        self.decoded(R::decode(&bytes)).map(Some)
    }

    pub fn decoded<R>(&mut self, decoded: Result<R, DecodeError>) -> Result<R, BooksError> {
        decoded.map_err(|error| self.fail_damaged(error.to_string()))
    }

    /// The value under a key, as of now.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BooksError> {
        match self.written.changes.get(key).or_else(|| self.memtable.get(key)) {
            Some(changed) => Ok(changed.map(<[u8]>::to_vec)),
            None => self.below.get(key).map_err(|error| self.fail(error)),
        }
    }

    /// At most `limit` records from `from` on that begin with `prefix`, in the order of their keys.
    pub fn scan(&mut self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Pair>, BooksError> {
        let changed =
            self.written.changes.from(from.max(prefix)).take_while(|(key, _)| key.starts_with(prefix));
        let later: BTreeMap<_, _> = self.memtable.range(prefix, from).chain(changed).collect();
        let mut merged: BTreeMap<_, _> =
            match self.below.scan(prefix, from, limit.saturating_add(later.len())) {
                Ok(stored) => stored.into_iter().collect(),
                Err(error) => return Err(self.fail(error)),
            };
        for (key, value) in later {
            match value {
                Some(value) => drop(merged.insert(key.to_vec(), value.to_vec())),
                None => drop(merged.remove(key)),
            }
        }
        Ok(merged.into_iter().take(limit).collect())
    }

    /// A record that cannot be read spoils the whole operation: nothing of it is written.
    fn fail(&mut self, error: StoreError) -> BooksError {
        self.failure.get_or_insert(error);
        Unavailable::Down.into()
    }

    pub fn fail_damaged(&mut self, detail: String) -> BooksError {
        let path = self.path.clone();
        self.fail(StoreError::Damaged { path, detail })
    }
}

/// Credits as an amount. No account holds more than `BALANCE_CREDITS_MAX`, so nothing is cut off.
pub fn signed(credits: u64) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX)
}
