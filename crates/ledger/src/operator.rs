//! The operator's side of the books: accounts, credits, keys, relations.
//!
//! Every call waits until it is durable. Does not depend on networks or the command line.

use std::sync::Arc;

use super::Ledger;
use super::api_key::{KEY_RANDOM_BYTES, PlainKey};
use super::counter::{CounterNote, CounterSubject, SharedCount};
use super::directory::{AccountHandle, KeyHandle, KeyView};
use super::error::ChargeError;
use super::id::{AccountId, KeyId};
use super::key_limits::{KeyLimits, LimitsChange};
use super::relation::{Relation, Relations};
use super::request::{CreditRequest, NewKey, PaymentId, Purchase, Removal};
use mercato_base::clock::Moment;

/// A key that was created: the only place where it stands in the clear.
pub struct CreatedKey {
    /// The key, to be shown once.
    pub plain: PlainKey,
    /// The view of the key that remains visible.
    pub view: KeyView,
}

impl Ledger {
    /// Creates an account without credits.
    pub fn create_account(&self, name: &str, now: Moment) -> Result<AccountId, ChargeError> {
        self.books.create_account(name, now)?.durable()
    }

    /// Every account, by id.
    pub fn accounts(&self) -> Vec<AccountHandle> {
        self.directory.accounts()
    }

    /// Sells credits to an account: at the list price, or for so many cents.
    pub fn buy(
        &self,
        account: AccountId,
        credits: u64,
        cents: Option<u64>,
        request_id: &str,
        note: &str,
        at: Moment,
    ) -> Result<Purchase, ChargeError> {
        let (request_id, note) = (request_id.to_owned(), note.to_owned());
        let request = CreditRequest { account, credits, cents, payment: None, request_id, note, at };
        self.books.purchase(&request)?.durable()
    }

    /// Sells credits for a payment: the same purchase of the same account is entered once however often it is requested, and
    /// another one for the same payment is refused, of whatever account.
    pub fn buy_once(
        &self,
        account: AccountId,
        credits: u64,
        cents: Option<u64>,
        payment: PaymentId,
        note: &str,
        at: Moment,
    ) -> Result<Purchase, ChargeError> {
        let (request_id, note) = (payment.id.clone(), note.to_owned());
        let request = CreditRequest { account, credits, cents, payment: Some(payment), request_id, note, at };
        self.books.purchase(&request)?.durable()
    }

    /// Gives credits to an account. Its plan stays as it is. Returns the balance.
    pub fn grant(
        &self,
        account: AccountId,
        credits: u64,
        request_id: &str,
        note: &str,
        at: Moment,
    ) -> Result<u64, ChargeError> {
        let (request_id, note) = (request_id.to_owned(), note.to_owned());
        let request = CreditRequest { account, credits, cents: None, payment: None, request_id, note, at };
        self.books.grant(&request)?.durable()
    }

    /// Creates a key without limits from random bytes, which the caller takes from the operating system.
    pub fn create_key(
        &self,
        account: AccountId,
        label: &str,
        random: [u8; KEY_RANDOM_BYTES],
        now: Moment,
    ) -> Result<CreatedKey, ChargeError> {
        self.create_limited_key(account, label, random, KeyLimits::default(), now)
    }

    /// Creates a key that may spend and read so much, until it ends.
    pub fn create_limited_key(
        &self,
        account: AccountId,
        label: &str,
        random: [u8; KEY_RANDOM_BYTES],
        limits: KeyLimits,
        now: Moment,
    ) -> Result<CreatedKey, ChargeError> {
        let (plain, new) = new_key(label, random);
        let id = self.books.create_key(account, &NewKey { limits, ..new }, now)?.durable()?;
        self.created(plain, id)
    }

    /// Changes what a key may spend and read, and when it ends. What it has spent stays.
    pub fn limit_key(&self, id: KeyId, change: &LimitsChange, now: Moment) -> Result<KeyView, ChargeError> {
        self.books.limit_key(id, change, now)?.durable()?;
        self.key_view(id)
    }

    /// Changes the label of a key.
    pub fn rename_key(&self, id: KeyId, label: &str) -> Result<KeyView, ChargeError> {
        self.books.rename_key(id, label)?.durable()?;
        self.key_view(id)
    }

