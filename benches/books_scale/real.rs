//! Runs scenes for real: ledgers in this process, as so many servers have them, on a real database.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mercato_ledger::{AccountHandle, Ledger, Pending, Receipt};
use postgres::Client;

use super::books::{Place, order};
use super::meter::{Spent, look};
use super::scene::{Load, Outcome, Scene, TICK, pick, poisson};

/// What is not counted at the beginning of a run.
const WARM_UP: Duration = Duration::from_millis(500);
const BATCHERS: usize = 2;

/// The servers, and the accounts as each has them.
pub struct Stage {
    pub ledgers: Vec<Ledger>,
    pub accounts: Vec<Vec<AccountHandle>>,
    pub client: Client,
}

/// Whether what ends is counted.
#[derive(Default)]
struct Phase(AtomicU8);

impl Phase {
    fn is_counting(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 2
    }
}

impl Stage {
    pub fn new(place: &Place, servers: usize, accounts: usize) -> Stage {
        let ledgers: Vec<Ledger> = (0..servers).map(|_| place.open()).collect();
        let accounts = place.accounts(&ledgers, accounts);
        Stage { ledgers, accounts, client: place.client() }
    }

    /// Runs a scene. Returns what came of it, and the processor time for one second.
    pub fn run(&mut self, scene: &Scene, time: Duration) -> (Outcome, Spent) {
        let (phase, refused) = (Phase::default(), AtomicU64::new(0));
        let Stage { ledgers, accounts, client } = self;
        let servers: Vec<_> = ledgers.iter().zip(accounts.iter()).take(scene.servers).collect();
        thread::scope(|scope| {
            let (told, heard) = mpsc::channel::<Vec<f64>>();
            for (number, (ledger, accounts)) in servers.iter().enumerate() {
                let accounts = accounts.get(..scene.accounts).unwrap();
                match scene.load {
                    Load::Closed { clients } => (0..clients).for_each(|one| {
                        let (told, phase, seed) = (told.clone(), &phase, (number * 1_000 + one) as u64);
                        scope.spawn(move || told.send(charge_again(ledger, accounts, phase, seed)).unwrap());
                    }),
                    Load::Open { per_second } => {
                        let waiters = [(); BATCHERS].map(|()| {
                            let (put, take) = mpsc::channel::<Asked>();
                            let (told, phase) = (told.clone(), &phase);
                            scope.spawn(move || told.send(wait_for_answers(&take, phase)).unwrap());
                            put
                        });
                        let (phase, refused) = (&phase, &refused);
                        scope.spawn(move || {
                            ask(ledger, accounts, per_second, phase, refused, &waiters, number as u64)
                        });
                    }
                }
            }
            drop(told);
            thread::sleep(WARM_UP);
            let (batches, began, before) = (batches(&servers), Instant::now(), look(client));
            phase.0.store(1, Ordering::Relaxed);
            thread::sleep(time);
            phase.0.store(2, Ordering::Relaxed);
            let (spent, seconds) = (look(client).since(&before), began.elapsed().as_secs_f64());
            let (groups, operations) = self::batches(&servers);
            let (groups, operations) = ((groups - batches.0) as f64, (operations - batches.1) as f64);
            let mut latencies: Vec<f64> = heard.into_iter().flatten().collect();
            let outcome = Outcome {
                rate: latencies.len() as f64 / time.as_secs_f64(),
                per_batch: operations / groups.max(1.0),
                batches: groups / seconds,
                database: spent.database / seconds,
                refused: refused.load(Ordering::Relaxed),
                ..Outcome::of_latencies(&mut latencies)
            };
            let spent = Spent {
                database: spent.database / seconds,
                batchers: spent.batchers / seconds,
                others: spent.others / seconds,
                elsewhere: spent.elsewhere / seconds,
                flush: spent.flush,
            };
            (outcome, spent)
        })
    }
}

/// Batches and operations so far.
fn batches(servers: &[(&Ledger, &Vec<AccountHandle>)]) -> (u64, u64) {
    let sizes = servers.iter().map(|(ledger, _)| ledger.stats().group_sizes);
    sizes.fold((0, 0), |sum, sizes| (sum.0 + sizes.count(), sum.1 + sizes.sum() as u64))
}

fn charge_again(ledger: &Ledger, accounts: &[AccountHandle], phase: &Phase, seed: u64) -> Vec<f64> {
    let (mut latencies, mut chance) = (Vec::new(), seed);
    while !phase.is_over() {
        let account = accounts.get(pick(accounts.len(), &mut chance)).unwrap();
        let began = Instant::now();
        ledger.charge(&order(account)).and_then(Pending::durable).unwrap();
        if phase.is_counting() {
            latencies.push(began.elapsed().as_secs_f64());
        }
    }
    latencies
}

/// A charge of an open loop, and when it was due.
type Asked = (Instant, Pending<Receipt>);

fn ask(
    ledger: &Ledger,
    accounts: &[AccountHandle],
    per_second: f64,
    phase: &Phase,
    refused: &AtomicU64,
    waiters: &[mpsc::Sender<Asked>; BATCHERS],
    seed: u64,
) {
    let (mut due, mut chance) = (Instant::now(), seed);
    while !phase.is_over() {
        due += Duration::from_secs_f64(TICK);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        for _ in 0..poisson(per_second * TICK, &mut chance) {
            let account = accounts.get(pick(accounts.len(), &mut chance)).unwrap();
            let waiter = waiters.get(account.id().number() as usize % BATCHERS).unwrap();
            match ledger.charge(&order(account)) {
                Ok(pending) => waiter.send((due, pending)).unwrap(),
                Err(_) => drop(refused.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
}

/// The answers of one batcher come in the order of its charges.
fn wait_for_answers(asked: &mpsc::Receiver<Asked>, phase: &Phase) -> Vec<f64> {
    let mut latencies = Vec::new();
    for (due, pending) in asked {
        pending.durable().unwrap();
        if phase.is_counting() {
            latencies.push(due.elapsed().as_secs_f64());
        }
    }
    latencies
}
