//! Cost of the books: charges a second for each durability and number of clients, beside one flush per charge,
//! and the cost of admission.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mercato_base::clock::{Clock, Moment, SystemClock};
use mercato_ledger::{
    AccountHandle, ChargeDurability, ChargeRequest, KEY_RANDOM_BYTES, Ledger, LedgerOptions, Pending,
    PlainKey,
};
use mercato_people::{AccessControl, RateLimits, Subject};

const CLIENTS: [usize; 3] = [1, 8, 64];
const CREDITS: u64 = 1_000_000_000_000;
const TRACKED_ADDRESSES: u32 = 65_536;
const FEW_ENTRIES: u64 = 10_000;
const MANY_ENTRIES: u64 = 10_000_000;
/// The variable that names another number of entries.
const ENTRIES_VARIABLE: &str = "LEDGER_BENCH_ENTRIES";

fn charging(criterion: &mut Criterion) {
    for (name, durability) in [("process", ChargeDurability::Process), ("power", ChargeDurability::Power)] {
        let mut group = criterion.benchmark_group(format!("charge/{name}"));
        group.sample_size(10).measurement_time(Duration::from_secs(4)).throughput(Throughput::Elements(1));
        let folder = tempfile::tempdir_in(".").unwrap();
        let ledger = Ledger::open(folder.path(), LedgerOptions { durability }, SystemClock.now()).unwrap();
        let account = rich_account(&ledger);
        latency_of_one_client(name, &ledger, &account);
        for clients in CLIENTS {
            group.bench_with_input(
                BenchmarkId::new("group_commit", clients),
                &clients,
                |bencher, &clients| {
                    bencher.iter_custom(|charges| {
                        shared_out(clients, charges, || {
                            ledger.charge(&order(&account)).and_then(Pending::durable).unwrap();
                        })
                    });
                },
            );
        }
        let naive_folder = tempfile::tempdir_in(".").unwrap();
        let naive = OneFlushPerCharge::open(naive_folder.path(), durability == ChargeDurability::Power);
        for clients in CLIENTS {
            group.bench_with_input(
                BenchmarkId::new("one_flush_per_charge", clients),
                &clients,
                |bencher, &clients| {
                    bencher.iter_custom(|charges| shared_out(clients, charges, || naive.charge()));
                },
            );
        }
        group.finish();
    }
}

/// The wait of one client for one charge: the mean hides that some wait for the disk.
fn latency_of_one_client(name: &str, ledger: &Ledger, account: &AccountHandle) {
    let mut micros: Vec<u128> = (0..5_000)
        .map(|_| {
            let start = Instant::now();
            ledger.charge(&order(account)).and_then(Pending::durable).unwrap();
            start.elapsed().as_micros()
        })
        .collect();
    micros.sort_unstable();
    let at = |share: usize| micros.get(micros.len() * share / 1_000).copied().unwrap_or_default();
    println!("latency: {name}, one client: p50 {} µs, p90 {} µs, p99 {} µs", at(500), at(900), at(990));
}

/// Has so many clients make so many charges together, and says how long that took.
fn shared_out(clients: usize, charges: u64, charge: impl Fn() + Sync) -> Duration {
    let (begin, end) = (Barrier::new(clients + 1), Barrier::new(clients + 1));
    let each = charges.div_ceil(clients as u64);
    let elapsed = std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                begin.wait();
                (0..each).for_each(|_| charge());
                end.wait();
            });
        }
        begin.wait();
        let start = Instant::now();
        end.wait();
        start.elapsed()
    });
    elapsed.mul_f64(charges as f64 / (each * clients as u64) as f64)
}

/// The obvious way, to compare with: each charge writes balance and entry and flushes by itself.
struct OneFlushPerCharge {
    store: sled::Db,
    log: Option<File>,
    state: Mutex<(u64, u64)>,
}

impl OneFlushPerCharge {
    fn open(folder: &Path, is_synced: bool) -> OneFlushPerCharge {
        let store = sled::Config::new().path(folder).flush_every_ms(None).open().unwrap();
        let log = is_synced.then(|| File::open(folder.join("db")).unwrap());
        OneFlushPerCharge { store, log, state: Mutex::new((CREDITS, 0)) }
    }

    fn charge(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 -= 10;
        state.1 += 1;
        let mut batch = sled::Batch::default();
        batch.insert(b"balance", state.0.to_be_bytes().as_slice());
        batch.insert(state.1.to_be_bytes().as_slice(), [7_u8; 110].as_slice());
        self.store.apply_batch(batch).unwrap();
        self.store.flush().unwrap();
        if let Some(log) = &self.log {
            log.sync_data().unwrap();
        }
    }
}

