//! Keys: recognised from memory, revoked at once, rotated with grace, never on the disk in the clear.

use std::sync::Arc;

use mercato_ledger::Ledger;
use mercato_people::{AccessControl, KeyRefusal, RateLimits};

use crate::desk::{Desk, customer, noon};

fn access_control(ledger: &Arc<Ledger>) -> AccessControl {
    AccessControl::open(Arc::clone(ledger), RateLimits::default(), noon()).unwrap()
}

#[test]
fn recognises_key_and_names_reason_of_refusal() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let key = ledger.create_key(account.id(), "laptop", [7; 32], now).unwrap();
    let access = access_control(&ledger);
    let caller = access.authenticate(Some(key.plain.reveal()), now).unwrap();
    assert_eq!((caller.account.id(), caller.key.id()), (account.id(), key.view.id));
    let refusal = |presented: Option<&str>| access.authenticate(presented, now).err().unwrap();
    assert_eq!(refusal(None), KeyRefusal::Missing);
    let mut typed = key.plain.reveal().to_owned();
    typed.replace_range(5..6, if typed.as_bytes()[5] == b'x' { "y" } else { "x" });
    assert_eq!(refusal(Some(&typed)), KeyRefusal::Mistyped);
    let stranger = mercato_ledger::PlainKey::from_random([8; 32]);
    assert_eq!(refusal(Some(stranger.reveal())), KeyRefusal::Unknown);
    assert_eq!(refusal(Some(&"x".repeat(1_000_000))), KeyRefusal::Malformed);
}

#[test]
fn refuses_revoked_key_at_once_and_after_restart() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let key = ledger.create_key(account.id(), "", [1; 32], now).unwrap();
    let other = ledger.create_key(account.id(), "", [2; 32], now).unwrap();
    {
        let access = access_control(&ledger);
        access.authenticate(Some(key.plain.reveal()), now).unwrap();
        ledger.revoke_key(key.view.id, now).unwrap();
        assert_eq!(access.authenticate(Some(key.plain.reveal()), now).err(), Some(KeyRefusal::Revoked));
        access.authenticate(Some(other.plain.reveal()), now).unwrap();
    }
    drop(ledger);
    let ledger = Arc::new(desk.open());
    let access = access_control(&ledger);
    assert_eq!(access.authenticate(Some(key.plain.reveal()), now).err(), Some(KeyRefusal::Revoked));
    access.authenticate(Some(other.plain.reveal()), now).unwrap();
}

#[test]
fn accepts_rotated_key_until_grace_ends() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let old = ledger.create_key(account.id(), "etl", [1; 32], now).unwrap();
    let new = ledger.rotate_key(old.view.id, "", 60, [2; 32], now).unwrap();
    assert_eq!(new.view.label, "etl");
    let access = access_control(&ledger);
    let last = now.plus_millis(59_999);
    access.authenticate(Some(old.plain.reveal()), last).unwrap();
    let over = now.plus_seconds(60);
    assert_eq!(access.authenticate(Some(old.plain.reveal()), over).err(), Some(KeyRefusal::Expired));
    access.authenticate(Some(new.plain.reveal()), over).unwrap();
    let at_once = ledger.rotate_key(new.view.id, "", 0, [3; 32], over).unwrap();
    assert_eq!(access.authenticate(Some(new.plain.reveal()), over).err(), Some(KeyRefusal::Expired));
    access.authenticate(Some(at_once.plain.reveal()), over).unwrap();
}

#[test]
fn rejects_rotation_of_expired_or_revoked_key() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let old = ledger.create_key(account.id(), "", [1; 32], now).unwrap().view.id;
    let new = ledger.rotate_key(old, "", 60, [2; 32], now).unwrap().view.id;
    let refusal =
        |id, random: u8, at| ledger.rotate_key(id, "", 60, [random; 32], at).err().unwrap().to_string();
    let over = now.plus_seconds(60);
    assert!(refusal(old, 3, over).contains("has expired"), "{}", refusal(old, 3, over));
    ledger.rotate_key(new, "", 0, [4; 32], over).unwrap();
    assert!(refusal(new, 5, over).contains("has expired"));
    let revoked = ledger.create_key(account.id(), "", [6; 32], now).unwrap().view.id;
    ledger.revoke_key(revoked, now).unwrap();
    assert!(refusal(revoked, 7, over).contains("is revoked"));
    assert_eq!(ledger.keys(account.id()).len(), 4, "a refused rotation leaves no key");
}

#[test]
fn persists_last_use_on_flush() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let key = ledger.create_key(account.id(), "", [1; 32], now).unwrap();
    {
        let access = access_control(&ledger);
        access.authenticate(Some(key.plain.reveal()), now.plus_seconds(5)).unwrap();
        assert_eq!(ledger.keys(account.id())[0].last_used_at, Some(now.plus_seconds(5)));
        access.flush(now.plus_seconds(6)).unwrap();
    }
    drop(ledger);
    assert_eq!(desk.open().keys(account.id())[0].last_used_at, Some(now.plus_seconds(5)));
}

#[test]
fn keeps_plain_keys_off_disk() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    let keys: Vec<_> = (0..8)
        .map(|seed| ledger.create_key(account.id(), "label-on-disk", [seed; 32], now).unwrap())
        .collect();
    let backups = desk.path().with_file_name("backups");
    ledger.backup(&backups, now).unwrap();
    drop(ledger);
    let mut labels = 0;
    for folder in [desk.path().join("log"), desk.path().join("checkpoint"), backups] {
        for file in std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
        {
            let bytes = std::fs::read(&file).unwrap();
            labels += usize::from(contains(&bytes, b"label-on-disk"));
            for key in &keys {
                // Not even the part after the characters that are shown.
                let secret = &key.plain.reveal().as_bytes()[9..25];
                assert!(!contains(&bytes, secret), "{}", file.display());
            }
        }
    }
    assert!(labels >= 3, "the search must find what is there");
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn lists_keys_oldest_first_across_restart() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    let made: Vec<_> = (0..20)
        .map(|number| ledger.create_key(account.id(), "", [number; 32], now).unwrap().view.id)
        .collect();
    let listed = |ledger: &Ledger| ledger.keys(account.id()).iter().map(|key| key.id).collect::<Vec<_>>();
    assert_eq!(listed(&ledger), made);
    drop(ledger);
    assert_eq!(listed(&desk.open()), made);
}
