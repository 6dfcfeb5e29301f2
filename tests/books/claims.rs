//! Streams and downloads under an idempotency key: all of them together cost as much as the longest.

use std::time::{Duration, Instant};

use mercato_ledger::{
    AccountHandle, ChargeError, ChargeRequest, ClaimKind, IdempotencyClaim, Ledger, Pending, Reservation,
};
use proptest::prelude::*;

use crate::desk::{Desk, charge, claimed, claimed_download, customer, download, noon, page, stream};

const HOUR: i64 = 3_600;

fn begin(
    ledger: &Ledger,
    account: &AccountHandle,
    rows: u64,
    claim: Option<IdempotencyClaim>,
) -> Reservation {
    ledger.reserve(&ChargeRequest { claim, ..stream(account, rows, noon()) }).unwrap()
}

/// Breaks off after so many rows.
fn leave(ledger: &Ledger, reservation: Reservation, rows: u64) {
    reservation.delivered(rows, noon());
    drop(reservation);
    // Work after it shows that it was carried out.
    assert!(ledger.verify().unwrap().is_balanced());
}

fn refusal<T>(result: Result<T, ChargeError>) -> ChargeError {
    result.err().unwrap()
}

#[test]
fn charges_repeated_stream_only_for_unpaid_rows() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let claim = claimed("k", "a");
    let first = begin(&ledger, &account, 100, claim);
    assert_eq!((first.reserved(), first.is_replayed()), (100, false));
    leave(&ledger, first, 30);
    assert_eq!(account.credits(), 970);
    let second = begin(&ledger, &account, 100, claim);
    assert_eq!((second.reserved(), second.is_replayed(), second.price(35)), (70, true, 5));
    leave(&ledger, second, 20);
    assert_eq!(account.credits(), 970, "fewer rows than were paid");
    let third = begin(&ledger, &account, 100, claim);
    assert_eq!(third.settle(80, noon()).and_then(Pending::durable).unwrap().charged, 50);
    assert_eq!(account.credits(), 920);
    let whole = begin(&ledger, &account, 100, claim);
    assert_eq!((whole.reserved(), whole.is_replayed()), (0, true), "it ended after 80 rows");
    assert_eq!(whole.settle(80, noon()).and_then(Pending::durable).unwrap().charged, 0);
    assert_eq!(account.credits(), 920);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The twin keeps the longest answer and whether one was whole.
    #[test]
    fn charges_key_as_much_as_its_longest_response(
        steps in prop::collection::vec((0..=100_u64, 0..3_u8), 1..12),
    ) {
        let desk = Desk::new();
        let mut ledger = desk.open();
        let id = customer(&ledger, 1_000).id();
        let (mut paid, mut is_whole) = (0, false);
        for (rows, how) in steps {
            let account = ledger.account(id).unwrap();
            let reservation = begin(&ledger, &account, 100, claimed("k", "a"));
            prop_assert_eq!(reservation.reserved(), if is_whole { 0 } else { 100 - paid });
            match how {
                0 => leave(&ledger, reservation, rows),
                1 => drop(reservation.settle(rows, noon()).and_then(Pending::durable).unwrap()),
                _ => {
                    reservation.delivered(rows, noon());
                    std::mem::forget(reservation);
                    drop(ledger);
                    ledger = desk.open();
                }
            }
            paid = if is_whole { paid } else { rows.max(paid) };
            is_whole = is_whole || how == 1;
            prop_assert_eq!(ledger.account(id).unwrap().credits(), 1_000 - paid);
        }
        prop_assert!(ledger.verify().unwrap().is_balanced());
    }
}

#[test]
fn keeps_payment_of_key_for_day_across_kills() {
    let desk = Desk::new();
    let mut ledger = desk.open();
    let account = customer(&ledger, 1_000).id();
    let claim = claimed("k", "a");
    let killed = begin(&ledger, &ledger.account(account).unwrap(), 100, claim);
    killed.delivered(40, noon());
    std::mem::forget(killed);
    ledger.shutdown();
    drop(ledger);
    ledger = desk.open();
    let handle = ledger.account(account).unwrap();
    assert_eq!(handle.credits(), 960);
    assert_eq!(begin(&ledger, &handle, 100, claim).reserved(), 60);
    ledger.shutdown();
    drop(ledger);
    let ledger = desk.open();
    let handle = ledger.account(account).unwrap();
    let wanted = claimed("k", "a").unwrap();
    let paid = |seconds| {
        let at = noon().plus_seconds(seconds);
        ledger.paid_among(&handle, ClaimKind::Rows, &[wanted], at).unwrap()
    };
    assert_eq!((paid(24 * HOUR - 1), paid(24 * HOUR)), (Some(0), None));
}

