//! Opens a session for the account of a login, which must still be as it was when its password was compared.
//!
//! At most `SESSIONS_PER_ACCOUNT_MAX` are open for an account; one more ends the oldest.

use super::{check_new, end_session, login_of};
use crate::codec::Record;
use crate::error::{LoginError, Unavailable};
use crate::key_space;
use crate::limits::{SESSION_SECONDS_MAX, SESSIONS_MAX, SESSIONS_PER_ACCOUNT_MAX};
use crate::login::Login;
use crate::operation::{Operation, Reads};
use crate::session_record::SessionRecord;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

pub struct OpenSession<'l> {
    pub login: &'l Login,
    pub token: TokenHash,
    pub at: Moment,
}

impl Operation for OpenSession<'_> {
    type Outcome = ();
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.login.account).with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<(), LoginError> {
        let (account, token, at) = (self.login.account, self.token, self.at);
        if login_of(books, account)?.password != self.login.password {
            return Err(LoginError::PasswordChanged);
        }
        check_new(books, &token)?;
        if books.totals().sessions >= SESSIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        books.hear(at);
        for token in books.logins.sessions().making_room(account, SESSIONS_PER_ACCOUNT_MAX, at) {
            end_session(books, &token, at);
        }
        let expires_at = at.plus_seconds(SESSION_SECONDS_MAX);
        let record = SessionRecord { token, account, created_at: at, last_seen_at: at, expires_at };
        books.written.changes.put(key_space::session(&token), record.encode());
        books.logins.put_session(record);
        Ok(())
    }
}
