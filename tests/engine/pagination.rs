//! Every walk through a filtered and sorted table returns each matching row exactly once, in order, by cursors and by
//! offsets, and `nextCursor` is null exactly at the end.

use mercato::selections::SelectionCache;
use mercato_format::{ColumnKind, FloatWidth, Table};
use mercato_query::{
    Count, NoSelections, PaginationMode, Plan, QueryRequest, RowStream, count_matches, count_rows,
    count_up_to, execute, plan,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::naive::{Condition, Filter, NaiveTable, rows};
use crate::stored::stored;
use crate::tables::{self, cell, narrow_cell};

/// A random request against a random table.
#[derive(Debug, Clone)]
pub struct Case {
    pub table: NaiveTable,
    pub indexed: Vec<bool>,
    pub filter: Option<Filter>,
    pub sort: Option<usize>,
    pub descending: bool,
    pub limit: usize,
    pub offset: usize,
}

fn condition(kind: ColumnKind, width: FloatWidth) -> BoxedStrategy<Condition> {
    let operator = prop::sample::select(&["eq", "ne", "gt", "gte", "lt", "lte"][..]);
    let finite = move || {
        let finite = cell(kind, 6).prop_filter(
            "JSON has no such number",
            |cell| !matches!(cell, crate::naive::Cell::Float(value) if !value.is_finite()),
        );
        finite.prop_map(move |mut cell| {
            narrow_cell(&mut cell, width);
            cell
        })
    };
    let compare = (operator, finite()).prop_map(|(operator, cell)| Condition::Compare(operator, cell));
    let one_of = (any::<bool>(), prop::collection::vec(finite(), 1..4))
        .prop_map(|(inside, cells)| Condition::OneOf(inside, cells));
    let is_null = any::<bool>().prop_map(Condition::IsNull);
    if kind == ColumnKind::Float {
        let is_nan = any::<bool>().prop_map(Condition::IsNan);
        let is_finite = any::<bool>().prop_map(Condition::IsFinite);
        return prop_oneof![4 => compare, 2 => one_of, 1 => is_null, 3 => is_nan, 2 => is_finite].boxed();
    }
    if kind != ColumnKind::Text {
        return prop_oneof![4 => compare, 2 => one_of, 1 => is_null].boxed();
    }
    let operator = prop::sample::select(&["contains", "startsWith", "endsWith"][..]);
    let pattern = prop::sample::select(&["t", "t1", "", "\"", "é", "prefix prefix", "zzz", "1"][..]);
    let text = (operator, pattern).prop_map(|(operator, pattern)| Condition::Text(operator, pattern.into()));
    prop_oneof![4 => compare, 2 => one_of, 1 => is_null, 3 => text].boxed()
}

fn filter(table: &NaiveTable) -> impl Strategy<Value = Filter> + use<> {
    let kinds: Vec<(usize, (ColumnKind, FloatWidth))> =
        table.columns.iter().map(|column| (column.kind, column.width)).enumerate().collect();
    let leaf = prop::sample::select(kinds).prop_flat_map(|(column, (kind, width))| {
        condition(kind, width).prop_map(move |condition| Filter::Test(column, condition))
    });
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::And),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::Or),
            1 => inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

pub fn case(rows_max: usize) -> impl Strategy<Value = Case> {
    tables::table(rows_max).prop_flat_map(|(table, indexed)| {
        let filter = prop::option::weighted(0.75, filter(&table));
        // A text column without sort index cannot be sorted by.
        let sortable: Vec<Option<usize>> = std::iter::once(None)
            .chain(
                (0..table.columns.len())
                    .filter(|column| indexed[*column] || table.columns[*column].kind != ColumnKind::Text)
                    .map(Some),
            )
            .collect();
        let sort = prop::sample::select(sortable);
        (Just(table), Just(indexed), filter, sort, any::<bool>(), 1usize..40, 0usize..60).prop_map(
            |(table, indexed, filter, sort, descending, limit, offset)| Case {
                table,
                indexed,
                filter,
                sort,
                descending,
                limit,
                offset,
            },
        )
    })
}

