//! Changes a password. All sessions of the account end but the one in which it is changed; tokens that would reset it
//! are worth nothing any more.

use super::{EndAllSessions, login_of, put_login, remove_tokens};
use crate::error::LoginError;
use crate::id::AccountId;
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::operation::{Operation, Reads};
use crate::password_hash::PasswordHash;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

pub struct SetPassword {
    pub account: AccountId,
    pub password: PasswordHash,
    /// The session that stays open.
    pub kept: Option<TokenHash>,
    pub at: Moment,
}

impl Operation for SetPassword {
    type Outcome = ();
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<(), LoginError> {
        let SetPassword { account, password, kept, at } = self;
        let login = login_of(books, *account)?;
        books.hear(*at);
        put_login(books, Login { password: password.clone(), ..login });
        EndAllSessions { account: *account, kept: *kept, at: *at }.decide(books)?;
        remove_tokens(books, *account, |purpose| purpose == TokenPurpose::ResetPassword);
        Ok(())
    }
}
