//! What the operator asks of the books: accounts, credits, keys, relations.
//!
//! Every call waits until the order is written. Knows no network and no command line.

use std::sync::Arc;

use super::Ledger;
use super::api_key::{KEY_RANDOM_BYTES, PlainKey};
use super::books::{Credit, NewKey, Removal};
use super::counter::CounterNote;
use super::directory::{AccountHandle, KeyHandle, KeyView};
use super::error::ChargeError;
use super::id::{AccountId, KeyId};
use super::relation::{Relation, Relations};
use crate::clock::Moment;

/// Credits that were bought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Purchase {
    /// The balance after it.
    pub balance: u64,
    /// What they cost, in cents of a euro, VAT excluded.
    pub cents: u64,
    /// Whether they were entered before, under the same reference; nothing was added then.
    pub is_replayed: bool,
}

/// A key that was created: the only place where it stands in the clear.
pub struct CreatedKey {
    /// The key, to be shown once.
    pub plain: PlainKey,
    /// What is known about it later.
    pub view: KeyView,
}

impl Ledger {
    /// Creates an account without credits.
    pub fn create_account(&self, name: &str, now: Moment) -> Result<AccountId, ChargeError> {
        let name = name.to_owned();
        self.queue.submit(move |books| books.create_account(&name, now))?.wait()
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
        let order = Credit { account, credits, cents, is_once: false, request_id, note, at };
        self.queue.submit(move |books| books.purchase(&order))?.wait()
    }

    /// Sells credits under a reference, like the number of an invoice: the same purchase of the same account is
    /// entered once however often it is ordered, and another one under its reference is refused.
    pub fn buy_once(
        &self,
        account: AccountId,
        credits: u64,
        cents: Option<u64>,
        reference: &str,
        note: &str,
        at: Moment,
    ) -> Result<Purchase, ChargeError> {
        let (request_id, note) = (reference.to_owned(), note.to_owned());
        let order = Credit { account, credits, cents, is_once: true, request_id, note, at };
        self.queue.submit(move |books| books.purchase(&order))?.wait()
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
        let order = Credit { account, credits, cents: None, is_once: false, request_id, note, at };
        self.queue.submit(move |books| books.grant(&order))?.wait()
    }

    /// Creates a key from random bytes, which the caller takes from the operating system.
    pub fn create_key(
        &self,
        account: AccountId,
        label: &str,
        random: [u8; KEY_RANDOM_BYTES],
        now: Moment,
    ) -> Result<CreatedKey, ChargeError> {
        let (plain, new) = new_key(label, random);
        let id = self.queue.submit(move |books| books.create_key(account, &new, now))?.wait()?;
        self.created(plain, id)
    }

    /// Ends a key at once.
    pub fn revoke_key(&self, id: KeyId, now: Moment) -> Result<KeyView, ChargeError> {
        self.queue.submit(move |books| books.revoke_key(id, now))?.wait()?;
        self.key_view(id)
    }

    /// Puts a new key in the place of another, which stays valid for so many seconds more.
    pub fn rotate_key(
        &self,
        id: KeyId,
        label: &str,
        grace_seconds: u64,
        random: [u8; KEY_RANDOM_BYTES],
        now: Moment,
    ) -> Result<CreatedKey, ChargeError> {
        let (plain, new) = new_key(label, random);
        let created =
            self.queue.submit(move |books| books.rotate_key(id, &new, grace_seconds, now))?.wait()?;
        self.created(plain, created)
    }

    /// The keys of an account, oldest first.
    pub fn keys(&self, account: AccountId) -> Vec<KeyView> {
        self.directory.keys_of(account).iter().map(KeyHandle::view).collect()
    }

    /// What is known about a key.
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
        self.queue.submit(move |books| books.add_relation(relation))?.wait()
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
        self.queue.submit(move |books| books.remove_relations(&removal, now))?.wait()
    }

    /// Hands in day counters to be kept. Nobody waits for it.
    pub fn note_counters(&self, notes: Vec<CounterNote>) -> Result<(), ChargeError> {
        self.queue.submit_lazy(move |books| books.note_counters(&notes))
    }

    /// Hands in when keys were last used, as far as that is not kept yet. Nobody waits for it.
    pub fn note_key_uses(&self) -> Result<(), ChargeError> {
        let keys = self.directory.all_keys();
        let uses: Vec<_> =
            keys.iter().filter_map(|key| Some((key.id(), key.take_unwritten_use()?))).collect();
        if uses.is_empty() {
            return Ok(());
        }
        self.queue.submit_lazy(move |books| books.note_uses(&uses))
    }

    /// The day counters that are kept.
    pub fn counters(&self) -> Result<Vec<CounterNote>, ChargeError> {
        self.queue.submit(super::books::Books::counters)?.wait()
    }

    fn created(&self, plain: PlainKey, id: KeyId) -> Result<CreatedKey, ChargeError> {
        Ok(CreatedKey { plain, view: self.key_view(id)? })
    }
}

fn new_key(label: &str, random: [u8; KEY_RANDOM_BYTES]) -> (PlainKey, NewKey) {
    let plain = PlainKey::from_random(random);
    let new = NewKey { hash: plain.hash(), prefix: plain.shown_prefix(), label: label.to_owned() };
    (plain, new)
}
