//! The operator's side of the books: accounts, credits, keys, relations.
//!
//! Every call waits until it is durable. Does not depend on networks or the command line.

use std::sync::Arc;

use super::Ledger;
use super::api_key::{KEY_RANDOM_BYTES, PlainKey};
use super::checkout::{Checkout, CheckoutId};
use super::directory::{AccountHandle, KeyHandle, KeyView};
use super::error::BooksError;
use super::id::{AccountId, KeyId};
use super::key_limits::{KeyLimits, LimitsChange};
use super::operations::accounts::{Buy, CreateAccount, Grant, Purchase};
use super::operations::checkouts::FindCheckout;
use super::operations::keys::{
    CreateKey, LimitKey, NewKey, RenameKey, RevokeKey, RotateKey, unknown as unknown_key,
};
use super::operations::relations::{AddRelation, RemoveRelations};
use super::relation::{Relation, Relations};
use super::request::PaymentId;
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
    pub fn create_account(&self, name: &str, now: Moment) -> Result<AccountId, BooksError> {
        self.commit(&CreateAccount { name: name.to_owned(), at: now })
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
    ) -> Result<Purchase, BooksError> {
        let (request_id, note) = (request_id.to_owned(), note.to_owned());
        self.commit(&Buy { account, credits, cents, payment: None, request_id, note, at })
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
    ) -> Result<Purchase, BooksError> {
        let (request_id, note) = (payment.id.clone(), note.to_owned());
        self.commit(&Buy { account, credits, cents, payment: Some(payment), request_id, note, at })
    }

    /// Gives credits to an account. Its plan stays as it is. Returns the balance.
    pub fn grant(
        &self,
        account: AccountId,
        credits: u64,
        request_id: &str,
        note: &str,
        at: Moment,
    ) -> Result<u64, BooksError> {
        let (request_id, note) = (request_id.to_owned(), note.to_owned());
        self.commit(&Grant { account, credits, request_id, note, at })
    }

    /// The checkout with this id.
    pub fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, BooksError> {
        self.store.ask(&FindCheckout(id))
    }

    /// Creates a key without limits from random bytes, which the caller takes from the operating system.
    pub fn create_key(
        &self,
        account: AccountId,
        label: &str,
        random: [u8; KEY_RANDOM_BYTES],
        now: Moment,
    ) -> Result<CreatedKey, BooksError> {
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
    ) -> Result<CreatedKey, BooksError> {
        let (plain, new) = new_key(label, random);
        let id = self.commit(&CreateKey { account, key: NewKey { limits, ..new }, at: now })?;
        self.created(plain, id)
    }

    /// Changes what a key may spend and read, and when it ends. What it has spent stays.
    pub fn limit_key(&self, id: KeyId, change: &LimitsChange, now: Moment) -> Result<KeyView, BooksError> {
        self.commit(&LimitKey { id, change: change.clone(), at: now })?;
        self.key_view(id)
    }

    /// Changes the label of a key.
    pub fn rename_key(&self, id: KeyId, label: &str) -> Result<KeyView, BooksError> {
        self.commit(&RenameKey { id, label: label.to_owned() })?;
        self.key_view(id)
    }

    /// Ends a key at once.
    pub fn revoke_key(&self, id: KeyId, now: Moment) -> Result<KeyView, BooksError> {
        self.commit(&RevokeKey { id, at: now })?;
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
    ) -> Result<CreatedKey, BooksError> {
        let (plain, key) = new_key(label, random);
        let created = self.commit(&RotateKey { id, key, grace_seconds, at: now })?;
        self.created(plain, created)
    }

    /// The keys of an account, oldest first.
    pub fn keys(&self, account: AccountId) -> Vec<KeyView> {
        self.directory.keys_of(account).iter().map(KeyHandle::view).collect()
    }

    /// The view of a key.
    pub fn key_view(&self, id: KeyId) -> Result<KeyView, BooksError> {
        let found = self.directory.key(id).as_ref().map(KeyHandle::view);
        found.ok_or_else(|| unknown_key(id))
    }

    /// Every relation between datasets, from memory.
    pub fn relations(&self) -> Arc<Relations> {
        self.directory.relations()
    }

    /// Enters a relation, or changes the one of the same datasets and type. Says whether there was one.
    pub fn add_relation(&self, relation: Relation) -> Result<bool, BooksError> {
        self.commit(&AddRelation(relation))
    }

    /// Removes the relations from one dataset to another, or only the one of a type. Returns what was removed.
    pub fn remove_relations(
        &self,
        from: &str,
        to: &str,
        relation_type: Option<&str>,
        now: Moment,
    ) -> Result<Vec<Relation>, BooksError> {
        let relation_type = relation_type.map(ToOwned::to_owned);
        let (from, to) = (from.to_owned(), to.to_owned());
        self.commit(&RemoveRelations { from, to, relation_type, at: now })
    }

    fn created(&self, plain: PlainKey, id: KeyId) -> Result<CreatedKey, BooksError> {
        Ok(CreatedKey { plain, view: self.key_view(id)? })
    }
}

fn new_key(label: &str, random: [u8; KEY_RANDOM_BYTES]) -> (PlainKey, NewKey) {
    let plain = PlainKey::from_random(random);
    let (hash, prefix, label) = (plain.hash(), plain.shown_prefix(), label.to_owned());
    let new = NewKey { hash, prefix, label, limits: KeyLimits::default() };
    (plain, new)
}
