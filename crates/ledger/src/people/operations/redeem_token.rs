//! Redeems a one-time token and executes its purpose, in one batch.

use super::{ConfirmEmail, SetPassword};
use crate::error::LoginError;
use crate::id::AccountId;
use crate::key_space;
use crate::one_time_token::TokenPurpose;
use crate::operation::{Operation, Reads};
use crate::password_hash::PasswordHash;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

pub struct RedeemToken {
    pub token: TokenHash,
    pub redemption: Redemption,
    pub at: Moment,
}

/// The purpose for which a one-time token is redeemed, with its arguments.
#[derive(Clone)]
pub enum Redemption {
    /// Mail to the address arrives.
    ConfirmEmail,
    /// The password is this one from now on. Every session ends.
    ResetPassword(PasswordHash),
}

/// The outcome of redeeming a one-time token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redeemed {
    /// It was valid, for this account, and is used up.
    By(AccountId),
    /// There is no such token for it: it is made up, used, replaced or too old. Nothing was changed.
    Refused,
}

impl Operation for RedeemToken {
    type Outcome = Redeemed;
    type Refusal = LoginError;

    fn reads(&self) -> Reads {
        Reads::record(key_space::one_time_token(&self.token))
    }

    fn decide(&self, books: &mut State) -> Result<Redeemed, LoginError> {
        let purpose = match self.redemption {
            Redemption::ConfirmEmail => TokenPurpose::ConfirmEmail,
            Redemption::ResetPassword(_) => TokenPurpose::ResetPassword,
        };
        let found = books.logins.tokens.get(&self.token);
        let valid = found.filter(|found| found.purpose == purpose && self.at < found.expires_at);
        let Some(account) = valid.map(|found| found.account) else { return Ok(Redeemed::Refused) };
        let at = self.at;
        // Each removes all tokens of its purpose, this one among them.
        match &self.redemption {
            Redemption::ConfirmEmail => ConfirmEmail { account, at }.decide(books)?,
            Redemption::ResetPassword(password) => {
                SetPassword { account, password: password.clone(), kept: None, at }.decide(books)?;
            }
        }
        Ok(Redeemed::By(account))
    }
}
