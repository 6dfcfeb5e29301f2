//! Sign-up, sessions, one-time tokens and closing, one operation at a time.

mod histories;
mod model;
mod sign_in;
pub mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use mercato_ledger::{
    AccountId, BooksError, ChargeError, CloseAccount, EndSession, Ledger, Pending, Plan, RedeemToken,
    Redeemed, Redemption, SetPassword, SignUp, SignedUp, TokenHash, TokenPurpose,
};

use crate::desk::{Desk, charge, customer, download, handle, noon, stream};
use crate::logins::world::{email, password};

const DAY: i64 = 86_400;

/// An account opened by sign-up.
fn person(ledger: &Ledger, number: u8) -> AccountId {
    match ledger.commit(&SignUp { email: email(number), password: password(1), at: noon() }).unwrap() {
        SignedUp::Created(account) => account,
        SignedUp::EmailTaken => panic!("the address is taken"),
    }
}

fn open(ledger: &Ledger, account: AccountId, random: u8) -> TokenHash {
    let login = ledger.login(account).unwrap();
    ledger.open_session(&login, [random; 32], noon()).unwrap().hash()
}

#[test]
fn signs_up_account_with_free_plan_and_login() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let view = ledger.account_view(&handle(&ledger, account), now);
    assert_eq!((view.plan, view.credits, view.free_queries_remaining), (Plan::Free, 0, 100));
    ledger.create_key(account, "first", [9; 32], now).unwrap();
    let login = ledger.credentials(&email(0)).unwrap();
    assert_eq!((login.account, login.confirmed_at), (account, None));
    assert_eq!(
        ledger.commit(&SignUp { email: email(0), password: password(2), at: now }),
        Ok(SignedUp::EmailTaken)
    );
    assert!(ledger.credentials(&email(0)).unwrap().password == password(1), "nothing was changed");
    assert!(ledger.credentials(&email(1)).is_none());
    let made_by_operator = customer(&ledger, 0).id();
    assert!(ledger.login(made_by_operator).is_none());
    let refused = ledger.issue_token(made_by_operator, TokenPurpose::ResetPassword, [1; 32], now);
    assert!(refused.err().unwrap().to_string().contains("has no login"));
}

