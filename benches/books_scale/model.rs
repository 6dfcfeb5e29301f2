//! A discrete-event simulation of servers that charge in one database.
//!
//! ```text
//! client ──► queue of a batcher ──► batcher encodes ──► row locks ──► processors of the database ──► flush of the log ──► batcher
//!    ▲        (gathers while the batch before is under way)                                                                 │
//!    └──────────────────────────────────────── every client of the batch is woken ◄─────────────────────────────────────────┘
//! ```
//!
//! Processors are shared evenly by what runs on them. One flush of the log serves all commits that wait for it. Does not depend
//! on the product; the same seed gives the same outcome.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::processors::{Processors, Time};
use super::scene::{Costs, Load, Machines, Outcome, Scene, TICK, random};

/// Batchers of a server.
const BATCHERS: usize = 2;
/// Charges of a batch at most.
const BATCH_MAX: usize = 512;
/// Charges that wait for one batcher at most; one more is refused.
const QUEUE_MAX: usize = 8_192;
/// Share of the simulated time that is not counted, at its beginning.
const WARM_UP: f64 = 0.15;

/// Simulates a scene for so many seconds.
pub fn simulate(scene: &Scene, costs: &Costs, machines: &Machines, seconds: f64) -> Outcome {
    let mut model = Model::new(scene, costs, machines, seconds);
    model.begin();
    while let Some(Reverse(Event { at, what, .. })) = model.events.pop() {
        if at.0 > seconds {
            break;
        }
        model.now = at.0;
        model.happen(what);
    }
    model.outcome()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Requests of one tick come to a server.
    Tick(usize),
    /// An idle statement of a server.
    Idle(usize),
    /// The first work of some processors may be done.
    Done {
        place: usize,
        version: u64,
    },
    /// A batch goes on after a wait that no processor explains.
    Waited(usize),
    Flushed,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    number: u64,
    what: What,
}

/// What processors are busy with.
#[derive(Clone, Copy)]
enum Work {
    /// A step of the batch of a batcher.
    Batch(usize),
    /// A client makes its next request.
    Client(usize),
    Idle,
}

/// How far the batch of a batcher has come.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Free,
    Encoding,
    ToDatabase,
    Locking,
    Deciding,
    Flushing,
    Back,
    Decoding,
    /// Charges are answered one by one, so that clients come again before the batcher is free.
    Answering,
}

struct Charge {
    account: usize,
    client: Option<usize>,
    since: f64,
}

struct Batcher {
    queue: VecDeque<Charge>,
    batch: Vec<Charge>,
    /// Accounts of the batch, in the order in which they are locked, and how many of them it holds.
    accounts: Vec<usize>,
    held: usize,
    step: Step,
}

struct Model<'a> {
    scene: &'a Scene,
    costs: &'a Costs,
    now: f64,
    seconds: f64,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    batchers: Vec<Batcher>,
    /// The database's first; then one for each server, unless they share its.
    processors: Vec<Processors>,
    works: Vec<Work>,
    free_works: Vec<usize>,
    shares: bool,
    trip: f64,
    /// Batches that wait for an account that another one holds; the first holds it.
    locks: BTreeMap<usize, VecDeque<usize>>,
    is_flushing: bool,
    flushing: Vec<usize>,
    to_flush: Vec<usize>,
    chance: u64,
    latencies: Vec<f64>,
    refused: u64,
    batches: u64,
}