impl Case {
    pub fn body(&self, limit: usize) -> Value {
        let mut body = json!({"limit": limit, "sortDirection": if self.descending { "desc" } else { "asc" }});
        if let Some(filter) = &self.filter {
            body["filters"] = filter.json(&self.table);
        }
        if let Some(sort) = self.sort {
            body["sortBy"] = self.table.columns[sort].name.as_str().into();
        }
        body
    }
}

pub fn request(body: &Value) -> QueryRequest {
    QueryRequest::from_json(body.to_string().as_bytes(), 1_000_000).unwrap()
}

fn check_walk(case: &Case, stored: &Table, expected: &[u32], cache: &SelectionCache) {
    let mut body = case.body(case.limit);
    let mut found = Vec::new();
    loop {
        let plan = plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
        let page = execute(&plan, cache).unwrap();
        found.extend_from_slice(&page.rows);
        assert_eq!(page.mode == PaginationMode::Cursor, body.get("cursor").is_some());
        assert_eq!(page.next_cursor.is_some(), found.len() < expected.len(), "{body}");
        assert!(page.rows.len() == case.limit || page.next_cursor.is_none());
        assert!(
            page.total_rows.is_none_or(|total| total == expected.len() as u64),
            "{body} {:?}",
            page.total_rows
        );
        match page.next_cursor {
            Some(cursor) => body["cursor"] = cursor.into(),
            None => break,
        }
    }
    assert_eq!(found, expected, "{}", case.body(case.limit));
}

fn check_offset(case: &Case, stored: &Table, expected: &[u32], cache: &SelectionCache) {
    let mut body = case.body(case.limit);
    body["offset"] = case.offset.into();
    let plan = plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
    let rest = expected.get(case.offset..).unwrap_or_default();
    let page = execute(&plan, cache).unwrap();
    assert_eq!(page.rows, &rest[..rest.len().min(case.limit)], "{body}");
    assert_eq!(page.next_cursor.is_some(), rest.len() > case.limit, "{body}");
    assert_eq!(count_rows(&plan, u64::MAX, cache).unwrap(), Count::Exact(page.rows.len() as u64));
    check_told_counts(case, &plan, expected.len() as u64, cache);
    assert_eq!(count_matches(&plan, cache).unwrap(), expected.len() as u64);
}

/// What is told for nothing is exact up to a bound. Above it, the answer is the same for every number of matches.
fn check_told_counts(case: &Case, plan: &Plan<'_>, matches: u64, cache: &SelectionCache) {
    let (offset, limit) = (case.offset as u64, case.limit as u64);
    for most in [0, 3, 20] {
        let rows = count_rows(plan, most, cache).unwrap();
        let told = count_up_to(plan, most, cache).unwrap();
        let is_exact = case.filter.is_none() || matches.min(offset + limit) <= most;
        let exact = Count::Exact(matches.saturating_sub(offset).min(limit));
        let least = Count::AtLeast(most.saturating_sub(offset).min(limit));
        assert_eq!(rows, if is_exact { exact } else { least }, "{matches} matches, {most} told");
        let is_told = case.filter.is_none() || matches <= most;
        assert_eq!(told, if is_told { Count::Exact(matches) } else { Count::AtLeast(most) });
    }
}

fn check_stream(case: &Case, stored: &Table, expected: &[u32]) {
    let mut body = case.body(case.limit * 3);
    body["offset"] = case.offset.into();
    let plan = plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
    let rest = expected.get(case.offset..).unwrap_or_default();
    let mut stream = RowStream::new(&plan).unwrap();
    let (mut found, mut batch) = (Vec::new(), Vec::new());
    let mut ahead = true;
    while ahead {
        ahead = stream.next_batch(case.limit.min(7), &mut batch).unwrap();
        found.extend_from_slice(&batch);
    }
    assert_eq!(found, &rest[..rest.len().min(case.limit * 3)], "{body}");
    if let Some(last) = found.last() {
        let more = std::iter::repeat_with(|| stream.has_more(*last).unwrap()).find_map(|known| known);
        assert_eq!(more, Some(rest.len() > found.len()));
    }
}

