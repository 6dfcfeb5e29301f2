//! Cursors: made, read, refused. One element is one cursor.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use mercato_format::Table;
use mercato_query::{Cursor, QueryRequest, plan};

/// A row far from both ends.
const ROW: u32 = 123_456;

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let mut group = criterion.benchmark_group("cursor");
    group.throughput(Throughput::Elements(1));
    let ways = [
        ("file order", ""),
        ("a number", "\"sortBy\":\"l_extendedprice\""),
        ("a text", "\"sortBy\":\"l_comment\""),
    ];
    for (order, first_page) in ways {
        let first_page = request(&format!("{{{first_page}}}"));
        let first_plan = plan(&first_page, table, "lineitem", &mercato_query::Unlimited).unwrap();
        group.bench_function(format!("made, {order}"), |bencher| {
            bencher.iter(|| first_plan.cursor_after(black_box(ROW)).unwrap());
        });
        let cursor = first_plan.cursor_after(ROW).unwrap();
        group.bench_function(format!("read, {order}"), |bencher| {
            bencher.iter(|| Cursor::decode(black_box(&cursor)).unwrap());
        });
        let mut next_page = first_page.clone();
        next_page.resume_at(&cursor).unwrap();
        group.bench_function(format!("planned from, {order}"), |bencher| {
            bencher
                .iter(|| plan(black_box(&next_page), table, "lineitem", &mercato_query::Unlimited).is_ok());
        });
        group.bench_function(format!("of another dataset refused, {order}"), |bencher| {
            bencher.iter(|| plan(black_box(&next_page), table, "orders", &mercato_query::Unlimited).is_err());
        });
    }
    for (what, text) in [
        ("no Base64", "not a cursor!".repeat(20)),
        ("no JSON", "bm90IGpzb24".repeat(20)),
        ("too long", "A".repeat(1 << 20)),
    ] {
        group.bench_function(format!("refused, {what}"), |bencher| {
            bencher.iter(|| Cursor::decode(black_box(&text)).is_err());
        });
    }
    group.finish();
}

fn request(body: &str) -> QueryRequest {
    QueryRequest::from_json(body.as_bytes(), 10_000).unwrap()
}
