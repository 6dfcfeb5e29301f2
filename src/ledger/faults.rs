//! The books on a store that fails when a test wants it to.
//!
//! The store keeps what was written apart from what was synced, so that it can also lose power.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::store::{Changes, Record, Store, StoreError, SyncDone};
use super::*;
use crate::clock::UtcDay;

/// What the next write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Fault {
    #[default]
    None,
    /// Nothing is written, and the caller is told that it failed.
    WriteFails,
    /// Everything is written, and the caller is told that it failed.
    WriteSucceedsUntold,
    /// The write is done, the sync after it fails.
    SyncFails,
    /// The store stops the thread.
    Panics,
    /// A write takes so long that others come meanwhile.
    Slow,
}

#[derive(Default)]
struct Disk {
    written: BTreeMap<Vec<u8>, Vec<u8>>,
    synced: BTreeMap<Vec<u8>, Vec<u8>>,
    fault: Fault,
    is_broken: bool,
    repairs_refused: usize,
}

#[derive(Clone, Default)]
struct FaultyStore(Arc<Mutex<Disk>>);

impl FaultyStore {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, fault: Fault, repairs_refused: usize) {
        let mut disk = self.disk();
        disk.fault = fault;
        disk.repairs_refused = repairs_refused;
    }
}

fn failure(action: &'static str) -> StoreError {
    StoreError::Io { path: "memory".into(), action, detail: "no space left".to_owned() }
}

