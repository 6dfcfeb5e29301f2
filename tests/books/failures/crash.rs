//! A child process sells, streams, sells files, takes payments and changes keys from many threads and is killed at a random moment, again and
//! again.
//!
//! The child reports each acknowledgement over a pipe. After each kill: everything acknowledged is
//! in the books once, nothing is there twice, no reservation is open, every balance is the sum of its entries.
//! `MERCATO_KILLS` says how often (default 20).

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mercato_base::clock::{Clock, SystemClock};
use mercato_ledger::{
    AccountId, ChargeDurability, ChargeRequest, DownloadRequest, Email, EndSession, EntryKind, KeyId, Ledger,
    LedgerOptions, PasswordHash, Pending, PlainToken, SignUp, SignedUp,
};

use crate::database::run_sql;
use crate::desk::{Desk, download, handle, open_kind, page, stream};
use crate::payments::{ask, payment_of, refunded, tell as told_payment};
use crate::schema::are_in_files;

const CHILD_FOLDER: &str = "MERCATO_CRASH_FOLDER";
const CHILD_ROUND: &str = "MERCATO_CRASH_ROUND";
const SELLERS: u64 = 6;
const STREAMERS: u64 = 3;
const DOWNLOADERS: u64 = 2;
const CREDITS: u64 = 1_000_000_000;

#[test]
fn keeps_acknowledged_operations_once_across_kills() {
    let rounds: u64 = std::env::var("MERCATO_KILLS").map_or(20, |rounds| rounds.parse().unwrap());
    let desk = Desk::new();
    let ledger = desk.open();
    let account = ledger.create_account("crash", SystemClock.now()).unwrap();
    ledger.buy(account, CREDITS, None, "", "", SystemClock.now()).unwrap();
    ledger.create_account("keys", SystemClock.now()).unwrap();
    drop(ledger);
    let mut random = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
    println!("seed {random}");
    let (mut first, mut acknowledged, mut killed_busy) = (1, 0, 0);
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Every fourth child dies at any moment of its life, the others in the middle of their work.
        let from_the_start = round % 4 == 0;
        let told = run_and_kill(&desk, round, from_the_start, Duration::from_micros(random % 120_000));
        acknowledged += told.len();
        killed_busy += u64::from(!told.is_empty());
        first = check_after_kill(&desk, account, first, &told);
    }
    println!(
        "{rounds} kills, {killed_busy} of them in the middle of work, {acknowledged} acknowledged, {first} entries"
    );
    assert!(killed_busy * 4 >= rounds * 3, "most kills must hit a child at work");
}

