//! A search that is stopped has no result, and one that is not stopped gives the rows of the naive twin.

use std::sync::atomic::{AtomicU64, Ordering};

use mercato::selections::SelectionCache;
use mercato_format::writer::{Column, ColumnValues, temporary_table};
use mercato_format::{ColumnKind, Table};
use mercato_query::{
    NoSelections, QueryError, QueryRequest, RowStream, SearchError, Stop, WorkLimit, count_matches,
    count_rows, execute, plan,
};
use proptest::prelude::*;
use serde_json::json;

use crate::naive::rows;
use crate::pagination::{Case, case, large_case, request};
use crate::stored::stored;

/// Lets a search go on for so many checks.
#[derive(Debug)]
struct Checks(AtomicU64);

impl Checks {
    fn new(count: u64) -> Checks {
        Checks(AtomicU64::new(count))
    }
}

impl WorkLimit for Checks {
    fn check(&self) -> Result<(), Stop> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| Stop::TooExpensive)
    }
}

/// What a search gives; nothing where it was stopped.
fn unless_stopped<T>(outcome: Result<T, SearchError>) -> Option<T> {
    match outcome {
        Ok(found) => Some(found),
        Err(SearchError::Stopped(Stop::TooExpensive)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// All rows of a stream.
fn streamed(mut stream: RowStream<'_, '_>) -> Result<Vec<u32>, SearchError> {
    let (mut all, mut found) = (Vec::new(), Vec::new());
    loop {
        let more = stream.next_batch(1_000, &mut found)?;
        all.extend_from_slice(&found);
        if !more {
            return Ok(all);
        }
    }
}

/// Runs everything that a request may ask for within so many checks. Returns whether nothing was stopped.
fn check_within(case: &Case, stored: &Table, expected: &[u32], cache: &SelectionCache, checks: u64) -> bool {
    let limit = Checks::new(checks);
    let mut body = case.body(case.limit);
    body["offset"] = case.offset.into();
    let plan = match plan(&request(&body), stored, "t@1.0.0", &limit) {
        Ok(plan) => plan,
        Err(QueryError::Stopped(Stop::TooExpensive)) => return false,
        Err(error) => panic!("{error}"),
    };
    let wanted: Vec<u32> = expected.iter().skip(case.offset).take(case.limit).copied().collect();
    let page = unless_stopped(execute(&plan, cache));
    let rows = unless_stopped(count_rows(&plan, u64::MAX, cache));
    let matches = unless_stopped(count_matches(&plan, cache));
    let stream = unless_stopped(RowStream::new(&plan).and_then(streamed));
    let ended = [page.is_some(), rows.is_some(), matches.is_some(), stream.is_some()];
    if let Some(page) = page {
        assert_eq!(page.rows, wanted, "{body}");
        assert_eq!(page.next_cursor.is_some(), expected.len() > case.offset + case.limit, "{body}");
    }
    assert!(rows.is_none_or(|count| count.exact() == Some(wanted.len() as u64)), "{body}");
    assert!(matches.is_none_or(|count| count == expected.len() as u64), "{body}");
    assert!(stream.is_none_or(|found| found == wanted), "{body}");
    ended.iter().all(|ended| *ended)
}

fn check(case: &Case, checks: u64) {
    let stored = stored(&case.table, &case.indexed);
    let expected = rows(&case.table, case.filter.as_ref(), case.sort, case.descending);
    let cache = SelectionCache::new(1 << 20);
    check_within(case, &stored, &expected, &cache, checks);
    // What was stopped has left nothing behind.
    assert!(check_within(case, &stored, &expected, &cache, u64::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_shrink_iters: 500, ..ProptestConfig::default() })]
    #[test]
    fn ends_early_or_gives_rows_of_naive_engine(case in case(120), checks in 0_u64..12) {
        check(&case, checks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn ends_early_or_gives_rows_beyond_zones_and_chunks(case in large_case(), checks in 0_u64..200) {
        check(&case, checks);
    }
}

const ROWS: usize = 40_000;
const CONDITIONS: u64 = 99;

/// 99 texts to be looked for, of which no row has one.
fn patterns(column: &str) -> QueryRequest {
    let tests: Vec<_> =
        (0..CONDITIONS).map(|number| json!({ column: {"contains": format!("~{number}")} })).collect();
    request(&json!({ "filters": {"$or": tests}, "count": "exact" }))
}

/// A column whose texts never repeat, so that each is looked at, and one whose few texts are entries of a dictionary.
fn texts() -> Table {
    let of =
        |text: &dyn Fn(usize) -> String| ColumnValues::Texts((0..ROWS).map(|row| Some(text(row))).collect());
    let seldom = Column {
        sort_index: false,
        ..Column::new("seldom", ColumnKind::Text, of(&|row| format!("text {row}")))
    };
    let often = Column::new("often", ColumnKind::Text, of(&|row| format!("text {}", row % 5_000)));
    temporary_table(&[seldom, often]).unwrap()
}

#[test]
fn asks_every_few_thousand_values() {
    let table = texts();
    for (column, values) in [("seldom", ROWS as u64), ("often", 5_000)] {
        let limit = Checks::new(u64::MAX);
        let plan = plan(&patterns(column), &table, "t@1.0.0", &limit).unwrap();
        assert_eq!(execute(&plan, &NoSelections).unwrap().rows, Vec::<u32>::new());
        let asked = u64::MAX - limit.0.load(Ordering::Relaxed);
        assert!(asked >= CONDITIONS * values / 4_096, "{column}: {asked}");
        assert!(asked <= CONDITIONS * values / 100, "{column}: {asked}");
    }
}

#[test]
fn asks_nothing_for_page_along_index() {
    let table = texts();
    for body in [json!({ "limit": 1_000 }), json!({ "sortBy": "often", "offset": 9_000, "limit": 100 })] {
        let limit = Checks::new(0);
        let plan = plan(&request(&body), &table, "t@1.0.0", &limit).unwrap();
        assert!(!execute(&plan, &NoSelections).unwrap().rows.is_empty());
    }
}
