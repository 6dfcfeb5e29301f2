//! Cells fetched from rows that lie next to each other and far apart, one column of each storage and all columns. One
//! element is one row; what is fetched is printed as CSV, which costs the same in both orders.

use criterion::{Criterion, Throughput};
use mercato_format::Table;
use mercato_query::render::{Format, render_rows};

/// Rows fetched at a time.
const ROWS: u32 = 100_000;
/// A prime, so that no row comes twice and neighbours in the list lie in different pages.
const STRIDE: u64 = 1_000_003;

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let count = u64::from(table.row_count());
    let near: Vec<u32> = (0..ROWS.min(table.row_count())).collect();
    let far: Vec<u32> = near.iter().map(|row| (u64::from(*row) * STRIDE % count) as u32).collect();
    let columns: [(&str, Option<&str>); 4] = [
        ("a dictionary", Some("l_shipmode")),
        ("numbers", Some("l_extendedprice")),
        ("texts", Some("l_comment")),
        ("16 columns", None),
    ];
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("gather 100,000 rows");
    group.throughput(Throughput::Elements(near.len() as u64));
    for (storage, name) in columns {
        let of_name = |at: &usize| name.is_none_or(|name| table.columns().get(*at).unwrap().name == name);
        let columns: Vec<usize> = (0..table.columns().len()).filter(of_name).collect();
        for (order, rows) in [("next to each other", &near), ("far apart", &far)] {
            group.bench_function(format!("{storage}, {order}"), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    render_rows(Format::Csv, table, &columns, rows, &mut out).unwrap()
                });
            });
        }
    }
    group.finish();
}
