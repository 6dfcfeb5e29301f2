//! The calls of the account area: sign up, sign in and out, confirm, reset, close.
//!
//! Every call that changes something waits until it is durable. Time, random bytes and hashes of passwords are arguments.
//! Does not depend on pages or mail, and computes no hash of a password.

use std::sync::Arc;

use super::Ledger;
use super::directory::{SessionHandle, SessionView};
use super::email::Email;
use super::error::ChargeError;
use super::id::AccountId;
use super::login::Login;
use super::one_time_token::TokenPurpose;
use super::password_hash::PasswordHash;
use super::request::{Redeemed, Redemption, SignUp};
use super::token::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};
use mercato_base::clock::Moment;

/// A one-time token that was made: the only place where it stands in the clear.
pub struct IssuedToken {
    /// The token, to be sent to its owner.
    pub plain: PlainToken,
    /// From this moment on it is refused.
    pub expires_at: Moment,
}

impl Ledger {
    /// Creates an account on the free plan, with a login. An e-mail address has one account. Free queries that a closed
    /// account with this address has used in the present month stay used.
    pub fn sign_up(
        &self,
        email: &Email,
        password: &PasswordHash,
        now: Moment,
    ) -> Result<SignUp, ChargeError> {
        self.books.sign_up(email, password, now)?.durable()
    }

    /// The login with this e-mail address, from memory.
    pub fn credentials(&self, email: &Email) -> Option<Arc<Login>> {
        self.directory.logins().by_email(email)
    }

    /// The login of an account, from memory. Accounts of the operator's making have none, nor have closed ones.
    pub fn login(&self, account: AccountId) -> Option<Arc<Login>> {
        self.directory.logins().of(account)
    }

    /// Changes the password of an account. Its sessions end, but not the one in which it is changed; tokens that would reset
    /// it are worth nothing any more.
    pub fn set_password(
        &self,
        account: AccountId,
        password: &PasswordHash,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Result<(), ChargeError> {
        self.books.set_password(account, password, kept, now)?.durable()
    }

    /// Notes that mail to the address of an account arrives. The first time counts.
    pub fn confirm_email(&self, account: AccountId, now: Moment) -> Result<(), ChargeError> {
        self.books.confirm_email(account, now)?.durable()
    }

    /// Opens a session from random bytes, which the caller takes from the operating system. Refused when the login is another
    /// one by now: its password was changed after it was compared, or its account was closed. At most
    /// `SESSIONS_PER_ACCOUNT_MAX` are open for an account; one more ends the oldest.
    pub fn open_session(
        &self,
        login: &Login,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Result<PlainToken, ChargeError> {
        let plain = PlainToken::from_random(random);
        self.books.open_session(login, plain.hash(), now)?.durable()?;
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
    pub fn touch(&self, session: &SessionHandle, now: Moment) -> Result<(), ChargeError> {
        if session.is_seen(now) { self.books.note_session_use(session.token(), now) } else { Ok(()) }
    }

    /// Ends a session at once. Says whether it was open.
    pub fn end_session(&self, token: TokenHash, now: Moment) -> Result<bool, ChargeError> {
        self.books.end_session(token, now)?.durable()
    }

    /// Ends all sessions of an account at once, but this one. Says how many.
    pub fn end_all_sessions(
        &self,
        account: AccountId,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Result<usize, ChargeError> {
        self.books.end_all_sessions(account, kept, now)?.durable()
    }

    /// Makes a one-time token for an account with a login, from random bytes, which the caller takes from the operating
    /// system. At most `TOKENS_PER_ACCOUNT_MAX` wait for an account; one more takes the place of the oldest.
    pub fn issue_token(
        &self,
        account: AccountId,
        purpose: TokenPurpose,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Result<IssuedToken, ChargeError> {
        let plain = PlainToken::from_random(random);
        let expires_at = self.books.issue_token(account, purpose, plain.hash(), now)?.durable()?;
        Ok(IssuedToken { plain, expires_at })
    }

    /// Redeems a one-time token and executes its purpose, in one batch.
    pub fn redeem_token(
        &self,
        token: TokenHash,
        redemption: &Redemption,
        now: Moment,
    ) -> Result<Redeemed, ChargeError> {
        self.books.redeem_token(token, redemption, now)?.durable()
    }

    /// Closes an account, for ever: its keys are revoked, its sessions end, its login is removed and its e-mail address is
    /// free again. Nothing is sold to it any more; streams that run are settled. Its entries and its balance stay, because
    /// books are never rewritten. Closing it again changes nothing.
    ///
    /// Address and hash are gone from memory at once and from the checkpoint with the next one. Segments of the log keep the
    /// batches that wrote them, until the operator archives and deletes the segments; so do backups.
    pub fn close_account(&self, account: AccountId, now: Moment) -> Result<(), ChargeError> {
        self.books.close_account(account, now)?.durable()
    }
}
