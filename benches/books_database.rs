//! Cost of books on a database: charges a second of three servers, over many accounts and on one, and the wait for one charge;
//! beside one charge a statement, and a plain `INSERT` with its commit, by the same driver in the same run.
//!
//! Run as `tests/books/postgres.sh --durable cargo bench --bench books_database`; without a database it does nothing. Takes about
//! a minute. Prints a table, and the same as one line of JSON. With `--quick` each work takes a tenth of its time.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mercato_ledger::{Ledger, Pending};

use books::{Place, now, order};

#[path = "shared/books.rs"]
mod books;

const SERVERS: usize = 3;
const CLIENTS_PER_SERVER: usize = 64;
const ACCOUNTS: usize = 192;
const WORK_TIME: Duration = Duration::from_secs(8);
const QUICK_TIME: Duration = Duration::from_millis(800);
/// The schema of the bench, which is made anew.
const SCHEMA: &str = "books_bench";
/// The tables of the obvious way: one charge a statement, with the same entry.
const PLAIN_TABLES: &str = "CREATE TABLE plain_account (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0)) \
    WITH (fillfactor = 50); \
    CREATE TABLE plain_entry (number bigserial PRIMARY KEY, account bigint NOT NULL, amount bigint NOT NULL, \
    balance bigint NOT NULL, at bigint NOT NULL, request_id text NOT NULL, dataset text NOT NULL); \
    INSERT INTO plain_account SELECT n, 1000000000 FROM generate_series(1, 192) AS n";
const PLAIN_CHARGE: &str = "WITH paid AS (UPDATE plain_account SET balance = balance - $2 WHERE id = $1 AND balance >= $2 \
    RETURNING id, balance) INSERT INTO plain_entry (account, amount, balance, at, request_id, dataset) \
    SELECT id, -$2::bigint, balance, $3, 'request', 'orders' FROM paid";
const PLAIN_INSERT: &str = "INSERT INTO plain_entry (account, amount, balance, at, request_id, dataset) \
    VALUES ($1, -$2::bigint, 0, $3, 'request', 'orders')";

/// What one work took.
struct Measured {
    name: &'static str,
    per_second: f64,
    /// Microseconds: the middle, and what one of a hundred exceeds.
    p50: u64,
    p99: u64,
}

fn main() {
    let Some(url) = books::url() else {
        println!("skipped: run it as `tests/books/postgres.sh --durable cargo bench --bench books_database`");
        return;
    };
    let time = if std::env::args().any(|argument| argument == "--quick") { QUICK_TIME } else { WORK_TIME };
    let place = Place::new(&url, SCHEMA);
    place.client().batch_execute(PLAIN_TABLES).unwrap();
    let ledgers: Vec<Ledger> = (0..SERVERS).map(|_| place.open()).collect();
    let accounts = place.accounts(&ledgers, ACCOUNTS);
    let charge = |server: usize, account: usize| {
        let account = accounts.get(server).and_then(|of| of.get(account % ACCOUNTS)).unwrap();
        ledgers.get(server).unwrap().charge(&order(account)).and_then(Pending::durable).unwrap();
    };
    let all = SERVERS * CLIENTS_PER_SERVER;
    let plain = |text: &'static str| {
        let place = &place;
        move |client: usize| {
            let mut connection = place.client();
            let statement = connection.prepare(text).unwrap();
            move || {
                let (account, amount) = ((client % ACCOUNTS) as i64 + 1, books::ROWS as i64);
                connection.execute(&statement, &[&account, &amount, &now()]).unwrap();
            }
        }
    };
    let measured = [
        run("charges, 3 servers, 192 accounts", all, time, |client| move || charge(client % SERVERS, client)),
        run("charges, 3 servers, one hot account", all, time, |client| move || charge(client % SERVERS, 0)),
        run("one charge a statement, 1 connection", 1, time, plain(PLAIN_CHARGE)),
        run("one charge a statement, 16 connections", 16, time, plain(PLAIN_CHARGE)),
        run("single charge, 1 thread", 1, time, |client| move || charge(0, client)),
        run("single charge, 16 threads", 16, time, |client| move || charge(0, client)),
        run("plain INSERT and commit, 1 connection", 1, time, plain(PLAIN_INSERT)),
        run("plain INSERT and commit, 16 connections", 16, time, plain(PLAIN_INSERT)),
    ];
    let report = ledgers.first().unwrap().verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    print(&measured, report.entries, &place.setting("fsync"));
}

/// Has so many clients do a piece of work again and again, each with what `begin` makes for it.
fn run<W: FnMut() + Send>(
    name: &'static str,
    clients: usize,
    time: Duration,
    begin: impl Fn(usize) -> W + Sync,
) -> Measured {
    let ends = AtomicBool::new(false);
    let (mut micros, elapsed) = std::thread::scope(|scope| {
        let (ends, begin) = (&ends, &begin);
        let workers: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    let mut work = begin(client);
                    let mut micros: Vec<u64> = Vec::new();
                    while !ends.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        work();
                        micros.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
                    }
                    micros
                })
            })
            .collect();
        let start = Instant::now();
        std::thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
        let micros: Vec<u64> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        (micros, start.elapsed())
    });
    micros.sort_unstable();
    let at = |share: usize| micros.get(micros.len() * share / 1_000).copied().unwrap_or_default();
    Measured { name, per_second: micros.len() as f64 / elapsed.as_secs_f64(), p50: at(500), p99: at(990) }
}

fn print(measured: &[Measured], entries: u64, fsync: &str) {
    println!("{:<42} {:>10} {:>12} {:>12}", "", "a second", "p50", "p99");
    for Measured { name, per_second, p50, p99 } in measured {
        println!("{name:<42} {per_second:>10.0} {p50:>9} µs {p99:>9} µs");
    }
    println!("fsync is {fsync}; {entries} entries, every balance is their sum");
    let works: Vec<serde_json::Value> = measured
        .iter()
        .map(|work| {
            serde_json::json!({
                "work": work.name, "perSecond": work.per_second.round(), "p50Micros": work.p50, "p99Micros": work.p99,
            })
        })
        .collect();
    println!("{}", serde_json::json!({ "fsync": fsync, "entries": entries, "works": works }));
}
