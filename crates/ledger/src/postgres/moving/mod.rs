//! Books in a database as the source and as the target of a move.
//!
//! ```text
//! target   mark: not whole, no server opens it ──► one transaction: everything, read back, mark taken off
//! source   one snapshot; a server that registers meanwhile draws a number, which is noticed at the end
//! ```
//!
//! A server registers first and looks at the mark afterwards, a move marks first and looks for servers afterwards, so one of them
//! sees the other. Does not depend on the other side of the move.

mod into;
mod out;

use crate::error::OpenError;
use crate::moving::MoveError;
use mercato_database::{Connection, Trouble};

pub use into::Unfinished;
pub use out::Closed;

const IS_WHOLE: &str = "SELECT is_whole FROM books";
const SERVERS: &str = "SELECT name FROM server WHERE lease_until > clock_timestamp() ORDER BY id LIMIT 10";

/// Refuses books that a move has begun and not ended.
pub fn refuse_unfinished(connection: &mut Connection) -> Result<(), OpenError> {
    let row = connection.first(IS_WHOLE, &[])?;
    if row.is_some_and(|row| row.get(0)) { Ok(()) } else { Err(OpenError::Unfinished) }
}

/// Refuses books that servers have open.
fn refuse_servers(connection: &mut Connection) -> Result<(), MoveError> {
    let rows = connection.query(SERVERS, &[])?;
    if rows.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    Err(MoveError::Refused(format!(
        "the books in the database are open: {}; stop them first (one that was killed counts for ten seconds)",
        names.join(", ")
    )))
}

/// A count that a statement without arguments answers.
fn number(connection: &mut Connection, text: &'static str) -> Result<i64, Trouble> {
    Ok(connection.first(text, &[])?.map_or(0, |row| row.get(0)))
}
