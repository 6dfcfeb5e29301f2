//! The login of an account: its e-mail address and the hash of its password. One address belongs to one account.
//!
//! Does not depend on the store.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ledger::codec::Record;
use crate::ledger::email::Email;
use crate::ledger::id::AccountId;
use crate::ledger::password_hash::PasswordHash;

/// A login as it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The account of the login.
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
