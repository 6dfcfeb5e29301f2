//! Sessions and one-time tokens: opened, used, ended, and removed from the books when they expire.
//!
//! Handles only hashes of tokens. An expired record is removed from memory and from the next checkpoint, without a batch of
//! the log: readers compare the end of a record with the present. Does not depend on pages.

use super::super::State;
use super::super::operating::invalid;
use crate::changes::Changes;
use crate::codec::Record;
use crate::error::{ChargeError, Unavailable};
use crate::id::AccountId;
use crate::key_space;
use crate::limits::{
    EXPIRED_PER_ROUND_MAX, SESSION_SECONDS_MAX, SESSIONS_MAX, SESSIONS_PER_ACCOUNT_MAX, TOKENS_MAX,
    TOKENS_PER_ACCOUNT_MAX,
};
use crate::login::Login;
use crate::one_time_token::{OneTimeToken, TokenPurpose};
use crate::request::{Redeemed, Redemption};
use crate::session_record::SessionRecord;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

impl State {
    /// Opens a session for the account of a login, which must still be as it was when its password was compared.
    pub fn open_session(&mut self, login: &Login, token: TokenHash, now: Moment) -> Result<(), ChargeError> {
        let account = login.account;
        if self.login(account)?.password != login.password {
            return Err(invalid("password", "it was changed meanwhile; sign in again".to_owned()));
        }
        self.check_new(&token)?;
        if self.logins.sessions().len() >= SESSIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        self.latest = self.latest.max(now);
        for token in self.logins.sessions().making_room(account, SESSIONS_PER_ACCOUNT_MAX, now) {
            self.end_session(token, now);
        }
        let expires_at = now.plus_seconds(SESSION_SECONDS_MAX);
        let record = SessionRecord { token, account, created_at: now, last_seen_at: now, expires_at };
        self.written.changes.put(key_space::session(&token), record.encode());
        self.logins.put_session(record);
        Ok(())
    }

    /// Ends a session. Says whether it was open.
    pub fn end_session(&mut self, token: TokenHash, now: Moment) -> bool {
        let Some(ended) = self.logins.remove_session(&token) else { return false };
        self.written.changes.remove(key_space::session(&token));
        now < ended.ends_at()
    }

    /// Ends all sessions of an account but one. Says how many.
    pub fn end_all_sessions(&mut self, account: AccountId, kept: Option<TokenHash>, now: Moment) -> usize {
        let tokens: Vec<_> = self.logins.sessions().of(account).map(TokenRecord::token).collect();
        let others = tokens.into_iter().filter(|token| Some(*token) != kept);
        others.filter(|token| self.end_session(*token, now)).count()
    }

    /// Keeps when a session was last seen. It goes into the next checkpoint and not into the log: it is worth no write of its
    /// own.
    pub fn note_session_use(&mut self, token: TokenHash, at: Moment) {
        let seen = |record: &mut SessionRecord| record.last_seen_at = record.last_seen_at.max(at);
        let Some(record) = self.logins.change_session(&token, seen) else { return };
        let mut noted = Changes::default();
        noted.put(key_space::session(&token), record.encode());
        self.memtable.absorb(noted);
    }

    /// Keeps a one-time token, in the place of the oldest one of an account that has many. Returns its end.
    pub fn issue_token(
        &mut self,
        account: AccountId,
        purpose: TokenPurpose,
        token: TokenHash,
        now: Moment,
    ) -> Result<Moment, ChargeError> {
        self.login(account)?;
        self.check_new(&token)?;
        if self.logins.tokens.len() >= TOKENS_MAX {
            return Err(Unavailable::Busy.into());
        }
        self.latest = self.latest.max(now);
        for token in self.logins.tokens.making_room(account, TOKENS_PER_ACCOUNT_MAX, now) {
            self.remove_token(&token);
        }
        let expires_at = purpose.end(now);
        let record = OneTimeToken { token, account, purpose, created_at: now, expires_at };
        self.written.changes.put(key_space::one_time_token(&token), record.encode());
        self.logins.tokens.insert(record);
        Ok(expires_at)
    }

    /// Redeems a one-time token and executes its purpose.
    pub fn redeem_token(
        &mut self,
        token: TokenHash,
        redemption: &Redemption,
        now: Moment,
    ) -> Result<Redeemed, ChargeError> {
        let purpose = match redemption {
            Redemption::ConfirmEmail => TokenPurpose::ConfirmEmail,
            Redemption::ResetPassword(_) => TokenPurpose::ResetPassword,
        };
        let found = self.logins.tokens.get(&token);
        let valid = found.filter(|found| found.purpose == purpose && now < found.expires_at);
        let Some(account) = valid.map(|found| found.account) else { return Ok(Redeemed::Refused) };
        // Each removes all tokens of its purpose, this one among them.
        match redemption {
            Redemption::ConfirmEmail => self.confirm_email(account, now)?,
            Redemption::ResetPassword(password) => self.set_password(account, password, None, now)?,
        }
        Ok(Redeemed::By(account))
    }

    pub fn remove_token(&mut self, token: &TokenHash) {
        if self.logins.tokens.remove(token).is_some() {
            self.written.changes.remove(key_space::one_time_token(token));
        }
    }

    /// Removes sessions and tokens that have ended, at most `EXPIRED_PER_ROUND_MAX` of each.
    pub fn expire_tokens(&mut self) {
        let mut gone = Changes::default();
        for token in self.logins.ended_sessions(self.latest, EXPIRED_PER_ROUND_MAX) {
            self.logins.remove_session(&token);
            gone.remove(key_space::session(&token));
        }
        for token in self.logins.tokens.ended(self.latest, EXPIRED_PER_ROUND_MAX) {
            self.logins.tokens.remove(&token);
            gone.remove(key_space::one_time_token(&token));
        }
        self.memtable.absorb(gone);
        // No batch is appended that would show it.
        self.logins.publish(&self.directory);
    }

    fn check_new(&self, token: &TokenHash) -> Result<(), ChargeError> {
        if self.logins.sessions().get(token).is_some() || self.logins.tokens.get(token).is_some() {
            return Err(invalid("token", "the random bytes were used before; try again".to_owned()));
        }
        Ok(())
    }
}