/// Starts a child and kills it; returns what it told: request id and rows.
///
/// The time runs from its start, or from the first thing that it told.
fn run_and_kill(desk: &Desk, round: u64, from_the_start: bool, after: Duration) -> HashMap<String, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["failures::crash::sells_as_child_until_killed", "--exact", "--ignored", "--nocapture"])
        .env(CHILD_FOLDER, desk.path())
        .env(CHILD_ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let (works, at_work) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut told = HashMap::new();
        // A line that the kill cut short does not end with its mark and does not count.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["@", request, rows, "."] = words.as_slice() {
                let before = told.insert((*request).to_owned(), rows.parse().unwrap());
                assert_eq!(before, None);
                let _ = works.send(());
            }
        }
        told
    });
    if !from_the_start {
        at_work.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn check_after_kill(desk: &Desk, account: AccountId, first: u64, told: &HashMap<String, u64>) -> u64 {
    if !are_in_files() {
        // What the child has sent is carried out although it is dead. Its lease would end by itself, after ten seconds.
        std::thread::sleep(Duration::from_millis(300));
        run_sql(&desk.path(), "DELETE FROM server");
    }
    let ledger = desk.open();
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(report.open_reservations, 0);
    let (mut sold, mut seen, mut next) = (HashMap::new(), HashSet::new(), Some(first));
    let mut last = first - 1;
    while let Some(from) = next {
        let (entries, following) = ledger.entries(None, from, 10_000).unwrap();
        for entry in &entries {
            assert!(seen.insert((entry.kind, entry.request_id.clone())), "{entry:?} is there twice");
            match entry.kind {
                EntryKind::Charge | EntryKind::Settle => {
                    sold.insert(entry.request_id.clone(), entry.rows);
                }
                EntryKind::Purchase => {
                    sold.insert(format!("paid-{}", entry.request_id), entry.amount as u64);
                }
                EntryKind::TakeBack => {
                    sold.insert(format!("back-{}", entry.request_id), entry.amount.unsigned_abs());
                }
                _ => {}
            }
            last = entry.sequence;
        }
        next = following;
    }
    for (request, rows) in told {
        if let Some(key) = request.strip_prefix("key-") {
            ledger.key_view(KeyId::from_number(key.parse().unwrap())).unwrap();
            continue;
        }
        if let Some(key) = request.strip_prefix("revoked-") {
            let view = ledger.key_view(KeyId::from_number(key.parse().unwrap())).unwrap();
            assert!(view.revoked_at.is_some(), "{request} was acknowledged");
            continue;
        }
        if let Some(number) = request.strip_prefix("login-") {
            check_login(&ledger, number, told.contains_key(&format!("ended-{number}")));
            continue;
        }
        if request.starts_with("ended-") {
            continue;
        }
        assert_eq!(sold.get(request), Some(rows), "{request} was acknowledged");
    }
    assert_eq!(handle(&ledger, account).reserved(), 0);
    last + 1
}

/// A login that was acknowledged is there, and its session is open unless its end was acknowledged.
fn check_login(ledger: &Ledger, number: &str, is_ended: bool) {
    let login = ledger.credentials(&email(number));
    assert!(login.is_some(), "login {number} was acknowledged");
    let session = ledger.session(session(number).hash(), SystemClock.now());
    let (_, count) = number.split_once('-').unwrap();
    let stays_open = !count.parse::<u64>().unwrap().is_multiple_of(2);
    // The end of the others may have been written and not acknowledged.
    assert!(session.is_some() || !stays_open, "the session of login {number} was acknowledged");
    assert!(session.is_none() || !is_ended, "the end of the session of login {number} was acknowledged");
}

fn email(number: &str) -> Email {
    Email::parse(&format!("{number}@example.com")).unwrap()
}

/// The token of the session of a login, by its number like `3-17`.
fn session(number: &str) -> PlainToken {
    PlainToken::from_random(session_random(number))
}

fn session_random(number: &str) -> [u8; 32] {
    let mut random = [b'.'; 32];
    random[..number.len()].copy_from_slice(number.as_bytes());
    random
}

#[test]
#[ignore = "a child process of the test of crashes"]
fn sells_as_child_until_killed() {
    let folder = std::env::var(CHILD_FOLDER).unwrap();
    let round: u64 = std::env::var(CHILD_ROUND).unwrap().parse().unwrap();
    let durability =
        if round.is_multiple_of(2) { ChargeDurability::Process } else { ChargeDurability::Power };
    let ledger = open_kind()(folder.as_ref(), LedgerOptions { durability }, SystemClock.now()).unwrap();
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SELLERS {
            scope.spawn(|| sell(&ledger, round, &count));
        }
        for _ in 0..STREAMERS {
            scope.spawn(|| run_streams(&ledger, round, &count));
        }
        for _ in 0..DOWNLOADERS {
            scope.spawn(|| run_downloads(&ledger, round, &count));
        }
        scope.spawn(|| change_keys(&ledger, round));
        scope.spawn(|| change_logins(&ledger, round));
        scope.spawn(|| pay(&ledger, round));
    });
}

fn sell(ledger: &Ledger, round: u64, count: &AtomicU64) {
    let account = handle(ledger, AccountId::from_number(1));
    loop {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let request_id = format!("page-{round}-{number}");
        let request = page(&account, number % 50 + 1, SystemClock.now());
        let request = ChargeRequest { request_id: request_id.clone(), ..request };
        let receipt = ledger.charge(&request).and_then(Pending::durable).unwrap();
        tell(&request_id, receipt.charged);
    }
}

