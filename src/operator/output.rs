//! The output of commands in JSON: accounts, credits and keys.
//!
//! JSON views of results of the books, which do not depend on JSON.

use serde::Serialize;

use super::account_output::{
    Account, AccountClosed, AccountCreated, Accounts, PasswordReset, PasswordSet, SessionLine, SessionsEnded,
};
use super::key_output::{CreatedKey, Key};
use super::payment_output::{Payments, Reconciliation};
use super::relation_output::{RelationAdded, RelationLine, Relations};
use super::report_output::{ArchivedSegment, Backup, Entries, Usage, Verification};

/// The output of a command. The JSON has no tag: the caller knows its command.
#[derive(Serialize)]
#[serde(untagged)]
pub enum CommandOutput {
    /// Output of `createAccount`.
    AccountCreated(AccountCreated),
    /// Output of `listAccounts`.
    Accounts(Accounts),
    /// Output of `showAccount`.
    Account(Account),
    /// Output of `resetPassword`.
    PasswordReset(PasswordReset),
    /// Output of `setPassword`.
    PasswordSet(PasswordSet),
    /// Output of `listSessions`.
    Sessions {
        /// The open sessions, oldest first.
        sessions: Vec<SessionLine>,
    },
    /// Output of `endSessions`.
    SessionsEnded(SessionsEnded),
    /// Output of `closeAccount`.
    AccountClosed(AccountClosed),
    /// Output of `buyCredits` and `grantCredits`.
    Balance(Balance),
    /// Output of `createKey` and `rotateKey`.
    CreatedKey(CreatedKey),
    /// Output of `listKeys`.
    Keys {
        /// The keys, oldest first.
        keys: Vec<Key>,
    },
    /// Output of `revokeKey` and `limitKey`.
    Key(Key),
    /// Output of `usage`.
    Usage(Usage),
    /// Output of `readEntries`.
    Entries(Entries),
    /// Output of `listPayments`.
    Payments(Payments),
    /// Output of `reconcilePayments`.
    Reconciliation(Reconciliation),
    /// Output of `addRelation`.
    RelationAdded(RelationAdded),
    /// Output of `removeRelation`.
    RelationsRemoved {
        /// The removed relations.
        removed: Vec<RelationLine>,
    },
    /// Output of `listRelations`.
    Relations(Relations),
    /// Output of `verify`.
    Verification(Verification),
    /// Output of `backup`.
    Backup(Backup),
    /// Output of `archive`.
    Archived {
        /// The moved segments, oldest first.
        segments: Vec<ArchivedSegment>,
    },
}

/// Credits added to an account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    /// The account.
    pub account: String,
    /// The new balance.
    pub balance: u64,
    /// The added credits.
    pub credits: u64,
    /// The price; zero for a gift.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: &'static str,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// Whether the purchase was entered before under its reference. Then nothing was added.
    pub replayed: bool,
}

impl Balance {
    pub(super) fn bought(
        account: mercato_ledger::AccountId,
        credits: u64,
        bought: &mercato_ledger::Purchase,
    ) -> Balance {
        Balance {
            cents: bought.cents,
            replayed: bought.is_replayed,
            ..Balance::granted(account, credits, bought.balance)
        }
    }

    pub(super) fn granted(account: mercato_ledger::AccountId, credits: u64, balance: u64) -> Balance {
        let account = account.to_string();
        Balance { account, balance, credits, cents: 0, currency: "EUR", vat_included: false, replayed: false }
    }
}
