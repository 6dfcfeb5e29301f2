//! Reads whole books out of a database, as of one moment.

use std::sync::Arc;

use super::super::PostgresBooks;
use super::super::reading::audit;
use super::super::rows::pair_of;
use super::super::tables::{
    account, account_columns, checkout, checkout_columns, entry, entry_columns, key, key_columns, unsigned,
    usage_line,
};
use super::{number, refuse_servers, refuse_unfinished};
use crate::audit::AuditReport;
use crate::closing::Closing;
use crate::codec::Record;
use crate::counter::CounterNote;
use crate::directory::Directory;
use crate::id::AccountId;
use crate::key_space;
use crate::moving::{Item, MoveError, Source, Take, travels};
use crate::postgres::counting::subject_of;
use mercato_base::clock::Moment;
use mercato_base::clock::UtcDay;
use mercato_database::{Connection, DatabaseAddress, Trouble, check};

const ENTRIES: &str = concat!("SELECT ", entry_columns!(), " FROM entry ORDER BY number");
const ACCOUNTS: &str = concat!("SELECT ", account_columns!(), " FROM account");
const KEYS: &str = concat!("SELECT ", key_columns!(), " FROM api_key");
const CHECKOUTS: &str = concat!("SELECT ", checkout_columns!(), " FROM checkout");
const USAGE: &str = "SELECT day, key, dataset, requests, rows, credits, account FROM usage";
const RECORDS: &str = "SELECT key, value FROM record";
const COUNTERS: &str = "SELECT subject, day, sum(count)::bigint FROM counter GROUP BY subject, day";
const RESERVATIONS: &str = "SELECT count(*) FROM reservation";
const NEWEST_SERVER: &str = "SELECT last_value FROM server_id";

/// Books of a database that no server has open, in a transaction that reads.
pub struct Closed {
    connection: Connection,
    /// The newest server that ever opened them.
    newest_server: i64,
}

impl Closed {
    /// Settles what servers left open that are gone, as a start does, and begins to read.
    pub fn open(address: &DatabaseAddress, now: Moment) -> Result<Closed, MoveError> {
        let mut connection = Connection::open(address)?;
        check(&mut connection)?;
        refuse_unfinished(&mut connection)?;
        refuse_servers(&mut connection)?;
        drop(PostgresBooks::open(address, None, Arc::<Directory>::default(), now)?);
        let newest_server = number(&mut connection, NEWEST_SERVER)?;
        connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        refuse_servers(&mut connection)?;
        let open = number(&mut connection, RESERVATIONS)?;
        if open > 0 {
            return Err(MoveError::Refused(format!("{open} reservations are still open in the database")));
        }
        Ok(Closed { connection, newest_server })
    }
}

impl Source for Closed {
    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError> {
        read(&mut self.connection, take)
    }

    fn refuse_opened(&mut self) -> Result<(), MoveError> {
        if number(&mut self.connection, NEWEST_SERVER)? == self.newest_server {
            return Ok(());
        }
        Err(MoveError::Refused(
            "somebody opened the books of the source meanwhile; nothing was moved".to_owned(),
        ))
    }
}

/// Hands on everything that a connection sees, and adds it up.
pub fn read(connection: &mut Connection, take: Take<'_>) -> Result<AuditReport, MoveError> {
    each(connection, ENTRIES, take, |row| Ok([Some(Item::Entry(entry(row)?)), None]))?;
    each(connection, ACCOUNTS, take, |row| {
        let found = account(row);
        let id = found.record.id;
        let closing =
            found.closed_at.map(|at| record(key_space::closing(id), Closing { account: id, at }.encode()));
        Ok([Some(record(key_space::account(id), found.record.encode())), closing])
    })?;
    each(connection, KEYS, take, |row| {
        let found = key(row);
        Ok([Some(record(key_space::api_key(found.id), found.encode())), None])
    })?;
    each(connection, CHECKOUTS, take, |row| {
        let found = checkout(row);
        Ok([Some(record(key_space::checkout(found.id.number), found.encode())), None])
    })?;
    each(connection, USAGE, take, |row| {
        let (key, value) = pair_of(AccountId::from_number(unsigned(row.get(6))), &usage_line(row));
        Ok([Some(record(key, value)), None])
    })?;
    each(connection, RECORDS, take, |row| {
        let key: Vec<u8> = row.get(0);
        Ok([travels(&key).then(|| record(key, row.get(1))), None])
    })?;
    each(connection, COUNTERS, take, |row| {
        let Some(subject) = subject_of(row.get(0)) else { return Ok([None, None]) };
        let count = u32::try_from(unsigned(row.get(2))).unwrap_or(u32::MAX);
        let note = CounterNote { subject, day: UtcDay::from_unix_days(row.get(1)), count };
        Ok([Some(record(key_space::counter(&note), note.encode())), None])
    })?;
    Ok(audit(connection)?)
}

const fn record(key: Vec<u8>, value: Vec<u8>) -> Item {
    Item::Record(key, value)
}

/// Hands on what the rows of a statement stand for, while the next ones come.
fn each(
    connection: &mut Connection,
    text: &'static str,
    take: Take<'_>,
    items_of: impl Fn(&postgres::Row) -> Result<[Option<Item>; 2], Trouble>,
) -> Result<(), MoveError> {
    let mut refused = None;
    let read = connection.each(text, &[], |row| {
        for item in items_of(&row)?.into_iter().flatten() {
            if let Err(error) = take(item) {
                refused = Some(error);
                return Err(Trouble::Refused("the other side of the move failed".to_owned()));
            }
        }
        Ok(())
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}
