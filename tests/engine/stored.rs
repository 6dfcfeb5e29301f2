//! A naive table as a store file. Does not depend on where its values come from: property tests and fuzz targets make them.

use mercato_format::writer::{Column, ColumnValues, temporary_table};
use mercato_format::{ColumnKind, FloatWidth, Table, TimeUnit};

use crate::naive::{Cell, NaiveTable};

/// Kinds of every storage.
pub const KINDS: [ColumnKind; 7] = [
    ColumnKind::Text,
    ColumnKind::Integer,
    ColumnKind::Decimal { precision: 38, scale: 3 },
    ColumnKind::Float,
    ColumnKind::Boolean,
    ColumnKind::Date,
    ColumnKind::Timestamp { unit: TimeUnit::Millisecond },
];

/// The table as a store file.
pub fn stored(table: &NaiveTable, indexed: &[bool]) -> Table {
    let columns: Vec<Column> = table
        .columns
        .iter()
        .zip(indexed)
        .map(|(column, indexed)| {
            let numbers = || {
                column.cells.iter().map(|cell| {
                    cell.as_ref().map(|cell| if let Cell::Number(value) = cell { *value } else { 0 })
                })
            };
            let values = match column.kind {
                ColumnKind::Text => ColumnValues::Texts(
                    column
                        .cells
                        .iter()
                        .map(|cell| {
                            cell.as_ref().map(|cell| {
                                if let Cell::Text(text) = cell { text.clone() } else { String::new() }
                            })
                        })
                        .collect(),
                ),
                ColumnKind::Float => ColumnValues::Floats(
                    column
                        .cells
                        .iter()
                        .map(|cell| {
                            cell.as_ref().map(|cell| if let Cell::Float(value) = cell { *value } else { 0.0 })
                        })
                        .collect(),
                ),
                ColumnKind::Boolean => ColumnValues::Booleans(
                    column
                        .cells
                        .iter()
                        .map(|cell| cell.as_ref().map(|cell| *cell == Cell::Flag(true)))
                        .collect(),
                ),
                ColumnKind::Integer | ColumnKind::Decimal { .. } => ColumnValues::Wide(numbers().collect()),
                _ => ColumnValues::Integers(
                    numbers().map(|value| value.map(|value| i64::try_from(value).unwrap())).collect(),
                ),
            };
            let mut stored =
                Column { sort_index: *indexed, ..Column::new(&column.name, column.kind, values) };
            if column.width == FloatWidth::Single {
                stored.spec.source_type = "FLOAT".into();
            }
            stored
        })
        .collect();
    temporary_table(&columns).unwrap()
}
