//! Printing rows that are already found: 16 columns, in file order and in the order of a column.

use criterion::{Criterion, Throughput};
use mercato_format::Table;
use mercato_query::render::{Format, render_rows};
use mercato_query::{NoSelections, QueryRequest, execute, plan};

const ROWS: u64 = 100_000;

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let all: Vec<usize> = (0..table.columns().len()).collect();
    let rows_of = |body: String| {
        let request = QueryRequest::from_json(body.as_bytes(), ROWS).unwrap();
        execute(&plan(&request, table, "t@1", &mercato_query::Unlimited).unwrap(), &NoSelections)
            .unwrap()
            .rows
    };
    let natural = rows_of(format!("{{\"limit\":{ROWS}}}"));
    let sorted = rows_of(format!("{{\"limit\":{ROWS},\"offset\":1000000,\"sortBy\":\"l_extendedprice\"}}"));
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("render 100,000 rows");
    for (format, name) in
        [(Format::Json, "JSON"), (Format::Ndjson, "NDJSON"), (Format::Csv, "CSV"), (Format::Sse, "SSE")]
    {
        for (rows, order) in [(&natural, "file order"), (&sorted, "by price")] {
            out.clear();
            render_rows(format, table, &all, rows, &mut out).unwrap();
            group.throughput(Throughput::Bytes(out.len() as u64));
            group.bench_function(format!("{name}, {order}"), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    render_rows(format, table, &all, rows, &mut out).unwrap()
                });
            });
        }
    }
    group.finish();
}
