//! Keeps a one-time token for an account with a login, in the place of its oldest one where it has many. The outcome is its end.

use super::{check_new, login_of, remove_token};
use crate::codec::Record;
use crate::error::{LoginError, Unavailable};
use crate::id::AccountId;
use crate::key_space;
use crate::limits::{TOKENS_MAX, TOKENS_PER_ACCOUNT_MAX};
use crate::one_time_token::{OneTimeToken, TokenPurpose};
use crate::operation::{Operation, Reads};
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

pub struct IssueToken {
    pub account: AccountId,
    pub purpose: TokenPurpose,
    pub token: TokenHash,
    pub at: Moment,
}

impl Operation for IssueToken {
    type Outcome = Moment;
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<Moment, LoginError> {
        let IssueToken { account, purpose, token, at } = *self;
        login_of(books, account)?;
        check_new(books, &token)?;
        if books.logins.tokens.len() >= TOKENS_MAX {
            return Err(Unavailable::Busy.into());
        }
        books.hear(at);
        for token in books.logins.tokens.making_room(account, TOKENS_PER_ACCOUNT_MAX, at) {
            remove_token(books, &token);
        }
        let expires_at = purpose.end(at);
        let record = OneTimeToken { token, account, purpose, created_at: at, expires_at };
        books.written.changes.put(key_space::one_time_token(&token), record.encode());
        books.logins.tokens.insert(record);
        Ok(expires_at)
    }
}
