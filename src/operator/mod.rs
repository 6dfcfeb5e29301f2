//! Orders of the operator, and what is answered: one set of shapes for the admin listener and for the tools.
//!
//! An order that comes over the admin listener and one that the tools carry out on closed books take the same way
//! and give the same answer. Knows no listener, no status code and no command line.

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
