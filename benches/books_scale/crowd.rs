//! As many real servers as wanted in one process: books, access control and catalogue of each, with what they ask when nothing
//! happens, with many open streams, and under a light load whose clients are known to all of them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mercato_base::clock::{Clock, SystemClock};
use mercato_catalog::releases::{Mirror, MirrorOptions, Prefetch, Prepared};
use mercato_catalog::{Catalog, DataDirectory};
use mercato_ledger::{AccountHandle, Ledger, Pending};
use mercato_people::{AccessControl, CounterFlusher, RateLimits, Subject};
use postgres::Client;
use tempfile::TempDir;

use super::books::{Place, order};
use super::costs::commits;
use super::meter::look;
use super::scene::{pick, random};

/// Clients that come to every server.
const CLIENTS: u8 = 50;
/// Requests a second of each server.
const REQUESTS_PER_SECOND: f64 = 20.0;
/// Streams that are open while nothing else happens.
const STREAMS_PER_SERVER: i64 = 50;
/// After a change of the scene.
const SETTLE_TIME: Duration = Duration::from_secs(3);
const STREAMS: &str = "INSERT INTO reservation (id, account, server, credits, delivered, record) \
    SELECT -n, -1, server.id, 0, 0, ''::bytea FROM server, generate_series(1 + $1 * (server.id::bigint - 1), \
    $1 * server.id::bigint) AS n";
const NO_STREAMS: &str = "DELETE FROM reservation WHERE account = -1";

/// What so many servers asked of the database in a second.
pub struct Second {
    pub servers: usize,
    pub scene: &'static str,
    pub requests: f64,
    pub transactions: f64,
    /// Processors of the database that were busy.
    pub database: f64,
    pub log: f64,
    pub connections: i64,
}

/// A server as it runs, without sockets.
struct Server {
    ledger: Arc<Ledger>,
    access: Arc<AccessControl>,
    // Ends before the books.
    parts: Option<(CounterFlusher, Mirror, TempDir)>,
    accounts: Vec<AccountHandle>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.parts.take());
    }
}

/// Servers that are added to.
pub struct Crowd<'p> {
    place: &'p Place,
    client: Client,
    servers: Vec<Server>,
    accounts: Vec<mercato_ledger::AccountId>,
}

impl<'p> Crowd<'p> {
    pub fn new(place: &'p Place, accounts: &[AccountHandle]) -> Crowd<'p> {
        let accounts = accounts.iter().map(AccountHandle::id).collect();
        Crowd { place, client: place.client(), servers: Vec::new(), accounts }
    }

    /// Opens servers until there are so many. Returns how long one took.
    pub fn grow(&mut self, count: usize) -> Duration {
        let (began, before) = (Instant::now(), self.servers.len());
        while self.servers.len() < count {
            let server = self.open();
            self.servers.push(server);
        }
        began.elapsed() / u32::try_from(count.saturating_sub(before).max(1)).unwrap_or(1)
    }

    fn open(&self) -> Server {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ledger = Arc::new(self.place.open());
        let limits = RateLimits { per_minute: 1_000_000, per_day: 100_000_000 };
        let access = Arc::new(AccessControl::open(Arc::clone(&ledger), limits, clock.now()).unwrap());
        let flusher = access.start_flusher(Arc::clone(&clock), || ()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::new(folder.path());
        let options = MirrorOptions {
            database: self.place.address(),
            store: None,
            directory: directory.clone(),
            cache_bytes: u64::MAX,
            prefetch: Prefetch::None,
        };
        let prepared = Prepared::new(options).unwrap();
        let catalog = Arc::new(Catalog::open(directory).unwrap());
        let mirror = prepared.start(&catalog, &clock, ledger.server(), Arc::new(|| ())).unwrap();
        let accounts = self.accounts.iter().map(|id| ledger.account(*id).unwrap()).collect();
        Server { ledger, access, parts: Some((flusher, mirror, folder)), accounts }
    }

    /// Nothing happens.
    pub fn idle(&mut self, time: Duration) -> Second {
        thread::sleep(SETTLE_TIME);
        self.look("idle", time, &AtomicU64::new(0))
    }

    /// Nothing happens but that streams are open.
    pub fn with_streams(&mut self, time: Duration) -> Second {
        self.client.execute(STREAMS, &[&STREAMS_PER_SERVER]).unwrap();
        self.client.batch_execute("ANALYZE reservation").unwrap();
        let second = self.idle(time);
        self.client.batch_execute(NO_STREAMS).unwrap();
        Second { scene: "idle, 50 streams each", ..second }
    }

    /// Requests of clients that come to all servers.
    pub fn lightly_loaded(&mut self, time: Duration) -> Second {
        let (is_over, requests) = (AtomicBool::new(false), AtomicU64::new(0));
        let servers = std::mem::take(&mut self.servers);
        let second = thread::scope(|scope| {
            for (number, server) in servers.iter().enumerate() {
                let (is_over, requests) = (&is_over, &requests);
                scope.spawn(move || server.serve(number as u64, is_over, requests));
            }
            thread::sleep(SETTLE_TIME);
            let second = self.look("20 requests a second each", time, &requests);
            is_over.store(true, Ordering::Relaxed);
            second
        });
        let servers_count = servers.len();
        self.servers = servers;
        Second { servers: servers_count, ..second }
    }

    fn look(&mut self, scene: &'static str, time: Duration, requests: &AtomicU64) -> Second {
        let asked = requests.load(Ordering::Relaxed);
        let (log, commits_before) = (self.log(), commits(&mut self.client));
        let (before, began) = (look(&mut self.client), Instant::now());
        thread::sleep(time);
        let (spent, seconds) = (look(&mut self.client).since(&before), began.elapsed().as_secs_f64());
        let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
        Second {
            servers: self.servers.len(),
            scene,
            requests: (requests.load(Ordering::Relaxed) - asked) as f64 / seconds,
            transactions: (commits(&mut self.client) - commits_before) / seconds,
            database: spent.database / seconds,
            log: (self.log() - log) / seconds,
            connections: self.client.query_one(connections, &[]).unwrap().get(0),
        }
    }

    fn log(&mut self) -> f64 {
        let text = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
        self.client.query_one(text, &[]).unwrap().get(0)
    }
}

impl Server {
    /// Admits and charges requests until it is over.
    fn serve(&self, seed: u64, is_over: &AtomicBool, requests: &AtomicU64) {
        let (mut chance, mut due) = (seed, Instant::now());
        while !is_over.load(Ordering::Relaxed) {
            due += Duration::from_secs_f64(-(1.0 - random(&mut chance)).ln() / REQUESTS_PER_SECOND);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let client =
                IpAddr::V4(Ipv4Addr::new(198, 51, 100, pick(usize::from(CLIENTS), &mut chance) as u8));
            self.access.admit(Subject::Address(client), SystemClock.now()).unwrap();
            let account = self.accounts.get(pick(self.accounts.len(), &mut chance)).unwrap();
            self.ledger.charge(&order(account)).and_then(Pending::durable).unwrap();
            requests.fetch_add(1, Ordering::Relaxed);
        }
    }
}
