//! The commands of the operator and their JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::key_commands::change;
use super::relation_commands::finite;
use mercato_ledger::Change;

/// A command. As JSON: `{"command":"buyCredits","account":"acc_1","credits":1000}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "command",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields,
    expecting = "a command such as {\"command\":\"verify\"}"
)]
pub enum OperatorCommand {
    /// Creates an account without credits.
    CreateAccount {
        /// Its name.
        name: String,
    },
    /// Lists accounts by id, in pages.
    ListAccounts {
        /// The page begins after this id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        /// Accounts on the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Shows an account with its keys.
    ShowAccount {
        /// Its id.
        account: String,
    },
    /// Makes a one-time token with which the owner of an account sets a new password.
    ResetPassword {
        /// Its id.
        account: String,
    },
    /// Sets the password of an account, and ends its sessions.
    SetPassword {
        /// Its id.
        account: String,
        /// The argon2id hash of the password, as a PHC string. The password itself is not sent.
        password_hash: String,
    },
    /// Lists the open sessions of an account.
    ListSessions {
        /// Its id.
        account: String,
    },
    /// Ends all sessions of an account at once.
    EndSessions {
        /// Its id.
        account: String,
    },
    /// Closes an account for ever: its login, sessions and tokens go, and its keys are revoked.
    CloseAccount {
        /// Its id.
        account: String,
    },
    /// Enters a purchase of credits.
    BuyCredits {
        /// The buyer's account.
        account: String,
        /// The number of credits.
        credits: u64,
        /// The price in euro cents, VAT excluded; the list price when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cents: Option<u64>,
        /// The number of the invoice or payment. The same purchase with the same number is entered once.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reference: String,
        /// The payment provider; `operator` when absent. Numbers of different providers are different payments.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Grants credits as a gift.
    GrantCredits {
        /// The receiving account.
        account: String,
        /// The number of credits.
        credits: u64,
        /// A remark.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Creates a key. Only the response to this command shows it in the clear.
    CreateKey {
        /// The owner's account.
        account: String,
        /// The owner's label.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
        /// Credits for each UTC day; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_day: Option<u64>,
        /// Credits for each UTC calendar month; no cap when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credits_per_month: Option<u64>,
        /// The datasets that the key may read; all when empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        datasets: Vec<String>,
        /// The expiry: RFC 3339, or a UTC day at whose end the key expires; never when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
    },
    /// Changes the limits of a key. An absent field keeps its limit, and `null` lifts it.
    LimitKey {
        /// The key's id.
        key: String,
        /// Credits for each UTC day.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_day: Change<u64>,
        /// Credits for each UTC calendar month.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        credits_per_month: Change<u64>,
        /// The datasets that the key may read.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        datasets: Change<Vec<String>>,
        /// The expiry: RFC 3339, or a UTC day at whose end the key expires.
        #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
        expires_at: Change<String>,
    },
    /// Lists the keys of an account.
    ListKeys {
        /// Its id.
        account: String,
    },
    /// Revokes a key at once.
    RevokeKey {
        /// The key's id.
        key: String,
    },
    /// Replaces a key by a new one.
    RotateKey {
        /// The old key's id.
        key: String,
        /// How long the old key stays valid.
        grace_seconds: u64,
        /// The owner's label; the old label when absent.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        label: String,
    },
    /// Reports the usage of an account, by day and dataset.
    Usage {
        /// Its id.
        account: String,
        /// UTC days, today included.
        days: u32,
        /// Whether each key has its own lines.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_key: bool,
        /// Only the usage of this key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Reads entries in order, in pages.
    ReadEntries {
        /// Only entries of this account.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
        /// The first sequence number of the page.
        first: u64,
        /// Entries to examine for the page.
        limit: usize,
    },
    /// Lists the checkouts of customers at the payment provider, newest first, in pages.
    ListPayments {
        /// Only of this account.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
        /// The page begins below this number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// Payments on the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Compares the books with the payment provider now, and enters what they lack.
    ReconcilePayments {},
    /// Adds a relation between two datasets, or replaces the one of the same type.
    AddRelation {
        /// The source dataset.
        from: String,
        /// The target dataset.
        to: String,
        /// The type of the relation.
        #[serde(rename = "type")]
        relation_type: String,
        /// A description in one sentence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        /// The weight: 0 to 1,000,000; 1 when absent.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "finite")]
        weight: Option<f64>,
    },
    /// Removes the relations from one dataset to another.
    RemoveRelation {
        /// The source dataset.
        from: String,
        /// The target dataset.
        to: String,
        /// Only the relation of this type.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        relation_type: Option<String>,
    },
    /// Lists relations by the names of their datasets, in pages.
    ListRelations {
        /// Only relations from or to this dataset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dataset: Option<String>,
        /// Relations to skip.
        #[serde(default)]
        offset: usize,
        /// Relations on the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Verifies that every balance is the sum of its entries.
    Verify {},
    /// Writes a backup.
    Backup {
        /// The target folder on the server's machine.
        directory: PathBuf,
    },
    /// Moves old segments of the log away.
    Archive {
        /// The target folder on the server's machine.
        directory: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_commands_and_rejects_unknown_fields() {
        for command in [
            OperatorCommand::CreateAccount { name: "acme".to_owned() },
            OperatorCommand::RotateKey { key: "key_1".to_owned(), grace_seconds: 60, label: String::new() },
            OperatorCommand::Verify {},
            OperatorCommand::ListPayments { account: None, before: Some(5), limit: None },
            OperatorCommand::ReconcilePayments {},
            OperatorCommand::AddRelation {
                from: "a".to_owned(),
                to: "b".to_owned(),
                relation_type: "x".to_owned(),
                description: String::new(),
                weight: Some(0.25),
            },
            OperatorCommand::ListRelations { dataset: None, offset: 0, limit: None },
            OperatorCommand::ReadEntries { account: None, first: 1, limit: 10 },
            OperatorCommand::LimitKey {
                key: "key_1".to_owned(),
                credits_per_day: Change::Lift,
                credits_per_month: Change::Set(5),
                datasets: Change::Set(vec!["a".to_owned()]),
                expires_at: Change::Keep,
            },
        ] {
            let text = serde_json::to_string(&command).unwrap();
            assert_eq!(serde_json::from_str::<OperatorCommand>(&text).unwrap(), command, "{text}");
        }
        for wrong in [
            r#"{"command":"verify","extra":1}"#,
            r#"{"command":"dropEverything"}"#,
            r#"{"command":"buyCredits","account":"acc_1","credits":-5}"#,
            r#"{"command":"buyCredits","account":"acc_1","credits":5,"cent":1}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":null}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":1e999}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":"nan"}"#,
        ] {
            assert!(serde_json::from_str::<OperatorCommand>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rejects_non_finite_weights() {
        for weight in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let [from, to, relation_type] = ["a", "b", "x"].map(str::to_owned);
            let command = OperatorCommand::AddRelation {
                from,
                to,
                relation_type,
                description: String::new(),
                weight: Some(weight),
            };
            assert!(serde_json::to_string(&command).unwrap_err().to_string().contains("finite"), "{weight}");
        }
    }
}
