//! What all commands have in common.

use mercato_base::clock::Moment;
use mercato_ledger::{
    AccountHandle, AccountId, BackupError, BooksError, IdError, KEY_RANDOM_BYTES, Ledger, LoginError,
};
use mercato_payments::{Payments, ReconcileError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{
    AddRelation, Archive, Backup, BuyCredits, CloseAccount, CreateAccount, CreateKey, EndSessions,
    GrantCredits, LimitKey, ListAccounts, ListKeys, ListPayments, ListRelations, ListSessions, ReadEntries,
    ReconcilePayments, RemoveRelation, ResetPassword, RevokeKey, RotateKey, SetPassword, ShowAccount, Usage,
    Verify,
};

/// A command of the operator.
pub trait Command: Clone + Into<OperatorCommand> {
    type Outcome: Serialize + DeserializeOwned;

    /// Executes the command. Its changes are on disk when this returns.
    fn execute(&self, context: &Context<'_>) -> Result<Self::Outcome, CommandError>;
}

macro_rules! commands {
    ($($command:ident),+ $(,)?) => {
        /// Any command. As JSON: `{"command":"buyCredits","account":"acc_1","credits":1000}`.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(
            tag = "command",
            rename_all = "camelCase",
            expecting = "a command such as {\"command\":\"verify\"}"
        )]
        pub enum OperatorCommand {
            $($command($command)),+
        }

        /// The outcome of any command. The JSON has no tag: the caller knows its command.
        #[derive(Serialize)]
        #[serde(untagged)]
        pub enum CommandOutcome {
            $($command(<$command as Command>::Outcome)),+
        }

        impl OperatorCommand {
            pub fn execute(&self, context: &Context<'_>) -> Result<CommandOutcome, CommandError> {
                match self {
                    $(Self::$command(command) => command.execute(context).map(CommandOutcome::$command)),+
                }
            }
        }

        $(impl From<$command> for OperatorCommand {
            fn from(command: $command) -> Self {
                Self::$command(command)
            }
        })+
    };
}

commands!(
    CreateAccount,
    ListAccounts,
    ShowAccount,
    CloseAccount,
    ResetPassword,
    SetPassword,
    ListSessions,
    EndSessions,
    BuyCredits,
    GrantCredits,
    CreateKey,
    LimitKey,
    ListKeys,
    RevokeKey,
    RotateKey,
    Usage,
    ReadEntries,
    ListPayments,
    ReconcilePayments,
    AddRelation,
    RemoveRelation,
    ListRelations,
    Verify,
    Backup,
    Archive,
);

/// The context of a command.
#[derive(Clone)]
pub struct Context<'l> {
    pub ledger: &'l Ledger,
    /// The payments of the server that runs; nothing where none does.
    pub payments: Option<&'l Payments>,
    pub now: Moment,
    pub request_id: String,
    /// Random bytes from the operating system, for a new key or token.
    pub random: [u8; KEY_RANDOM_BYTES],
}

impl Context<'_> {
    pub(super) fn account(&self, id: &str) -> Result<AccountHandle, CommandError> {
        let id: AccountId = id.parse()?;
        Ok(self.ledger.account(id).ok_or(BooksError::UnknownAccount { account: id })?)
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A text is not the id of an account or key.
    #[error(transparent)]
    Id(#[from] IdError),
    #[error("{field}: expected {expected}, found {found}")]
    Range { field: &'static str, expected: String, found: u64 },
    #[error(transparent)]
    Ledger(#[from] BooksError),
    /// The account has no login to change.
    #[error(transparent)]
    Login(LoginError),
    /// The books were not compared with the payment provider.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    #[error(transparent)]
    Backup(#[from] BackupError),
}

impl From<LoginError> for CommandError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Books(error) => Self::Ledger(error),
            other => Self::Login(other),
        }
    }
}

impl CommandError {
    pub(super) fn invalid(field: &'static str, rule: String) -> Self {
        Self::Ledger(BooksError::Invalid { field, rule })
    }
}

pub(super) fn check_range(field: &'static str, found: u64, most: u64) -> Result<(), CommandError> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(CommandError::Range { field, expected: format!("1 to {most}"), found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_commands_and_rejects_unknown_and_duplicate_fields() {
        for (text, whole) in [
            (r#"{"command":"createAccount","name":"acme"}"#, None),
            (r#"{"command":"rotateKey","key":"key_1","graceSeconds":60,"label":""}"#, None),
            (r#"{"command":"verify"}"#, None),
            (r#"{"command":"reconcilePayments"}"#, None),
            (r#"{"command":"readEntries","account":null,"first":1,"limit":10}"#, None),
            (
                r#"{"command":"addRelation","from":"a","to":"b","type":"x","description":"","weight":0.25}"#,
                None,
            ),
            (
                r#"{"command":"limitKey","key":"key_1","creditsPerDay":null,"creditsPerMonth":5,"datasets":["a"]}"#,
                None,
            ),
            (
                r#"{"command":"createKey","account":"acc_1","expiresAt":"2026-12-31"}"#,
                Some(
                    r#"{"command":"createKey","account":"acc_1","label":"","creditsPerDay":null,"creditsPerMonth":null,"datasets":[],"expiresAt":"2026-12-31"}"#,
                ),
            ),
            (
                r#"{"command":"listRelations"}"#,
                Some(r#"{"command":"listRelations","dataset":null,"offset":0,"limit":null}"#),
            ),
        ] {
            let command: OperatorCommand = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&command).unwrap(), whole.unwrap_or(text));
        }
        for wrong in [
            r#"{"command":"verify","extra":1}"#,
            r#"{"command":"dropEverything"}"#,
            r#"{"command":"buyCredits","account":"acc_1","credits":-5}"#,
            r#"{"command":"buyCredits","account":"acc_1","credits":5,"cent":1}"#,
            r#"{"command":"createKey","account":"acc_1","creditsPerDay":5,"creditPerMonth":1}"#,
            r#"{"command":"createKey","account":"acc_1","creditsPerDay":5,"creditsPerDay":50}"#,
            r#"{"command":"createKey","account":"acc_1","account":"acc_2"}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":null}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":1e999}"#,
            r#"{"command":"addRelation","from":"a","to":"b","type":"x","weight":"nan"}"#,
        ] {
            assert!(serde_json::from_str::<OperatorCommand>(wrong).is_err(), "{wrong}");
        }
    }
}
