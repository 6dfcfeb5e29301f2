//! What every test needs: a folder with books in it, and short ways to say what happens.

use std::path::PathBuf;

use mercato::clock::{Moment, UtcDay};
use mercato::ledger::{
    AccountHandle, AccountId, ChargeDurability, ChargeError, ChargeOrder, DownloadOrder, IdempotencyClaim,
    Ledger, LedgerOptions, OpenError, Pending, Receipt, ReserveOrder,
};
use tempfile::TempDir;

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

    pub fn open(&self) -> Ledger {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Ledger, OpenError> {
        let options = LedgerOptions { durability: ChargeDurability::Process };
        Ledger::open(&self.path(), options, noon())
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

pub fn page(account: &AccountHandle, rows: u64, at: Moment) -> ChargeOrder {
    let (dataset, request_id) = ("orders".to_owned(), "request".to_owned());
    ChargeOrder { account: account.clone(), key: None, rows, dataset, request_id, claim: None, at }
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

pub fn stream(account: &AccountHandle, rows: u64, at: Moment) -> ReserveOrder {
    let (dataset, request_id) = ("orders".to_owned(), "stream".to_owned());
    ReserveOrder { account: account.clone(), key: None, rows, dataset, request_id, claim: None, at }
}

pub fn download(account: &AccountHandle, rows: u64, at: Moment) -> DownloadOrder {
    DownloadOrder {
        account: account.clone(),
        key: None,
        rows,
        dataset: "orders".to_owned(),
        version: "1.0.0".to_owned(),
        format: "csv".to_owned(),
        request_id: "download".to_owned(),
        claim: None,
        at,
    }
}
