//! Opens an account on the free plan, with a login. An e-mail address has one account.
//!
//! Free queries that a closed account with this address has used in the present month stay used.

use super::put_login;
use crate::claim::Remembered;
use crate::email::Email;
use crate::error::{BooksError, LoginError};
use crate::id::AccountId;
use crate::key_space;
use crate::login::Login;
use crate::operation::{Makes, Operation, Reads};
use crate::operations::accounts::open_account;
use crate::password_hash::PasswordHash;
use crate::state::State;
use mercato_base::clock::Moment;

#[derive(Clone)]
pub struct SignUp {
    pub email: Email,
    pub password: PasswordHash,
    pub at: Moment,
}

/// The outcome of a sign-up. The page must show both alike, so that an answer does not reveal whether an account exists.
/// A mail may tell the owner of the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignedUp {
    /// A new account on the free plan, with this login.
    Created(AccountId),
    /// The e-mail address has an account. Nothing was changed.
    EmailTaken,
}

impl Operation for SignUp {
    type Outcome = SignedUp;
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads { email: Some(self.email.clone()), ..Reads::nothing().making(Makes::Account) }
    }

    fn decide(&self, books: &mut State) -> Result<SignedUp, LoginError> {
        if books.logins.is_taken(&self.email) {
            return Ok(SignedUp::EmailTaken);
        }
        let free_used = free_used_before(books, &self.email, self.at)?;
        let account = open_account(books, String::new(), self.at)?;
        if let Some(opened) = books.accounts.get_mut(&account) {
            opened.record.balance.free_used = free_used;
        }
        let (email, password) = (self.email.clone(), self.password.clone());
        put_login(books, Login { account, email, password, created_at: self.at, confirmed_at: None });
        Ok(SignedUp::Created(account))
    }
}

fn free_used_before(books: &mut State, email: &Email, now: Moment) -> Result<u32, BooksError> {
    let used = books.read::<Remembered>(&key_space::free_used(&email.digest()))?;
    let used = used.filter(|used| now < used.until).and_then(|used| used.paid_rows);
    Ok(used.map_or(0, |used| u32::try_from(used).unwrap_or(u32::MAX)))
}
