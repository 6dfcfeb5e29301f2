//! A token that proves an identity once, by a link in a mail or from the operator. Does not depend on mail.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::id::AccountId;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

/// How long a token confirms an e-mail address.
const CONFIRM_EMAIL_SECONDS: i64 = 2 * 86_400;
/// How long a token resets a password.
const RESET_PASSWORD_SECONDS: i64 = 3_600;

/// The purpose of a one-time token. New purposes go to the end: a record holds the place of its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TokenPurpose {
    /// To show that mail to an address arrives.
    ConfirmEmail,
    /// To set a new password.
    ResetPassword,
}

impl TokenPurpose {
    /// When a token of this moment ends.
    pub const fn end(self, created_at: Moment) -> Moment {
        created_at.plus_seconds(match self {
            TokenPurpose::ConfirmEmail => CONFIRM_EMAIL_SECONDS,
            TokenPurpose::ResetPassword => RESET_PASSWORD_SECONDS,
        })
    }
}

/// A one-time token as it is kept until it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OneTimeToken {
    pub token: TokenHash,
    pub account: AccountId,
    pub purpose: TokenPurpose,
    pub created_at: Moment,
    pub expires_at: Moment,
}

impl Record for OneTimeToken {
    const NAME: &'static str = "one-time token";
}

impl TokenRecord for OneTimeToken {
    fn token(&self) -> TokenHash {
        self.token
    }

    fn account(&self) -> AccountId {
        self.account
    }

    fn created_at(&self) -> Moment {
        self.created_at
    }

    fn ends_at(&self) -> Moment {
        self.expires_at
    }
}
