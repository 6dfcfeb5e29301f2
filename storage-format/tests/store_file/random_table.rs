//! Random columns of every kind, with nulls, NaN, ties and edge-case texts.

use mercato_format::writer::{Column, ColumnValues};
use mercato_format::{ColumnKind, TimeUnit};
use proptest::prelude::*;

/// Edge-case texts.
const AWKWARD: [&str; 14] = [
    "",
    "a",
    "ab",
    "ab\0",
    "\"",
    "\\",
    "a,b",
    "x\r\ny",
    "null",
    "é",
    "🦀 crab",
    "\u{1}\u{1f}",
    "prefix prefix prefix 1",
    "prefix prefix prefix 2",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(&AWKWARD[..]).prop_map(String::from), "[a-d]{0,2}", ".{0,12}"]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(-0.0),
        Just(0.0),
        (-5i32..5).prop_map(|value| f64::from(value) / 2.0),
        any::<f64>()
    ]
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![-3i64..4, any::<i64>(), Just(i64::MAX), 1_000_000i64..1_000_300]
}

fn wide() -> impl Strategy<Value = i128> {
    prop_oneof![-3i128..4, any::<i128>(), Just(i128::from(u64::MAX))]
}

fn rows<T: std::fmt::Debug + Clone + 'static>(
    value: impl Strategy<Value = T> + 'static,
    count: usize,
) -> impl Strategy<Value = Vec<Option<T>>> {
    let many = prop::collection::vec(prop::option::weighted(0.85, value.boxed()), count);
    let sorted = any::<bool>();
    (many, sorted).prop_map(|(values, _)| values)
}

/// A column of `count` rows.
pub fn column(count: usize) -> impl Strategy<Value = Column> {
    let date = -3000i64..3000;
    let kinds = prop_oneof![
        rows(text(), count).prop_map(|values| (ColumnKind::Text, ColumnValues::Texts(values))),
        rows(integer(), count).prop_map(|values| (ColumnKind::Integer, ColumnValues::Integers(values))),
        rows(wide(), count).prop_map(|values| (ColumnKind::Integer, ColumnValues::Wide(values))),
        rows(wide(), count)
            .prop_map(|values| (ColumnKind::Decimal { precision: 38, scale: 4 }, ColumnValues::Wide(values))),
        rows(float(), count).prop_map(|values| (ColumnKind::Float, ColumnValues::Floats(values))),
        rows(any::<bool>(), count).prop_map(|values| (ColumnKind::Boolean, ColumnValues::Booleans(values))),
        rows(date, count).prop_map(|values| (ColumnKind::Date, ColumnValues::Integers(values))),
        rows(integer(), count).prop_map(|values| {
            (ColumnKind::Timestamp { unit: TimeUnit::Microsecond }, ColumnValues::Integers(values))
        }),
    ];
    (kinds, prop::bool::weighted(0.8), 0u8..4).prop_map(|((kind, values), sort_index, order)| {
        let values = if order == 0 { in_order(values) } else { values };
        Column { sort_index, ..Column::new("c", kind, values) }
    })
}

/// The values in ascending order with nulls last, so that the file order is sorted.
fn in_order(values: ColumnValues) -> ColumnValues {
    fn sorted<T: Clone>(
        mut values: Vec<Option<T>>,
        less: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) -> Vec<Option<T>> {
        values.sort_by(|a, b| match (a, b) {
            (Some(a), Some(b)) => less(a, b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        values
    }
    match values {
        ColumnValues::Integers(values) => ColumnValues::Integers(sorted(values, Ord::cmp)),
        ColumnValues::Wide(values) => ColumnValues::Wide(sorted(values, Ord::cmp)),
        ColumnValues::Floats(values) => ColumnValues::Floats(sorted(values, f64::total_cmp)),
        ColumnValues::Booleans(values) => ColumnValues::Booleans(sorted(values, Ord::cmp)),
        ColumnValues::Texts(values) => ColumnValues::Texts(sorted(values, Ord::cmp)),
    }
}

/// One to four columns of equal length.
pub fn table() -> impl Strategy<Value = Vec<Column>> {
    (0usize..90).prop_flat_map(|count| prop::collection::vec(column(count), 1..4)).prop_map(|mut columns| {
        for (number, column) in columns.iter_mut().enumerate() {
            column.spec.name = format!("c{number}");
        }
        columns
    })
}
