//! Creates a key.

use super::{check_datasets, check_end};
use crate::api_key::KeyHash;
use crate::error::BooksError;
use crate::id::{AccountId, KeyId};
use crate::key_limits::KeyLimits;
use crate::key_record::KeyRecord;
use crate::limits::{KEYS_MAX, KEYS_PER_ACCOUNT_MAX};
use crate::operation::{Makes, Operation, Reads};
use crate::operations::{check_text, invalid};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct CreateKey {
    pub account: AccountId,
    pub key: NewKey,
    pub at: Moment,
}

/// What is kept of a key that is created.
#[derive(Clone)]
pub struct NewKey {
    pub hash: KeyHash,
    pub prefix: String,
    pub label: String,
    pub limits: KeyLimits,
}

impl Operation for CreateKey {
    type Outcome = KeyId;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        let hash = Some(self.key.hash);
        Reads { hash, ..Reads::account(self.account).with_keys().making(Makes::Key) }
    }

    fn decide(&self, books: &mut State) -> Result<KeyId, BooksError> {
        let CreateKey { account, key: NewKey { hash, prefix, label, limits }, at } = self;
        check_text("label", label, 0)?;
        limits.expires_at.map_or(Ok(()), |end| check_end(end, *at))?;
        check_datasets(limits)?;
        books.open(*account)?;
        if books.keys_of.get(account).copied().unwrap_or(0) >= KEYS_PER_ACCOUNT_MAX {
            return Err(invalid("key", format!("an account has at most {KEYS_PER_ACCOUNT_MAX} keys")));
        }
        if books.totals().keys >= KEYS_MAX {
            return Err(invalid("key", format!("a ledger holds at most {KEYS_MAX} keys")));
        }
        if books.key_handles.contains(&hash.handle()) {
            return Err(invalid("key", "the random bytes were used before; try again".to_owned()));
        }
        books.hear(*at);
        let id = KeyId::from_number(books.next_key);
        books.next_key += 1;
        Ok(books.take_in_key(KeyRecord {
            id,
            account: *account,
            hash: *hash,
            prefix: prefix.clone(),
            label: label.clone(),
            created_at: *at,
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
            limits: limits.clone(),
        }))
    }
}
