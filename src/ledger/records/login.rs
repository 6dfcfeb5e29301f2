//! The login of an account: its e-mail address and the hash of its password. One address belongs to one account.
//!
//! Does not depend on the store.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::email::Email;
use super::id::AccountId;
use super::password_hash::PasswordHash;
use crate::clock::Moment;

/// A login as it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Whose it is.
    pub account: AccountId,
    /// The e-mail address.
    pub email: Email,
    /// The hash of the password.
    pub password: PasswordHash,
    /// When it was created.
    pub created_at: Moment,
    /// When its owner showed that mail to the address arrives.
    pub confirmed_at: Option<Moment>,
}

impl Record for Login {
    const NAME: &'static str = "login";
}