fn letting_in(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemClock.now();
    let ledger = Arc::new(Ledger::open(folder.path(), LedgerOptions::default(), now).unwrap());
    let account = rich_account(&ledger);
    let keys: Vec<_> = (0..1_000_u32)
        .map(|seed| {
            let mut random = [0; 32];
            random[..4].copy_from_slice(&seed.to_be_bytes());
            ledger.create_key(account.id(), "", random, now)
        })
        .map_while(Result::ok)
        .map(|created| created.plain.reveal().to_owned())
        .collect();
    let limits = RateLimits { per_minute: 1_000_000_000, per_day: 1_000_000_000 };
    let access = AccessControl::open(Arc::clone(&ledger), limits, now).unwrap();
    let mut group = criterion.benchmark_group("let_in");
    group.throughput(Throughput::Elements(1));
    let mut turn = 0;
    let mut pass = |now: Moment| {
        turn = (turn + 1) % keys.len();
        let caller = access.authenticate(keys.get(turn).map(String::as_str), now).unwrap();
        access.admit(Subject::Key(&caller), now).unwrap()
    };
    group.bench_function("authenticate_and_admit", |bencher| bencher.iter(|| pass(SystemClock.now())));
    group.bench_function("authenticate", |bencher| {
        bencher.iter(|| access.authenticate(keys.first().map(String::as_str), now).is_ok());
    });
    let unknown = PlainKey::from_random([9; KEY_RANDOM_BYTES]);
    group.bench_function("authenticate_unknown_key", |bencher| {
        bencher.iter(|| access.authenticate(Some(unknown.reveal()), now).is_err());
    });
    group.bench_function("authenticate_typing_error", |bencher| {
        let mut typed = unknown.reveal().to_owned();
        let last = typed.pop();
        typed.push(if last == Some('a') { 'b' } else { 'a' });
        bencher.iter(|| access.authenticate(Some(&typed), now).is_err());
    });
    let caller = access.authenticate(keys.first().map(String::as_str), now).unwrap();
    group.bench_function("admit_key", |bencher| {
        bencher.iter(|| access.admit(Subject::Key(&caller), SystemClock.now()).is_ok());
    });
    let strict =
        AccessControl::open(Arc::clone(&ledger), RateLimits { per_minute: 1, per_day: 1 }, now).unwrap();
    strict.admit(Subject::Key(&caller), now).unwrap();
    group.bench_function("refuse_key_over_its_limits", |bencher| {
        bencher.iter(|| strict.admit(Subject::Key(&caller), now).is_err());
    });
    group.bench_function("admit_address", |bencher| {
        let mut address = 0;
        bencher.iter(|| {
            address = (address + 1) % TRACKED_ADDRESSES;
            access.admit(Subject::Address(IpAddr::from(Ipv4Addr::from_bits(address))), now).is_ok()
        });
    });
    group.finish();
    memory_of_addresses(&ledger);
}

fn memory_of_addresses(ledger: &Arc<Ledger>) {
    let now = SystemClock.now();
    for requests in [1, 10, 120] {
        let access = AccessControl::open(Arc::clone(ledger), RateLimits::default(), now).unwrap();
        for request in 0..requests {
            for address in 0..TRACKED_ADDRESSES * 2 {
                let address = IpAddr::from(Ipv4Addr::from_bits(address));
                let at = now.plus_millis(request * 450);
                access.admit(Subject::Address(address), at).ok();
            }
        }
        let (tracked, bytes) = access.tracked_addresses();
        let each = bytes / tracked.max(1);
        println!(
            "memory: {tracked} addresses of {} seen, {requests} requests each: {each} bytes per tracked address",
            TRACKED_ADDRESSES * 2
        );
    }
}

/// How much memory entries take, how long the books take to open, and how much of the disk they take.
fn opening(_: &mut Criterion) {
    let folder = tempfile::tempdir_in(".").unwrap();
    let options = LedgerOptions { durability: ChargeDurability::Process };
    let open = || {
        let start = Instant::now();
        let ledger = Ledger::open(folder.path(), options, SystemClock.now()).unwrap();
        (ledger, start.elapsed())
    };
    let (ledger, _) = open();
    let account = rich_account(&ledger);
    let charges = |count: u64| (0..count).for_each(|_| drop(ledger.charge(&order(&account)).unwrap()));
    let many = std::env::var(ENTRIES_VARIABLE).ok().and_then(|number| number.parse().ok());
    let many = many.unwrap_or(MANY_ENTRIES).max(FEW_ENTRIES);
    charges(FEW_ENTRIES);
    let before = resident_kib();
    charges(many - FEW_ENTRIES);
    let grown = resident_kib().saturating_sub(before);
    println!("memory: {grown} KiB more after {many} entries than after {FEW_ENTRIES}");
    drop(ledger);
    let (ledger, with_checkpoint) = open();
    let entries = ledger.stats().entries;
    drop(ledger);
    std::fs::remove_dir_all(folder.path().join("checkpoint")).unwrap();
    let (ledger, without) = open();
    let start = Instant::now();
    assert!(ledger.verify().unwrap().is_balanced());
    let verified = start.elapsed();
    let log = std::fs::read_dir(folder.path().join("log")).unwrap().map_while(Result::ok);
    let bytes: u64 = log.map_while(|file| file.metadata().ok()).map(|about| about.len()).sum();
    println!(
        "open: {entries} entries in {with_checkpoint:?} with a checkpoint, {without:?} without; verified in {verified:?}; \
         {} MB of log, {} bytes an entry",
        bytes >> 20,
        bytes / entries
    );
}

/// Memory of this process that no file stands behind.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn rich_account(ledger: &Ledger) -> AccountHandle {
    let now = SystemClock.now();
    let id = ledger.create_account("bench", now).unwrap();
    ledger.buy(id, CREDITS, None, "", "", now).unwrap();
    ledger.account(id).unwrap()
}

fn order(account: &AccountHandle) -> ChargeRequest {
    ChargeRequest {
        account: account.clone(),
        key: None,
        rows: 10,
        free_queries: 0,
        dataset: "tpch-lineitem".to_owned(),
        request_id: "0b54a1c6-2f0e-4f6e-9d53-3e1a3f0c7a10".to_owned(),
        claim: None,
        view: None,
        at: SystemClock.now(),
    }
}

criterion_group!(benches, charging, letting_in, opening);
criterion_main!(benches);
