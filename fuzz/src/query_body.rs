//! Fuzzes query bodies. Invalid bodies are refused with validation errors. Valid ones give the same rows with and
//! without sort indexes, as pages and as streams. Generated filters give the rows of the naive engine.

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use mercato_format::ColumnKind;
use mercato_query::QueryRequest;
use serde_json::json;

use crate::naive::{Cell, Condition, Filter, NaiveTable, rows};
use crate::table::Twins;
use crate::walk::{matches, page};

const LIMIT_MAX: u64 = 10_000;
const DEPTH_MAX: usize = 4;

static TWINS: LazyLock<Twins> = LazyLock::new(Twins::new);

/// With an odd first byte, the rest generates a valid request. With an even one, the rest is the body.
pub fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 2 == 0 {
        check_body(rest);
    } else if let Ok(case) = Case::new(&mut Unstructured::new(rest)) {
        case.check();
    }
}

fn check_body(body: &[u8]) {
    let twins = &*TWINS;
    let (request, faults) = QueryRequest::read_json(body, LIMIT_MAX);
    if faults.is_empty() {
        compare(&request);
    } else {
        assert!(faults.iter().all(|fault| !fault.hint.is_empty() && !fault.message.is_empty()));
        assert!(faults.len() <= mercato_query::VALIDATION_ERRORS_MAX, "{} faults", faults.len());
        let _ = mercato_query::plan(&request, &twins.indexed, "t@1", &mercato_query::Unlimited).map(drop);
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let pairs: Vec<(String, String)> = text
            .split('&')
            .take(64)
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if let Ok(request) = QueryRequest::from_pairs(&pairs, LIMIT_MAX) {
            compare(&request);
        }
    }
}

/// Indexes must not change the rows of a result.
fn compare(request: &QueryRequest) {
    let twins = &*TWINS;
    let indexed = page(request, &twins.indexed);
    if let (Ok(indexed), Ok(plain)) = (&indexed, page(request, &twins.plain)) {
        assert_eq!(*indexed, plain, "with and without sort indexes");
    }
    if indexed.is_ok()
        && let (Some(indexed), Some(plain)) =
            (matches(request, &twins.indexed), matches(request, &twins.plain))
    {
        assert_eq!(indexed, plain);
    }
}

struct Case {
    filter: Option<Filter>,
    sort: Option<usize>,
    descending: bool,
    limit: u64,
    offset: u64,
}

impl Case {
    fn new(bytes: &mut Unstructured<'_>) -> Result<Case> {
        let table = &TWINS.naive;
        Ok(Case {
            sort: bool::arbitrary(bytes)?.then(|| bytes.choose_index(table.columns.len())).transpose()?,
            descending: bool::arbitrary(bytes)?,
            limit: bytes.int_in_range(1..=70)?,
            offset: if bytes.ratio(1, 3)? { bytes.int_in_range(0..=70)? } else { 0 },
            filter: if bytes.ratio(7, 8)? { Some(filter(bytes, table, DEPTH_MAX)?) } else { None },
        })
    }

    fn check(&self) {
        let table = &TWINS.naive;
        let mut body = json!({"limit": self.limit, "offset": self.offset,
            "sortDirection": if self.descending { "desc" } else { "asc" }});
        if let Some(filter) = &self.filter {
            body["filters"] = filter.json(table);
        }
        if let Some(sort) = self.sort {
            body["sortBy"] = table.columns[sort].name.as_str().into();
        }
        let Ok(request) = QueryRequest::from_json(body.to_string().as_bytes(), LIMIT_MAX) else { return };
        let expected = rows(table, self.filter.as_ref(), self.sort, self.descending);
        let rest = expected.get(self.offset as usize..).unwrap_or_default();
        let rest = &rest[..rest.len().min(self.limit as usize)];
        for stored in [&TWINS.indexed, &TWINS.plain] {
            if let Ok(found) = page(&request, stored) {
                assert_eq!(found, rest, "{body}");
                assert_eq!(matches(&request, stored), Some(expected.len() as u64), "{body}");
            }
        }
    }
}

fn filter(bytes: &mut Unstructured<'_>, table: &NaiveTable, depth: usize) -> Result<Filter> {
    let kind = if depth == 0 { 0 } else { bytes.int_in_range(0..=5)? };
    let parts = |bytes: &mut Unstructured<'_>| {
        let count = bytes.int_in_range(1..=3)?;
        (0..count).map(|_| filter(bytes, table, depth - 1)).collect::<Result<Vec<_>>>()
    };
    Ok(match kind {
        3 => Filter::And(parts(bytes)?),
        4 => Filter::Or(parts(bytes)?),
        5 => Filter::Not(Box::new(filter(bytes, table, depth - 1)?)),
        _ => {
            let column = bytes.choose_index(table.columns.len())?;
            // A name with a leading `$` needs another syntax, which the other mode covers.
            let column = if table.columns[column].name.starts_with('$') { 0 } else { column };
            Filter::Test(column, condition(bytes, table, column)?)
        }
    })
}

fn condition(bytes: &mut Unstructured<'_>, table: &NaiveTable, column: usize) -> Result<Condition> {
    let kind = table.columns[column].kind;
    Ok(match bytes.int_in_range(0..=4)? {
        0 if kind == ColumnKind::Float => {
            let flag = bool::arbitrary(bytes)?;
            let kinds = [Condition::IsNull(flag), Condition::IsNan(flag), Condition::IsFinite(flag)];
            bytes.choose(&kinds)?.clone()
        }
        0 => Condition::IsNull(bool::arbitrary(bytes)?),
        1 => {
            let count = bytes.int_in_range(1..=4)?;
            let cells: Result<Vec<Cell>> = (0..count).map(|_| literal(bytes, table, column)).collect();
            Condition::OneOf(bool::arbitrary(bytes)?, cells?)
        }
        2 if kind == ColumnKind::Text => {
            let operator = *bytes.choose(&["contains", "startsWith", "endsWith"])?;
            Condition::Text(operator, <&str>::arbitrary(bytes)?.chars().take(12).collect())
        }
        _ => {
            let operator = *bytes.choose(&["eq", "ne", "gt", "gte", "lt", "lte"])?;
            Condition::Compare(operator, literal(bytes, table, column)?)
        }
    })
}

/// A value of the column, a neighbour of one, or an arbitrary value.
fn literal(bytes: &mut Unstructured<'_>, table: &NaiveTable, column: usize) -> Result<Cell> {
    let column = &table.columns[column];
    let row = bytes.choose_index(table.rows)?;
    let present = column.cells[row].clone();
    let step = bytes.int_in_range(-1..=1)?;
    Ok(match (column.kind, present) {
        (ColumnKind::Text, Some(Cell::Text(text))) if step == 0 => Cell::Text(text),
        (ColumnKind::Text, _) => Cell::Text(<&str>::arbitrary(bytes)?.chars().take(12).collect()),
        (ColumnKind::Boolean, _) => Cell::Flag(bool::arbitrary(bytes)?),
        (ColumnKind::Float, Some(Cell::Float(value))) if value.is_finite() && step == 0 => Cell::Float(value),
        (ColumnKind::Float, _) => Cell::Float(f64::from(i16::arbitrary(bytes)?) / 4.0),
        (_, Some(Cell::Number(value))) => Cell::Number(value.saturating_add(step.into())),
        _ => Cell::Number(i16::arbitrary(bytes)?.into()),
    })
}
