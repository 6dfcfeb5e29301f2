//! Signing in with a password: the answer and the work do not tell whether an account exists, and attempts are bounded.

use std::net::IpAddr;
use std::sync::Arc;

use mercato_ledger::{CloseAccount, Ledger, SignUp};
use mercato_people::{
    DEVICE_RANDOM_BYTES, NewPassword, SALT_BYTES, SignInControl, SignInRefusal, Throttled, device_mark,
};

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
    let chosen = NewPassword::parse(RIGHT, None).unwrap();
    let hash = desk.passwords().hash(chosen, [1; SALT_BYTES]).unwrap();
    ledger.commit(&SignUp { email: email(0), password: hash.clone(), at: noon() }).unwrap();
    desk
}

fn refusal(desk: &SignInControl, email: &str, password: &str, client: u8) -> SignInRefusal {
    desk.check(email, password, address(client), None, noon()).err().unwrap()
}

#[test]
fn accepts_right_password_only() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    let login = desk.check(" Person0@Example.com ", RIGHT, address(1), None, noon()).unwrap();
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
    ledger.commit(&CloseAccount { account: login.account, at: noon() }).unwrap();
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
fn locks_out_who_guesses_and_not_the_owner() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    let login = desk.check("person0@example.com", RIGHT, address(1), None, noon()).unwrap();
    let mark = device_mark(&login, [9; DEVICE_RANDOM_BYTES]).unwrap();
    let throttled = SignInRefusal::Guessing(Throttled { retry_after_seconds: 900 });
    for typed in ["person0@example.com", "person1@example.com"] {
        for _ in 0..10 {
            assert_eq!(refusal(&desk, typed, WRONG, 66), SignInRefusal::Wrong, "{typed}");
        }
        let before = desk.passwords().computed();
        assert_eq!(refusal(&desk, typed, RIGHT, 66), throttled, "{typed}");
        assert_eq!(desk.passwords().computed(), before, "refused before any work");
    }
    desk.check("person0@example.com", RIGHT, address(1), None, noon()).unwrap();
    desk.check("person0@example.com", RIGHT, address(66), Some(&mark), noon()).unwrap();
    // Many clients together are held up, too, and still not the device of the owner.
    for number in 10..100 {
        assert_eq!(refusal(&desk, "person0@example.com", WRONG, 100 + number / 10), SignInRefusal::Wrong);
    }
    assert_eq!(refusal(&desk, "person0@example.com", RIGHT, 1), throttled);
    let signs_in = |password| desk.check("person0@example.com", password, address(1), Some(&mark), noon());
    signs_in(RIGHT).unwrap();
    for _ in 0..10 {
        assert_eq!(signs_in(WRONG).err(), Some(SignInRefusal::Wrong));
    }
    assert!(
        matches!(signs_in(RIGHT), Err(SignInRefusal::Throttled(_))),
        "a stolen mark guesses no more than others"
    );
    let over = noon().plus_seconds(900);
    desk.check("person0@example.com", RIGHT, address(99), None, over).unwrap();
    assert!(desk.admit_warning(&email(0), noon()).is_ok());
    assert!(desk.admit_warning(&email(0), over).is_err(), "the owner is told once a day");
}

#[test]
fn throttles_client_after_fifty_failures_not_successes() {
    let books = Desk::new();
    let ledger = Arc::new(books.open());
    let desk = sign_in_control(&ledger);
    for _ in 0..12 {
        desk.check("person0@example.com", RIGHT, address(1), None, noon()).unwrap();
    }
    for number in 0..50 {
        let unknown = format!("stranger{number}@example.com");
        assert_eq!(refusal(&desk, &unknown, WRONG, 1), SignInRefusal::Wrong);
    }
    let refused = refusal(&desk, "person0@example.com", RIGHT, 1);
    assert!(matches!(refused, SignInRefusal::Throttled(_)), "{refused}");
    desk.check("person0@example.com", RIGHT, address(2), None, noon()).unwrap();
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
