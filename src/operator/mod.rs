//! Orders of the operator, and what is answered: one set of shapes for the admin listener and for the tools.
//!
//! An order that comes over the admin listener and one that the tools carry out on closed books take the same way
//! and give the same answer. Knows no listener, no status code and no command line.

mod answer;
mod key_orders;
mod order;
mod relation_answer;
mod relation_orders;

pub use answer::{
    Account, AccountCreated, AccountLine, Accounts, Answer, ArchivedSegment, Backup, Balance, CreatedKey,
    Entries, EntryLine, Key, Limits, Spent, Usage, UsageDay, Verification,
};
pub use order::{Context, Order, OrderError};
pub use relation_answer::{RelationAdded, RelationLine, Relations};
