//! Random tables for property tests.

use mercato_format::{ColumnKind, FloatWidth};
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
            2 => Just(Cell::Float(f64::NAN)),
            1 => prop::sample::select(&[f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -f64::NAN][..]).prop_map(Cell::Float),
        ]
        .boxed(),
        ColumnKind::Boolean => any::<bool>().prop_map(Cell::Flag).boxed(),
        _ => small.prop_map(|value| Cell::Number(value.into())).boxed(),
    }
}

/// Makes a double one that a column of this width holds, and few singles are short as doubles.
pub fn narrow_cell(cell: &mut Cell, width: FloatWidth) {
    if let (Cell::Float(value), FloatWidth::Single) = (cell, width) {
        *value = f64::from((*value / 2.5) as f32);
    }
}

fn column(rows: usize, number: usize) -> impl Strategy<Value = (NaiveColumn, bool)> {
    let kind = prop_oneof![3 => prop::sample::select(&KINDS[..]), 1 => Just(ColumnKind::Float)];
    let spread = prop::sample::select(&[1i64, 5, 400][..]);
    let shape = (kind, spread, prop::sample::select(&[0.0001, 0.2, 0.9999][..]), prop::bool::weighted(0.8));
    shape.prop_flat_map(move |(kind, spread, nulls, indexed)| {
        let nullable = prop::option::weighted(1.0 - nulls, cell(kind, spread));
        // A text column without sort index cannot be sorted by; all others can.
        let cells = prop::collection::vec(nullable, rows);
        (cells, any::<bool>()).prop_map(move |(mut cells, narrow)| {
            let width = if narrow { FloatWidth::Single } else { FloatWidth::Double };
            cells.iter_mut().flatten().for_each(|cell| narrow_cell(cell, width));
            (NaiveColumn { name: format!("c{number}"), kind, width, cells }, indexed)
        })
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
