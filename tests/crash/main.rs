//! Crash tests: the server is killed with SIGKILL at random moments, repeatedly, while clients query and stream.
//!
//! After each kill, the books are opened and compared with the responses that clients received: each is charged exactly
//! once, no reservation is open, and every balance is the sum of its entries. `MERCATO_KILLS` sets the number of kills
//! (default 8, and 4 in a database, where the lease of each killed server is waited for). The crash test of the books alone, in `tests/books/failures/crash.rs`, kills more often.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod books;
mod client;
mod downloads;
mod payments;
#[path = "../books/schema.rs"]
mod schema;
mod secrets;
#[expect(dead_code, reason = "each test program uses a part of it")]
#[path = "../stripe/simulator.rs"]
mod simulator;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Seen, query, stream};
use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::DataDirectory;
use mercato_catalog::publish::publish;
use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues, write_table};
use mercato_ledger::{AccountId, Entry, EntryKind, Ledger};
use schema::are_in_files;

const SERVER_FLAGS: [&str; 7] =
    ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--workers", "12"];
const ROWS: i64 = 50_000;
const CREDITS: u64 = 1_000_000_000;
const QUERYING_CLIENTS: u64 = 5;
const STREAMING_CLIENTS: u64 = 3;
const MANIFEST: &str = "slug = \"numbers\"\nlicense = \"CC0-1.0\"\n[title]\nen = \"Numbers\"\n";

#[test]
fn requests_are_charged_once_across_kills() {
    let kills = std::env::var("MERCATO_KILLS").map_or(default_kills(), |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_numbers(&data, ROWS);
    let (account, key) = open_account(&data);
    let mut random = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() | 1;
    println!("seed {random}");
    let (mut first, mut total) = (1, Totals::default());
    for kill in 0..kills {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        let durability = if kill % 2 == 0 { "power" } else { "process" };
        let seen =
            serve_and_kill(folder.path(), durability, &key, Duration::from_millis(u64::from(random % 250)));
        first = check_books(&data, account, first, &seen, &mut total);
    }
    println!("{kills} kills: {total:?}");
    assert!(total.answers > 0 && total.streams > 0, "clients must have been at work: {total:?}");
}

fn default_kills() -> u32 {
    if are_in_files() { 8 } else { 4 }
}

#[derive(Debug, Default)]
struct Totals {
    answers: usize,
    streams: usize,
    streams_cut: usize,
    entries: u64,
}

fn publish_numbers(data: &DataDirectory, rows: i64) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dataset.toml"), MANIFEST).unwrap();
    let numbers = ColumnValues::Integers((0..rows).map(Some).collect());
    let columns = [Column::new("number", ColumnKind::Integer, numbers)];
    let version = semver::Version::new(1, 0, 0);
    publish(data, folder.path(), &version, |path: &Path| write_table(path, &columns).map(drop)).unwrap();
}

fn open_account(data: &DataDirectory) -> (AccountId, String) {
    let now = SystemClock.now();
    let ledger = books::open(data);
    let account = ledger.create_account("crash", now).unwrap();
    ledger.buy(account, CREDITS, None, "", "", now).unwrap();
    let key = ledger.create_key(account, "", [9; 32], now).unwrap();
    (account, key.plain.reveal().to_owned())
}

/// Runs the server under load for a while, kills it, and returns what the clients saw.
fn serve_and_kill(data: &Path, durability: &str, key: &str, after: Duration) -> Vec<Seen> {
    let (mut child, address) = serve(data, durability);
    let (seen, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for number in 0..QUERYING_CLIENTS + STREAMING_CLIENTS {
            let (seen, is_over) = (&seen, &is_over);
            scope.spawn(move || {
                let mut turn = number;
                while !is_over.load(Ordering::Relaxed) {
                    turn += 1;
                    let met = if number < QUERYING_CLIENTS {
                        query(address, key, turn % 40 + 1)
                    } else {
                        stream(address, key, 2_000 + turn % 9_000)
                    };
                    seen.lock().unwrap().extend(met);
                }
            });
        }
        std::thread::sleep(after);
        child.kill().unwrap();
        is_over.store(true, Ordering::Relaxed);
    });
    child.wait().unwrap();
    seen.into_inner().unwrap()
}

fn serve(data: &Path, durability: &str) -> (Child, SocketAddr) {
    serve_with(data, durability, &[])
}

fn serve_with(data: &Path, durability: &str, flags: &[String]) -> (Child, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercato"))
        .args(SERVER_FLAGS)
        .args([
            "--requests-per-minute",
            "0",
            "--requests-per-day",
            "0",
            "--free-queries-per-month",
            "0",
            "--charge-durability",
            durability,
        ])
        .args(flags)
        .args(books::flags(data))
        .arg("--data")
        .arg(data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stdout.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server ended before it listened");
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        if let Some(address) = event.get("address").and_then(serde_json::Value::as_str) {
            break address.parse().unwrap();
        }
    };
    // Somebody has to read the log, or the server would wait for room in the pipe.
    std::thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
    (child, address)
}

fn check_books(
    data: &DataDirectory,
    account: AccountId,
    first: u64,
    seen: &[Seen],
    total: &mut Totals,
) -> u64 {
    let ledger = books::open_settled(data);
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced() && report.open_reservations == 0, "{report:?}");
    assert_eq!(ledger.account(account).unwrap().reserved(), 0);
    let entries = entries_from(&ledger, first);
    let mut known = HashSet::new();
    let mut sold = HashMap::new();
    for entry in &entries {
        assert!(known.insert((entry.kind, &entry.request_id)), "{entry:?} is there twice");
        if matches!(entry.kind, EntryKind::Charge | EntryKind::Settle) {
            sold.insert(entry.request_id.as_str(), entry.rows);
        }
    }
    for met in seen {
        let paid = sold.get(met.request_id.as_str()).copied();
        match met.rows_charged {
            Some(charged) => assert_eq!(paid, Some(charged), "{met:?}"),
            // Cut off: what was noted as delivered is paid, and that is never more than was asked for.
            None => assert!(paid.is_none_or(|paid| paid <= met.rows_asked), "{met:?} {paid:?}"),
        }
        total.answers += usize::from(!met.is_stream && met.rows_charged.is_some());
        total.streams += usize::from(met.is_stream && met.rows_charged.is_some());
        total.streams_cut += usize::from(met.is_stream && met.rows_charged.is_none());
    }
    total.entries += entries.len() as u64;
    entries.last().map_or(first, |entry| entry.sequence + 1)
}

fn entries_from(ledger: &Ledger, first: u64) -> Vec<Entry> {
    let (mut all, mut next) = (Vec::new(), Some(first));
    while let Some(from) = next {
        let (entries, following) = ledger.entries(None, from, 10_000).unwrap();
        all.extend(entries);
        next = following;
    }
    all
}