fn run_streams(ledger: &Ledger, round: u64, count: &AtomicU64) {
    let account = handle(ledger, AccountId::from_number(1));
    loop {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let request_id = format!("stream-{round}-{number}");
        let request = stream(&account, 5_000, SystemClock.now());
        let request = ChargeRequest { request_id: request_id.clone(), ..request };
        let reservation = ledger.reserve(&request).unwrap();
        for rows in 0..number % 40 {
            reservation.delivered(rows, SystemClock.now());
            std::thread::sleep(Duration::from_micros(100));
        }
        let receipt = reservation.settle(number % 40, SystemClock.now()).and_then(Pending::durable).unwrap();
        tell(&request_id, receipt.charged);
    }
}

fn run_downloads(ledger: &Ledger, round: u64, count: &AtomicU64) {
    let account = handle(ledger, AccountId::from_number(1));
    loop {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let request_id = format!("file-{round}-{number}");
        let version = format!("{round}.{number}.0");
        let plain = download(&account, 300, SystemClock.now());
        let charge = ChargeRequest { request_id: request_id.clone(), ..plain.charge };
        let request = DownloadRequest { charge, version, ..plain };
        if number.is_multiple_of(2) {
            let receipt = ledger.sell_part(&request).and_then(Pending::durable).unwrap();
            tell(&request_id, receipt.charged);
        } else {
            let reservation = ledger.reserve_download(&request).unwrap();
            let receipt = reservation.settle(300, SystemClock.now()).and_then(Pending::durable).unwrap();
            tell(&request_id, receipt.charged);
        }
    }
}

/// Creates keys and revokes every second one; tells `key` or `revoked` as the request, and the number of the key.
fn change_keys(ledger: &Ledger, round: u64) {
    for number in 0_u64.. {
        let mut random = [0; mercato_ledger::KEY_RANDOM_BYTES];
        random[..8].copy_from_slice(&round.to_be_bytes());
        random[8..16].copy_from_slice(&number.to_be_bytes());
        let Ok(created) = ledger.create_key(AccountId::from_number(2), "", random, SystemClock.now()) else {
            // The account has as many keys as it may.
            return;
        };
        tell(&format!("key-{}", created.view.id.number()), created.view.id.number());
        if number.is_multiple_of(2) {
            ledger.revoke_key(created.view.id, SystemClock.now()).unwrap();
            tell(&format!("revoked-{}", created.view.id.number()), created.view.id.number());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Signs people up, opens a session for each, and ends every second one; tells `login` or `ended` as the request.
fn change_logins(ledger: &Ledger, round: u64) {
    let password = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned();
    let password = PasswordHash::try_from(password).unwrap();
    for count in 0_u64.. {
        let number = format!("{round}-{count}");
        let created = ledger
            .commit(&SignUp { email: email(&number), password: password.clone(), at: SystemClock.now() })
            .unwrap();
        let SignedUp::Created(account) = created else { panic!("{number} is new") };
        let login = ledger.login(account).unwrap();
        let token = ledger.open_session(&login, session_random(&number), SystemClock.now()).unwrap().hash();
        tell(&format!("login-{number}"), 0);
        if count.is_multiple_of(2) {
            ledger.commit(&EndSession { token, at: SystemClock.now() }).unwrap();
            tell(&format!("ended-{number}"), 0);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Sells credits through a provider, and takes every second payment back; tells `paid` or `back` as the request, and the
/// number of credits.
fn pay(ledger: &Ledger, round: u64) {
    for number in 0_u64.. {
        let id = format!("{round}-{number}");
        let checkout =
            ask(ledger, AccountId::from_number(2), 10 + number % 50, 100, SystemClock.now()).unwrap();
        ledger.commit(&payment_of(&checkout, &id)).unwrap();
        tell(&format!("paid-{id}"), checkout.credits);
        if number.is_multiple_of(2) {
            told_payment(ledger, &id, refunded(checkout.price.gross));
            tell(&format!("back-{id}"), checkout.credits);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn tell(request_id: &str, rows: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@ {request_id} {rows} .").unwrap();
    out.flush().unwrap();
}