#[test]
fn creates_one_account_per_address_of_concurrent_sign_ups() {
    let desk = Desk::new();
    let ledger = desk.open();
    let created = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (ledger, created) = (&ledger, &created);
            scope.spawn(move || {
                for address in 0..8 {
                    let outcome = ledger
                        .commit(&SignUp { email: email(address), password: password(number), at: noon() })
                        .unwrap();
                    created.fetch_add(usize::from(outcome != SignedUp::EmailTaken), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!((created.into_inner(), ledger.accounts().len()), (8, 8));
    drop(ledger);
    let ledger = desk.open();
    assert!((0..8).all(|address| ledger.credentials(&email(address)).is_some()));
}

#[test]
fn refuses_ended_session_at_once_and_after_restart() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let [ended, open] = [1, 2].map(|random| open(&ledger, account, random));
    assert_eq!(ledger.session(ended, now).unwrap().account(), account);
    assert_eq!(ledger.commit(&EndSession { token: ended, at: now }), Ok(true));
    assert_eq!(ledger.commit(&EndSession { token: ended, at: now }), Ok(false));
    let check = |ledger: &Ledger| (ledger.session(ended, now).is_none(), ledger.session(open, now).is_some());
    assert_eq!(check(&ledger), (true, true));
    drop(ledger);
    assert_eq!(check(&desk.open()), (true, true));
    desk.forget_checkpoint();
    assert_eq!(check(&desk.open()), (true, true), "the log alone says so");
}

#[test]
fn expires_session_after_7_idle_days_or_30_days() {
    let (desk, now) = (Desk::new(), noon());
    let mut ledger = desk.open();
    let account = person(&ledger, 0);
    let token = open(&ledger, account, 1);
    assert!(ledger.session(token, now.plus_seconds(7 * DAY).plus_millis(-1)).is_some());
    assert!(ledger.session(token, now.plus_seconds(7 * DAY)).is_none());
    for days in [6, 12, 18, 24, 29] {
        let at = now.plus_seconds(days * DAY);
        let session = ledger.session(token, at).unwrap();
        ledger.touch(&session, at).unwrap();
        drop(ledger);
        ledger = desk.open();
        assert_eq!(ledger.sessions(account, at)[0].last_seen_at, at, "day {days}");
    }
    assert!(ledger.session(token, now.plus_seconds(30 * DAY).plus_millis(-1)).is_some());
    assert!(ledger.session(token, now.plus_seconds(30 * DAY)).is_none());
}

#[test]
fn evicts_oldest_session_beyond_sixteen() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let other = open(&ledger, person(&ledger, 1), 99);
    let tokens: Vec<_> = (0..18_u8)
        .map(|number| {
            let login = ledger.login(account).unwrap();
            let at = now.plus_seconds(number.into());
            ledger.open_session(&login, [number; 32], at).unwrap().hash()
        })
        .collect();
    let open: Vec<_> = tokens.iter().map(|token| ledger.session(*token, now).is_some()).collect();
    assert_eq!(open, [[false; 2].as_slice(), &[true; 16]].concat());
    assert_eq!(ledger.sessions(account, now).len(), 16);
    assert!(ledger.session(other, now).is_some(), "of another account");
}

#[test]
fn removes_expired_sessions_and_tokens_in_upkeep() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let token = open(&ledger, account, 1);
    ledger.issue_token(account, TokenPurpose::ConfirmEmail, [2; 32], now).unwrap();
    // The books take the latest moment that they hear of for the present.
    ledger.grant(account, 1, "", "", now.plus_seconds(7 * DAY)).unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while ledger.session(token, now).is_some() {
        assert!(std::time::Instant::now() < end, "the session is not removed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(ledger);
    assert!(desk.open().session(token, now).is_none(), "nor does the checkpoint hold it");
}

#[test]
fn ends_other_sessions_and_resets_on_new_password() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let [here, there] = [1, 2].map(|random| open(&ledger, account, random));
    let reset = ledger.issue_token(account, TokenPurpose::ResetPassword, [3; 32], now).unwrap();
    let before = ledger.login(account).unwrap();
    ledger.commit(&SetPassword { account, password: password(2), kept: Some(here), at: now }).unwrap();
    assert!(ledger.session(here, now).is_some() && ledger.session(there, now).is_none());
    let redemption = Redemption::ResetPassword(password(3));
    assert_eq!(
        ledger.commit(&RedeemToken { token: reset.plain.hash(), redemption: redemption.clone(), at: now }),
        Ok(Redeemed::Refused)
    );
    let stale = ledger.open_session(&before, [4; 32], now);
    assert!(stale.err().unwrap().to_string().contains("changed meanwhile"), "compared before the change");
    assert!(ledger.credentials(&email(0)).unwrap().password == password(2));
}

#[test]
fn redeems_token_once_even_after_restart() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let session = open(&ledger, account, 1);
    let issue = |purpose, random| ledger.issue_token(account, purpose, [random; 32], now).unwrap();
    let confirm = issue(TokenPurpose::ConfirmEmail, 2);
    let reset = issue(TokenPurpose::ResetPassword, 3).plain.hash();
    assert_eq!(confirm.expires_at, now.plus_seconds(2 * DAY));
    let confirm = confirm.plain.hash();
    let reset_to = |number| Redemption::ResetPassword(password(number));
    let redeem = |ledger: &Ledger, token, redemption: Redemption| {
        ledger.commit(&RedeemToken { token, redemption: redemption.clone(), at: now })
    };
    assert_eq!(redeem(&ledger, confirm, reset_to(5)), Ok(Redeemed::Refused), "it is for something else");
    assert_eq!(redeem(&ledger, confirm, Redemption::ConfirmEmail), Ok(Redeemed::By(account)));
    assert_eq!(ledger.login(account).unwrap().confirmed_at, Some(now));
    assert_eq!(redeem(&ledger, reset, reset_to(6)), Ok(Redeemed::By(account)));
    assert!(ledger.session(session, now).is_none(), "a reset ends all sessions");
    for _ in 0..2 {
        assert_eq!(redeem(&ledger, confirm, Redemption::ConfirmEmail), Ok(Redeemed::Refused));
        assert_eq!(redeem(&ledger, reset, reset_to(7)), Ok(Redeemed::Refused));
    }
    drop(ledger);
    desk.forget_checkpoint();
    let ledger = desk.open();
    assert_eq!(redeem(&ledger, confirm, Redemption::ConfirmEmail), Ok(Redeemed::Refused));
    assert_eq!(redeem(&ledger, reset, reset_to(7)), Ok(Redeemed::Refused));
    let login = ledger.credentials(&email(0)).unwrap();
    assert!(login.password == password(6) && login.confirmed_at == Some(now));
}

#[test]
fn expires_token_and_evicts_oldest_beyond_four() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let issue = |random| ledger.issue_token(account, TokenPurpose::ResetPassword, [random; 32], now).unwrap();
    let tokens: Vec<_> = (1..=5).map(issue).map(|issued| issued.plain.hash()).collect();
    let redeem = |token, at| {
        ledger.commit(&RedeemToken { token, redemption: Redemption::ResetPassword(password(2)), at })
    };
    let gone = *tokens[..4].iter().min().unwrap();
    let mut others = tokens.iter().filter(|token| **token != gone);
    assert_eq!(redeem(gone, now), Ok(Redeemed::Refused), "of the same age, the one with the least hash");
    let other = *others.next().unwrap();
    assert_eq!(redeem(other, now.plus_seconds(3_600)), Ok(Redeemed::Refused));
    assert_eq!(redeem(other, now.plus_seconds(3_599)), Ok(Redeemed::By(account)));
}

