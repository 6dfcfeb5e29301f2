//! Closes an account, for ever: its keys are revoked, its sessions end, its login is removed and its e-mail address is free
//! again. Its entries and its balance stay, because books are never rewritten. Closing it again changes nothing.
//!
//! Address and hash are gone from memory at once and from the checkpoint with the next one. Segments of the log keep the
//! batches that wrote them, until the operator archives and deletes the segments; so do backups.

use super::{EndAllSessions, remove_tokens};
use crate::claim::Remembered;
use crate::closing::Closing;
use crate::codec::Record;
use crate::error::LoginError;
use crate::id::{AccountId, KeyId};
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::operations::keys::RevokeKey;
use crate::state::State;
use mercato_base::clock::Moment;

pub struct CloseAccount {
    pub account: AccountId,
    pub at: Moment,
}

impl Operation for CloseAccount {
    type Outcome = ();
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).with_keys().with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<(), LoginError> {
        let CloseAccount { account: id, at } = *self;
        let account = books.account(id)?;
        if account.closed_at.is_some() {
            return Ok(());
        }
        books.hear(at);
        keep_free_used(books, id, at);
        if let Some(account) = books.accounts.get_mut(&id) {
            account.closed_at = Some(at);
        }
        books.changed_accounts.insert(id);
        books.written.changes.put(key_space::closing(id), Closing { account: id, at }.encode());
        for key in keys_of(books, id) {
            RevokeKey { id: key, at }.decide(books)?;
        }
        EndAllSessions { account: id, kept: None, at }.decide(books)?;
        remove_tokens(books, id, |_| true);
        if books.logins.remove(id).is_some() {
            books.written.changes.remove(key_space::login(id));
        }
        Ok(())
    }
}

fn keys_of(books: &State, account: AccountId) -> Vec<KeyId> {
    books.directory.keys_of(account).iter().map(crate::KeyHandle::id).collect()
}

/// Carries the used free queries over to a later sign-up with the same address in the same month.
fn keep_free_used(books: &mut State, id: AccountId, now: Moment) {
    let (Some(login), Some(account)) = (books.logins.of(id), books.accounts.get(&id)) else { return };
    let balance = &account.record.balance;
    let month = balance.month_at(now);
    if month != balance.free_month || balance.free_used == 0 {
        return;
    }
    let key = key_space::free_used(&login.email.digest());
    let used = Remembered { until: month.end(), hash: [0; 16], paid_rows: Some(balance.free_used.into()) };
    books.keep(&key, used);
}
