//! The engine in its most obvious form: values in vectors, a filter evaluated row by row with three-valued logic, a
//! stable sort, and a slice.

use std::cmp::Ordering;

use mercato_format::{ColumnKind, FloatWidth};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// An integer, a scaled decimal, days, or time units.
    Number(i128),
    /// A double.
    Float(f64),
    /// A boolean.
    Flag(bool),
    Text(String),
}

#[derive(Debug, Clone)]
pub struct NaiveColumn {
    pub name: String,
    pub kind: ColumnKind,
    /// Of doubles: `Single` where all of them are singles.
    pub width: FloatWidth,
    pub cells: Vec<Option<Cell>>,
}

#[derive(Debug, Clone)]
pub struct NaiveTable {
    pub columns: Vec<NaiveColumn>,
    pub rows: usize,
}

/// A test of one column with a literal in the column's own terms.
#[derive(Debug, Clone)]
pub enum Condition {
    /// `eq`, `ne`, `gt`, `gte`, `lt`, `lte` with a cell.
    Compare(&'static str, Cell),
    /// `in` or `nin`.
    OneOf(bool, Vec<Cell>),
    /// `contains`, `startsWith` or `endsWith`.
    Text(&'static str, String),
    /// `isNull`.
    IsNull(bool),
    /// `isNaN`, of doubles.
    IsNan(bool),
    /// `isFinite`, of doubles.
    IsFinite(bool),
}

#[derive(Debug, Clone)]
pub enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Test(usize, Condition),
}

/// Values, then NaN; rows without a value never get here.
pub fn compare(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => a.cmp(b),
        (Cell::Flag(a), Cell::Flag(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Cell::Float(a), Cell::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        other => panic!("{other:?}"),
    }
}

fn is_nan(cell: &Cell) -> bool {
    matches!(cell, Cell::Float(value) if value.is_nan())
}

fn is_finite(cell: &Cell) -> bool {
    matches!(cell, Cell::Float(value) if value.is_finite())
}

fn test(cell: Option<&Cell>, condition: &Condition) -> Option<bool> {
    match condition {
        Condition::IsNull(expected) => return Some(cell.is_none() == *expected),
        Condition::IsNan(expected) => return cell.map(|cell| is_nan(cell) == *expected),
        Condition::IsFinite(expected) => return cell.map(|cell| is_finite(cell) == *expected),
        _ => (),
    }
    let cell = cell.filter(|cell| !is_nan(cell))?;
    Some(match condition {
        Condition::Compare(operator, literal) => {
            let order = compare(cell, literal);
            match *operator {
                "eq" => order == Ordering::Equal,
                "ne" => order != Ordering::Equal,
                "gt" => order == Ordering::Greater,
                "gte" => order != Ordering::Less,
                "lt" => order == Ordering::Less,
                _ => order != Ordering::Greater,
            }
        }
        Condition::OneOf(inside, literals) => {
            literals.iter().any(|literal| compare(cell, literal) == Ordering::Equal) == *inside
        }
        Condition::Text(operator, pattern) => {
            let Cell::Text(text) = cell else { panic!() };
            match *operator {
                "contains" => text.contains(pattern.as_str()),
                "startsWith" => text.starts_with(pattern.as_str()),
                _ => text.ends_with(pattern.as_str()),
            }
        }
        Condition::IsNull(_) | Condition::IsNan(_) | Condition::IsFinite(_) => panic!(),
    })
}

impl Filter {
    fn holds(&self, table: &NaiveTable, row: usize) -> Option<bool> {
        match self {
            Filter::Test(column, condition) => test(table.columns[*column].cells[row].as_ref(), condition),
            Filter::Not(inner) => inner.holds(table, row).map(|held| !held),
            Filter::And(parts) => {
                let held: Vec<Option<bool>> = parts.iter().map(|part| part.holds(table, row)).collect();
                if held.contains(&Some(false)) {
                    Some(false)
                } else if held.contains(&None) {
                    None
                } else {
                    Some(true)
                }
            }
            Filter::Or(parts) => {
                let held: Vec<Option<bool>> = parts.iter().map(|part| part.holds(table, row)).collect();
                if held.contains(&Some(true)) {
                    Some(true)
                } else if held.contains(&None) {
                    None
                } else {
                    Some(false)
                }
            }
        }
    }

    /// The filter as a client writes it.
    pub fn json(&self, table: &NaiveTable) -> Value {
        match self {
            Filter::And(parts) => {
                serde_json::json!({"$and": parts.iter().map(|part| part.json(table)).collect::<Vec<_>>()})
            }
            Filter::Or(parts) => {
                serde_json::json!({"$or": parts.iter().map(|part| part.json(table)).collect::<Vec<_>>()})
            }
            Filter::Not(inner) => serde_json::json!({"$not": inner.json(table)}),
            Filter::Test(column, condition) => {
                let column = &table.columns[*column];
                let literal = |cell: &Cell| literal(column, cell);
                let test = match condition {
                    Condition::Compare(operator, cell) => serde_json::json!({*operator: literal(cell)}),
                    Condition::OneOf(inside, cells) => {
                        let cells: Vec<Value> = cells.iter().map(literal).collect();
                        serde_json::json!({if *inside { "in" } else { "nin" }: cells})
                    }
                    Condition::Text(operator, pattern) => serde_json::json!({*operator: pattern}),
                    Condition::IsNull(expected) => serde_json::json!({"isNull": expected}),
                    Condition::IsNan(expected) => serde_json::json!({"isNaN": expected}),
                    Condition::IsFinite(expected) => serde_json::json!({"isFinite": expected}),
                };
                serde_json::json!({column.name.as_str(): test})
            }
        }
    }
}

/// A double in JSON, with the digits that the column shows.
pub fn float_json(width: FloatWidth, value: f64) -> String {
    let shown = match width {
        FloatWidth::Single => serde_json::to_string(&(value as f32)),
        _ => serde_json::to_string(&value),
    };
    shown.unwrap()
}

fn literal(column: &NaiveColumn, cell: &Cell) -> Value {
    use mercato_format::encode::{push_date, push_decimal, push_timestamp};
    let mut text = Vec::new();
    match (column.kind, cell) {
        (_, Cell::Text(text)) => return text.as_str().into(),
        (_, Cell::Flag(flag)) => return (*flag).into(),
        (_, Cell::Float(value)) => return serde_json::from_str(&float_json(column.width, *value)).unwrap(),
        (ColumnKind::Date, Cell::Number(days)) => push_date(&mut text, i64::try_from(*days).unwrap()),
        (ColumnKind::Timestamp { unit }, Cell::Number(value)) => {
            push_timestamp(&mut text, i64::try_from(*value).unwrap(), unit)
        }
        (ColumnKind::Decimal { scale, .. }, Cell::Number(value)) => push_decimal(&mut text, *value, scale),
        (_, Cell::Number(value)) => text = value.to_string().into_bytes(),
    }
    // Exact columns take numeric text, so that no digit is lost on the way.
    String::from_utf8(text).unwrap().into()
}

/// All matching rows in the order asked for: numbers up or down, then NaN, then rows without a value.
pub fn rows(table: &NaiveTable, filter: Option<&Filter>, sort: Option<usize>, descending: bool) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..u32::try_from(table.rows).unwrap())
        .filter(|row| filter.is_none_or(|filter| filter.holds(table, *row as usize) == Some(true)))
        .collect();
    match sort {
        None if descending => rows.reverse(),
        None => (),
        Some(column) => rows.sort_by(|a, b| {
            let cell = |row: &u32| table.columns[column].cells[*row as usize].as_ref();
            match (cell(a), cell(b)) {
                (Some(a), Some(b)) if descending && !is_nan(a) && !is_nan(b) => compare(b, a),
                (Some(a), Some(b)) => compare(a, b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            }
        }),
    }
    rows
}
