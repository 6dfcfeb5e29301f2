//! Requests through a socket: a whole server in this process and a client on one kept connection, over TPC-H
//! `lineitem`.
//!
//! Everything that a server does is in the figures: event loop, authentication, limits, charge (`--charge-durability
//! process`), log line. So is the client, which shares the processor. `MERCATO_BENCH_SCALE` sets the scale factor
//! (default 1: 6,001,215 rows).
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops at the first surprise")]

mod client;
#[path = "../shared/filters.rs"]
mod filters;
#[path = "../shared/lineitem.rs"]
mod lineitem;
mod running;
#[path = "../shared/scale.rs"]
mod scale;
#[path = "../shared/site.rs"]
mod site;
#[path = "../shared/works.rs"]
mod works;

use std::time::Duration;

use client::Client;
use criterion::{BenchmarkId, Criterion, Throughput};
use mercato_format::Table;
use running::Server;
use site::SLUG;

const STREAM_ROWS: u64 = 1_000_000;

fn main() {
    let store = lineitem::store(scale::scale(), true);
    let table = Table::open(&store).unwrap();
    let server = Server::start(&store);
    let mut criterion = Criterion::default().configure_from_args().sample_size(30);
    named_works(&mut criterion, &server, &table);
    public_answers(&mut criterion, &server);
    long_answers(&mut criterion, &server);
    criterion.final_summary();
    server.stop();
}

/// One element is one request; a work with several bodies takes them in turn.
fn named_works(criterion: &mut Criterion, server: &Server, table: &Table) {
    let mut client = Client::connect(server.address());
    let mut group = criterion.benchmark_group("request");
    group.throughput(Throughput::Elements(1));
    for name in works::NAMES {
        let work = works::work(name, table).unwrap();
        let asks: Vec<String> = work.iter().map(|query| server.query("query", &query.body)).collect();
        let rows = work.iter().map(|query| query.rows).sum::<u64>() / work.len() as u64;
        let mut next = asks.iter().cycle();
        group.bench_function(BenchmarkId::new(name, format!("{rows} rows")), |bencher| {
            bencher.iter(|| client.exchange(next.next().unwrap()));
        });
    }
    let whole = server.query("query/estimate", "{\"filters\":{\"l_orderkey\":7}}");
    group.bench_function("estimate", |bencher| bencher.iter(|| client.exchange(&whole)));
    group.finish();
}

/// Answers that need no key; one element is one request.
fn public_answers(criterion: &mut Criterion, server: &Server) {
    let mut client = Client::connect(server.address());
    let mut group = criterion.benchmark_group("public");
    group.throughput(Throughput::Elements(1));
    let dataset = format!("/api/v1/datasets/{SLUG}");
    for (name, target) in [
        ("list", "/api/v1/datasets".to_owned()),
        ("header", dataset.clone()),
        ("schema", format!("{dataset}/schema")),
        ("sample", format!("{dataset}/sample")),
        ("search", "/api/v1/datasets/search?q=lines%20of%20orders".to_owned()),
        ("openapi.json", "/api/v1/openapi.json".to_owned()),
        ("healthz", "/healthz".to_owned()),
    ] {
        let ask = format!("GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n");
        group.bench_function(name, |bencher| bencher.iter(|| client.exchange(&ask)));
    }
    group.finish();
}

/// Streams and downloads, each on a connection of its own, in bytes per second as they come off the wire.
fn long_answers(criterion: &mut Criterion, server: &Server) {
    let mut group = criterion.benchmark_group("long");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    let body = format!("{{\"limit\":{STREAM_ROWS}}}");
    let stream = |accept| server.closing(&server.query("query/stream", &body), accept);
    let download = |format| server.closing(&server.download(format), "*/*");
    for (name, ask) in [
        ("stream of 1,000,000 rows, NDJSON", stream("application/x-ndjson")),
        ("stream of 1,000,000 rows, events", stream("text/event-stream")),
        ("download, CSV", download("csv")),
        ("download, JSON", download("json")),
        ("download, NDJSON", download("ndjson")),
    ] {
        group.throughput(Throughput::Bytes(client::drain(server.address(), &ask)));
        group.bench_function(name, |bencher| bencher.iter(|| client::drain(server.address(), &ask)));
    }
    group.finish();
}
