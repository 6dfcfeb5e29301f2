//! The login of an account: its e-mail address and the hash of its password. One address belongs to one account.
//!
//! Does not depend on the store.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::email::Email;
use crate::id::AccountId;
use crate::password_hash::PasswordHash;
use mercato_base::clock::Moment;

/// A login as it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The account of the login.
    pub account: AccountId,
    /// The e-mail address.
    pub email: Email,
    /// The hash of the password.
    pub password: PasswordHash,
    pub created_at: Moment,
    /// When its owner showed that mail to the address arrives.
    pub confirmed_at: Option<Moment>,
}

impl Record for Login {
    const NAME: &'static str = "login";
}
