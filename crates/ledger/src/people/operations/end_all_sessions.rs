//! Ends all sessions of an account at once but one. The outcome is how many.

use super::end_session;
use crate::error::LoginError;
use crate::id::AccountId;
use crate::operation::{Operation, Reads};
use crate::state::State;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

pub struct EndAllSessions {
    pub account: AccountId,
    /// The session that stays open.
    pub kept: Option<TokenHash>,
    pub at: Moment,
}

impl Operation for EndAllSessions {
    type Outcome = usize;
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<usize, LoginError> {
        let tokens: Vec<_> = books.logins.sessions().of(self.account).map(TokenRecord::token).collect();
        let others = tokens.into_iter().filter(|token| Some(*token) != self.kept);
        Ok(others.filter(|token| end_session(books, token, self.at)).count())
    }
}
