//! Limits of requests across servers, on a clock that the test moves.

use std::net::IpAddr;
use std::sync::Arc;

use mercato_base::clock::{Clock, Moment, TestClock};
use mercato_ledger::Health;
use mercato_people::{AccessControl, Admission, RateLimits, RateReason, RateRefusal, Subject};

use super::proxy::Proxy;
use super::{Place, SECOND, socket, until};
use crate::desk::noon;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const LIMITS: RateLimits = RateLimits { per_minute: 10, per_day: 25 };

fn server(place: &Place, limits: RateLimits, now: Moment) -> AccessControl {
    AccessControl::open(Arc::new(place.open()), limits, now).unwrap()
}

fn ask(server: &AccessControl, now: Moment) -> Result<Admission, RateRefusal> {
    server.admit(Subject::Address(CLIENT), now)
}

/// So many requests, which are all admitted.
fn send(server: &AccessControl, requests: usize, now: Moment) {
    for _ in 0..requests {
        ask(server, now).unwrap();
    }
}

fn share_twice(servers: &[AccessControl], now: Moment) {
    for _ in 0..2 {
        servers.iter().for_each(|server| server.share(now).unwrap());
    }
}

/// Requests left in the minute and in the day.
fn left(server: &AccessControl, now: Moment) -> (u32, u32) {
    let status = server.peek(Subject::Address(CLIENT), now);
    (status.minute.unwrap().remaining, status.day.unwrap().remaining)
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn counts_requests_of_other_servers() {
    let place = Place::new();
    let clock = TestClock::at(noon());
    let servers = [(); 3].map(|()| server(&place, LIMITS, clock.now()));
    for (server, requests) in servers.iter().zip([4, 3, 2]) {
        send(server, requests, clock.now());
        clock.advance_millis(3_000);
    }
    assert_eq!(left(&servers[0], clock.now()), (6, 21), "nothing was told yet");
    share_twice(&servers, clock.now());
    for server in &servers {
        assert_eq!(left(server, clock.now()), (1, 16));
    }
    let admission = ask(&servers[1], clock.now()).unwrap();
    assert_eq!((admission.minute.unwrap().remaining, admission.day.unwrap().remaining), (0, 15));
    share_twice(&servers, clock.now());
    let refusal = ask(&servers[2], clock.now()).unwrap_err();
    assert_eq!((refusal.reason, refusal.limit), (RateReason::Minute, 10));
    assert_eq!(
        refusal.retry_after_seconds, 52,
        "what another server counted leaves 60 s after its second ended"
    );
    clock.advance_millis(51_999);
    assert!(ask(&servers[2], clock.now()).is_err());
    clock.advance_millis(1);
    ask(&servers[2], clock.now()).unwrap();
    assert_eq!(
        ask(&servers[0], clock.now()).unwrap().minute.unwrap().remaining,
        3,
        "its own left a second earlier"
    );
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn refuses_until_enough_requests_of_all_servers_are_over() {
    let place = Place::new();
    let clock = TestClock::at(noon());
    let servers = [(); 2].map(|()| server(&place, LIMITS, clock.now()));
    // Each lets its whole limit pass before it hears of the other.
    for _ in 0..10 {
        servers.iter().for_each(|server| send(server, 1, clock.now()));
        clock.advance_millis(1_000);
    }
    share_twice(&servers, clock.now());
    let refusal = ask(&servers[0], clock.now()).unwrap_err();
    // 20 are in the minute; eleven have to leave it: six of its own, five of the other, whose fifth was counted at 4 s.
    assert_eq!(refusal.retry_after_seconds, 65 - 10);
    clock.advance_millis(55_000);
    ask(&servers[0], clock.now()).unwrap();
    assert!(ask(&servers[0], clock.now()).is_err());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn counts_day_of_all_servers_and_minute_across_midnight_once() {
    let place = Place::new();
    let clock = TestClock::at(noon().day().plus_days(1).start().plus_seconds(-2));
    let servers = [(); 2].map(|()| server(&place, LIMITS, clock.now()));
    send(&servers[0], 3, clock.now());
    share_twice(&servers, clock.now());
    clock.advance_millis(3_000);
    ask(&servers[0], clock.now()).unwrap();
    assert_eq!(left(&servers[1], clock.now()), (10, 25));
    share_twice(&servers, clock.now());
    assert_eq!(left(&servers[1], clock.now()), (6, 24), "the server has rows of two days, and one minute");
    for hour in 0..12 {
        clock.advance_millis(3_600_000);
        send(&servers[hour % 2], 2, clock.now());
        left(&servers[1 - hour % 2], clock.now());
        share_twice(&servers, clock.now());
    }
    assert_eq!(left(&servers[0], clock.now()).1, 0);
    let refusal = ask(&servers[1], clock.now()).unwrap_err();
    assert_eq!((refusal.reason, refusal.retry_after_seconds), (RateReason::Day, 12 * 3_600 - 1));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn remembers_minute_of_server_that_started_again() {
    let place = Place::new();
    let now = noon();
    let first = server(&place, LIMITS, now);
    send(&first, 7, now);
    first.flush(now).unwrap();
    drop(first);
    let again = server(&place, LIMITS, now);
    assert_eq!(left(&again, now).1, 18, "the day is known at once");
    again.share(now).unwrap();
    assert_eq!(left(&again, now), (3, 18));
}

/// Servers exchange every half second, each at its own moment; a greedy client asks all of them in turn.
#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn overshoots_by_second_of_traffic_of_other_servers_at_most() {
    const SERVERS: usize = 3;
    const PER_SECOND: usize = 20;
    let place = Place::new();
    let clock = TestClock::at(noon());
    let limits = RateLimits { per_minute: 120, per_day: 0 };
    let servers = [(); SERVERS].map(|()| server(&place, limits, clock.now()));
    let mut admitted: Vec<Moment> = Vec::new();
    for step in 0..130 * PER_SECOND {
        for (place, server) in servers.iter().enumerate() {
            if (step + place * 3) % (PER_SECOND / 2) == 0 {
                server.share(clock.now()).unwrap();
            }
            if ask(server, clock.now()).is_ok() {
                admitted.push(clock.now());
            }
        }
        clock.advance_millis(1_000 / PER_SECOND as i64);
    }
    let in_minute_from = |from: usize| {
        let start = admitted[from];
        admitted[from..].iter().take_while(|at| at.millis_since(start) < 60_000).count()
    };
    let most = (0..admitted.len()).map(in_minute_from).max().unwrap();
    assert!(most <= 120 + PER_SECOND * (SERVERS - 1), "{most}");
    assert!(admitted.len() >= 240, "{}: two minutes have passed", admitted.len());
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn counts_for_itself_while_database_is_away() {
    let place = Place::new();
    let now = noon();
    let proxy = Proxy::before(socket());
    let ledger = Arc::new(place.open_behind(&proxy));
    let cut_off = AccessControl::open(Arc::clone(&ledger), LIMITS, now).unwrap();
    let other = server(&place, LIMITS, now);
    send(&other, 2, now);
    send(&cut_off, 3, now);
    other.share(now).unwrap();
    cut_off.share(now).unwrap();
    proxy.cut();
    until("the outage", 3 * SECOND, || ledger.health() != Health::Serving);
    for remaining in (0..5).rev() {
        assert_eq!(
            ask(&cut_off, now).unwrap().minute.unwrap().remaining,
            remaining,
            "two are known of the other"
        );
        assert!(cut_off.share(now).is_err());
    }
    assert!(ask(&cut_off, now).is_err());
    assert_eq!(ask(&other, now).unwrap().minute.unwrap().remaining, 7);
    other.share(now).unwrap();
    assert_eq!(left(&other, now).0, 4, "the first three were told");
    proxy.mend();
    until("the database", 5 * SECOND, || ledger.health() == Health::Serving);
    cut_off.share(now).unwrap();
    other.share(now).unwrap();
    assert_eq!(left(&other, now), (0, 14), "what was counted meanwhile is told later");
}