#[test]
fn refuses_closed_account_and_keeps_its_entries() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    ledger.buy(account, 100, None, "", "", now).unwrap();
    let who = handle(&ledger, account);
    let key = ledger.create_key(account, "", [1; 32], now).unwrap();
    let session = open(&ledger, account, 2);
    let reset = ledger.issue_token(account, TokenPurpose::ResetPassword, [3; 32], now).unwrap();
    charge(&ledger, &who, 10, now).unwrap();
    let running = ledger.reserve(&stream(&who, 20, now)).unwrap();
    ledger.commit(&CloseAccount { account, at: now }).unwrap();
    ledger.commit(&CloseAccount { account, at: now.plus_seconds(9) }).unwrap();
    let closed = |ledger: &Ledger| {
        let who = handle(ledger, account);
        assert_eq!(who.closed_at(), Some(now));
        assert!(ledger.credentials(&email(0)).is_none() && ledger.login(account).is_none());
        assert!(ledger.session(session, now).is_none() && ledger.sessions(account, now).is_empty());
        assert_eq!(ledger.find_key(&key.plain.hash()).unwrap().revoked_at(), Some(now));
        let is_closed = BooksError::AccountClosed { account };
        let refused = ChargeError::from(is_closed.clone());
        assert_eq!(charge(ledger, &who, 1, now).unwrap_err(), refused);
        assert_eq!(ledger.reserve(&stream(&who, 1, now)).err(), Some(refused.clone()));
        assert_eq!(ledger.reserve_download(&download(&who, 1, now)).err(), Some(refused.clone()));
        let part = ledger.sell_part(&download(&who, 1, now)).and_then(Pending::durable);
        assert_eq!(part.unwrap_err(), refused);
        assert_eq!(ledger.create_key(account, "", [8; 32], now).err(), Some(is_closed.clone()));
        assert!(ledger.rotate_key(key.view.id, "", 0, [8; 32], now).is_err());
        assert_eq!(
            ledger.commit(&SetPassword { account, password: password(4), kept: None, at: now }),
            Err(is_closed.into())
        );
        let redemption = Redemption::ResetPassword(password(4));
        assert_eq!(
            ledger.commit(&RedeemToken {
                token: reset.plain.hash(),
                redemption: redemption.clone(),
                at: now
            }),
            Ok(Redeemed::Refused)
        );
    };
    closed(&ledger);
    running.settle(5, now).and_then(Pending::durable).unwrap();
    assert_eq!(who.credits(), 85, "a stream that runs is settled");
    drop(ledger);
    closed(&desk.open());
    desk.forget_checkpoint();
    let ledger = desk.open();
    closed(&ledger);
    assert_eq!(ledger.entries(Some(account), 1, 100).unwrap().0.len(), 4);
    assert!(ledger.verify().unwrap().is_balanced());
    let again = person(&ledger, 0);
    assert_ne!(again, account, "the address is free again");
}

#[test]
fn grants_no_new_free_queries_to_reopened_address() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    (0..7).for_each(|_| drop(charge(&ledger, &handle(&ledger, account), 1, now).unwrap()));
    ledger.commit(&CloseAccount { account, at: now }).unwrap();
    drop(ledger);
    let ledger = desk.open();
    let again = handle(&ledger, person(&ledger, 0));
    let left = |at| ledger.account_view(&again, at).free_queries_remaining;
    assert_eq!((left(now), left(now.plus_seconds(30 * DAY))), (93, 100));
}

#[test]
fn renames_key_and_keeps_its_identity() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let key = ledger.create_key(account, "old", [1; 32], now).unwrap();
    assert_eq!(ledger.rename_key(key.view.id, "new").unwrap().label, "new");
    assert!(ledger.rename_key(key.view.id, "a\nb").is_err());
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(ledger.keys(account)[0].label, "new");
    assert_eq!(ledger.find_key(&key.plain.hash()).unwrap().id(), key.view.id);
}

#[test]
fn keeps_plain_tokens_off_disk() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = person(&ledger, 0);
    let login = ledger.login(account).unwrap();
    let session = ledger.open_session(&login, [1; 32], now).unwrap();
    let reset = ledger.issue_token(account, TokenPurpose::ResetPassword, [2; 32], now).unwrap().plain;
    let backups = desk.path().with_file_name("backups");
    ledger.backup(&backups, now).unwrap();
    drop(ledger);
    let holds = |folder: std::path::PathBuf, wanted: &[u8]| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files = files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap());
        files.any(|bytes| bytes.windows(wanted.len()).any(|window| window == wanted))
    };
    for folder in [desk.path().join("log"), desk.path().join("checkpoint"), backups] {
        assert!(holds(folder.clone(), b"person0@example.com"), "the search must find what is there");
        for secret in [session.reveal(), reset.reveal()] {
            assert!(!holds(folder.clone(), &secret.as_bytes()[..16]), "{}", folder.display());
        }
    }
}
