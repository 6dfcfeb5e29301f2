//! What a request asks of the database: statements, round trips, transactions, bytes each way, rows, log. Counted by a proxy and
//! by the database.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mercato_base::clock::{Clock, SystemClock};
use mercato_database::DatabaseAddress;
use mercato_ledger::{
    AccountHandle, AccountId, ChargeRequest, IdempotencyClaim, Ledger, Pending, Reservation,
};
use mercato_people::{AccessControl, RateLimits, Subject};
use postgres::Client;

use super::books::{Place, order};
use super::meter::{Look, look};
use super::proxy::{Passed, Proxy};

/// Operations of one kind.
const TIMES: usize = 300;
/// Operations that come at the same time.
const AT_ONCE: usize = 512;
/// Streams that run at the same time.
const STREAMS: usize = 100;
/// Sessions of the database tell of their rows when they end a transaction a second after the last time.
const STATISTICS_PAUSE: Duration = Duration::from_millis(1_100);
const FREE_QUERIES: usize = 90;
/// Other servers that have counted the same clients.
const OTHERS: [(i64, &str); 3] =
    [(2, "the same beside 2 servers"), (9, "the same beside 9 servers"), (99, "the same beside 99 servers")];
const COUNTED_ELSEWHERE: &str = "INSERT INTO counter (subject, day, server, count, second, minute) \
    SELECT subject, day, -n, count, second, minute FROM counter, generate_series(1, $1::bigint) AS n \
    WHERE server > 0 AND length(minute) > 0 ON CONFLICT DO NOTHING";

/// What one operation asks.
pub struct Asked {
    pub name: &'static str,
    pub passed: Passed,
    /// Rows written, by table.
    pub rows: Vec<(String, f64)>,
    /// Bytes of the write-ahead log.
    pub log: f64,
    /// Processor seconds of the database.
    pub database: f64,
}

/// A server whose connections pass a proxy.
struct Watched {
    proxy: Proxy,
    client: Client,
    ledger: Arc<Ledger>,
    account: AccountHandle,
    idle: Passed,
    idle_database: f64,
    schema: String,
}

/// Counts everything. Takes half a minute.
pub fn count(place: &Place, url: &str, schema: &str) -> Vec<Asked> {
    let mut watched = Watched::new(place, url, schema);
    let mut all = vec![watched.idle()];
    all.push(watched.each("plain charge, alone", TIMES, |watched| watched.charge(&order(&watched.account))));
    all.push(watched.crowded("plain charge among 512", order));
    let number = AtomicU64::new(0);
    let claimed = |account: &AccountHandle| {
        let key = number.fetch_add(1, Ordering::Relaxed).to_string();
        let claim = IdempotencyClaim::new(&key, "bench", b"{}").unwrap();
        ChargeRequest { claim: Some(claim), ..order(account) }
    };
    let name = "charge with an idempotency key, alone";
    all.push(watched.each(name, TIMES, |watched| watched.charge(&claimed(&watched.account))));
    all.push(watched.crowded("charge with an idempotency key among 512", claimed));
    let free = watched.free_account();
    all.push(watched.each("free query", FREE_QUERIES, |watched| {
        watched.charge(&ChargeRequest { free_queries: 100, ..order(&free) })
    }));
    let mut streams: Vec<Reservation> = Vec::new();
    all.push(watched.each("stream: reserve", STREAMS, |watched| {
        streams.push(watched.ledger.reserve(&order(&watched.account)).unwrap());
    }));
    all.push(watched.progress(&streams));
    let mut streams = streams.into_iter();
    all.push(watched.each("stream: settle", STREAMS, |_| {
        let stream = streams.next().unwrap();
        stream.settle(5, SystemClock.now()).and_then(Pending::durable).unwrap();
    }));
    all.push(watched.counts("counts of 100 clients, an exchange"));
    for (others, name) in OTHERS {
        watched.client.execute(COUNTED_ELSEWHERE, &[&others]).unwrap();
        all.push(watched.counts(name));
    }
    all
}

impl Watched {
    fn new(place: &Place, url: &str, schema: &str) -> Watched {
        let (_, host) = url.split_once('@').unwrap();
        let (host, database) = host.split_once('/').unwrap();
        let (folder, port) = host.split_once(':').unwrap();
        let proxy = Proxy::before(Path::new(&folder.replace("%2F", "/")).join(format!(".s.PGSQL.{port}")));
        let options = format!("options=-c%20search_path%3D{schema}");
        let behind = format!("postgres://mercato@127.0.0.1:{}/{database}?{options}", proxy.port());
        let address = DatabaseAddress::parse(&behind, |_| None).unwrap();
        let ledger = Ledger::open_database(&address, SystemClock.now()).unwrap();
        let accounts = place.accounts(std::slice::from_ref(&ledger), 1);
        let account = accounts.first().and_then(|of| of.first()).unwrap().clone();
        let schema = schema.to_owned();
        let (ledger, idle) = (Arc::new(ledger), Passed::default());
        Watched { proxy, client: place.client(), ledger, account, idle, idle_database: 0.0, schema }
    }

