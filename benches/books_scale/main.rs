//! What many servers ask of one database of books, and where the next wall is.
//!
//! ```text
//! asks        what each request asks of the database
//! costs       the parameters of a model, each measured alone
//! check       the model beside 1, 2 and 3 real servers; fails where it is off by more than stated
//! forecast    the model with 10, 30 and 100 servers, and where the database is full
//! crowd       100 real servers: what they ask when little happens
//! ```
//!
//! Run as `tests/books/postgres.sh --durable cargo bench --locked --workspace --bench books_scale --profile dev`, or with the
//! names of some parts behind `--`. Without a database it does nothing. Takes five minutes, and wants a quiet machine.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench that cannot go on has failed")]

use std::process::ExitCode;
use std::time::Duration;

use books::Place;
use costs::Measured;
use model::simulate;
use real::Stage;
use scene::{Costs, Load, Machines, Outcome, Scene};

mod asks;
#[path = "../shared/books.rs"]
mod books;
mod costs;
mod crowd;
mod meter;
mod model;
mod processors;
mod proxy;
mod real;
mod report;
mod scene;

/// The schema of the bench, which is made anew.
const SCHEMA: &str = "books_scale";
/// Real servers that the model is compared with.
const SERVERS: usize = 3;
const ACCOUNTS: usize = 192;
const COST_TIME: Duration = Duration::from_millis(1_500);
const CHECK_TIME: Duration = Duration::from_secs(3);
const CROWD_TIME: Duration = Duration::from_secs(6);
const SIMULATED_SECONDS: f64 = 4.0;
/// Seconds of a flush in the forecast: of a disk that is quick, and of one that is slow, or of a synchronous standby.
const QUICK_FLUSH: f64 = 0.000_2;
const SLOW_FLUSH: f64 = 0.004;
const CROWDS: [usize; 4] = [3, 10, 30, 100];
/// How far the model may be off: in the rate, and in the middle of the latencies and the charges of a batch. What one of a
/// hundred exceeds depends on other programs, and is only shown.
const RATE_OFF_MAX: f64 = 0.35;
const MIDDLE_OFF_MAX: f64 = 1.0;

fn main() -> ExitCode {
    let Some(url) = books::url() else {
        println!("skipped: run it as `tests/books/postgres.sh --durable cargo bench --bench books_scale`");
        return ExitCode::SUCCESS;
    };
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == part);
    let place = Place::new(&url, SCHEMA);
    println!("fsync is {}; {} processors", place.setting("fsync"), processors());
    if is_wanted("asks") {
        report::asks(&asks::count(&place, &url, SCHEMA));
    }
    let mut is_right = true;
    if ["costs", "check", "forecast"].into_iter().any(is_wanted) {
        let mut stage = Stage::new(&place, SERVERS, ACCOUNTS);
        let measured = costs::measure(&place, &mut stage, COST_TIME);
        report::costs(&measured);
        if is_wanted("check") {
            is_right = check(&mut stage, &measured);
        }
        let report = stage.ledgers.first().unwrap().verify().unwrap();
        println!("{} entries; differences: {:?}", report.entries, report.differences);
        drop(stage);
        if is_wanted("forecast") {
            forecast(&measured);
        }
    }
    if is_wanted("crowd") {
        crowd(&place);
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn processors() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

/// The model beside real servers. Says whether it is near enough everywhere.
fn check(stage: &mut Stage, measured: &Measured) -> bool {
    let closed = |clients| Load::Closed { clients };
    let open = |per_second| Load::Open { per_second };
    let scenes = [
        (1, closed(4), ACCOUNTS),
        (1, closed(64), ACCOUNTS),
        (2, closed(64), ACCOUNTS),
        (3, closed(64), ACCOUNTS),
        (3, closed(64), 1),
        (1, open(1_000.0), ACCOUNTS),
        (2, open(1_500.0), ACCOUNTS),
        (3, open(1_000.0), ACCOUNTS),
        (3, open(3_000.0), ACCOUNTS),
        (3, open(3_000.0), 1),
    ];
    report::comparison_head();
    let mut is_right = true;
    for (servers, load, accounts) in scenes {
        let scene = Scene { servers, load, accounts };
        let costs = if matches!(load, Load::Closed { .. }) { &measured.closed } else { &measured.open };
        let (found, spent) = stage.run(&scene, CHECK_TIME);
        // What belongs to the machine is read in each run: how long its disk takes, and what other programs leave.
        let costs = Costs { flush: spent.flush, ..*costs };
        let left = (processors() - spent.elsewhere).max(0.2);
        let here = Machines { database_processors: left, server_processors: None, trip: 0.0 };
        let expected = simulate(&scene, &costs, &here, SIMULATED_SECONDS);
        is_right &= report::comparison(&scene, &found, &expected, &spent, is_near(&found, &expected));
    }
    is_right
}

fn is_near(found: &Outcome, expected: &Outcome) -> bool {
    let off = |of: fn(&Outcome) -> f64| (of(expected) / of(found)).max(of(found) / of(expected)) - 1.0;
    off(|outcome| outcome.rate) <= RATE_OFF_MAX
        && off(|outcome| outcome.per_batch) <= MIDDLE_OFF_MAX
        && off(|outcome| outcome.p50) <= MIDDLE_OFF_MAX
}

/// Servers on machines of their own, half a millisecond from the database.
fn forecast(measured: &Measured) {
    report::forecast_head();
    let machines =
        |database| Machines { database_processors: database, server_processors: Some(2.0), trip: 0.000_5 };
    let costs = &Costs { flush: QUICK_FLUSH, ..measured.open };
    let show = |database: f64, servers: usize, total: f64, accounts: usize, costs: &Costs| {
        let scene = Scene { servers, load: Load::Open { per_second: total / servers as f64 }, accounts };
        report::forecast(
            database,
            &scene,
            total,
            &simulate(&scene, costs, &machines(database), SIMULATED_SECONDS),
        );
    };
    for servers in [10, 30, 100] {
        for total in [1_000.0, 5_000.0, 10_000.0] {
            show(2.0, servers, total, 100_000, costs);
        }
    }
    // Where the database is full.
    for (database, total) in [
        (2.0, 20_000.0),
        (2.0, 40_000.0),
        (8.0, 40_000.0),
        (8.0, 80_000.0),
        (32.0, 80_000.0),
        (32.0, 160_000.0),
    ] {
        show(database, 100, total, 100_000, costs);
    }
    // One hot account, and a log whose flush takes 4 ms.
    for total in [1_000.0, 5_000.0, 20_000.0] {
        show(8.0, 100, total, 1, costs);
    }
    let slow = Costs { flush: SLOW_FLUSH, ..*costs };
    println!("a flush takes 4 ms:");
    for (total, accounts) in [(5_000.0, 100_000), (20_000.0, 100_000), (5_000.0, 1)] {
        show(8.0, 100, total, accounts, &slow);
    }
}

fn crowd(place: &Place) {
    let stage = Stage::new(place, 1, ACCOUNTS);
    let accounts = stage.accounts.first().unwrap().clone();
    drop(stage);
    let mut crowd = crowd::Crowd::new(place, &accounts);
    report::crowd_head();
    for servers in CROWDS {
        let start = crowd.grow(servers);
        report::crowd(&crowd.idle(CROWD_TIME), Some(start));
        report::crowd(&crowd.with_streams(CROWD_TIME), None);
        report::crowd(&crowd.lightly_loaded(CROWD_TIME), None);
    }
}
