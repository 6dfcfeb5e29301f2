//! Books on a disk that fails, tears writes and loses power when a test wants it to.

use std::thread;

use super::*;
use crate::log::simulated::{Fault, SimulatedDisk};
use crate::store::Store;
use crate::{
    AccountHandle, ChargeError, ChargeRequest, IdempotencyClaim, Ledger, Pending, Receipt, Reservation,
};
use mercato_base::clock::UtcDay;

mod failing;
mod history;
mod losing_power;
mod paid;
mod people;

/// A folder for the checkpoint, and a disk for the log.
struct Bench {
    folder: tempfile::TempDir,
    disk: SimulatedDisk,
}

impl Bench {
    fn new(disk: SimulatedDisk) -> Bench {
        Bench { folder: tempfile::tempdir().unwrap(), disk }
    }

    /// Books whose syncs and checkpoints the test sees to.
    fn open(&self, durability: ChargeDurability) -> (Ledger, Arc<LocalBooks>) {
        self.try_open(durability).unwrap()
    }

    fn try_open(&self, durability: ChargeDurability) -> Result<(Ledger, Arc<LocalBooks>), OpenError> {
        let (path, directory) = (self.folder.path(), Arc::<Directory>::default());
        let (lock, shown) = (lock::lock(path)?, Arc::clone(&directory));
        let books = LocalBooks::unattended(path, self.disk.folder(), lock, durability, shown, noon())?;
        let books = Arc::new(books);
        Ok((Ledger::over(Store::Local(Arc::clone(&books)), directory), books))
    }

    /// Books that see to themselves.
    fn open_attended(&self, durability: ChargeDurability) -> Ledger {
        let (ledger, books) = self.open(durability);
        *books.threads.lock().unwrap() = upkeep::start(&books.shared).unwrap();
        ledger
    }
}

fn noon() -> Moment {
    UtcDay::from_civil(2026, 11, 21).start().plus_seconds(43_200)
}

fn customer(ledger: &Ledger) -> AccountHandle {
    let id = ledger.create_account("customer", noon()).unwrap();
    ledger.buy(id, 1_000, None, "", "", noon()).unwrap();
    ledger.account(id).unwrap()
}

fn order(account: &AccountHandle, rows: u64, key: Option<&str>) -> ChargeRequest {
    let claim = key.map(|key| IdempotencyClaim::new(key, "", b"{}").unwrap());
    let (dataset, request_id) = ("orders".to_owned(), "r".to_owned());
    ChargeRequest {
        account: account.clone(),
        key: None,
        rows,
        free_queries: 0,
        dataset,
        request_id,
        claim,
        view: None,
        at: noon(),
    }
}

fn stream(account: &AccountHandle, rows: u64) -> ChargeRequest {
    let (dataset, request_id) = ("orders".to_owned(), "s".to_owned());
    ChargeRequest {
        account: account.clone(),
        key: None,
        rows,
        free_queries: 0,
        dataset,
        request_id,
        claim: None,
        view: None,
        at: noon(),
    }
}

fn charge(ledger: &Ledger, request: &ChargeRequest) -> Result<Receipt, ChargeError> {
    ledger.charge(request).and_then(Pending::durable)
}

fn wait_until(ledger: &Ledger, is_there: impl Fn(&Health) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_there(&ledger.health()) {
        assert!(Instant::now() < end, "{:?}", ledger.health());
        thread::sleep(Duration::from_millis(10));
    }
}
