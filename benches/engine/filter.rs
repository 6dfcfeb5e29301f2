//! Filters, one for each way that the planner can take. Nothing is kept between iterations unless the name says so.

use criterion::{Criterion, Throughput};
use mercato::selections::{SELECTION_CACHE_BYTES, SelectionCache};
use mercato_format::Table;
use mercato_query::{NoSelections, QueryRequest, count_matches, plan};

use crate::data::run;
use crate::filters::{W3, W5};

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("filter");
    let requests = [
        ("W3 zone by zone, 1,000 rows", format!("{{{W3},\"limit\":1000}}")),
        (
            "W3s walk and test, newest 1,000",
            format!("{{{W3},\"limit\":1000,\"sortBy\":\"l_shipdate\",\"sortDirection\":\"desc\"}}"),
        ),
        ("W3 by price, all matches then the first 100", format!("{{{W3},\"sortBy\":\"l_extendedprice\"}}")),
        ("W4 one key", "{\"filters\":{\"l_orderkey\":3000000}}".to_owned()),
        ("W5p rare conjunction, first 100", format!("{{{W5}}}")),
        ("W5all rare conjunction, all", format!("{{{W5},\"limit\":10000}}")),
        ("W5s rare conjunction by comment, first 100", format!("{{{W5},\"sortBy\":\"l_comment\"}}")),
        (
            "range on the sort column",
            "{\"filters\":{\"l_extendedprice\":{\"between\":[5000,6000]}},\"sortBy\":\"l_extendedprice\"}"
                .to_owned(),
        ),
        ("text inside, first 100", "{\"filters\":{\"l_comment\":{\"contains\":\"express\"}}}".to_owned()),
        ("offset 100,000 into W3", format!("{{{W3},\"offset\":100000}}")),
    ];
    for (name, body) in &requests {
        group.bench_function(*name, |bencher| bencher.iter(|| run(table, body, &NoSelections, &mut out)));
    }
    let cache = SelectionCache::new(SELECTION_CACHE_BYTES);
    let kept = format!("{{{W3},\"sortBy\":\"l_extendedprice\"}}");
    group.bench_function("W3 by price, selection kept", |bencher| {
        bencher.iter(|| run(table, &kept, &cache, &mut out))
    });
    group.throughput(Throughput::Elements(table.row_count().into()));
    for (name, filter) in [("W5c count of a rare conjunction", W5), ("count of W3", W3)] {
        let request = QueryRequest::from_json(format!("{{{filter}}}").as_bytes(), 100).unwrap();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                count_matches(
                    &plan(&request, table, "t@1", &mercato_query::Unlimited).unwrap(),
                    &NoSelections,
                )
                .unwrap()
            });
        });
    }
    let request = QueryRequest::from_json(format!("{{{W5}}}").as_bytes(), 100).unwrap();
    group.bench_function("W5c count, selection kept", |bencher| {
        bencher.iter(|| {
            count_matches(&plan(&request, table, "t@1", &mercato_query::Unlimited).unwrap(), &cache).unwrap()
        });
    });
    group.finish();
}