/// Exact totals do not depend on the page, and an estimate is as many rows as the page or stream has.
fn check_counts(case: &Case, stored: &Table, expected: &[u32], cache: &SelectionCache) {
    let mut body = case.body(case.limit);
    body["count"] = "exact".into();
    let total = Some(expected.len() as u64);
    let first = execute(&plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap(), cache)
        .unwrap();
    assert_eq!(first.total_rows, total, "{body}");
    body["offset"] = case.offset.into();
    let deep = plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
    assert_eq!(execute(&deep, &NoSelections).unwrap().total_rows, total, "{body}");
    if let Some(cursor) = first.next_cursor {
        body["cursor"] = cursor.into();
        let next =
            execute(&plan(&request(&body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap(), cache)
                .unwrap();
        assert_eq!(next.total_rows, total, "{body}");
    }
    for (purpose, limit) in [("page", case.limit), ("stream", case.limit * 5)] {
        let mut body = case.body(limit);
        body["for"] = purpose.into();
        let estimate = |body: &Value| {
            let (request, errors) =
                QueryRequest::read_estimate(body.to_string().as_bytes(), 40_000, 1_000_000);
            assert_eq!(errors, [], "{body}");
            let plan = plan(&request, stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
            count_rows(&plan, u64::MAX, cache).unwrap().exact().unwrap()
        };
        assert_eq!(estimate(&body), expected.len().min(limit) as u64, "{body}");
        if let Some(last) = expected.get(case.offset) {
            let plan =
                plan(&request(&case.body(limit)), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
            body["cursor"] = plan.cursor_after(*last).unwrap().into();
            assert_eq!(estimate(&body), (expected.len() - case.offset - 1).min(limit) as u64, "{body}");
        }
    }
}

/// A client that makes its own cursor from the last row's value and number gets the same next page.
fn check_bare_cursor(case: &Case, stored: &Table, expected: &[u32]) {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    let Some(last) = expected.get(case.offset) else { return };
    let plan_of = |body: &Value| plan(&request(body), stored, "t@1.0.0", &mercato_query::Unlimited).unwrap();
    let mut body = case.body(case.limit);
    let cursor = plan_of(&body).cursor_after(*last).unwrap();
    let decoded: Value = serde_json::from_slice(&engine.decode(cursor).unwrap()).unwrap();
    let value = serde_json::to_string(&decoded["lastSortValue"]).unwrap();
    // Exact numbers lose digits in a JSON library that reads doubles, so they travel as text here.
    let exact = case.sort.is_some_and(|sort| {
        matches!(case.table.columns[sort].kind, ColumnKind::Integer | ColumnKind::Decimal { .. })
    });
    if exact && decoded["lastSortValue"].as_f64().is_some_and(|value| value.abs() > 1e9) {
        return;
    }
    body["cursor"] = engine.encode(format!("{{\"lastSortValue\":{value},\"lastId\":{last}}}")).into();
    let page = execute(&plan_of(&body), &NoSelections).unwrap();
    let rest = &expected[case.offset + 1..];
    assert_eq!(page.rows, &rest[..rest.len().min(case.limit)], "{body} {decoded}");
}

/// The same rows over and over: long runs, many zones, several chunks.
pub fn large_case() -> impl Strategy<Value = Case> {
    case(40).prop_map(|mut case| {
        let rows = case.table.rows;
        let times = 70_000usize.checked_div(rows).map_or(0, |times| times + 1);
        for column in &mut case.table.columns {
            column.cells = column.cells.iter().cycle().take(rows * times).cloned().collect();
        }
        case.table.rows = rows * times;
        (case.limit, case.offset) = (case.limit * 997, case.offset * 613);
        case
    })
}

fn check(case: &Case) {
    let stored = stored(&case.table, &case.indexed);
    let expected = rows(&case.table, case.filter.as_ref(), case.sort, case.descending);
    let cache = SelectionCache::new(1 << 20);
    check_walk(case, &stored, &expected, &cache);
    check_offset(case, &stored, &expected, &cache);
    check_stream(case, &stored, &expected);
    check_counts(case, &stored, &expected, &cache);
    check_bare_cursor(case, &stored, &expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn pages_offsets_and_streams_like_naive_engine(case in case(120)) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 30, ..ProptestConfig::default() })]
    #[test]
    fn agrees_beyond_zones_and_chunks(case in large_case()) {
        check(&case);
    }
}
