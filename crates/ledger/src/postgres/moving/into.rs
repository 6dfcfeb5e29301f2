//! Writes whole books into a database, in one transaction.

use std::collections::HashMap;

use super::super::counting::bytes_of;
use super::super::tables::{decoded, id, signed};
use super::super::writing::{
    NEW_RECORDS, put_accounts, write_checkout, write_entries, write_key, write_records, write_usage,
};
use super::{number, out, refuse_servers};
use crate::account::AccountRecord;
use crate::audit::AuditReport;
use crate::checkout::Checkout;
use crate::closing::Closing;
use crate::counter::CounterNote;
use crate::entry::Entry;
use crate::id::AccountId;
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::moving::{Item, MoveError, Take, Target};
use crate::state::Account;
use mercato_database::{Connection, DatabaseAddress, migrate};

const ROWS_PER_STATEMENT_MAX: usize = 4_096;
/// The server under which the requests of the day are counted on.
const NO_SERVER: i64 = 0;

const MARK: &str = "UPDATE books SET is_whole = false";
const UNMARK: &str = "UPDATE books SET is_whole = true";
const LOCK: &str = "SELECT id FROM books FOR UPDATE";
const HELD: &str = "SELECT (EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM entry) \
    OR EXISTS (SELECT 1 FROM record))::integer::bigint";
const CLOSE: &str = "UPDATE account SET closed_at = $2 WHERE id = $1";
const COUNTERS: &str = "INSERT INTO counter (subject, day, server, count) SELECT subject, day, $1, count \
    FROM unnest($2::bytea[], $3::integer[], $4::bigint[]) AS note (subject, day, count)";
/// Numbers go on behind those that are taken. An operation writes two entries at most, which share a step of two.
const SEQUENCES: &str = "SELECT setval('account_id', greatest((SELECT max(id) FROM account), 1), \
        EXISTS (SELECT 1 FROM account)), \
    setval('key_id', greatest((SELECT max(id) FROM api_key), 1), EXISTS (SELECT 1 FROM api_key)), \
    setval('checkout_number', greatest((SELECT max(number) FROM checkout), 1), EXISTS (SELECT 1 FROM checkout)), \
    setval('entry_number', greatest((SELECT max(number) FROM entry), 1), EXISTS (SELECT 1 FROM entry))";
const PUBLISH: &str = "UPDATE books SET is_whole = true, generation = generation + 1";

/// Books that are being written.
pub struct Unfinished {
    connection: Connection,
    /// How many entries each account has.
    lines: HashMap<AccountId, i64>,
    entries: Vec<Entry>,
    accounts: Vec<Account>,
    usage: Vec<(Vec<u8>, Vec<u8>)>,
    records: Vec<(Vec<u8>, Vec<u8>)>,
    counters: Vec<CounterNote>,
}

impl Unfinished {
    /// Marks a database without books, which nobody has open, and begins the transaction.
    pub fn begin(address: &DatabaseAddress) -> Result<Unfinished, MoveError> {
        migrate(address)?;
        let mut connection = Connection::open(address)?;
        refuse_books(&mut connection)?;
        connection.execute(MARK, &[])?;
        if let Err(error) = refuse_servers(&mut connection) {
            connection.execute(UNMARK, &[])?;
            return Err(error);
        }
        connection.run("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        // Of two moves one waits here, and then finds the books of the other.
        connection.execute(LOCK, &[])?;
        refuse_books(&mut connection)?;
        connection.execute(MARK, &[])?;
        let (lines, entries, accounts) = (HashMap::new(), Vec::new(), Vec::new());
        let (usage, records, counters) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Unfinished { connection, lines, entries, accounts, usage, records, counters })
    }

    fn put_record(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), MoveError> {
        match key_space::kind(&key) {
            key_space::ACCOUNT => {
                let record: AccountRecord = decoded(&value)?;
                self.accounts.push(Account { version: 1, ..Account::new(record) });
            }
            key_space::CLOSING => {
                self.flush()?;
                let closing: Closing = decoded(&value)?;
                self.connection.execute(CLOSE, &[&id(closing.account), &closing.at.unix_millis()])?;
            }
            key_space::API_KEY => write_key(&mut self.connection, &decoded::<KeyRecord>(&value)?)?,
            key_space::CHECKOUT => write_checkout(&mut self.connection, &decoded::<Checkout>(&value)?)?,
            key_space::RESERVATION => {
                return Err(MoveError::Refused("a reservation is open in the source".to_owned()));
            }
            key_space::COUNTER => self.counters.push(decoded(&value)?),
            key_space::USAGE => self.usage.push((key, value)),
            _ => self.records.push((key, value)),
        }
        let waiting = self.accounts.len() + self.counters.len() + self.usage.len() + self.records.len();
        if waiting >= ROWS_PER_STATEMENT_MAX { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), MoveError> {
        let connection = &mut self.connection;
        write_entries(connection, &std::mem::take(&mut self.entries))?;
        let accounts = std::mem::take(&mut self.accounts);
        let lines = accounts.iter().map(|account| self.lines.get(&account.record.id).copied().unwrap_or(0));
        put_accounts(connection, &accounts.iter().collect::<Vec<_>>(), &lines.collect::<Vec<_>>())?;
        write_usage(connection, &borrowed(&std::mem::take(&mut self.usage)))?;
        write_records(connection, NEW_RECORDS, &borrowed(&std::mem::take(&mut self.records)))?;
        let counters = std::mem::take(&mut self.counters);
        if !counters.is_empty() {
            let subjects: Vec<Vec<u8>> = counters.iter().map(|note| bytes_of(&note.subject)).collect();
            let days: Vec<i32> = counters.iter().map(|note| note.day.unix_days()).collect();
            let counts: Vec<i64> = counters.iter().map(|note| i64::from(note.count)).collect();
            connection.execute(COUNTERS, &[&NO_SERVER, &subjects, &days, &counts])?;
        }
        Ok(())
    }
}

impl Target for Unfinished {
    fn put(&mut self, item: Item) -> Result<(), MoveError> {
        match item {
            Item::Entry(entry) => {
                *self.lines.entry(entry.account).or_default() += 1;
                if entry.sequence > signed(entry.sequence).cast_unsigned() {
                    return Err(MoveError::Refused(format!(
                        "entry {} has too great a number",
                        entry.sequence
                    )));
                }
                self.entries.push(entry);
                if self.entries.len() >= ROWS_PER_STATEMENT_MAX { self.flush() } else { Ok(()) }
            }
            Item::Record(key, value) => self.put_record(key, value),
        }
    }

    fn read(&mut self, take: Take<'_>) -> Result<AuditReport, MoveError> {
        self.flush()?;
        out::read(&mut self.connection, take)
    }

    fn publish(mut self: Box<Self>) -> Result<(), MoveError> {
        self.connection.query(SEQUENCES, &[])?;
        self.connection.execute(PUBLISH, &[])?;
        Ok(self.connection.run("COMMIT")?)
    }
}

fn borrowed(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<(&[u8], &[u8])> {
    pairs.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect()
}

fn refuse_books(connection: &mut Connection) -> Result<(), MoveError> {
    if number(connection, HELD)? == 0 {
        return Ok(());
    }
    Err(MoveError::Refused("the database holds books already".to_owned()))
}
