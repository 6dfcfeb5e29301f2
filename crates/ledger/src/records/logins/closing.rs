//! The end of an account. It is a record of its own, because the account is written with every charge.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::id::AccountId;
use mercato_base::clock::Moment;

/// An account that is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Closing {
    pub account: AccountId,
    pub at: Moment,
}

impl Record for Closing {
    const NAME: &'static str = "closed account";
}