impl<'a> Model<'a> {
    fn new(scene: &'a Scene, costs: &'a Costs, machines: &Machines, seconds: f64) -> Model<'a> {
        let shares = machines.server_processors.is_none();
        let of_servers = machines.server_processors.map_or(0, |_| scene.servers);
        let count = machines.server_processors.unwrap_or(1.0);
        let mut processors = vec![Processors::new(machines.database_processors)];
        processors.extend((0..of_servers).map(|_| Processors::new(count)));
        let batcher = || Batcher {
            queue: VecDeque::new(),
            batch: Vec::new(),
            accounts: Vec::new(),
            held: 0,
            step: Step::Free,
        };
        Model {
            scene,
            costs,
            now: 0.0,
            seconds,
            events: BinaryHeap::new(),
            number: 0,
            batchers: (0..scene.servers * BATCHERS).map(|_| batcher()).collect(),
            processors,
            works: Vec::new(),
            free_works: Vec::new(),
            shares,
            trip: machines.trip,
            locks: BTreeMap::new(),
            is_flushing: false,
            flushing: Vec::new(),
            to_flush: Vec::new(),
            chance: 1,
            latencies: Vec::new(),
            refused: 0,
            batches: 0,
        }
    }

    fn begin(&mut self) {
        for server in 0..self.scene.servers {
            match self.scene.load {
                Load::Closed { clients } => {
                    (0..clients)
                        .for_each(|_| self.work(self.place(server), self.costs.client, Work::Client(server)));
                }
                Load::Open { .. } => self.at(self.now + TICK, What::Tick(server)),
            }
            let first = random(&mut self.chance) * self.costs.idle_pause();
            self.at(first, What::Idle(server));
        }
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Tick(server) => self.tick(server),
            What::Idle(server) => {
                self.work(0, self.costs.idle_statement, Work::Idle);
                self.at(self.now + self.costs.idle_pause(), What::Idle(server));
            }
            What::Done { place, version } => {
                if let Some(work) = self.processors[place].take_done(self.now, version) {
                    let done = self.works[work];
                    self.free_works.push(work);
                    self.next_of(place);
                    self.done(done);
                }
            }
            What::Waited(batcher) => self.go_on(batcher),
            What::Flushed => {
                self.is_flushing = false;
                let flushed = std::mem::take(&mut self.flushing);
                flushed.into_iter().for_each(|batcher| self.go_on(batcher));
                self.flush();
            }
        }
    }

    fn done(&mut self, work: Work) {
        match work {
            Work::Idle => {}
            Work::Batch(batcher) => self.go_on(batcher),
            Work::Client(server) => self.request(server, Some(server)),
        }
    }

    fn tick(&mut self, server: usize) {
        let Load::Open { per_second } = self.scene.load else { return };
        for _ in 0..super::scene::poisson(per_second * TICK, &mut self.chance) {
            self.request(server, None);
        }
        // The thread that makes the requests takes processor time, too.
        self.work(self.place(server), self.costs.client * per_second * TICK, Work::Idle);
        self.at(self.now + TICK, What::Tick(server));
    }

    fn request(&mut self, server: usize, client: Option<usize>) {
        let account = super::scene::pick(self.scene.accounts, &mut self.chance);
        let place = server * BATCHERS + account % BATCHERS;
        let batcher = &mut self.batchers[place];
        if batcher.queue.len() >= QUEUE_MAX {
            self.refused += 1;
            return;
        }
        batcher.queue.push_back(Charge { account, client, since: self.now });
        if batcher.step == Step::Free {
            self.go_on(place);
        }
    }

    /// The next step of the batch of a batcher.
    fn go_on(&mut self, place: usize) {
        let (trip, wake) = (self.trip / 2.0, self.costs.wake);
        let charges = self.batchers[place].batch.len() as f64;
        let step = self.batchers[place].step;
        let next = match step {
            Step::Free => Step::Encoding,
            Step::Encoding => Step::ToDatabase,
            Step::ToDatabase => Step::Locking,
            Step::Locking => Step::Deciding,
            Step::Deciding => Step::Flushing,
            Step::Flushing => Step::Back,
            Step::Back => Step::Decoding,
            Step::Decoding => Step::Answering,
            Step::Answering => Step::Free,
        };
        self.batchers[place].step = next;
        let half = (self.costs.batch_server + charges * self.costs.charge_server) / 2.0;
        match next {
            Step::Encoding => self.take(place),
            Step::ToDatabase | Step::Back => {
                if next == Step::Back {
                    self.release(place);
                }
                self.at(self.now + trip + wake, What::Waited(place));
            }
            Step::Locking => self.lock(place),
            Step::Deciding => {
                let accounts = self.batchers[place].accounts.len() as f64;
                let costs = self.costs;
                let time = costs.batch_database
                    + charges * costs.charge_database
                    + accounts * costs.account_database;
                self.work(0, time, Work::Batch(place));
            }
            Step::Flushing => {
                self.to_flush.push(place);
                self.flush();
            }
            Step::Decoding => self.work(self.place(place / BATCHERS), half / 2.0, Work::Batch(place)),
            Step::Answering => {
                self.answer(place);
                self.work(self.place(place / BATCHERS), half / 2.0, Work::Batch(place));
            }
            Step::Free => {
                if !self.batchers[place].queue.is_empty() {
                    self.go_on(place);
                }
            }
        }
    }

    fn take(&mut self, place: usize) {
        let batcher = &mut self.batchers[place];
        let count = batcher.queue.len().min(BATCH_MAX);
        batcher.batch = batcher.queue.drain(..count).collect();
        batcher.accounts = batcher.batch.iter().map(|charge| charge.account).collect();
        batcher.accounts.sort_unstable();
        batcher.accounts.dedup();
        batcher.held = 0;
        let half = (self.costs.batch_server + count as f64 * self.costs.charge_server) / 2.0;
        self.work(self.place(place / BATCHERS), half, Work::Batch(place));
    }

    /// Locks accounts one after the other, until another batch holds one.
    fn lock(&mut self, place: usize) {
        while let Some(account) = self.batchers[place].accounts.get(self.batchers[place].held) {
            let waiting = self.locks.entry(*account).or_default();
            if waiting.front() != Some(&place) {
                waiting.push_back(place);
                if waiting.len() > 1 {
                    return;
                }
            }
            self.batchers[place].held += 1;
        }
        self.go_on(place);
    }

    fn release(&mut self, place: usize) {
        for account in self.batchers[place].accounts.clone() {
            let Some(waiting) = self.locks.get_mut(&account) else { continue };
            waiting.pop_front();
            match waiting.front().copied() {
                Some(next) => self.lock(next),
                None => drop(self.locks.remove(&account)),
            }
        }
    }

    /// Begins a flush of the log for all commits that wait, unless one is under way.
    fn flush(&mut self) {
        if !self.is_flushing && !self.to_flush.is_empty() {
            self.is_flushing = true;
            self.flushing = std::mem::take(&mut self.to_flush);
            self.at(self.now + self.costs.flush, What::Flushed);
        }
    }

    fn answer(&mut self, place: usize) {
        let is_counted = self.now >= self.seconds * WARM_UP;
        self.batches += u64::from(is_counted);
        for charge in std::mem::take(&mut self.batchers[place].batch) {
            if is_counted {
                self.latencies.push(self.now - charge.since);
            }
            if let Some(server) = charge.client {
                self.work(self.place(server), self.costs.client, Work::Client(server));
            }
        }
    }

    /// The processors of a server.
    fn place(&self, server: usize) -> usize {
        if self.shares { 0 } else { server + 1 }
    }

    fn work(&mut self, place: usize, seconds: f64, work: Work) {
        let number = self.free_works.pop().unwrap_or(self.works.len());
        match self.works.get_mut(number) {
            Some(slot) => *slot = work,
            None => self.works.push(work),
        }
        self.processors[place].add(self.now, seconds, number);
        self.next_of(place);
    }

    fn next_of(&mut self, place: usize) {
        if let Some((at, version)) = self.processors[place].next(self.now) {
            self.at(at, What::Done { place, version });
        }
    }

    fn at(&mut self, at: f64, what: What) {
        self.number += 1;
        self.events.push(Reverse(Event { at: Time(at), number: self.number, what }));
    }

    fn outcome(mut self) -> Outcome {
        let counted = self.seconds * (1.0 - WARM_UP);
        Outcome {
            rate: self.latencies.len() as f64 / counted,
            per_batch: self.latencies.len() as f64 / (self.batches.max(1) as f64),
            batches: self.batches as f64 / counted,
            database: self.processors[0].busy(self.now) / self.now.max(1e-9),
            refused: self.refused,
            ..Outcome::of_latencies(&mut self.latencies)
        }
    }
}
