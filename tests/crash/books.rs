//! The books of a crash test: in the data directory, or in a database where the tests run on one.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_database::{DatabaseAddress, migrate};
use mercato_ledger::{Ledger, LedgerOptions};
use postgres::{Client, NoTls};

use crate::schema::{are_in_files, url_of};

/// A lease and the time in which another server settles what it covered.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// Flags with which a server finds the books.
pub fn flags(folder: &Path) -> Vec<String> {
    if are_in_files() { Vec::new() } else { vec!["--books".to_owned(), migrated(folder)] }
}

/// Opens the books beside no server.
pub fn open(data: &DataDirectory) -> Ledger {
    if are_in_files() {
        return Ledger::open(&data.ledger(), LedgerOptions::default(), SystemClock.now()).unwrap();
    }
    let address = DatabaseAddress::parse(&migrated(data.root()), |_| None).unwrap();
    Ledger::open_database(&address, SystemClock.now()).unwrap()
}

/// Opens the books after a kill. Files are settled by the opening; in a database, the lease of the killed server ends first.
pub fn open_settled(data: &DataDirectory) -> Ledger {
    let ledger = open(data);
    let by = Instant::now() + SETTLED_WITHIN;
    while !are_in_files() && ledger.verify().unwrap().open_reservations > 0 && Instant::now() < by {
        thread::sleep(Duration::from_millis(200));
    }
    ledger
}

/// Everything that the database has of these books, as text.
pub fn rows(folder: &Path) -> String {
    let mut client = Client::connect(&url_of(folder), NoTls).unwrap();
    let tables =
        client.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()", &[]).unwrap();
    assert!(!tables.is_empty());
    let text_of = |table: postgres::Row| -> String {
        let table: String = table.get(0);
        let query = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM \"{table}\" t");
        client.query_one(&query, &[]).unwrap().get(0)
    };
    tables.into_iter().map(text_of).collect()
}

fn migrated(folder: &Path) -> String {
    let url = url_of(folder);
    migrate(&DatabaseAddress::parse(&url, |_| None).unwrap()).unwrap();
    url
}
