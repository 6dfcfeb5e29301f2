//! A refused operation leaves no trace, whatever it is refused for.

use std::fmt::Debug;
use std::sync::Arc;

use crate::api_key::{KEY_RANDOM_BYTES, PlainKey};
use crate::checkpoint::{Pair, StoreError};
use crate::email::Email;
use crate::error::{BooksError, LoginError};
use crate::id::{AccountId, KeyId};
use crate::key_limits::{KeyLimits, LimitsChange};
use crate::operation::Operation;
use crate::operations::accounts::{Buy, CreateAccount, Grant};
use crate::operations::keys::{CreateKey, LimitKey, NewKey, RenameKey, RevokeKey, RotateKey};
use crate::operations::relations::{AddRelation, RemoveRelations};
use crate::password_hash::PasswordHash;
use crate::people::{CloseAccount, SetPassword, SignUp, SignedUp};
use crate::relation::{Relation, RelationKey};
use crate::request::PaymentId;
use crate::state::{Below, State};
use mercato_base::clock::Moment;

const NOON: Moment = Moment::from_unix_millis(1_795_228_297_000);
const NOBODY: AccountId = AccountId::from_number(99);

/// A store without records.
struct Nothing;

impl Below for Nothing {
    fn get(&self, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    fn scan(&self, _: &[u8], _: &[u8], _: usize) -> Result<Vec<Pair>, StoreError> {
        Ok(Vec::new())
    }
}

struct Books(State);

impl Books {
    fn new() -> Books {
        Books(State::empty(Arc::new(Nothing)))
    }

    fn done<O: Operation<Refusal: Debug>>(&mut self, operation: &O) -> O::Outcome {
        let outcome = operation.decide(&mut self.0).unwrap();
        if let Some(written) = self.0.take_written().unwrap() {
            let last = self.0.next_sequence();
            self.0.appended(written, last);
        }
        outcome
    }

    fn refused<O: Operation<Outcome: Debug>>(&mut self, operation: &O) -> O::Refusal {
        let refusal = operation.decide(&mut self.0).unwrap_err();
        assert!(self.0.take_written().unwrap().is_none(), "a refused operation wrote something");
        refusal
    }

    fn account(&mut self) -> AccountId {
        self.done(&CreateAccount { name: "a".to_owned(), at: NOON })
    }
}

fn field(error: &BooksError) -> &'static str {
    let BooksError::Invalid { field, .. } = error else { panic!("{error}") };
    field
}

fn key(random: u8) -> NewKey {
    let plain = PlainKey::from_random([random; KEY_RANDOM_BYTES]);
    let (hash, prefix) = (plain.hash(), plain.shown_prefix());
    NewKey { hash, prefix, label: "first".to_owned(), limits: KeyLimits::default() }
}

#[test]
fn refuses_credits_without_a_trace() {
    let mut books = Books::new();
    assert_eq!(field(&books.refused(&CreateAccount { name: "a\n".to_owned(), at: NOON })), "name");
    let account = books.account();
    let grant = |account, credits| {
        let (request_id, note) = ("r".to_owned(), String::new());
        Grant { account, credits, request_id, note, at: NOON }
    };
    assert_eq!(books.refused(&grant(NOBODY, 1)), BooksError::UnknownAccount { account: NOBODY });
    assert_eq!(field(&books.refused(&grant(account, 0))), "credits");
    assert_eq!(books.done(&grant(account, 10)), 10);
    let buy = |credits| {
        let payment = Some(PaymentId { provider: "operator".to_owned(), id: "invoice 1".to_owned() });
        let (request_id, note) = ("r".to_owned(), String::new());
        Buy { account, credits, cents: None, payment, request_id, note, at: NOON }
    };
    assert_eq!(books.done(&buy(5)).balance, 15);
    assert!(books.done(&buy(5)).is_replayed);
    assert_eq!(field(&books.refused(&buy(6))), "reference");
    assert_eq!(books.done(&grant(account, 1)), 16, "the purchase was entered once");
}

#[test]
fn refuses_keys_without_a_trace() {
    let mut books = Books::new();
    let account = books.account();
    let create = |account, random| CreateKey { account, key: key(random), at: NOON };
    let rotate = |id, random, grace_seconds| RotateKey { id, key: key(random), grace_seconds, at: NOON };
    assert_eq!(books.refused(&create(NOBODY, 1)), BooksError::UnknownAccount { account: NOBODY });
    let first = books.done(&create(account, 1));
    assert_eq!(field(&books.refused(&create(account, 1))), "key", "the hash is taken");
    assert_eq!(field(&books.refused(&rotate(first, 1, 60))), "key", "the hash is taken");
    assert_eq!(field(&books.refused(&rotate(first, 2, u64::MAX))), "grace");
    assert_eq!(field(&books.refused(&RenameKey { id: first, label: "\u{7}".to_owned() })), "label");
    let second = books.done(&rotate(first, 2, 60));
    books.done(&RevokeKey { id: second, at: NOON });
    let change = LimitsChange::default();
    assert_eq!(field(&books.refused(&LimitKey { id: second, change: change.clone(), at: NOON })), "key");
    assert_eq!(field(&books.refused(&rotate(second, 3, 0))), "key");
    books.done(&LimitKey { id: first, change, at: NOON });
    let unknown = KeyId::from_number(77);
    assert_eq!(field(&books.refused(&RevokeKey { id: unknown, at: NOON })), "key");
}

#[test]
fn refuses_relations_without_a_trace() {
    let mut books = Books::new();
    let relate = |to: &str| {
        let key = RelationKey { from: "a".to_owned(), to: to.to_owned(), relation_type: "t".to_owned() };
        AddRelation(Relation { key, description: String::new(), weight: 1.0, at: NOON })
    };
    let remove = |relation_type: Option<&str>| RemoveRelations {
        from: "a".to_owned(),
        to: "b".to_owned(),
        relation_type: relation_type.map(ToOwned::to_owned),
        at: NOON,
    };
    assert_eq!(field(&books.refused(&relate("a"))), "to");
    assert_eq!((books.done(&relate("b")), books.done(&relate("b"))), (false, true));
    assert_eq!(field(&books.refused(&remove(Some("other")))), "relation");
    assert_eq!(books.done(&remove(None)).len(), 1);
    assert_eq!(field(&books.refused(&remove(None))), "relation");
}

#[test]
fn refuses_people_without_a_trace() {
    let mut books = Books::new();
    let password =
        || PasswordHash::try_from("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned()).unwrap();
    let email = Email::parse("p@example.com").unwrap();
    let sign_up = SignUp { email, password: password(), at: NOON };
    let made_by_operator = books.account();
    let set = |account| SetPassword { account, password: password(), kept: None, at: NOON };
    assert_eq!(books.refused(&set(made_by_operator)), LoginError::NoLogin { account: made_by_operator });
    let SignedUp::Created(account) = books.done(&sign_up) else { panic!("the address is new") };
    assert_eq!(books.done(&sign_up), SignedUp::EmailTaken);
    books.done(&set(account));
    books.done(&CloseAccount { account, at: NOON });
    assert_eq!(books.refused(&set(account)), LoginError::Books(BooksError::AccountClosed { account }));
    assert_ne!(books.done(&sign_up), SignedUp::EmailTaken, "the address is free again");
}