impl Store for FaultyStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.disk().written.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Record>, StoreError> {
        let disk = self.disk();
        let found =
            disk.written.range(from.max(prefix).to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        Ok(found.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn last(&self, prefix: &[u8]) -> Result<Option<Record>, StoreError> {
        Ok(self.scan(prefix, prefix, usize::MAX)?.pop())
    }

    fn write(&mut self, changes: &Changes) -> Result<(), StoreError> {
        let mut disk = self.disk();
        let fault = disk.fault;
        assert_ne!(fault, Fault::Panics, "the store stops the thread");
        if fault == Fault::Slow {
            thread::sleep(Duration::from_millis(1));
        }
        if disk.is_broken || fault == Fault::WriteFails {
            disk.is_broken = true;
            return Err(failure("writing"));
        }
        for (key, value) in changes.iter() {
            match value {
                Some(value) => disk.written.insert(key.to_vec(), value.to_vec()),
                None => disk.written.remove(key),
            };
        }
        if fault == Fault::WriteSucceedsUntold {
            disk.is_broken = true;
            return Err(failure("flushing"));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let mut disk = self.disk();
        if disk.is_broken || disk.fault == Fault::SyncFails {
            disk.is_broken = true;
            return Err(failure("syncing"));
        }
        disk.synced = disk.written.clone();
        Ok(())
    }

    fn sync_later(&mut self, done: SyncDone) -> Result<bool, StoreError> {
        self.sync()?;
        done().map_err(|_| failure("noting")).map(|()| true)
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        let mut disk = self.disk();
        if disk.repairs_refused > 0 {
            disk.repairs_refused -= 1;
            return Err(failure("opening"));
        }
        (disk.is_broken, disk.fault) = (false, Fault::None);
        Ok(())
    }
}

struct Bench {
    folder: tempfile::TempDir,
    store: FaultyStore,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap(), store: FaultyStore::default() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open_unattended(&self) -> (Ledger, Arc<Bell>) {
        let options = LedgerOptions { durability: ChargeDurability::Process };
        Ledger::unattended(self.path(), Box::new(self.store.clone()), options, noon()).unwrap()
    }

    fn open(&self, durability: ChargeDurability) -> Ledger {
        Ledger::start(self.path(), Box::new(self.store.clone()), LedgerOptions { durability }, noon())
            .unwrap()
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

fn order(account: &AccountHandle, rows: u64, key: Option<&str>) -> ChargeOrder {
    let claim = key.map(|key| IdempotencyClaim::new(key, "", b"{}").unwrap());
    let (dataset, request_id) = ("orders".to_owned(), "r".to_owned());
    ChargeOrder { account: account.clone(), rows, dataset, request_id, claim, at: noon() }
}

fn wait_until_serving(ledger: &Ledger) {
    let end = Instant::now() + Duration::from_secs(20);
    while ledger.health() != Health::Serving {
        assert!(Instant::now() < end, "{:?}", ledger.health());
        thread::sleep(Duration::from_millis(10));
    }
}

fn check_fault(fault: Fault, durability: ChargeDurability) {
    let bench = Bench::new();
    let ledger = bench.open(durability);
    let account = customer(&ledger);
    let stream = ReserveOrder {
        account: account.clone(),
        rows: 300,
        dataset: "orders".to_owned(),
        request_id: "s".to_owned(),
        claim: None,
        at: noon(),
    };
    let running = ledger.reserve(stream).unwrap();
    bench.store.set(fault, 1);
    let refused = ledger.submit_charge(order(&account, 100, Some("key"))).unwrap().wait();
    assert_eq!(refused.unwrap_err(), ChargeError::from(Unavailable::Down), "{fault:?}");
    assert!(matches!(ledger.health(), Health::Down { .. }), "{fault:?}");
    let refused = ledger.submit_charge(order(&account, 1, None)).map(drop);
    assert_eq!(refused, Err(ChargeError::from(Unavailable::Down)), "{fault:?}");
    assert_eq!(account.credits(), 700, "what failed is not shown");
    running.delivered(40, noon());
    drop(running);
    wait_until_serving(&ledger);
    // The stream ended while the books were down: it is settled to what it delivered.
    assert!(ledger.verify().unwrap().is_balanced(), "{fault:?}");
    assert_eq!((account.credits(), account.reserved()), (960, 0), "{fault:?}");
    let receipt = ledger.submit_charge(order(&account, 100, Some("key"))).unwrap().wait().unwrap();
    assert_eq!((receipt.charged, receipt.replayed), (100, false), "{fault:?}: the failed try paid nothing");
    drop(ledger);
    let ledger = bench.open(durability);
    assert_eq!(ledger.account(account.id()).unwrap().credits(), 860, "{fault:?}");
}

#[test]
fn a_store_that_fails_stops_charging_and_is_taken_up_again_when_it_works() {
    for durability in [ChargeDurability::Process, ChargeDurability::Power] {
        for fault in [Fault::WriteFails, Fault::WriteSucceedsUntold, Fault::Panics] {
            check_fault(fault, durability);
        }
    }
    check_fault(Fault::SyncFails, ChargeDurability::Power);
}

#[test]
fn whoever_awaits_an_outcome_carries_out_what_others_handed_in() {
    let bench = Bench::new();
    let (ledger, bell) = bench.open_unattended();
    let account = customer(&ledger);
    let earlier = ledger.submit_charge(order(&account, 100, None)).unwrap();
    ledger.note_counters(Vec::new()).unwrap();
    assert_eq!((account.credits(), ledger.stats().queue_depth), (1_000, 2), "nobody is at it");
    let receipt = ledger.submit_charge(order(&account, 10, None)).unwrap().wait().unwrap();
    assert_eq!((receipt.remaining, account.credits(), ledger.stats().queue_depth), (890, 890, 0));
    let stats = ledger.stats();
    assert_eq!(
        (stats.batch_sizes.count, stats.batch_sizes.sum),
        (4, 5),
        "opening, account, credits, and three in one"
    );
    assert_eq!(earlier.wait().unwrap().remaining, 900);
    assert_eq!(bell.take(), Some(()), "the first write is to be synced");
    drop(ledger.submit_charge(order(&account, 1, None)).unwrap());
    assert_eq!(bell.take(), Some(()), "what nobody awaits is left to the ledger thread");
}

/// Without the rounds of the ledger thread, which would find what was left behind.
#[test]
fn nothing_is_left_behind_when_many_wait_at_once() {
    let bench = Bench::new();
    let (ledger, bell) = bench.open_unattended();
    let account = customer(&ledger);
    bench.store.set(Fault::Slow, 0);
    let queue = ledger.queue.clone();
    let bellboy = thread::spawn(move || {
        while !queue.is_ending() {
            bell.wait(Duration::from_secs(20)).unwrap();
            queue.carry_out_all();
        }
    });
    // Nobody comes again before all have been served.
    let (round, lost) = (Barrier::new(4), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let is_over = lost.load(Ordering::SeqCst) > 0;
                    if !is_over && ledger.submit_charge(order(&account, 1, None)).unwrap().wait().is_err() {
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                    round.wait();
                }
            });
        }
    });
    ledger.queue.end();
    bellboy.join().unwrap();
    assert_eq!(lost.into_inner(), 0);
    assert_eq!(account.credits(), 1_000 - 400);
    assert_eq!(
        ledger.submit_charge(order(&account, 1, None)).map(drop).unwrap_err(),
        ChargeError::from(Unavailable::Stopped)
    );
}

#[test]
fn a_settlement_that_fails_is_made_up_for() {
    for fault in [Fault::WriteFails, Fault::WriteSucceedsUntold] {
        let bench = Bench::new();
        let ledger = bench.open(ChargeDurability::Process);
        let account = customer(&ledger);
        let (dataset, request_id) = ("orders".to_owned(), "s".to_owned());
        let stream = ReserveOrder {
            account: account.clone(),
            rows: 300,
            dataset,
            request_id,
            claim: None,
            at: noon(),
        };
        let running = ledger.reserve(stream).unwrap();
        bench.store.set(fault, 0);
        assert!(running.settle(120, noon()).unwrap().wait().is_err());
        wait_until_serving(&ledger);
        let report = ledger.verify().unwrap();
        assert!(report.is_balanced() && report.open_reservations == 0, "{report:?}");
        assert_eq!(account.credits(), 880, "{fault:?}");
    }
}

#[test]
fn power_durability_acknowledges_only_what_is_synced() {
    let bench = Bench::new();
    let ledger = bench.open(ChargeDurability::Power);
    let account = customer(&ledger);
    for _ in 0..20 {
        ledger.submit_charge(order(&account, 3, None)).unwrap().wait().unwrap();
        let disk = bench.store.disk();
        let kept = disk.synced.get(&key_space::account(account.id())).cloned().unwrap();
        let kept = account::AccountRecord::decode(account.id(), &kept).unwrap();
        assert_eq!(kept.purse.balance, account.credits());
    }
}

#[test]
fn process_durability_syncs_within_the_promised_time() {
    let bench = Bench::new();
    let ledger = bench.open(ChargeDurability::Process);
    let account = customer(&ledger);
    ledger.submit_charge(order(&account, 3, None)).unwrap().wait().unwrap();
    let acknowledged = Instant::now();
    loop {
        let disk = bench.store.disk();
        let is_synced = disk.synced.keys().eq(disk.written.keys()) && disk.synced == disk.written;
        drop(disk);
        if is_synced {
            break;
        }
        // The promise is 100 ms; a machine under load gets more.
        assert!(acknowledged.elapsed() < Duration::from_secs(2));
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_store_that_comes_back_without_what_was_acknowledged_needs_a_restart() {
    let bench = Bench::new();
    let ledger = bench.open(ChargeDurability::Process);
    let account = customer(&ledger);
    let before = bench.store.disk().written.clone();
    ledger.submit_charge(order(&account, 3, None)).unwrap().wait().unwrap();
    bench.store.set(Fault::WriteFails, 0);
    assert!(ledger.submit_charge(order(&account, 3, None)).unwrap().wait().is_err());
    bench.store.disk().written = before;
    let end = Instant::now() + Duration::from_secs(20);
    while !matches!(ledger.health(), Health::NeedsRestart { .. }) {
        assert!(Instant::now() < end, "{:?}", ledger.health());
        thread::sleep(Duration::from_millis(10));
    }
    assert!(ledger.submit_charge(order(&account, 1, None)).is_err());
}
