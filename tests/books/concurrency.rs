//! Many clients at once: exactly what was bought is sold.

use std::sync::atomic::{AtomicU64, Ordering};

use mercato_ledger::{ChargeError, ChargeRequest, Pending};

use crate::desk::{Desk, charge, claimed, customer, noon, page, stream};

const CLIENTS: u64 = 32;

#[test]
fn sells_exactly_balance_to_concurrent_clients() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 5_000);
    let sold = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (ledger, account, sold) = (&ledger, &account, &sold);
            scope.spawn(move || {
                // Ends with single credits, so that nothing can be left over for want of a fitting size.
                for rows in (1..=client % 7 + 1).rev().cycle().take(200).chain(std::iter::repeat_n(1, 400)) {
                    match charge(ledger, account, rows, now) {
                        Ok(receipt) => drop(sold.fetch_add(receipt.charged, Ordering::Relaxed)),
                        Err(ChargeError::InsufficientCredits { required, available }) => {
                            assert!(required > available)
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    assert_eq!(sold.into_inner(), 5_000);
    assert_eq!(account.credits(), 0);
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn shares_balance_among_pages_and_streams() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 3_000);
    let sold = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (ledger, account, sold) = (&ledger, &account, &sold);
            scope.spawn(move || {
                for turn in 0..60 {
                    if (client + turn) % 2 == 0 {
                        let Ok(receipt) = charge(ledger, account, 3, now) else { continue };
                        sold.fetch_add(receipt.charged, Ordering::Relaxed);
                    } else {
                        let Ok(reservation) = ledger.reserve(&stream(account, 10, now)) else { continue };
                        let receipt = reservation.settle(turn % 11, now).and_then(Pending::durable).unwrap();
                        sold.fetch_add(receipt.charged, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(sold.into_inner() + account.credits(), 3_000);
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn charges_concurrent_duplicates_once() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let charged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let order = ChargeRequest { claim: claimed("same", "{}"), ..page(&account, 10, now) };
            let (ledger, charged) = (&ledger, &charged);
            scope.spawn(move || {
                let receipt = ledger.charge(&order).and_then(Pending::durable).unwrap();
                charged.fetch_add(receipt.charged, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((charged.into_inner(), account.credits()), (10, 990));
}
