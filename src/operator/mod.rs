//! Commands of the operator and their output, shared by the admin listener and the tools.
//!
//! A command over the admin listener and a command of the tools on closed books run the same code and give the same
//! output. Does not depend on listeners, status codes or the command line.

mod account_commands;
mod account_output;
mod command;
mod execute;
mod key_commands;
mod key_output;
mod output;
mod payment_commands;
mod payment_output;
mod relation_commands;
mod relation_output;
mod report_output;

pub use account_output::{
    Account, AccountClosed, AccountCreated, AccountLine, Accounts, LoginOfAccount, PasswordReset,
    PasswordSet, SessionLine, SessionsEnded,
};
pub use command::OperatorCommand;
pub use execute::{CommandError, Context};
pub use key_commands::end_of_day;
pub use key_output::{CreatedKey, Key, Limits, Spent};
pub use output::{Balance, CommandOutput};
pub use payment_output::{FoundPayment, PaymentLine, Payments, Reconciliation, UnexplainedPayment};
pub use relation_output::{RelationAdded, RelationLine, Relations};
pub use report_output::{ArchivedSegment, Backup, Entries, EntryLine, Usage, UsageDay, Verification};
