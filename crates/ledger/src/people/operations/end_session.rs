//! Ends a session at once. The outcome is whether it was open.

use super::end_session;
use crate::error::LoginError;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

pub struct EndSession {
    pub token: TokenHash,
    pub at: Moment,
}

impl Operation for EndSession {
    type Outcome = bool;
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::record(key_space::session(&self.token))
    }

    fn decide(&self, books: &mut State) -> Result<bool, LoginError> {
        Ok(end_session(books, &self.token, self.at))
    }
}
