//! Random tables for property tests.

use mercato_format::ColumnKind;
use proptest::prelude::*;

use crate::naive::{Cell, NaiveColumn, NaiveTable};
use crate::stored::KINDS;

/// A cell of a kind; `spread` decides how seldom values repeat.
pub fn cell(kind: ColumnKind, spread: i64) -> BoxedStrategy<Cell> {
    let small = -spread..=spread;
    match kind {
        ColumnKind::Text => prop_oneof![
            4 => small.prop_map(|value| Cell::Text(format!("t{value}"))),
            1 => prop::sample::select(&["", "\"q\"", "a,b\n", "t1 é", "prefix prefix one", "prefix prefix two", "T1"][..])
                .prop_map(|text| Cell::Text(text.into())),
        ]
        .boxed(),
        ColumnKind::Integer => prop_oneof![
            9 => small.prop_map(|value| Cell::Number(value.into())),
            1 => Just(Cell::Number(i64::MAX.into())),
        ]
        .boxed(),
        ColumnKind::Decimal { .. } => prop_oneof![
            9 => small.prop_map(|value| Cell::Number(i128::from(value) * 125)),
            1 => Just(Cell::Number(i128::MAX - 7)),
        ]
        .boxed(),
        ColumnKind::Float => prop_oneof![
            8 => small.prop_map(|value| Cell::Float(value as f64 / 4.0)),
            1 => prop::sample::select(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][..]).prop_map(Cell::Float),
        ]
        .boxed(),
        ColumnKind::Boolean => any::<bool>().prop_map(Cell::Flag).boxed(),
        _ => small.prop_map(|value| Cell::Number(value.into())).boxed(),
    }
}

fn column(rows: usize, number: usize) -> impl Strategy<Value = (NaiveColumn, bool)> {
    let kind = prop::sample::select(&KINDS[..]);
    let spread = prop::sample::select(&[1i64, 5, 400][..]);
    let shape = (kind, spread, prop::sample::select(&[0.0001, 0.2, 0.9999][..]), prop::bool::weighted(0.8));
    shape.prop_flat_map(move |(kind, spread, nulls, indexed)| {
        let nullable = prop::option::weighted(1.0 - nulls, cell(kind, spread));
        // A text column without sort index cannot be sorted by; all others can.
        prop::collection::vec(nullable, rows)
            .prop_map(move |cells| (NaiveColumn { name: format!("c{number}"), kind, cells }, indexed))
    })
}

/// A random table and which of its columns have a sort index.
pub fn table(rows_max: usize) -> impl Strategy<Value = (NaiveTable, Vec<bool>)> {
    (0..rows_max, 1usize..5)
        .prop_flat_map(|(rows, columns)| {
            let columns: Vec<_> = (0..columns).map(|number| column(rows, number)).collect();
            (Just(rows), columns)
        })
        .prop_map(|(rows, columns)| {
            let (columns, indexed) = columns.into_iter().unzip();
            (NaiveTable { columns, rows }, indexed)
        })
}
