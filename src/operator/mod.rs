//! The commands of the operator. One type describes a command: its fields are the arguments of the command line and the
//! JSON of the admin listener, `execute` runs it on open books, and its outcome is printed as JSON or as text.
//!
//! Does not depend on listeners, status codes, pages or other programs. Begin at `Command`.

mod account;
mod command;
mod credits;
mod key;
mod login;
mod maintenance;
mod payment;
mod relation;
mod report;

pub use account::{AccountPage, CloseAccount, CreateAccount, ListAccounts, ShowAccount};
pub use command::{Command, CommandError, CommandOutcome, Context, OperatorCommand};
pub use credits::{BuyCredits, GrantCredits};
pub use key::{
    CreateKey, Key, LimitKey, LimitKeyArguments, ListKeys, NewLimits, RevokeKey, RotateKey, end_of_day,
};
pub use login::{EndSessions, ListSessions, ResetPassword, SetPassword};
pub use maintenance::{Archive, Backup, BackupFile, Verification, Verify};
pub use payment::{ListPayments, ReconcilePayments};
pub use relation::{AddRelation, ListRelations, RelationPage, RemoveRelation};
pub use report::{ReadEntries, Usage, UsageDay};
