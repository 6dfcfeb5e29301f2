//! People: logins, sessions and one-time tokens, above the same log or database as the books.
//!
//! Time, random bytes and hashes of passwords are arguments. Does not depend on pages or mail, and computes no hash of a
//! password.

mod expiry;
mod operations;
mod tables;
mod token_table;

use std::sync::Arc;

pub use operations::{
    CloseAccount, ConfirmEmail, EndAllSessions, EndSession, RedeemToken, Redeemed, Redemption, SetPassword,
    SignUp, SignedUp,
};
pub use tables::Logins;

use crate::directory::{SessionHandle, SessionView};
use crate::email::Email;
use crate::error::{BooksError, LoginError};
use crate::id::AccountId;
use crate::ledger::Ledger;
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::token::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};
use mercato_base::clock::Moment;
use operations::{IssueToken, OpenSession};

/// A one-time token that was made: the only place where it stands in the clear.
pub struct IssuedToken {
    /// The token, to be sent to its owner.
    pub plain: PlainToken,
    /// From this moment on it is refused.
    pub expires_at: Moment,
}

impl Ledger {
    /// The login with this e-mail address, from memory.
    pub fn credentials(&self, email: &Email) -> Option<Arc<Login>> {
        self.directory.logins().by_email(email)
    }

    /// The login of an account, from memory. Accounts of the operator's making have none, nor have closed ones.
    pub fn login(&self, account: AccountId) -> Option<Arc<Login>> {
        self.directory.logins().of(account)
    }

    /// Opens a session from random bytes, which the caller takes from the operating system. Refused when the login is another
    /// one by now: its password was changed after it was compared, or its account was closed. At most
    /// `SESSIONS_PER_ACCOUNT_MAX` are open for an account; one more ends the oldest.
    pub fn open_session(
        &self,
        login: &Login,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Result<PlainToken, LoginError> {
        let plain = PlainToken::from_random(random);
        self.commit(&OpenSession { login, token: plain.hash(), at: now })?;
        Ok(plain)
    }

    /// The open session with this token, from memory.
    pub fn session(&self, presented: TokenHash, now: Moment) -> Option<SessionHandle> {
        self.directory.logins().session(&presented).filter(|session| now < session.ends_at())
    }

    /// The open sessions of an account, oldest first, from memory.
    pub fn sessions(&self, account: AccountId, now: Moment) -> Vec<SessionView> {
        let mut views = self.directory.logins().sessions_of(account);
        views.retain(|session| now < session.ends_at);
        views.sort_unstable_by_key(|session| session.created_at);
        views
    }

    /// Notes that a session is used. Reads memory, and once in `SESSION_SEEN_GRAIN_SECONDS` writes to the books without
    /// waiting.
    pub fn touch(&self, session: &SessionHandle, now: Moment) -> Result<(), BooksError> {
        if session.is_seen(now) { self.store.note_session_use(session.token(), now) } else { Ok(()) }
    }

    /// Makes a one-time token for an account with a login, from random bytes, which the caller takes from the operating
    /// system. At most `TOKENS_PER_ACCOUNT_MAX` wait for an account; one more takes the place of the oldest.
    pub fn issue_token(
        &self,
        account: AccountId,
        purpose: TokenPurpose,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Result<IssuedToken, LoginError> {
        let plain = PlainToken::from_random(random);
        let token = plain.hash();
        let expires_at = self.commit(&IssueToken { account, purpose, token, at: now })?;
        Ok(IssuedToken { plain, expires_at })
    }
}
