//! A disk without room: charging stops, nothing acknowledged is lost, and it goes on when there is room again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mercato_ledger::{ChargeDurability, ChargeError, Health, Ledger, LedgerOptions, Unavailable};

use crate::desk::{charge, customer, handle, noon};
use crate::failures::small_disk::SmallDisk;

/// Free bytes with the ballast, and bytes that its removal frees. The first is less than both journals may
/// hold. The second has room for all of that in the store, which grows by more than it is given (by 5 MB for 3 MB of journals
/// in a quick run): on a busy machine, where the journals are taken over late, 10 MB were not enough.
const SMALL: usize = 6 << 20;
const ROOMY: usize = 42 << 20;

#[test]
fn stops_charging_on_full_disk_until_space_returns() {
    let disk = match SmallDisk::mount(&(SMALL + ROOMY).to_string()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a small file system cannot be mounted here: {reason}"),
    };
    let ballast = disk.path().join("ballast");
    let folder = disk.path().join("ledger");
    let options = LedgerOptions { durability: ChargeDurability::Process };
    let ledger = Ledger::open(&folder, options, noon()).unwrap();
    let account = customer(&ledger, 100_000_000);
    std::fs::write(&ballast, vec![1; ROOMY]).unwrap();
    let sold = sell_until_down(&ledger, &account);
    assert!(matches!(ledger.health(), Health::Down { .. } | Health::NeedsRestart { .. }));
    assert_eq!(charge(&ledger, &account, 1, noon()).unwrap_err(), ChargeError::from(Unavailable::Down));
    std::fs::remove_file(&ballast).unwrap();
    wait_until_serving(&ledger);
    assert_eq!(account.credits(), 100_000_000 - sold, "everything acknowledged, and nothing else");
    charge(&ledger, &account, 5, noon()).unwrap();
    assert!(ledger.verify().unwrap().is_balanced());
    drop(ledger);
    let ledger = Ledger::open(&folder, options, noon()).unwrap();
    assert_eq!(handle(&ledger, account.id()).credits(), 100_000_000 - sold - 5);
    drop(ledger);
    a_restart_on_a_full_disk_is_refused_or_right(&folder, &ballast, 100_000_000 - sold - 5);
}

fn a_restart_on_a_full_disk_is_refused_or_right(folder: &Path, ballast: &PathBuf, credits: u64) {
    let mut fill = std::fs::File::create(ballast).unwrap();
    let block = vec![1; 1 << 16];
    while std::io::Write::write_all(&mut fill, &block).is_ok() {}
    let account = mercato_ledger::AccountId::from_number(1);
    if let Ok(ledger) = Ledger::open(folder, LedgerOptions::default(), noon()) {
        assert_eq!(handle(&ledger, account).credits(), credits);
    }
    drop(fill);
    std::fs::remove_file(ballast).unwrap();
    let ledger = Ledger::open(folder, LedgerOptions::default(), noon()).unwrap();
    assert_eq!(handle(&ledger, account).credits(), credits);
}

fn sell_until_down(ledger: &Ledger, account: &mercato_ledger::AccountHandle) -> u64 {
    let mut sold = 0;
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let tickets: Vec<_> =
            (0..64).filter_map(|_| ledger.charge(&crate::desk::page(account, 1, noon())).ok()).collect();
        let is_down = tickets.is_empty();
        sold += tickets
            .into_iter()
            .filter_map(|ticket| ticket.durable().ok())
            .map(|receipt| receipt.charged)
            .sum::<u64>();
        if is_down {
            return sold;
        }
    }
    panic!("the disk never became full");
}

fn wait_until_serving(ledger: &Ledger) {
    let end = Instant::now() + Duration::from_secs(60);
    while ledger.health() != Health::Serving {
        assert!(Instant::now() < end, "{:?}", ledger.health());
        std::thread::sleep(Duration::from_millis(50));
    }
}
