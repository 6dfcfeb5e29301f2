//! A connection to the database, with statements that are prepared once, and what an error of it means.
//!
//! The only place where codes of errors are read. Does not depend on tables.

use std::collections::HashMap;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, NoTls, Row, Statement};

use super::address::{DatabaseAddress, innermost};

/// Arguments of a statement.
pub type Arguments<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection.
pub struct Connection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

/// What came of a statement that failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Another transaction stood in the way; nothing was changed. The same again will do.
    #[error("another transaction is in the way: {0}")]
    Conflict(String),
    /// The batch was applied by an earlier attempt.
    #[error("the batch was applied before")]
    Applied,
    /// Somebody else has taken a value that must be unique: the name of the constraint.
    #[error("{0} is taken")]
    Taken(String),
    /// The connection is gone, or the database refuses work for now.
    #[error("the database cannot be reached: {0}")]
    Gone(String),
    /// The statement is wrong for this database.
    #[error("the database refuses: {0}")]
    Refused(String),
}

impl Connection {
    /// Connects.
    pub fn open(address: &DatabaseAddress) -> Result<Connection, Trouble> {
        let connected = match address.encryption() {
            None => address.config().connect(NoTls),
            Some(encryption) => address.config().connect(encryption.clone()),
        };
        let mut client = connected.map_err(|error| trouble(&error))?;
        if !address.sets_isolation() {
            let isolation = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";
            client.batch_execute(isolation).map_err(|error| trouble(&error))?;
        }
        Ok(Connection { client, statements: HashMap::new() })
    }

    /// Whether the connection is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    /// The rows of a statement.
    pub fn query(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepared(text)?;
        self.client.query(&statement, arguments).map_err(|error| trouble(&error))
    }

    /// The first row of a statement.
    pub fn first(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<Option<Row>, Trouble> {
        Ok(self.query(text, arguments)?.into_iter().next())
    }

    /// Hands each row of a statement on while the next ones come.
    pub fn each(
        &mut self,
        text: &'static str,
        arguments: Arguments<'_>,
        mut take: impl FnMut(Row) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        use postgres::fallible_iterator::FallibleIterator;
        let statement = self.prepared(text)?;
        let arguments = arguments.iter().copied();
        let mut rows = self.client.query_raw(&statement, arguments).map_err(|error| trouble(&error))?;
        while let Some(row) = rows.next().map_err(|error| trouble(&error))? {
            take(row)?;
        }
        Ok(())
    }

    /// Runs a statement. Returns how many rows it changed.
    pub fn execute(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<u64, Trouble> {
        let statement = self.prepared(text)?;
        self.client.execute(&statement, arguments).map_err(|error| trouble(&error))
    }

    /// Runs a text of several statements without arguments.
    pub fn run(&mut self, text: &str) -> Result<(), Trouble> {
        self.client.batch_execute(text).map_err(|error| trouble(&error))
    }

    /// Ends a transaction without a trace. A connection on which that fails is lost.
    pub fn roll_back(&mut self) {
        if let Err(error) = self.run("ROLLBACK") {
            tracing::debug!(%error, "a transaction could not be rolled back");
        }
    }

    fn prepared(&mut self, text: &'static str) -> Result<Statement, Trouble> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).map_err(|error| trouble(&error))?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }
}

/// The constraint of the batches.
const BATCH_ONCE: &str = "batch_once";

fn trouble(error: &postgres::Error) -> Trouble {
    let Some(told) = error.as_db_error() else { return Trouble::Gone(innermost(error)) };
    let code = told.code();
    let message = format!("{} ({})", told.message(), code.code());
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return Trouble::Conflict(message);
    }
    if *code == SqlState::UNIQUE_VIOLATION {
        return match told.constraint() {
            Some(BATCH_ONCE) => Trouble::Applied,
            constraint => Trouble::Taken(constraint.unwrap_or_default().to_owned()),
        };
    }
    // Class 08: the connection; 40003: whether the statement was completed is unknown; 53: no room or no connections; 57P: the
    // server stops or starts; 25006: a standby that only reads.
    let is_away = ["08", "53", "57P"].iter().any(|class| code.code().starts_with(class))
        || matches!(code.code(), "40003" | "25006");
    if is_away { Trouble::Gone(message) } else { Trouble::Refused(message) }
}