#[test]
fn binds_key_to_single_request_at_once() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let claim = claimed("k", "a");
    let request = |body| ChargeRequest { claim: claimed("k", body), ..stream(&account, 10, noon()) };
    let page = |body| {
        let request = ChargeRequest { claim: claimed("k", body), ..page(&account, 1, noon()) };
        ledger.charge(&request).and_then(Pending::durable)
    };
    let open = begin(&ledger, &account, 10, claim);
    assert_eq!(refusal(ledger.reserve(&request("a"))), ChargeError::IdempotencyInUse);
    assert_eq!(refusal(ledger.reserve(&request("b"))), ChargeError::IdempotencyMismatch);
    assert_eq!(refusal(page("p")), ChargeError::IdempotencyMismatch);
    leave(&ledger, open, 0);
    assert_eq!(page("p").unwrap().charged, 1, "nothing was paid, so the key is free");
    assert_eq!(refusal(ledger.reserve(&request("a"))), ChargeError::IdempotencyMismatch);
    let other = customer(&ledger, 10);
    leave(&ledger, begin(&ledger, &other, 10, claim), 5);
    let again = begin(&ledger, &other, 10, claim);
    assert!(again.is_replayed(), "what one account paid is no other's");
    leave(&ledger, again, 0);
    assert_eq!((account.credits(), other.credits()), (999, 5));
}

#[test]
fn counts_no_free_query_for_replay() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    let left = || ledger.account_view(&account, noon()).free_queries_remaining;
    let claim = claimed("k", "a");
    leave(&ledger, begin(&ledger, &account, 90, claim), 20);
    assert_eq!(left(), 99);
    for _ in 0..3 {
        let again = begin(&ledger, &account, 90, claim);
        assert!(again.is_replayed());
        assert_eq!(again.settle(90, noon()).and_then(Pending::durable).unwrap().charged, 0);
    }
    assert_eq!(left(), 99);
    for _ in 0..99 {
        charge(&ledger, &account, 1, noon()).unwrap();
    }
    assert!(begin(&ledger, &account, 90, claim).is_replayed(), "no query is left, and none is needed");
}

#[test]
fn charges_file_and_parts_once_per_key() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 10_000);
    let request = |key| claimed_download(&account, 1_000, noon(), claimed(key, "csv"));
    let whole = |key| ledger.reserve_download(&request(key)).unwrap();
    let part = |key| ledger.sell_part(&request(key)).and_then(Pending::durable).unwrap().charged;
    leave(&ledger, whole("k"), 300);
    assert_eq!((part("k"), account.credits()), (700, 9_000), "the part pays the rest");
    let again = whole("k");
    assert_eq!((again.reserved(), again.is_replayed()), (0, true));
    assert_eq!(part("k"), 0, "also while the whole is on its way");
    drop(again);
    assert_eq!(whole("k").settle(1_000, noon()).and_then(Pending::durable).unwrap().charged, 0);
    assert_eq!(whole("l").settle(1_000, noon()).and_then(Pending::durable).unwrap().charged, 1_000);
    let plain = ledger.reserve_download(&download(&account, 1_000, noon())).unwrap();
    assert_eq!(plain.settle(1_000, noon()).and_then(Pending::durable).unwrap().charged, 1_000);
    assert_eq!((part("m"), whole("m").reserved()), (0, 1_000), "a part that cost nothing paid nothing");
    let other = claimed_download(&account, 1_000, noon(), claimed("k", "json"));
    assert_eq!(
        refusal(ledger.sell_part(&other).and_then(Pending::durable)),
        ChargeError::IdempotencyMismatch
    );
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn sells_part_under_key_of_file_that_is_paid_in_full() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 402);
    let request = |rows| claimed_download(&account, rows, noon(), claimed("k", "csv"));
    let whole = ledger.reserve_download(&request(59)).unwrap();
    whole.settle(0, noon()).and_then(Pending::durable).unwrap();
    let part = ledger.sell_part(&request(1)).and_then(Pending::durable).unwrap();
    assert_eq!((part.charged, account.credits()), (1, 401));
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn forgets_payment_of_refunded_part() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let request = || claimed_download(&account, 1_000, noon(), claimed("k", "csv"));
    let receipt = ledger.sell_part(&request()).and_then(Pending::durable).unwrap();
    ledger.refund(receipt, noon()).and_then(Pending::durable).unwrap();
    let whole = ledger.reserve_download(&request()).unwrap();
    assert_eq!((whole.reserved(), whole.is_replayed()), (1_000, false));
}

