//! Where an order is handed in: at a running server, or on books that are opened here.
//!
//! Knows no kind of order.

use std::path::Path;

use mercato::catalog::DataDirectory;
use mercato::clock::{Clock, SystemClock};
use mercato::ledger::{KEY_RANDOM_BYTES, Ledger, LedgerOptions, OpenError, StoreError, inspect};
use mercato::operator::{Context, OperatorCommand, Verification};
use serde::Serialize;
use serde_json::Value;

use super::Place;
use super::admin_client::AdminClient;
use crate::failure::Failure;

const ADMIN_DEFAULT: &str = "127.0.0.1:8081";
const REQUEST_ID: &str = "mercato-tools";

/// Where orders are handed in.
pub(super) enum Desk {
    /// A server that runs.
    Server(AdminClient),
    /// Books that no server has open.
    Here(Box<Ledger>, Place),
}

impl Desk {
    /// The desk of books that exist.
    pub(super) fn find(place: &Place) -> Result<Desk, Failure> {
        let folder = DataDirectory::new(&place.data).ledger();
        if place.admin.is_none() && !folder.is_dir() {
            return Err(Failure::Refused {
                file: place.data.display().to_string(),
                section: "books".into(),
                expected: "a folder `ledger`".into(),
                found: "none".into(),
                remedy: "check --data, or begin with `mercato-tools account create`".into(),
            });
        }
        Desk::create(place)
    }

    /// The desk of books that are begun when they do not exist.
    pub(super) fn create(place: &Place) -> Result<Desk, Failure> {
        if let Some(address) = &place.admin {
            return Desk::of_server(place, address);
        }
        let folder = DataDirectory::new(&place.data).ledger();
        match Ledger::open(&folder, LedgerOptions::default(), SystemClock.now()) {
            Ok(ledger) => Ok(Desk::Here(Box::new(ledger), place.clone())),
            Err(OpenError::Store(StoreError::Locked { .. })) => {
                Desk::of_server(place, &announced(&place.data))
            }
            Err(error) => Err(books_failure(&place.data, "open them", error.to_string())),
        }
    }

    fn of_server(place: &Place, address: &str) -> Result<Desk, Failure> {
        let token = DataDirectory::new(&place.data).admin_token();
        AdminClient::new(address, &token).map(Desk::Server)
    }

    /// Carries an order out and returns the answer.
    pub(super) fn execute(&self, command: &OperatorCommand) -> Result<Value, Failure> {
        let (ledger, place) = match self {
            Desk::Server(client) => return client.execute(command),
            Desk::Here(ledger, place) => (ledger, place),
        };
        let failed = |reason: String| books_failure(&place.data, "carry out the order", reason);
        let mut random = [0; KEY_RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(|error| failed(error.to_string()))?;
        let request_id = REQUEST_ID.to_owned();
        let context = Context { ledger, now: SystemClock.now(), request_id, random };
        let answer = command.execute(&context).map_err(|error| failed(error.to_string()))?;
        to_value(&place.data, &answer)
    }

    /// Adds up all entries. Books that no server has open are only read, so that damage is reported, not refused.
    pub(super) fn verify(place: &Place) -> Result<Value, Failure> {
        let folder = DataDirectory::new(&place.data).ledger();
        if let Some(address) = &place.admin {
            return Desk::of_server(place, address)?.execute(&OperatorCommand::Verify {});
        }
        if !folder.is_dir() {
            return Desk::find(place).and(Ok(Value::Null));
        }
        match inspect(&folder) {
            Ok(report) => to_value(&place.data, &Verification::of(&report)),
            Err(OpenError::Store(StoreError::Locked { .. })) => {
                Desk::of_server(place, &announced(&place.data))?.execute(&OperatorCommand::Verify {})
            }
            Err(error) => Err(books_failure(&place.data, "read them", error.to_string())),
        }
    }
}

/// Has the catalog of a running server looked at.
pub(super) fn tell_server(data: &DataDirectory) {
    if data.admin_address().is_file()
        && let Ok(client) = AdminClient::new(&announced(data.root()), &data.admin_token())
    {
        // The address may be that of a server which has ended.
        drop(client.reload_catalog());
    }
}

/// The address that the server of a data directory wrote down.
fn announced(data: &Path) -> String {
    let found = std::fs::read_to_string(DataDirectory::new(data).admin_address()).unwrap_or_default();
    match found.trim() {
        "" => ADMIN_DEFAULT.to_owned(),
        address => address.to_owned(),
    }
}

/// The JSON of an answer.
pub(super) fn to_value(data: &Path, answer: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(|error| books_failure(data, "write the answer", error.to_string()))
}

pub(super) fn books_failure(data: &Path, action: &'static str, reason: String) -> Failure {
    Failure::Books { directory: data.display().to_string(), action, reason }
}
