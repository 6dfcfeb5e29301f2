//! Measures what a charge costs: the parameters of the model, each alone, none from the runs that it is checked with.

use std::thread;
use std::time::{Duration, Instant};

use mercato_ledger::AccountHandle;
use postgres::{Client, Statement};

use super::books::{Place, ROWS, now};
use super::meter::look;
use super::real::Stage;
use super::scene::{Costs, Load, Scene};

const CHARGE: &str = include_str!("../../crates/ledger/src/postgres/hot/charge.sql");
/// Charges and accounts of the batches that are timed on one connection.
const BATCHES: [(usize, usize); 8] =
    [(1, 1), (8, 1), (8, 8), (64, 1), (64, 64), (512, 1), (512, 64), (512, 192)];

/// One size of batch on one connection.
pub struct Timed {
    pub charges: usize,
    pub accounts: usize,
    /// Seconds of a batch: by the clock, and of the processors of the database.
    pub time: f64,
    pub database: f64,
}

/// Costs of closed loops, of open loops, and the batches that they were computed from.
pub struct Measured {
    pub closed: Costs,
    pub open: Costs,
    pub batches: Vec<Timed>,
}

/// Measures for about `BATCHES.len() + 7` times `time`.
pub fn measure(place: &Place, stage: &mut Stage, time: Duration) -> Measured {
    let mut costs = Costs::default();
    (costs.idle_statements, costs.idle_statement) = idle(stage, time * 3);
    let accounts: Vec<i64> = stage
        .accounts
        .first()
        .unwrap()
        .iter()
        .map(|account: &AccountHandle| account.id().number() as i64)
        .collect();
    let mut sender = Sender::new(place);
    let batches: Vec<Timed> = BATCHES
        .iter()
        .map(|(charges, of)| sender.time(*charges, accounts.get(..*of).unwrap(), time))
        .collect();
    let points: Vec<([f64; 3], f64)> = batches
        .iter()
        .map(|timed| ([1.0, timed.charges as f64, timed.accounts as f64], timed.database))
        .collect();
    let [batch, charge, account] = fit(&points);
    (costs.batch_database, costs.charge_database, costs.account_database) =
        (batch, charge.max(0.0), account.max(0.0));
    let closed = |clients| Scene { servers: 1, load: Load::Closed { clients }, accounts: 1 };
    let (alone, alone_spent) = stage.run(&closed(1), time);
    costs.flush = alone_spent.flush;
    let (many, many_spent) = stage.run(&closed(64), time);
    let first = alone_spent.batchers / alone.batches.max(1.0);
    let other = many_spent.batchers / many.batches.max(1.0);
    costs.charge_server = ((other - first) / (many.per_batch - 1.0).max(1.0)).max(0.0);
    costs.batch_server = (first - costs.charge_server).max(0.0);
    costs.client = many_spent.others / many.rate.max(1.0);
    let explained = costs.batch_database
        + costs.charge_database
        + costs.account_database
        + costs.flush
        + first
        + alone_spent.others / alone.rate.max(1.0);
    costs.wake = ((alone.p50 - explained) / 2.0).max(0.0);
    let (open, open_spent) =
        stage.run(&Scene { servers: 1, load: Load::Open { per_second: 2_000.0 }, accounts: 1 }, time);
    let open = Costs { client: open_spent.others / open.rate.max(1.0), ..costs };
    Measured { closed: costs, open, batches }
}

/// Statements a second of an idle server, and the processor time of the database for one.
fn idle(stage: &mut Stage, time: Duration) -> (f64, f64) {
    let servers = stage.ledgers.len() as f64;
    thread::sleep(Duration::from_secs(2));
    let (commits, before, began) = (commits(&mut stage.client), look(&mut stage.client), Instant::now());
    thread::sleep(time);
    let (spent, seconds) = (look(&mut stage.client).since(&before), began.elapsed().as_secs_f64());
    let statements = (self::commits(&mut stage.client) - commits).max(1.0);
    (statements / seconds / servers, spent.database / statements)
}

/// Transactions of the database so far.
pub fn commits(client: &mut Client) -> f64 {
    let row = client
        .query_one("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()", &[])
        .unwrap();
    row.get::<_, i64>(0) as f64
}

/// Sends batches as a server does, one after the other on one connection.
struct Sender {
    client: Client,
    statement: Statement,
    number: i64,
}

impl Sender {
    fn new(place: &Place) -> Sender {
        let mut client = place.client();
        let statement = client.prepare(CHARGE).unwrap();
        Sender { client, statement, number: 0 }
    }

    fn time(&mut self, charges: usize, accounts: &[i64], time: Duration) -> Timed {
        (0..3).for_each(|_| self.send(charges, accounts));
        let (before, began, mut count) = (look(&mut self.client), Instant::now(), 0_u32);
        while began.elapsed() < time {
            self.send(charges, accounts);
            count += 1;
        }
        let (spent, elapsed) = (look(&mut self.client).since(&before), began.elapsed().as_secs_f64());
        let count = f64::from(count);
        Timed { charges, accounts: accounts.len(), time: elapsed / count, database: spent.database / count }
    }

    fn send(&mut self, charges: usize, accounts: &[i64]) {
        self.number += 1;
        let at = now();
        let day = i32::try_from(at / 86_400_000).unwrap();
        let of: Vec<i64> = accounts.iter().copied().cycle().take(charges).collect();
        let (credits, free, keys) = (vec![ROWS as i64; charges], vec![0_i32; charges], vec![0_i64; charges]);
        let (moments, days) = (vec![at; charges], vec![day; charges]);
        let (requests, datasets) = (vec!["request"; charges], vec!["orders"; charges]);
        let (have_bought, have_free) = (vec![true; accounts.len()], vec![false; accounts.len()]);
        let (free_queries, months) = (vec![0_i32; accounts.len()], vec![0_i32; accounts.len()]);
        let sold = self
            .client
            .query_one(
                &self.statement,
                &[
                    &-1_i64,
                    &self.number,
                    &of,
                    &credits,
                    &free,
                    &keys,
                    &credits,
                    &moments,
                    &days,
                    &requests,
                    &datasets,
                    &accounts,
                    &have_bought,
                    &have_free,
                    &free_queries,
                    &months,
                ],
            )
            .unwrap();
        assert_eq!(sold.get::<_, Vec<i32>>(0).len(), charges, "every charge is paid");
    }
}

/// The weights of three quantities that come nearest to what was measured, by relative error.
fn fit(points: &[([f64; 3], f64)]) -> [f64; 3] {
    let mut matrix = [[0.0; 4]; 3];
    for (quantities, measured) in points {
        for (row, left) in matrix.iter_mut().zip(quantities) {
            let (left, scale) = (left / measured, 1.0 / measured);
            for (cell, right) in row.iter_mut().zip(quantities) {
                *cell += left * right * scale;
            }
            row[3] += left;
        }
    }
    for pivot in 0..3 {
        let first = matrix[pivot];
        for (place, row) in matrix.iter_mut().enumerate() {
            let factor = row[pivot] / first[pivot];
            if place != pivot {
                row.iter_mut().zip(first).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
            }
        }
    }
    [0, 1, 2].map(|place: usize| matrix[place][3] / matrix[place][place])
}
