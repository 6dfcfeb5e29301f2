//! Commands of the operator and their output, shared by the admin listener and the tools.
//!
//! A command over the admin listener and a command of the tools on closed books run the same code and give the same
//! output. Does not depend on listeners, status codes or the command line.

mod command;
mod key_commands;
mod output;
mod relation_commands;
mod relation_output;

pub use command::{CommandError, Context, OperatorCommand};
pub use output::{
    Account, AccountCreated, AccountLine, Accounts, ArchivedSegment, Backup, Balance, CommandOutput,
    CreatedKey, Entries, EntryLine, Key, Limits, Spent, Usage, UsageDay, Verification,
};
pub use relation_output::{RelationAdded, RelationLine, Relations};
