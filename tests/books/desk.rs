//! The shared fixture: a folder with books, and short forms of their operations.

use std::path::{Path, PathBuf};

use mercato_base::clock::{Moment, UtcDay};
use mercato_database::{DatabaseAddress, migrate};
use mercato_ledger::{
    AccountHandle, AccountId, ChargeDurability, ChargeError, ChargeRequest, DownloadRequest, FreePlan,
    IdempotencyClaim, Ledger, LedgerOptions, OpenError, Pending, Plan, Receipt,
};
use tempfile::TempDir;

use crate::schema::{are_in_files, kind, url_of};

/// Opens books of one kind in a folder.
pub type OpenBooks = fn(&Path, LedgerOptions, Moment) -> Result<Ledger, OpenError>;

/// The kinds of books, by name. What speaks of operations only holds for every kind.
const KINDS: [(&str, OpenBooks); 2] = [("local", Ledger::open), ("postgres", open_database)];

/// Opens books of the kind that the tests run on.
pub fn open_kind() -> OpenBooks {
    let name = kind();
    KINDS.into_iter().find(|(kind, _)| *kind == name).expect("a kind of books").1
}

/// Books in a schema of their own, which has the name of the folder.
fn open_database(folder: &Path, _: LedgerOptions, now: Moment) -> Result<Ledger, OpenError> {
    let address = address_of(folder);
    migrate(&address)?;
    Ledger::open_database(&address, now)
}

/// The database of the tests, in a schema for this folder.
pub fn address_of(folder: &Path) -> DatabaseAddress {
    DatabaseAddress::parse(&url_of(folder), |_| None).unwrap()
}

/// A folder with books in it; gone when dropped.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// Leaves books in files nothing but their log.
    pub fn forget_checkpoint(&self) {
        if are_in_files() {
            std::fs::remove_dir_all(self.path().join("checkpoint")).unwrap();
        }
    }

    pub fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Ledger, OpenError> {
        let options = LedgerOptions { durability: ChargeDurability::Process };
        open_kind()(&self.path(), options, noon())
    }
}

/// A Saturday in the middle of a month.
pub fn noon() -> Moment {
    UtcDay::from_civil(2026, 11, 21).start().plus_seconds(43_200)
}

/// An account that bought so many credits, or none.
pub fn customer(ledger: &Ledger, credits: u64) -> AccountHandle {
    let id = ledger.create_account("customer", noon()).unwrap();
    if credits > 0 {
        ledger.buy(id, credits, None, "", "", noon()).unwrap();
    }
    handle(ledger, id)
}

pub fn handle(ledger: &Ledger, id: AccountId) -> AccountHandle {
    ledger.account(id).unwrap()
}

/// A page with a limit of its rows for who has bought nothing, and with one that only credits pay for anybody else.
pub fn page(account: &AccountHandle, rows: u64, at: Moment) -> ChargeRequest {
    let (dataset, request_id) = ("orders".to_owned(), "request".to_owned());
    let limit = if account.plan() == Plan::Free { rows } else { u64::MAX };
    let free_queries = FreePlan::default().queries_for(limit);
    ChargeRequest {
        account: account.clone(),
        key: None,
        rows,
        free_queries,
        dataset,
        request_id,
        claim: None,
        view: None,
        at,
    }
}

/// The same with a limit of its rows for everybody.
pub fn small_page(account: &AccountHandle, rows: u64, at: Moment) -> ChargeRequest {
    ChargeRequest { free_queries: FreePlan::default().queries_for(rows), ..page(account, rows, at) }
}

pub fn claimed(key: &str, body: &str) -> Option<IdempotencyClaim> {
    Some(IdempotencyClaim::new(key, "query/orders", body.as_bytes()).unwrap())
}

pub fn charge(
    ledger: &Ledger,
    account: &AccountHandle,
    rows: u64,
    at: Moment,
) -> Result<Receipt, ChargeError> {
    ledger.charge(&page(account, rows, at)).and_then(Pending::durable)
}

pub fn stream(account: &AccountHandle, rows: u64, at: Moment) -> ChargeRequest {
    ChargeRequest { request_id: "stream".to_owned(), ..page(account, rows, at) }
}

pub fn download(account: &AccountHandle, rows: u64, at: Moment) -> DownloadRequest {
    let charge = ChargeRequest { request_id: "download".to_owned(), ..page(account, rows, at) };
    DownloadRequest { charge, version: "1.0.0".to_owned(), format: "csv".to_owned() }
}

/// The download of a file under an idempotency key.
pub fn claimed_download(
    account: &AccountHandle,
    rows: u64,
    at: Moment,
    claim: Option<IdempotencyClaim>,
) -> DownloadRequest {
    let plain = download(account, rows, at);
    DownloadRequest { charge: ChargeRequest { claim, ..plain.charge }, ..plain }
}