#[test]
fn keeps_payment_of_part_that_was_sent_again() {
    let desk = Desk::new();
    let ledger = desk.open();
    for claim in [None, claimed("k", "csv")] {
        let account = customer(&ledger, 1_000);
        let request = || claimed_download(&account, 100, noon(), claim);
        let part = || ledger.sell_part(&request()).and_then(Pending::durable).unwrap();
        let first = part();
        assert_eq!((first.charged, part().charged), (100, 0));
        ledger.refund(first, noon()).and_then(Pending::durable).unwrap();
        assert_eq!((account.credits(), part().charged), (900, 0), "the rows are with the client");
    }
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn keeps_payment_time_on_free_replay() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 10_000);
    let at = |hours: i64| noon().plus_seconds(hours * HOUR);
    let rows = |hours| {
        let request = ChargeRequest { claim: claimed("s", "a"), ..stream(&account, 100, at(hours)) };
        ledger.reserve(&request).unwrap().settle(100, at(hours)).and_then(Pending::durable).unwrap().charged
    };
    assert_eq!((rows(0), rows(23), rows(24), rows(47), rows(48)), (100, 0, 100, 0, 100));
    let file = |hours| {
        let request = claimed_download(&account, 1_000, at(hours), claimed("f", "csv"));
        ledger
            .reserve_download(&request)
            .unwrap()
            .settle(1_000, at(hours))
            .and_then(Pending::durable)
            .unwrap()
            .charged
    };
    let part = |hours| {
        let request = download(&account, 1_000, at(hours));
        ledger.sell_part(&request).and_then(Pending::durable).unwrap().charged
    };
    assert_eq!((file(0), file(23), part(23), part(24)), (1_000, 0, 0, 1_000));
}

#[test]
fn waives_charge_of_response_that_server_breaks_off() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 10_000);
    let waive = |reservation: Reservation| {
        reservation.delivered(50, noon());
        reservation.waive(noon());
        assert!(ledger.verify().unwrap().is_balanced());
    };
    let claim = claimed("k", "a");
    waive(begin(&ledger, &account, 100, claim));
    assert_eq!(account.credits(), 10_000);
    leave(&ledger, begin(&ledger, &account, 100, claim), 30);
    let again = begin(&ledger, &account, 100, claim);
    assert_eq!(again.reserved(), 70);
    waive(again);
    assert_eq!((account.credits(), begin(&ledger, &account, 100, claim).reserved()), (9_970, 70));
    let whole = ledger.reserve_download(&download(&account, 1_000, noon())).unwrap();
    let part =
        || ledger.sell_part(&download(&account, 1_000, noon())).and_then(Pending::durable).unwrap().charged;
    assert_eq!(part(), 0, "the whole is on its way");
    let before = account.credits();
    waive(whole);
    assert_eq!(account.credits(), before + 1_000, "also where the whole was to be paid in full");
    assert_eq!(part(), 1_000, "nothing was paid before");
    let free = customer(&ledger, 0);
    waive(begin(&ledger, &free, 100, None));
    assert_eq!(ledger.account_view(&free, noon()).free_queries_remaining, 100);
}

/// The fastest of many rounds, because other tests run beside this one.
fn fastest_lookup(ledger: &Ledger, account: &AccountHandle) -> Duration {
    let wanted = claimed("k", "a").unwrap();
    let round = |_| {
        let began = Instant::now();
        for _ in 0..10 {
            ledger.paid_among(account, ClaimKind::Rows, &[wanted], noon()).unwrap();
        }
        began.elapsed()
    };
    (0..100).map(round).min().unwrap()
}

#[test]
fn finds_key_fast_beside_reservations_of_others() {
    let desk = Desk::new();
    let ledger = desk.open();
    let (account, other) = (customer(&ledger, 10), customer(&ledger, 100_000));
    let alone = fastest_lookup(&ledger, &account);
    let open: Vec<Reservation> =
        (0..20_000).map(|number| begin(&ledger, &other, 1, claimed(&number.to_string(), "a"))).collect();
    let beside_others = fastest_lookup(&ledger, &account);
    assert!(beside_others < alone * 10, "{alone:?} alone, {beside_others:?} beside {}", open.len());
}
