//! Notes that mail to the address of an account arrives. The first time counts.

use super::{login_of, put_login, remove_tokens};
use crate::error::LoginError;
use crate::id::AccountId;
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::operation::{Operation, Reads};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct ConfirmEmail {
    pub account: AccountId,
    pub at: Moment,
}

impl Operation for ConfirmEmail {
    type Outcome = ();
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).with_logins()
    }

    fn decide(&self, books: &mut State) -> Result<(), LoginError> {
        let login = login_of(books, self.account)?;
        books.hear(self.at);
        if login.confirmed_at.is_none() {
            put_login(books, Login { confirmed_at: Some(self.at), ..login });
        }
        remove_tokens(books, self.account, |purpose| purpose == TokenPurpose::ConfirmEmail);
        Ok(())
    }
}
