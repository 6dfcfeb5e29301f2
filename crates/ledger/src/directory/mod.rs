//! Accounts and keys as every thread sees them: in memory, changed only after the log was appended to.
//!
//! The books publish here; all other parts read. A request is authenticated and its account's credits are
//! read without the lock of the books. Does not depend on the store.

mod logins;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::account::{AccountRecord, Balance, Plan};
use super::api_key::KeyHash;
use super::id::{AccountId, KeyId};
use super::key_limits::KeyLimits;
use super::key_record::KeyRecord;
use super::relation::Relations;
use logins::LoginDirectory;
use mercato_base::clock::Moment;

pub use logins::{SessionHandle, SessionView};

/// All accounts and keys.
#[derive(Default)]
pub struct Directory {
    tables: RwLock<Tables>,
    relations: RwLock<Arc<Relations>>,
    /// Accounts that were asked for, where others change their balances.
    asked: Mutex<Vec<AccountId>>,
    is_following: AtomicBool,
    logins: LoginDirectory,
}

#[derive(Default)]
struct Tables {
    accounts: HashMap<AccountId, AccountHandle>,
    keys: HashMap<KeyId, KeyHandle>,
    keys_by_hash: HashMap<u64, KeyHandle>,
    keys_by_account: HashMap<AccountId, Vec<KeyHandle>>,
}

impl Directory {
    /// The key with this hash.
    pub fn find(&self, presented: &KeyHash) -> Option<KeyHandle> {
        let key = self.read(|tables| tables.keys_by_hash.get(&presented.handle()).cloned())?;
        let key = key.0.hash.matches(presented).then_some(key)?;
        self.note_asked(&key.0.account);
        Some(key)
    }

    pub fn account(&self, id: AccountId) -> Option<AccountHandle> {
        let account = self.shown(id)?;
        self.note_asked(&account);
        Some(account)
    }

    fn shown(&self, id: AccountId) -> Option<AccountHandle> {
        self.read(|tables| tables.accounts.get(&id).cloned())
    }

    /// From now on notes which accounts are asked for.
    pub fn follow(&self) {
        self.is_following.store(true, Ordering::Relaxed);
    }

    fn note_asked(&self, account: &AccountHandle) {
        if self.is_following.load(Ordering::Relaxed) && !account.0.is_asked.swap(true, Ordering::Relaxed) {
            self.asked.lock().push(account.id());
        }
    }

    /// The accounts that were asked for since the last time.
    pub fn take_asked(&self) -> Vec<AccountId> {
        let asked = std::mem::take(&mut *self.asked.lock());
        for account in asked.iter().filter_map(|id| self.shown(*id)) {
            account.0.is_asked.store(false, Ordering::Relaxed);
        }
        asked
    }

    pub fn key(&self, id: KeyId) -> Option<KeyHandle> {
        self.read(|tables| tables.keys.get(&id).cloned())
    }

    /// Every account, by id.
    pub fn accounts(&self) -> Vec<AccountHandle> {
        let mut all: Vec<_> = self.read(|tables| tables.accounts.values().cloned().collect());
        all.sort_unstable_by_key(AccountHandle::id);
        all
    }

    /// The keys of an account, oldest first.
    pub fn keys_of(&self, account: AccountId) -> Vec<KeyHandle> {
        let mut keys = self.read(|tables| tables.keys_by_account.get(&account).cloned().unwrap_or_default());
        // After a start they were shown in no order.
        keys.sort_unstable_by_key(KeyHandle::id);
        keys
    }

    pub fn all_keys(&self) -> Vec<KeyHandle> {
        self.read(|tables| tables.keys.values().cloned().collect())
    }

    /// How many accounts and keys there are.
    pub fn counts(&self) -> (usize, usize) {
        self.read(|tables| (tables.accounts.len(), tables.keys.len()))
    }

