//! One request for each way in which rows can be put in order. The unit is what a way has to look at: the rows of a
//! page, the matches that are compared, or all rows. Nothing is kept between iterations.

use criterion::{Criterion, Throughput};
use mercato_format::Table;
use mercato_query::{NoSelections, QueryRequest, count_matches, execute, plan};

use crate::data::unsorted_table;
use crate::filters::{W3, W5};

const HALF_THE_ROWS: &str = "\"filters\":{\"l_quantity_min\":26}";

/// The part of an answer that is measured.
enum Looked {
    Page,
    Matches,
    AllRows,
}

pub fn bench(criterion: &mut Criterion, table: &Table) {
    let unsorted = unsorted_table();
    let deep = u64::from(table.row_count()) / 5;
    let by_price = "\"sortBy\":\"l_extendedprice\"";
    let ways: [(&str, &Table, Looked, String); 8] = [
        ("slice of the permutation", table, Looked::Page, format!("{{{by_price},\"offset\":{deep}}}")),
        (
            "slice within a range of the sort column, descending",
            table,
            Looked::Page,
            format!(
                "{{\"filters\":{{\"l_extendedprice\":{{\"between\":[5000,60000]}}}},{by_price},\
                 \"sortDirection\":\"desc\",\"offset\":1000}}"
            ),
        ),
        (
            "permutation walked, each row tested",
            table,
            Looked::Page,
            format!("{{{W3},\"sortBy\":\"l_shipdate\",\"sortDirection\":\"desc\"}}"),
        ),
        ("matches gathered, first 100 by a number", table, Looked::Matches, format!("{{{W3},{by_price}}}")),
        (
            "few matches found by an index, first 100 by a text",
            table,
            Looked::Matches,
            format!("{{{W5},\"sortBy\":\"l_comment\"}}"),
        ),
        (
            "selection walked along the permutation, deep offset",
            table,
            Looked::AllRows,
            format!("{{{HALF_THE_ROWS},{by_price},\"offset\":{}}}", deep.max(1_000_001)),
        ),
        ("no sort index, first 100 of all rows", &unsorted, Looked::AllRows, format!("{{{by_price}}}")),
        (
            "no sort index, first 100 of the matches",
            &unsorted,
            Looked::Matches,
            format!("{{{W3},{by_price}}}"),
        ),
    ];
    let mut group = criterion.benchmark_group("sort");
    for (name, table, looked, body) in ways {
        let request = QueryRequest::from_json(body.as_bytes(), 10_000).unwrap();
        let plan = plan(&request, table, "lineitem", &mercato_query::Unlimited).unwrap();
        let rows = match looked {
            Looked::Page => plan.limit(),
            Looked::Matches => count_matches(&plan, &NoSelections).unwrap(),
            Looked::AllRows => table.row_count().into(),
        };
        group.throughput(Throughput::Elements(rows));
        group.bench_function(name, |bencher| bencher.iter(|| execute(&plan, &NoSelections).unwrap().rows));
    }
    group.finish();
}
