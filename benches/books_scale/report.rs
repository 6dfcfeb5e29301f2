//! The tables, as Markdown.

use std::time::Duration;

use super::asks::Asked;
use super::costs::Measured;
use super::crowd::Second;
use super::meter::Spent;
use super::scene::{Costs, Load, Outcome, Scene};

const MICROS: f64 = 1e6;
const MILLIS: f64 = 1e3;

pub fn asks(all: &[Asked]) {
    println!(
        "\n| | statements | round trips | transactions | bytes out | bytes in | rows written | log, bytes | processor, µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for Asked { name, passed, rows, log, database } in all {
        let rows: Vec<String> = rows.iter().map(|(table, rows)| format!("{table} {rows:.2}")).collect();
        println!(
            "| {name} | {:.3} | {:.3} | {:.3} | {:.0} | {:.0} | {} | {log:.0} | {:.0} |",
            passed.statements,
            passed.round_trips,
            passed.transactions,
            passed.sent,
            passed.received,
            rows.join(", "),
            database * MICROS
        );
    }
}

pub fn costs(measured: &Measured) {
    println!("\n| charges, accounts of a batch on one connection | time | processors of the database |");
    println!("|---|---|---|");
    for timed in &measured.batches {
        println!(
            "| {}, {} | {:.0} µs | {:.0} µs |",
            timed.charges,
            timed.accounts,
            timed.time * MICROS,
            timed.database * MICROS
        );
    }
    let Costs { batch_database, charge_database, account_database, flush, .. } = measured.closed;
    let Costs { batch_server, charge_server, client, wake, idle_statements, idle_statement, .. } =
        measured.closed;
    println!("\n| parameter | µs |\n|---|---|");
    let lines = [
        ("database: a batch", batch_database),
        ("database: beside that, each charge", charge_database),
        ("database: and each account", account_database),
        ("a flush of the log", flush),
        ("batcher: a batch", batch_server),
        ("batcher: each charge", charge_server),
        ("client of a closed loop: a charge", client),
        ("client of an open loop: a charge", measured.open.client),
        ("waking, each way of a batch", wake),
        ("database: a statement of an idle server", idle_statement),
    ];
    for (name, seconds) in lines {
        println!("| {name} | {:.1} |", seconds * MICROS);
    }
    println!("\nan idle server: {idle_statements:.1} transactions a second");
}

pub fn comparison_head() {
    println!(
        "\n| servers, load, accounts | charges/s | p50, ms | p99, ms | charges a batch | processors: database, elsewhere | flush, ms |"
    );
    println!("|---|---|---|---|---|---|---|");
}

/// Real, model, and the difference.
pub fn comparison(scene: &Scene, found: &Outcome, expected: &Outcome, spent: &Spent, is_near: bool) -> bool {
    let pair = |of: fn(&Outcome) -> f64, factor: f64, digits: usize| {
        let (found, expected) = (of(found), of(expected));
        let off = (expected / found - 1.0) * 100.0;
        format!("{:.digits$} / {:.digits$} ({off:+.0} %)", found * factor, expected * factor)
    };
    println!(
        "| {} | {} | {} | {} | {} | {:.2}, {:.2} | {:.2} |{}",
        name(scene),
        pair(|outcome| outcome.rate, 1.0, 0),
        pair(|outcome| outcome.p50, MILLIS, 2),
        pair(|outcome| outcome.p99, MILLIS, 2),
        pair(|outcome| outcome.per_batch, 1.0, 1),
        found.database,
        spent.elsewhere,
        spent.flush * MILLIS,
        if is_near { "" } else { " **the model is too far off**" }
    );
    is_near
}

fn name(scene: &Scene) -> String {
    let load = match scene.load {
        Load::Closed { clients } => format!("{clients} clients each"),
        Load::Open { per_second } => format!("{per_second:.0}/s each"),
    };
    format!("{}, {load}, {}", scene.servers, scene.accounts)
}

pub fn forecast_head() {
    println!(
        "\n| processors of the database | servers | accounts | offered/s | charges/s | p50, ms | p99, ms | charges a batch | \
        batches/s | busy | connections |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
}

pub fn forecast(processors: f64, scene: &Scene, offered: f64, outcome: &Outcome) {
    println!(
        "| {processors:.0} | {} | {} | {offered:.0} | {:.0} | {:.2} | {:.2} | {:.1} | {:.0} | {:.0} % | {} |{}",
        scene.servers,
        scene.accounts,
        outcome.rate,
        outcome.p50 * MILLIS,
        outcome.p99 * MILLIS,
        outcome.per_batch,
        outcome.batches,
        outcome.database / processors * 100.0,
        scene.servers * CONNECTIONS,
        if outcome.refused > 0 { " queues are full" } else { "" }
    );
}

/// Connections of a server at most.
const CONNECTIONS: usize = 6;

pub fn crowd_head() {
    println!(
        "\n| servers | scene | requests/s | transactions/s | processors of the database | for a server, ‰ | log, KB/s | connections |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

pub fn crowd(second: &Second, start: Option<Duration>) {
    let Second { servers, scene, requests, transactions, database, log, connections } = second;
    println!(
        "| {servers} | {scene} | {requests:.0} | {transactions:.0} | {database:.3} | {:.2} | {:.0} | {connections} |{}",
        database / *servers as f64 * 1e3,
        log / 1e3,
        start.map_or_else(String::new, |start| format!(" a start took {:.0} ms", start.as_secs_f64() * 1e3))
    );
}
