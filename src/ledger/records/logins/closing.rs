//! The end of an account. It is a record of its own, because the account is written with every charge.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ledger::codec::Record;
use crate::ledger::id::AccountId;

/// An account that is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(in crate::ledger) struct Closing {
    pub(in crate::ledger) account: AccountId,
    pub(in crate::ledger) at: Moment,
}

impl Record for Closing {
    const NAME: &'static str = "closed account";
}