    /// Shows an account as it now is. Handles that are out in the world see it too.
    /// Of two states of one account the one with the higher version stays, in whatever order they come.
    pub fn publish_account(
        &self,
        record: &AccountRecord,
        reserved: u64,
        closed_at: Option<Moment>,
        version: u64,
    ) {
        let shown = Shown { balance: record.balance, reserved, closed_at, version };
        if let Some(handle) = self.shown(record.id) {
            handle.show(shown);
            return;
        }
        self.write(|tables| {
            let handle =
                tables.accounts.entry(record.id).or_insert_with(|| AccountHandle::new(record, shown));
            handle.show(shown);
        });
    }

    /// Shows a key as it now is. Its account must have been shown before.
    pub fn publish_key(&self, record: &KeyRecord) {
        if let Some(key) = self.key(record.id) {
            *key.0.record.write() = record.clone();
            return;
        }
        self.write(|tables| {
            let Some(account) = tables.accounts.get(&record.account).cloned() else { return };
            let key = KeyHandle::new(record, account);
            tables.keys_by_hash.insert(record.hash.handle(), key.clone());
            tables.keys_by_account.entry(record.account).or_default().push(key.clone());
            tables.keys.insert(record.id, key);
        });
    }

    /// Forgets accounts and keys that the books do not know, after they were opened again.
    pub fn keep_only(&self, is_account: impl Fn(AccountId) -> bool, is_key: impl Fn(KeyId) -> bool) {
        self.write(|tables| {
            tables.accounts.retain(|id, _| is_account(*id));
            tables.keys.retain(|id, _| is_key(*id));
            tables.keys_by_hash.retain(|_, key| is_key(key.id()));
            tables.keys_by_account.values_mut().for_each(|keys| keys.retain(|key| is_key(key.id())));
        });
    }

    /// Logins and sessions.
    pub const fn logins(&self) -> &LoginDirectory {
        &self.logins
    }

    /// All relations as written last.
    pub fn relations(&self) -> Arc<Relations> {
        Arc::clone(&self.relations.read())
    }

    pub fn publish_relations(&self, relations: Relations) {
        *self.relations.write() = Arc::new(relations);
    }

    fn read<T>(&self, look: impl FnOnce(&Tables) -> T) -> T {
        look(&self.tables.read())
    }

    fn write<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        change(&mut self.tables.write())
    }
}

/// An account, as a request holds it. Cheap to clone; shows the state after the last written batch.
#[derive(Clone)]
pub struct AccountHandle(Arc<AccountCell>);

struct AccountCell {
    id: AccountId,
    name: String,
    created_at: Moment,
    shown: RwLock<Shown>,
    /// Whether it is on the list of accounts that were asked for.
    is_asked: AtomicBool,
}

/// The fields of an account that change.
#[derive(Clone, Copy)]
struct Shown {
    balance: Balance,
    /// Credits that running streams have set aside.
    reserved: u64,
    closed_at: Option<Moment>,
    version: u64,
}

impl AccountHandle {
    fn new(record: &AccountRecord, shown: Shown) -> AccountHandle {
        let AccountRecord { id, name, created_at, .. } = record.clone();
        let (shown, is_asked) = (RwLock::new(shown), AtomicBool::new(false));
        AccountHandle(Arc::new(AccountCell { id, name, created_at, shown, is_asked }))
    }

    /// Shows a state of the account, unless a later one is shown.
    fn show(&self, shown: Shown) {
        let mut present = self.0.shown.write();
        if shown.version >= present.version {
            *present = shown;
        }
    }

    pub fn id(&self) -> AccountId {
        self.0.id
    }

    /// The name that the operator gave; empty for an account opened by sign-up.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// When the account was created.
    pub fn created_at(&self) -> Moment {
        self.0.created_at
    }

    /// Credits that can be spent.
    pub fn credits(&self) -> u64 {
        self.balance().credits
    }

    /// Credits that running streams have set aside.
    pub fn reserved(&self) -> u64 {
        self.0.shown.read().reserved
    }

