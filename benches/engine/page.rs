//! A page of 100 rows and 16 columns: in file order and by every column, at several depths, by cursor and by offset.

use criterion::{BenchmarkId, Criterion};
use mercato_format::Table;
use mercato_query::NoSelections;

use crate::data::run;

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let rows = u64::from(table.row_count());
    let depths = [0, rows / 60, rows / 2, rows - 10_000];
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("page of 100");
    for depth in depths {
        let body = format!("{{\"offset\":{depth}}}");
        group.bench_function(BenchmarkId::new("file order", depth), |bencher| {
            bencher.iter(|| run(table, &body, &NoSelections, &mut out));
        });
    }
    for column in ["l_orderkey", "l_extendedprice", "l_shipdate", "l_returnflag", "l_comment"] {
        for direction in ["asc", "desc"] {
            for depth in depths {
                let first = format!("\"sortBy\":\"{column}\",\"sortDirection\":\"{direction}\"");
                let by_offset = format!("{{{first},\"offset\":{depth}}}");
                let id = format!("{column} {direction} by offset");
                group.bench_function(BenchmarkId::new(id, depth), |bencher| {
                    bencher.iter(|| run(table, &by_offset, &NoSelections, &mut out));
                });
                let before = format!("{{{first},\"offset\":{depth},\"limit\":1}}");
                let cursor = run(table, &before, &NoSelections, &mut out).unwrap();
                let by_cursor = format!("{{{first},\"cursor\":\"{cursor}\"}}");
                let id = format!("{column} {direction} by cursor");
                group.bench_function(BenchmarkId::new(id, depth), |bencher| {
                    bencher.iter(|| run(table, &by_cursor, &NoSelections, &mut out));
                });
            }
        }
    }
    group.finish();
}
