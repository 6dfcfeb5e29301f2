//! Groups and aggregates like a naive twin: over random tables, filters and questions, by pages and streams.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use mercato::selections::SelectionCache;
use mercato_format::{ColumnKind, FloatWidth, Table};
use mercato_query::render::{Format, render_rows};
use mercato_query::{
    Count, GroupError, GroupRows, NoSelections, Page, QueryRequest, RowStream, Selections, Unlimited,
    count_groups, group, plan,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::naive::{Cell, NaiveColumn, NaiveTable, compare, rows};
use crate::pagination::{Case, case, large_case, request};
use crate::stored::stored;

/// A question about a table.
#[derive(Debug, Clone)]
struct Question {
    /// Columns to group by, and by what.
    keys: Vec<(usize, Bucket)>,
    aggregates: Vec<(&'static str, Option<usize>)>,
    rows_min: u64,
    sort: Option<usize>,
    descending: bool,
    limit: usize,
    offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bucket {
    None,
    By(&'static str),
    Width(i64),
}

/// A column of an answer: its kind, its width and its cells.
struct Answer {
    columns: Vec<NaiveColumn>,
    /// Rows of each group.
    counts: Vec<u64>,
}

fn bucket(kind: ColumnKind) -> BoxedStrategy<Bucket> {
    let some = match kind {
        ColumnKind::Date => prop::sample::select(&["year", "quarter", "month", "week", "day"][..])
            .prop_map(Bucket::By)
            .boxed(),
        ColumnKind::Timestamp { .. } => {
            prop::sample::select(&["year", "month", "week", "day", "hour"][..]).prop_map(Bucket::By).boxed()
        }
        ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float => {
            prop::sample::select(&[1i64, 3, 100][..]).prop_map(Bucket::Width).boxed()
        }
        _ => return Just(Bucket::None).boxed(),
    };
    prop_oneof![Just(Bucket::None), some].boxed()
}

fn aggregate(table: &NaiveTable, indexed: &[bool]) -> BoxedStrategy<(&'static str, Option<usize>)> {
    let mut choices: Vec<(&'static str, Option<usize>)> = vec![("count", None)];
    for (number, column) in table.columns.iter().enumerate() {
        let has_codes = column.kind != ColumnKind::Text || indexed[number];
        choices.push(("count", Some(number)));
        if has_codes {
            choices.extend(["countDistinct", "min", "max"].map(|op| (op, Some(number))));
        }
        match column.kind {
            ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float => {
                choices.extend(["sum", "avg", "median", "q0.1", "q0.95", "q1"].map(|op| (op, Some(number))));
            }
            ColumnKind::Date | ColumnKind::Timestamp { .. } => choices.push(("median", Some(number))),
            _ => (),
        }
    }
    prop::sample::select(choices).boxed()
}

fn question(table: &NaiveTable, indexed: &[bool]) -> BoxedStrategy<Question> {
    let usable: Vec<(usize, ColumnKind)> = table
        .columns
        .iter()
        .enumerate()
        .filter(|(number, column)| column.kind != ColumnKind::Text || indexed[*number])
        .map(|(number, column)| (number, column.kind))
        .collect();
    let key = match usable.is_empty() {
        true => Just(Vec::new()).boxed(),
        false => {
            let key = prop::sample::select(usable)
                .prop_flat_map(|(column, kind)| bucket(kind).prop_map(move |bucket| (column, bucket)));
            prop::collection::vec(key, 0..4).boxed()
        }
    };
    let aggregates = prop::collection::vec(aggregate(table, indexed), 0..5);
    let rows_min = prop_oneof![4 => Just(0u64), 1 => 1u64..4];
    (
        key,
        aggregates,
        rows_min,
        prop::option::of(any::<prop::sample::Index>()),
        any::<bool>(),
        1usize..12,
        0usize..9,
    )
        .prop_filter_map(
            "nothing is asked",
            |(keys, aggregates, rows_min, sort, descending, limit, offset)| {
                let columns = keys.len() + aggregates.len();
                let sort = sort.map(|sort| sort.index(columns.max(1)));
                let question = Question { keys, aggregates, rows_min, sort, descending, limit, offset };
                (columns > 0).then_some(question)
            },
        )
        .boxed()
}

impl Question {
    fn names(&self) -> Vec<String> {
        (0..self.keys.len() + self.aggregates.len()).map(|number| format!("r{number}")).collect()
    }

    fn body(&self, case: &Case) -> Value {
        let name = |column: usize| case.table.columns[column].name.clone();
        let names = self.names();
        let keys = self.keys.iter().zip(&names).map(|((column, bucket), as_name)| match bucket {
            Bucket::None => json!({"column": name(*column), "as": as_name}),
            Bucket::By(period) => json!({"column": name(*column), "by": period, "as": as_name}),
            Bucket::Width(width) => json!({"column": name(*column), "width": width, "as": as_name}),
        });
        let mut body = json!({"groupBy": keys.collect::<Vec<_>>(), "limit": self.limit});
        // The order of the aggregates is that of their names here, whatever the map does.
        let mut aggregates = serde_json::Map::new();
        for ((op, column), as_name) in self.aggregates.iter().zip(&names[self.keys.len()..]) {
            let mut aggregate = match op.strip_prefix('q') {
                Some(share) => json!({"op": "quantile", "q": serde_json::from_str::<Value>(share).unwrap()}),
                None => json!({"op": op}),
            };
            if let Some(column) = column {
                aggregate["column"] = name(*column).into();
            }
            aggregates.insert(as_name.clone(), aggregate);
        }
        body["aggregates"] = aggregates.into();
        if let Some(filter) = &case.filter {
            body["filters"] = filter.json(&case.table);
        }
        if let Some(sort) = self.sort {
            body["sortBy"] = names[sort].as_str().into();
        }
        body["sortDirection"] = if self.descending { "desc" } else { "asc" }.into();
        body
    }
}

/// The start of the bucket of a cell, by the calendar of another library.
fn start(cell: &Cell, kind: ColumnKind, bucket: Bucket) -> Cell {
    match (cell, bucket) {
        (Cell::Number(value), Bucket::Width(width)) => {
            let scale = if let ColumnKind::Decimal { scale, .. } = kind { scale } else { 0 };
            let width = i128::from(width) * 10_i128.pow(scale.into());
            Cell::Number(value.div_euclid(width) * width)
        }
        (Cell::Float(value), Bucket::Width(width)) => {
            Cell::Float((value / width as f64).floor() * width as f64 + 0.0)
        }
        (Cell::Number(value), Bucket::By(period)) => {
            let day_units = if let ColumnKind::Timestamp { unit } = kind {
                86_400 * i128::from(unit.per_second())
            } else {
                1
            };
            if period == "hour" {
                return Cell::Number(value.div_euclid(day_units / 24) * (day_units / 24));
            }
            let epoch = jiff::civil::date(1970, 1, 1);
            let day = epoch + jiff::Span::new().days(i64::try_from(value.div_euclid(day_units)).unwrap());
            let first = match period {
                "year" => day.first_of_year(),
                "quarter" => jiff::civil::date(day.year(), (day.month() - 1) / 3 * 3 + 1, 1),
                "month" => day.first_of_month(),
                "week" => day - jiff::Span::new().days(day.weekday().since(jiff::civil::Weekday::Monday)),
                _ => day,
            };
            Cell::Number(i128::from(first.duration_since(epoch).as_hours() / 24) * day_units)
        }
        // Both zeros are one value.
        (Cell::Float(value), Bucket::None) => Cell::Float(value + 0.0),
        _ => cell.clone(),
    }
}

/// NaN after all values, null after NaN.
fn order(one: Option<&Cell>, other: Option<&Cell>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => compare(one, other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

#[derive(PartialEq)]
struct Key(Vec<Option<Cell>>);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let cells = self.0.iter().zip(&other.0);
        cells
            .map(|(one, other)| order(one.as_ref(), other.as_ref()))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

/// The aggregate of the rows of a group; `Err` for a sum with too many digits.
fn aggregated(op: &str, column: Option<&NaiveColumn>, rows: &[u32]) -> Result<Option<Cell>, ()> {
    let count = |count: usize| Ok(Some(Cell::Number(count as i128)));
    let Some(column) = column else { return count(rows.len()) };
    let mut values: Vec<&Cell> = rows.iter().filter_map(|row| column.cells[*row as usize].as_ref()).collect();
    match op {
        "count" => return count(values.len()),
        "sum" | "avg" => return total(op, column.kind, &values),
        _ => (),
    }
    values.sort_by(|one, other| compare(one, other));
    if op == "countDistinct" {
        values.dedup_by(|one, other| compare(one, other) == Ordering::Equal);
        return count(values.len());
    }
    let share = match op {
        "min" => 0.0,
        "max" | "q1" => 1.0,
        "median" => 0.5,
        quantile => quantile[1..].parse::<f64>().unwrap(),
    };
    let rank = (share * values.len() as f64).ceil() as usize;
    Ok(values.get(rank.saturating_sub(1)).map(|cell| start(cell, column.kind, Bucket::None)))
}

fn total(op: &str, kind: ColumnKind, values: &[&Cell]) -> Result<Option<Cell>, ()> {
    if values.is_empty() {
        return Ok(None);
    }
    if kind == ColumnKind::Float {
        let sum: f64 = values
            .iter()
            .fold(0.0, |sum, cell| if let Cell::Float(value) = cell { sum + value } else { panic!() });
        return Ok(Some(Cell::Float(if op == "sum" { sum } else { sum / values.len() as f64 })));
    }
    // Halves of the numbers, so that nothing overflows on the way.
    let numbers = || values.iter().map(|cell| if let Cell::Number(value) = cell { *value } else { panic!() });
    let (high, low): (i128, i128) =
        (numbers().map(|value| value >> 64).sum(), numbers().map(|value| value & i128::from(u64::MAX)).sum());
    let high = high + (low >> 64);
    let sum = if high >> 63 == 0 || high >> 63 == -1 {
        Some(high << 64 | (low & i128::from(u64::MAX)))
    } else {
        None
    };
    let exact = |value: Option<i128>| {
        value
            .filter(|value| value.unsigned_abs() < 10_u128.pow(38))
            .map(|value| Some(Cell::Number(value)))
            .ok_or(())
    };
    if op == "sum" {
        return exact(sum);
    }
    let count = values.len() as i128;
    let Some(sum) = sum else { return Err(()) };
    let (whole, rest) = (sum.div_euclid(count), sum.rem_euclid(count) * 1_000_000);
    let floor = whole.checked_mul(1_000_000).and_then(|whole| whole.checked_add(rest / count));
    let twice = rest % count * 2;
    exact(floor.map(|floor| floor + i128::from(twice > count || (twice == count && floor % 2 != 0))))
}

/// All groups, in the order of the keys.
fn answer(case: &Case, question: &Question) -> Result<Answer, ()> {
    let table = &case.table;
    let mut groups: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
    if question.keys.is_empty() {
        groups.insert(Key(Vec::new()), Vec::new());
    }
    for row in rows(table, case.filter.as_ref(), None, false) {
        let cell = |(column, bucket): &(usize, Bucket)| {
            let column = &table.columns[*column];
            column.cells[row as usize].as_ref().map(|cell| start(cell, column.kind, *bucket))
        };
        groups.entry(Key(question.keys.iter().map(cell).collect())).or_default().push(row);
    }
    let kind_of = |op: &str, column: Option<usize>| {
        let source = column.map(|column| &table.columns[column]);
        match (op, source.map(|source| source.kind)) {
            ("count" | "countDistinct", _) | (_, None) => (ColumnKind::Integer, FloatWidth::Double),
            ("sum" | "avg", Some(ColumnKind::Float)) => (ColumnKind::Float, FloatWidth::Double),
            ("avg", Some(ColumnKind::Decimal { scale, .. })) => {
                (ColumnKind::Decimal { precision: 38, scale: scale + 6 }, FloatWidth::Double)
            }
            ("avg", Some(_)) => (ColumnKind::Decimal { precision: 38, scale: 6 }, FloatWidth::Double),
            (_, Some(kind)) => (kind, source.unwrap().width),
        }
    };
    let names = question.names();
    let mut columns: Vec<NaiveColumn> = Vec::new();
    for (number, (column, _)) in question.keys.iter().enumerate() {
        let source = &table.columns[*column];
        let cells = groups.keys().map(|key| key.0[number].clone()).collect();
        columns.push(NaiveColumn {
            name: names[number].clone(),
            kind: source.kind,
            width: source.width,
            cells,
        });
    }
    for ((op, column), name) in question.aggregates.iter().zip(&names[question.keys.len()..]) {
        let source = column.map(|column| &table.columns[column]);
        let cells = groups.values().map(|rows| aggregated(op, source, rows)).collect::<Result<_, _>>()?;
        let (kind, width) = kind_of(op, *column);
        columns.push(NaiveColumn { name: name.clone(), kind, width, cells });
    }
    Ok(Answer { columns, counts: groups.values().map(|rows| rows.len() as u64).collect() })
}

impl Answer {
    /// The groups that are large enough, in the order that is asked for.
    fn sorted(&self, question: &Question) -> Vec<usize> {
        let mut groups: Vec<usize> =
            (0..self.counts.len()).filter(|group| self.counts[*group] >= question.rows_min).collect();
        let Some(sort) = question.sort else {
            if question.descending {
                groups.reverse();
            }
            return groups;
        };
        let cell = |group: &usize| self.columns[sort].cells[*group].as_ref();
        let is_nan = |cell: &Cell| matches!(cell, Cell::Float(value) if value.is_nan());
        groups.sort_by(|one, other| match (cell(one), cell(other)) {
            (Some(one), Some(other)) if question.descending && !is_nan(one) && !is_nan(other) => {
                compare(other, one)
            }
            (one, other) => order(one, other),
        });
        groups
    }

    /// The groups as the rows of a table.
    fn text(&self, groups: &[usize]) -> String {
        let cells = |column: &NaiveColumn| groups.iter().map(|group| column.cells[*group].clone()).collect();
        let columns: Vec<NaiveColumn> = self
            .columns
            .iter()
            .map(|column| NaiveColumn { cells: cells(column), ..column.clone() })
            .collect();
        let table = NaiveTable { columns, rows: groups.len() };
        let numbers: Vec<usize> = (0..self.columns.len()).collect();
        text_of(
            &stored(&table, &vec![false; numbers.len()]),
            &(0..u32::try_from(groups.len()).unwrap()).collect::<Vec<_>>(),
        )
    }
}

fn text_of(table: &Table, rows: &[u32]) -> String {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut out = Vec::new();
    render_rows(Format::Csv, table, &columns, rows, &mut out).unwrap();
    // The header tells whether a lone column has nulls, also in the row behind a page.
    String::from_utf8(out).unwrap().split_once("\r\n").unwrap().1.to_owned()
}

fn asked(question: &Question, body: &Value) -> QueryRequest {
    request(body).with_group_rows_min(question.rows_min)
}

fn page_of(
    stored: &Table,
    question: &Question,
    body: &Value,
    selections: &dyn Selections,
) -> Result<Page, GroupError> {
    let plan = plan(&asked(question, body), stored, "t@1.0.0", &Unlimited).unwrap();
    Ok(group(&plan, selections)?.into_page().unwrap())
}

/// The next groups of a stream of a table in memory.
fn streamed(groups: &GroupRows) -> (Vec<u32>, Option<String>) {
    let plan = groups.plan(&Unlimited);
    let mut stream = RowStream::new(&plan).unwrap();
    let (mut found, mut batch, mut more) = (Vec::new(), Vec::new(), true);
    while more {
        more = stream.next_batch(3, &mut batch).unwrap();
        found.extend_from_slice(&batch);
    }
    let Some(last) = found.last() else { return (found, None) };
    let follows = std::iter::repeat_with(|| stream.has_more(*last).unwrap()).find_map(|known| known);
    let cursor = follows.unwrap().then(|| plan.cursor_after(*last).unwrap());
    (found, cursor)
}

fn check(case: &Case, question: &Question) {
    let stored = stored(&case.table, &case.indexed);
    let body = question.body(case);
    let cache = SelectionCache::new(1 << 20);
    let Ok(answer) = answer(case, question) else {
        let failed = page_of(&stored, question, &body, &cache);
        assert!(matches!(failed, Err(GroupError::Overflow(_))), "{body}");
        return;
    };
    let expected = answer.sorted(question);
    let left_out = answer.counts.iter().filter(|count| **count < question.rows_min).count() as u64;
    let (mut next, mut at) = (body.clone(), 0);
    loop {
        let page = page_of(&stored, question, &next, &cache).unwrap();
        let end = (at + question.limit).min(expected.len());
        let groups = page.groups.as_deref().unwrap();
        assert_eq!(text_of(groups.table(), &page.rows), answer.text(&expected[at..end]), "{next}");
        assert_eq!((page.total_rows, groups.left_out()), (Some(expected.len() as u64), left_out), "{next}");
        at = end;
        assert_eq!(page.next_cursor.is_some(), at < expected.len(), "{next}");
        match page.next_cursor {
            Some(cursor) => next["cursor"] = cursor.into(),
            None => break,
        }
    }
    let mut deep = body.clone();
    deep["offset"] = question.offset.into();
    let rest = expected.get(question.offset..).unwrap_or_default();
    let shown = &rest[..rest.len().min(question.limit)];
    let plan = plan(&asked(question, &deep), &stored, "t@1.0.0", &Unlimited).unwrap();
    let groups = group(&plan, &NoSelections).unwrap();
    let (rows, cursor) = streamed(&groups);
    assert_eq!(text_of(groups.table(), &rows), answer.text(shown), "{deep}");
    assert_eq!(cursor.is_some(), rest.len() > shown.len(), "{deep}");
    assert_eq!(count_groups(&plan, u64::MAX, &cache).unwrap().0, Count::Exact(shown.len() as u64), "{deep}");
}

/// Rows of several parts, which are measured apart.
fn very_large_case() -> BoxedStrategy<Case> {
    let larger = large_case().prop_map(|mut case| {
        let rows = case.table.rows * 4;
        for column in &mut case.table.columns {
            column.cells = column.cells.iter().cycle().take(rows).cloned().collect();
        }
        case.table.rows = rows;
        case
    });
    larger.boxed()
}

fn asked_case(case: BoxedStrategy<Case>) -> BoxedStrategy<(Case, Question)> {
    case.prop_flat_map(|case| {
        let question = question(&case.table, &case.indexed);
        (Just(case), question)
    })
    // Random doubles are quarters, so that their sums are exact in every order; thirds of singles are not.
    .prop_filter("sums of singles depend on their order", |(case, question)| {
        let is_inexact = |(op, column): &(&str, Option<usize>)| {
            matches!(*op, "sum" | "avg")
                && column.is_some_and(|column| case.table.columns[column].width == FloatWidth::Single)
        };
        !question.aggregates.iter().any(is_inexact)
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn answers_questions_like_naive_engine((case, question) in asked_case(case(120).boxed())) {
        check(&case, &question);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 30, ..ProptestConfig::default() })]
    #[test]
    fn answers_beyond_zones_and_parts((case, mut question) in asked_case(very_large_case())) {
        question.limit *= 97;
        check(&case, &question);
    }
}