    pub fn plan(&self) -> Plan {
        self.balance().plan()
    }

    /// When the account was closed, if it was.
    pub fn closed_at(&self) -> Option<Moment> {
        self.0.shown.read().closed_at
    }

    /// The numbers on which decisions about paying rest.
    pub fn balance(&self) -> Balance {
        self.0.shown.read().balance
    }
}

/// A key, as a request holds it. Cheap to clone; revoking it is seen at once.
#[derive(Clone)]
pub struct KeyHandle(Arc<KeyCell>);

struct KeyCell {
    id: KeyId,
    account: AccountHandle,
    hash: KeyHash,
    prefix: String,
    record: RwLock<KeyRecord>,
    /// In milliseconds; [`NEVER`] before the first use.
    last_used_at: AtomicI64,
    last_used_written: AtomicI64,
}

/// The time of a use that did not happen.
const NEVER: i64 = i64::MIN;

impl KeyHandle {
    fn new(record: &KeyRecord, account: AccountHandle) -> KeyHandle {
        let used = record.last_used_at.map_or(NEVER, Moment::unix_millis);
        KeyHandle(Arc::new(KeyCell {
            id: record.id,
            account,
            hash: record.hash,
            prefix: record.prefix.clone(),
            record: RwLock::new(record.clone()),
            last_used_at: AtomicI64::new(used),
            last_used_written: AtomicI64::new(used),
        }))
    }

    pub fn id(&self) -> KeyId {
        self.0.id
    }

    /// The account that the key belongs to.
    pub fn account(&self) -> &AccountHandle {
        &self.0.account
    }

    /// The first characters, by which its owner recognises it.
    pub fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Its caps on credits, its datasets, and its end.
    pub fn limits(&self) -> KeyLimits {
        self.0.record.read().limits.clone()
    }

    /// When it ends, if it was rotated or made for a time.
    pub fn expires_at(&self) -> Option<Moment> {
        self.0.record.read().ends_at()
    }

    pub fn revoked_at(&self) -> Option<Moment> {
        self.0.record.read().revoked_at
    }

    /// When it was last used.
    pub fn last_used_at(&self) -> Option<Moment> {
        used_at(self.0.last_used_at.load(Ordering::Relaxed))
    }

    /// Notes a use, in memory.
    pub fn touch(&self, now: Moment) {
        self.0.last_used_at.store(now.unix_millis(), Ordering::Relaxed);
    }

    /// The last use, if it has not been written yet; afterwards it counts as written.
    pub fn take_unwritten_use(&self) -> Option<Moment> {
        let used = self.0.last_used_at.load(Ordering::Relaxed);
        let written = self.0.last_used_written.swap(used, Ordering::Relaxed);
        if used == written { None } else { used_at(used) }
    }

    /// The view for the owner and the operator.
    pub fn view(&self) -> KeyView {
        let KeyRecord { id, account, prefix, label, created_at, revoked_at, limits, .. } =
            self.0.record.read().clone();
        let (last_used_at, expires_at) = (self.last_used_at(), self.expires_at());
        KeyView { id, account, prefix, label, created_at, last_used_at, expires_at, revoked_at, limits }
    }
}

fn used_at(millis: i64) -> Option<Moment> {
    (millis != NEVER).then(|| Moment::from_unix_millis(millis))
}

/// A key as its owner may see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyView {
    pub id: KeyId,
    /// The account of the key.
    pub account: AccountId,
    /// The first characters.
    pub prefix: String,
    /// The name that its owner gave it.
    pub label: String,
    pub created_at: Moment,
    /// When it was last used.
    pub last_used_at: Option<Moment>,
    /// When it ends, if it was rotated or made for a time.
    pub expires_at: Option<Moment>,
    pub revoked_at: Option<Moment>,
    /// Its caps on credits, its datasets, and its end.
    pub limits: KeyLimits,
}
