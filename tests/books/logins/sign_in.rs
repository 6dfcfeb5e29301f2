//! Signing in with a password: the answer and the work do not tell whether an account exists, and attempts are bounded.

use std::net::IpAddr;
use std::sync::Arc;

use mercato::access::{NewPassword, SALT_BYTES, SignInControl, SignInRefusal, Throttled};
use mercato::ledger::Ledger;

use crate::desk::{Desk, noon};
use crate::logins::world::email;

const RIGHT: &str = "correct horse battery";
const WRONG: &str = "correct horse batterY";

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A desk with one login, `person0@example.com`.
fn sign_in_control(ledger: &Arc<Ledger>) -> SignInControl {
    let desk = SignInControl::new(Arc::clone(ledger));
    let chosen = NewPassword::parse(RIGHT).unwrap();
    let hash = desk.passwords().hash(chosen, [1; SALT_BYTES]).unwrap();
    ledger.sign_up(&email(0), &hash, noon()).unwrap();
    desk
}

fn refusal(desk: &SignInControl, email: &str, password: &str, client: u8) -> SignInRefusal {
    desk.check(email, password, address(client), noon()).err().unwrap()
}

#[test]
fn accepts_right_password_only() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    let login = desk.check(" Person0@Example.com ", RIGHT, address(1), noon()).unwrap();
    ledger.open_session(&login, [1; 32], noon()).unwrap();
    for (email, password) in [
        ("person0@example.com", WRONG),
        ("person0@example.com", ""),
        ("person1@example.com", RIGHT),
        ("no address", RIGHT),
        ("", ""),
    ] {
        assert_eq!(refusal(&desk, email, password, 1), SignInRefusal::Wrong, "{email}");
    }
    ledger.close_account(login.account, noon()).unwrap();
    assert_eq!(refusal(&desk, "person0@example.com", RIGHT, 1), SignInRefusal::Wrong);
}

/// Counts hashes and does not take the time: one hash is all that an attempt costs that others do not.
#[test]
fn computes_one_hash_per_attempt_with_or_without_account() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    for typed in ["person0@example.com", "person1@example.com", "no address"] {
        for password in [WRONG, "", "x"] {
            let before = desk.passwords().computed();
            assert_eq!(refusal(&desk, typed, password, 1), SignInRefusal::Wrong);
            assert_eq!(desk.passwords().computed(), before + 1, "{typed} {password}");
        }
    }
}

#[test]
fn throttles_address_after_ten_failures_known_or_not() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    for typed in ["person0@example.com", "person1@example.com"] {
        for client in 0..10 {
            assert_eq!(refusal(&desk, typed, WRONG, client), SignInRefusal::Wrong, "{typed} {client}");
        }
        let before = desk.passwords().computed();
        let throttled = SignInRefusal::Throttled(Throttled { retry_after_seconds: 900 });
        assert_eq!(refusal(&desk, typed, RIGHT, 99), throttled, "{typed}");
        assert_eq!(desk.passwords().computed(), before, "refused before any work");
    }
    let over = noon().plus_seconds(900);
    desk.check("person0@example.com", RIGHT, address(99), over).unwrap();
}

#[test]
fn throttles_client_after_fifty_failures_not_successes() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    for _ in 0..12 {
        desk.check("person0@example.com", RIGHT, address(1), noon()).unwrap();
    }
    for number in 0..50 {
        let unknown = format!("stranger{number}@example.com");
        assert_eq!(refusal(&desk, &unknown, WRONG, 1), SignInRefusal::Wrong);
    }
    let refused = refusal(&desk, "person0@example.com", RIGHT, 1);
    assert!(matches!(refused, SignInRefusal::Throttled(_)), "{refused}");
    desk.check("person0@example.com", RIGHT, address(2), noon()).unwrap();
}

#[test]
fn limits_daily_sign_ups_per_client_and_mails_per_address() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = SignInControl::new(ledger);
    for _ in 0..5 {
        desk.admit_sign_up(address(1), noon()).unwrap();
        desk.admit_mail(&email(0), address(1), noon()).unwrap();
    }
    let throttled = Throttled { retry_after_seconds: 86_400 };
    assert_eq!(desk.admit_sign_up(address(1), noon()), Err(throttled));
    desk.admit_sign_up(address(2), noon()).unwrap();
    assert_eq!(desk.admit_mail(&email(0), address(2), noon()), Err(throttled), "to one address");
    desk.admit_mail(&email(1), address(1), noon()).unwrap();
    desk.admit_sign_up(address(1), noon().plus_seconds(86_400)).unwrap();
}
