//! Logins, sessions and one-time tokens in the memory of the state. One e-mail address belongs to one account.
//!
//! Applies changes and decides nothing. Does not depend on the store.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::token_table::TokenTable;
use crate::directory::Directory;
use crate::email::Email;
use crate::id::AccountId;
use crate::login::Login;
use crate::one_time_token::OneTimeToken;
use crate::session_record::SessionRecord;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

/// The tables.
#[derive(Default)]
pub struct Logins {
    by_account: HashMap<AccountId, Arc<Login>>,
    by_email: HashMap<Email, AccountId>,
    sessions: TokenTable<SessionRecord>,
    pub tokens: TokenTable<OneTimeToken>,
    changed_logins: HashSet<AccountId>,
    changed_sessions: HashSet<TokenHash>,
}

impl Logins {
    pub fn of(&self, account: AccountId) -> Option<&Arc<Login>> {
        self.by_account.get(&account)
    }

    pub fn is_taken(&self, email: &Email) -> bool {
        self.by_email.contains_key(email)
    }

    pub const fn sessions(&self) -> &TokenTable<SessionRecord> {
        &self.sessions
    }

    /// Takes the login of an account in, in the place of the one before. Says whether its e-mail address was free.
    pub fn put(&mut self, login: Login) -> bool {
        let account = login.account;
        self.remove(account);
        let other = self.by_email.insert(login.email.clone(), account);
        self.by_account.insert(account, Arc::new(login));
        self.changed_logins.insert(account);
        other.is_none()
    }

    pub fn remove(&mut self, account: AccountId) -> Option<Arc<Login>> {
        let login = self.by_account.remove(&account)?;
        self.changed_logins.insert(account);
        self.by_email.remove(&login.email);
        Some(login)
    }

    pub fn put_session(&mut self, record: SessionRecord) {
        self.changed_sessions.insert(record.token);
        self.sessions.insert(record);
    }

    pub fn remove_session(&mut self, token: &TokenHash) -> Option<SessionRecord> {
        let removed = self.sessions.remove(token)?;
        self.changed_sessions.insert(*token);
        Some(removed)
    }

    /// Changes the moment of a session's last use, which readers hold already.
    pub fn change_session(
        &mut self,
        token: &TokenHash,
        change: impl FnOnce(&mut SessionRecord),
    ) -> Option<&SessionRecord> {
        self.sessions.change(token, change)
    }

    /// At most `limit` sessions that have ended.
    pub fn ended_sessions(&mut self, now: Moment, limit: usize) -> Vec<TokenHash> {
        self.sessions.ended(now, limit)
    }

    /// Publishes the changed records to all readers.
    pub fn publish(&mut self, directory: &Directory) {
        let shown = directory.logins();
        for account in self.changed_logins.drain() {
            shown.publish_login(account, self.by_account.get(&account));
        }
        for token in self.changed_sessions.drain() {
            match self.sessions.get(&token) {
                Some(session) => shown.publish_session(session),
                None => shown.forget_session(&token),
            }
        }
    }

    /// Removes published records that these tables do not hold.
    pub fn forget_others(&self, directory: &Directory) {
        let is_login = |account| self.by_account.contains_key(&account);
        directory.logins().keep_only(is_login, |token| self.sessions.get(token).is_some());
    }
}
