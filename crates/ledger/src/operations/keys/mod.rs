//! API keys: created, replaced, limited, renamed and revoked. Never sees a plain key.

mod create_key;
mod limit_key;
mod rename_key;
mod revoke_key;
mod rotate_key;

pub use create_key::{CreateKey, NewKey};
pub use limit_key::LimitKey;
pub use rename_key::RenameKey;
pub use revoke_key::RevokeKey;
pub use rotate_key::RotateKey;

use super::{check_text, invalid};
use crate::error::BooksError;
use crate::id::KeyId;
use crate::key_limits::KeyLimits;
use crate::key_record::KeyRecord;
use crate::limits::DATASETS_PER_KEY_MAX;
use crate::state::State;
use mercato_base::clock::Moment;

fn find(books: &State, id: KeyId) -> Result<&KeyRecord, BooksError> {
    books.keys.get(&id).ok_or_else(|| unknown(id))
}

fn change(books: &mut State, id: KeyId) -> Result<&mut KeyRecord, BooksError> {
    let key = books.keys.get_mut(&id).ok_or_else(|| unknown(id))?;
    books.changed_keys.insert(id);
    Ok(key)
}

pub fn unknown(id: KeyId) -> BooksError {
    invalid("key", format!("there is no key {id}"))
}

fn check_not_revoked(key: &KeyRecord) -> Result<(), BooksError> {
    match key.revoked_at {
        Some(_) => Err(invalid("key", format!("{} is revoked; create a new key instead", key.id))),
        None => Ok(()),
    }
}

fn check_end(end: Moment, now: Moment) -> Result<(), BooksError> {
    if end <= now {
        let rule = format!("expected a moment in the future, found {}", end.rfc3339());
        return Err(invalid("expiresAt", rule));
    }
    Ok(())
}

fn check_datasets(limits: &KeyLimits) -> Result<(), BooksError> {
    if limits.datasets.len() > DATASETS_PER_KEY_MAX {
        let rule = format!("at most {DATASETS_PER_KEY_MAX}, found {}", limits.datasets.len());
        return Err(invalid("datasets", rule));
    }
    limits.datasets.iter().try_for_each(|dataset| check_text("datasets", dataset, 1))
}
