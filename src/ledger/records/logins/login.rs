//! The login of an account: who may sign in to it, and with what. One e-mail address belongs to one account.
//!
//! Knows its bytes, and no store.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ledger::codec::Record;
use crate::ledger::email::Email;
use crate::ledger::id::AccountId;
use crate::ledger::password_hash::PasswordHash;

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
