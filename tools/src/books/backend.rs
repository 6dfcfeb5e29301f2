//! The backend of book commands: a running server, or books that this process opens.
//!
//! Does not depend on particular commands.

use std::path::Path;

use mercato::operator::{Command, Context, Verification, Verify};
use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_database::DatabaseAddress;
use mercato_ledger::{KEY_RANDOM_BYTES, Ledger, LedgerOptions, OpenError, StoreError, inspect};

use super::BooksLocation;
use super::admin_client::AdminClient;
use crate::failure::Failure;

const ADMIN_DEFAULT: &str = "127.0.0.1:8081";
const REQUEST_ID: &str = "mercato-tools";

/// Executes commands on the books.
pub(super) enum Backend {
    /// A running server, through its admin API.
    Server(AdminClient),
    /// Books opened by this process.
    Local(Box<Ledger>, BooksLocation),
}

impl Backend {
    pub(super) fn open_existing(location: &BooksLocation) -> Result<Backend, Failure> {
        if location.books.is_some() {
            return Backend::open_or_create(location);
        }
        let folder = DataDirectory::new(location.data()).ledger();
        if location.admin.is_none() && !folder.is_dir() {
            return Err(Failure::refused(
                location.data().display().to_string(),
                "books",
                "a folder `ledger`",
                "none",
                "check --data, or create them with `mercato-tools account create`",
            ));
        }
        Backend::open_or_create(location)
    }

    /// Whether [`Backend::open_or_create`] would make new books.
    pub(super) fn makes_books(location: &BooksLocation) -> bool {
        let is_elsewhere = location.admin.is_some() || location.books.is_some();
        !is_elsewhere && !DataDirectory::new(location.data()).ledger().is_dir()
    }

    /// Opens the backend, and creates missing books.
    pub(super) fn open_or_create(location: &BooksLocation) -> Result<Backend, Failure> {
        if let Some(address) = &location.admin {
            return Backend::connect(location, address);
        }
        if let Some(address) = location.database()? {
            let ledger = Ledger::open_database(&address, SystemClock.now());
            let ledger =
                ledger.map_err(|error| database_failure(&address, "open them", error.to_string()))?;
            return Ok(Backend::Local(Box::new(ledger), location.clone()));
        }
        let folder = DataDirectory::new(location.data()).ledger();
        match Ledger::open(&folder, LedgerOptions::default(), SystemClock.now()) {
            Ok(ledger) => Ok(Backend::Local(Box::new(ledger), location.clone())),
            Err(OpenError::Store(StoreError::Locked { .. })) => {
                Backend::connect(location, &recorded_admin_address(location.data()))
            }
            Err(error) => Err(books_failure(&location.place(), "open them", error.to_string())),
        }
    }

    fn connect(location: &BooksLocation, address: &str) -> Result<Backend, Failure> {
        let token = DataDirectory::new(location.data()).admin_token();
        AdminClient::new(address, &token).map(Backend::Server)
    }

    pub(super) fn execute<C: Command>(&self, command: &C) -> Result<C::Outcome, Failure> {
        let (ledger, location) = match self {
            Backend::Server(client) => return client.execute(command),
            Backend::Local(ledger, location) => (ledger, location),
        };
        let failed = |reason: String| books_failure(&location.place(), "execute the command", reason);
        let mut random = [0; KEY_RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(|error| failed(error.to_string()))?;
        let request_id = REQUEST_ID.to_owned();
        let context = Context { ledger, payments: None, now: SystemClock.now(), request_id, random };
        command.execute(&context).map_err(|error| failed(error.to_string()))
    }

    /// Verifies the sums of all entries. Books that no server has open are opened read-only, so that damage is
    /// reported, not refused.
    pub(super) fn verify(location: &BooksLocation) -> Result<Verification, Failure> {
        let folder = DataDirectory::new(location.data()).ledger();
        let is_elsewhere = location.admin.is_some() || location.books.is_some();
        if is_elsewhere || !folder.is_dir() {
            return Backend::open_existing(location)?.execute(&Verify {});
        }
        match inspect(&folder) {
            Ok(report) => Ok(report.into()),
            Err(OpenError::Store(StoreError::Locked { .. })) => {
                Backend::connect(location, &recorded_admin_address(location.data()))?.execute(&Verify {})
            }
            Err(error) => Err(books_failure(&location.place(), "read them", error.to_string())),
        }
    }
}

/// Asks a running server to reload its catalog.
pub(super) fn notify_server(data: &DataDirectory) {
    if data.admin_address().is_file()
        && let Ok(client) = AdminClient::new(&recorded_admin_address(data.root()), &data.admin_token())
    {
        // The recorded server may have stopped.
        drop(client.reload_catalog());
    }
}

/// The admin address that the server recorded in its data directory.
fn recorded_admin_address(data: &Path) -> String {
    let found = std::fs::read_to_string(DataDirectory::new(data).admin_address()).unwrap_or_default();
    match found.trim() {
        "" => ADMIN_DEFAULT.to_owned(),
        address => address.to_owned(),
    }
}

pub(super) fn database_failure(address: &DatabaseAddress, action: &'static str, reason: String) -> Failure {
    Failure::Books { directory: address.to_string(), action, reason }
}

pub(super) fn books_failure(data: &Path, action: &'static str, reason: String) -> Failure {
    Failure::Books { directory: data.display().to_string(), action, reason }
}