    fn charge(&self, order: &ChargeRequest) {
        self.ledger.charge(order).and_then(Pending::durable).unwrap();
    }

    fn free_account(&self) -> AccountHandle {
        let id: AccountId = self.ledger.create_account("free", SystemClock.now()).unwrap();
        self.ledger.account(id).unwrap()
    }

    /// A second without requests.
    fn idle(&mut self) -> Asked {
        thread::sleep(Duration::from_secs(2));
        let before = self.begin();
        thread::sleep(Duration::from_secs(8));
        let seconds = before.at.elapsed().as_secs_f64();
        let asked = self.end("idle books, a second", seconds, &before);
        (self.idle, self.idle_database) = (asked.passed, asked.database);
        asked
    }

    /// Does something again and again, and counts.
    fn each(&mut self, name: &'static str, times: usize, mut work: impl FnMut(&Watched)) -> Asked {
        (0..3).for_each(|_| work(self));
        thread::sleep(STATISTICS_PAUSE);
        work(self);
        let counted = self.begin();
        (5..times).for_each(|_| work(self));
        thread::sleep(STATISTICS_PAUSE);
        work(self);
        self.end(name, (times - 4) as f64, &counted)
    }

    /// As many charges as one batch takes, at the same time.
    fn crowded(&mut self, name: &'static str, order: impl Fn(&AccountHandle) -> ChargeRequest) -> Asked {
        let all_at_once = |watched: &Watched| {
            let pending: Vec<_> =
                (0..AT_ONCE).map(|_| watched.ledger.charge(&order(&watched.account)).unwrap()).collect();
            pending.into_iter().for_each(|pending| drop(pending.durable().unwrap()));
        };
        all_at_once(self);
        thread::sleep(STATISTICS_PAUSE);
        self.charge(&order(&self.account));
        let counted = self.begin();
        (0..10).for_each(|_| all_at_once(self));
        thread::sleep(STATISTICS_PAUSE);
        self.charge(&order(&self.account));
        self.end(name, (10 * AT_ONCE + 1) as f64, &counted)
    }

    /// A second of streams that all get on.
    fn progress(&mut self, streams: &[Reservation]) -> Asked {
        let get_on = |rows: u64| streams.iter().for_each(|stream| stream.delivered(rows, SystemClock.now()));
        get_on(1);
        thread::sleep(Duration::from_secs(2));
        let counted = self.begin();
        for rows in 2..6 {
            get_on(rows);
            thread::sleep(Duration::from_secs(1));
        }
        self.end("stream: progress, a second of 100", 4.0, &counted)
    }

    /// An exchange of the counts of 100 addresses.
    fn counts(&mut self, name: &'static str) -> Asked {
        let limits = RateLimits { per_minute: 100_000, per_day: 10_000_000 };
        let access = AccessControl::open(Arc::clone(&self.ledger), limits, SystemClock.now()).unwrap();
        self.each(name, 30, |_| {
            for last in 0..100 {
                let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
                access.admit(Subject::Address(address), SystemClock.now()).unwrap();
            }
            access.share(SystemClock.now()).unwrap();
        })
    }

    fn begin(&mut self) -> Counted {
        let rows = self.rows();
        let log = self.log();
        Counted { rows, log, look: look(&mut self.client), passed: self.proxy.passed(), at: Instant::now() }
    }

    fn end(&mut self, name: &'static str, operations: f64, before: &Counted) -> Asked {
        let seconds = before.at.elapsed().as_secs_f64();
        let passed = self.proxy.passed().each(before.passed, operations, self.idle, seconds);
        let spent = look(&mut self.client).since(&before.look).database;
        let database = (spent - self.idle_database * seconds).max(0.0) / operations;
        let log = (self.log() - before.log) / operations;
        let written = self.rows().into_iter().map(|(table, rows)| {
            let earlier = before.rows.get(&table).copied().unwrap_or(0.0);
            (table, (rows - earlier) / operations)
        });
        // The lease is the server's, not the operation's.
        let rows = written.filter(|(table, rows)| *rows > 0.001 && table != "server").collect();
        Asked { name, passed, rows, log, database }
    }

    fn rows(&mut self) -> BTreeMap<String, f64> {
        let text = "SELECT relname::text, (n_tup_ins + n_tup_upd + n_tup_del)::float8 FROM pg_stat_user_tables \
            WHERE schemaname = $1";
        self.client.query(text, &[&self.schema]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// The end of the write-ahead log, in bytes.
    fn log(&mut self) -> f64 {
        let text = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
        self.client.query_one(text, &[]).unwrap().get(0)
    }
}

/// Counts at one moment.
struct Counted {
    rows: BTreeMap<String, f64>,
    log: f64,
    look: Look,
    passed: Passed,
    at: Instant,
}