    /// Ends a key at once.
    pub fn revoke_key(&self, id: KeyId, now: Moment) -> Result<KeyView, ChargeError> {
        self.books.revoke_key(id, now)?.durable()?;
        self.key_view(id)
    }

    /// Puts a new key in the place of another, which stays valid for so many seconds more; without grace it ends at once,
    /// in the same batch.
    pub fn rotate_key(
        &self,
        id: KeyId,
        label: &str,
        grace_seconds: u64,
        random: [u8; KEY_RANDOM_BYTES],
        now: Moment,
    ) -> Result<CreatedKey, ChargeError> {
        let (plain, new) = new_key(label, random);
        let created = self.books.rotate_key(id, &new, grace_seconds, now)?.durable()?;
        self.created(plain, created)
    }

    /// The keys of an account, oldest first.
    pub fn keys(&self, account: AccountId) -> Vec<KeyView> {
        self.directory.keys_of(account).iter().map(KeyHandle::view).collect()
    }

    /// The view of a key.
    pub fn key_view(&self, id: KeyId) -> Result<KeyView, ChargeError> {
        let found = self.directory.key(id).as_ref().map(KeyHandle::view);
        found.ok_or_else(|| ChargeError::Invalid { field: "key", rule: format!("there is no key {id}") })
    }

    /// Every relation between datasets, from memory.
    pub fn relations(&self) -> Arc<Relations> {
        self.directory.relations()
    }

    /// Enters a relation, or changes the one of the same datasets and type. Says whether there was one.
    pub fn add_relation(&self, relation: Relation) -> Result<bool, ChargeError> {
        self.books.add_relation(relation)?.durable()
    }

    /// Removes the relations from one dataset to another, or only the one of a type. Returns what was removed.
    pub fn remove_relations(
        &self,
        from: &str,
        to: &str,
        relation_type: Option<&str>,
        now: Moment,
    ) -> Result<Vec<Relation>, ChargeError> {
        let relation_type = relation_type.map(ToOwned::to_owned);
        let removal = Removal { from: from.to_owned(), to: to.to_owned(), relation_type };
        self.books.remove_relations(&removal, now)?.durable()
    }

    /// Hands in day counters to be kept. Nobody waits for it.
    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), ChargeError> {
        self.books.note_counters(notes)
    }

    /// Whether other servers may count requests in the same books.
    pub fn shares_counts(&self) -> bool {
        self.books.shares_counts()
    }

    /// How many servers have the same books open, this one among them. Known some seconds after they start or go.
    pub fn servers(&self) -> u64 {
        self.books.servers()
    }

    /// Tells other servers with the same books what this one has counted: of each subject everything of today and of the last
    /// minute, which takes the place of what was told before. Returns what all others have counted of the subjects that are
    /// asked for, as far as they have told. Subjects that none of them knows are missing; books without other servers return
    /// nothing.
    pub fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, ChargeError> {
        self.books.exchange_counts(own, asked, now)
    }

    /// Hands in when keys were last used, as far as that is not kept yet. Nobody waits for it.
    pub fn note_key_uses(&self) -> Result<(), ChargeError> {
        let keys = self.directory.all_keys();
        let uses: Vec<_> =
            keys.iter().filter_map(|key| Some((key.id(), key.take_unwritten_use()?))).collect();
        if uses.is_empty() {
            return Ok(());
        }
        self.books.note_key_uses(&uses)
    }

    /// The counters of the present day, as far as they are kept; those of all servers together.
    pub fn counters(&self) -> Result<Vec<CounterNote>, ChargeError> {
        self.books.counters()
    }

    fn created(&self, plain: PlainKey, id: KeyId) -> Result<CreatedKey, ChargeError> {
        Ok(CreatedKey { plain, view: self.key_view(id)? })
    }
}

fn new_key(label: &str, random: [u8; KEY_RANDOM_BYTES]) -> (PlainKey, NewKey) {
    let plain = PlainKey::from_random(random);
    let (hash, prefix, label) = (plain.hash(), plain.shown_prefix(), label.to_owned());
    let new = NewKey { hash, prefix, label, limits: KeyLimits::default() };
    (plain, new)
}
