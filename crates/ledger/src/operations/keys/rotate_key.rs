//! Puts a new key in the place of another, which stays valid for a grace period.

use super::{CreateKey, NewKey, change, check_not_revoked, find};
use crate::error::BooksError;
use crate::id::KeyId;
use crate::limits::KEY_GRACE_SECONDS_MAX;
use crate::operation::{Makes, Operation, Reads};
use crate::operations::invalid;
use crate::state::State;
use mercato_base::clock::Moment;

pub struct RotateKey {
    pub id: KeyId,
    /// Its limits are those of the former key; so is its label, where it has none.
    pub key: NewKey,
    pub grace_seconds: u64,
    pub at: Moment,
}

impl Operation for RotateKey {
    type Outcome = KeyId;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads { hash: Some(self.key.hash), ..Reads::key(self.id).making(Makes::Key) }
    }

    fn decide(&self, books: &mut State) -> Result<KeyId, BooksError> {
        let RotateKey { id, key, grace_seconds, at } = self;
        let grace = i64::try_from(*grace_seconds).ok().filter(|_| *grace_seconds <= KEY_GRACE_SECONDS_MAX);
        let Some(grace) = grace else {
            let rule = format!("at most {KEY_GRACE_SECONDS_MAX} seconds, found {grace_seconds}");
            return Err(invalid("grace", rule));
        };
        let old = find(books, *id)?;
        check_not_revoked(old)?;
        if old.ends_at().is_some_and(|end| end <= *at) {
            return Err(invalid("key", format!("{id} has expired; create a new key instead")));
        }
        let end = at.plus_seconds(grace);
        let end = old.expires_at.map_or(end, |earlier| earlier.min(end));
        let label = if key.label.is_empty() { old.label.clone() } else { key.label.clone() };
        let new = NewKey { label, limits: old.limits.clone(), ..key.clone() };
        let created = CreateKey { account: old.account, key: new, at: *at }.decide(books)?;
        change(books, *id)?.expires_at = Some(end);
        Ok(created)
    }
}
