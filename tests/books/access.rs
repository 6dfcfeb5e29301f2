//! The minute and the day, on a clock that the test moves.

use std::net::IpAddr;
use std::sync::Arc;

use mercato_base::clock::{Clock, TestClock};
use mercato_people::{AccessControl, RateLimits, RateReason, Scope, Subject};

use crate::desk::{Desk, customer, noon};

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

#[test]
fn slides_minute_and_tells_retry_time() {
    let (desk, clock) = (Desk::new(), TestClock::at(noon()));
    let access = AccessControl::open(Arc::new(desk.open()), RateLimits::default(), clock.now()).unwrap();
    let subject = Subject::Address(address(1));
    for sent in 1..=120 {
        let admission = access.admit(subject, clock.now()).unwrap();
        assert_eq!(admission.minute.unwrap().remaining, 120 - sent);
        clock.advance_millis(250);
    }
    let refusal = access.admit(subject, clock.now()).unwrap_err();
    assert_eq!((refusal.reason, refusal.limit, refusal.scope), (RateReason::Minute, 120, Scope::Address));
    assert_eq!(
        refusal.retry_after_seconds, 30,
        "the first of 120 requests, four a second, leaves after 60 s"
    );
    clock.advance_millis(29_999);
    assert!(access.admit(subject, clock.now()).is_err());
    clock.advance_millis(1);
    access.admit(subject, clock.now()).unwrap();
    assert!(access.admit(subject, clock.now()).is_err(), "one place became free, not a whole minute");
    access.admit(Subject::Address(address(2)), clock.now()).unwrap();
}

#[test]
fn ends_day_at_midnight_and_survives_restart() {
    let (desk, clock) = (Desk::new(), TestClock::at(noon()));
    let limits = RateLimits { per_minute: 0, per_day: 50 };
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let key = ledger.create_key(account.id(), "", [1; 32], clock.now()).unwrap();
    {
        let access = AccessControl::open(Arc::clone(&ledger), limits, clock.now()).unwrap();
        let caller = access.authenticate(Some(key.plain.reveal()), clock.now()).unwrap();
        for _ in 0..50 {
            access.admit(Subject::Key(&caller), clock.now()).unwrap();
            access.admit(Subject::Address(address(1)), clock.now()).unwrap();
        }
        access.flush(clock.now()).unwrap();
    }
    drop(ledger);
    let ledger = Arc::new(desk.open());
    let access = AccessControl::open(Arc::clone(&ledger), limits, clock.now()).unwrap();
    let caller = access.authenticate(Some(key.plain.reveal()), clock.now()).unwrap();
    for subject in [Subject::Key(&caller), Subject::Address(address(1))] {
        let refusal = access.admit(subject, clock.now()).unwrap_err();
        assert_eq!((refusal.reason, refusal.limit), (RateReason::Day, 50));
        assert_eq!(refusal.retry_after_seconds, 43_200);
        assert_eq!(refusal.reset_at.rfc3339(), "2026-11-22T00:00:00.000Z");
        assert_eq!(refusal.admission.day.unwrap().remaining, 0);
    }
    clock.advance_millis(43_200_000);
    assert_eq!(access.admit(Subject::Key(&caller), clock.now()).unwrap().day.unwrap().remaining, 49);
}

#[test]
fn counts_keys_and_addresses_apart_and_omits_lifted_limit() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let keys = [[1; 32], [2; 32]].map(|random| ledger.create_key(account.id(), "", random, now).unwrap());
    let access =
        AccessControl::open(Arc::clone(&ledger), RateLimits { per_minute: 1, per_day: 0 }, now).unwrap();
    let [first, second] = keys.map(|key| access.authenticate(Some(key.plain.reveal()), now).unwrap());
    let admission = access.admit(Subject::Key(&first), now).unwrap();
    assert_eq!((admission.scope, admission.day), (Scope::Key, None));
    assert!(access.admit(Subject::Key(&first), now).is_err());
    access.admit(Subject::Key(&second), now).unwrap();
    access.admit(Subject::Address(address(1)), now).unwrap();
    assert_eq!(access.peek(Subject::Address(address(2)), now).minute.unwrap().remaining, 1);
    access.admit(Subject::Address(address(2)), now).unwrap();
}

#[test]
fn writes_counters_when_flusher_ends() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let access = Arc::new(AccessControl::open(Arc::clone(&ledger), RateLimits::default(), now).unwrap());
    let flusher = access.start_flusher(Arc::new(TestClock::at(now)), || ()).unwrap();
    access.admit(Subject::Address(address(9)), now).unwrap();
    drop(flusher);
    // Nobody waits for counters; what is awaited after them shows that they were written.
    ledger.verify().unwrap();
    assert_eq!(ledger.counters().unwrap()[0].count, 1);
}
