//! The table for generated requests: every kind, with nulls, ties and edge cases, once with all sort indexes and once
//! without any.

use mercato_format::writer::{Column, ColumnValues, write_table};
use mercato_format::{ColumnKind, FloatWidth, Table, TimeUnit};

use crate::naive::{Cell, NaiveColumn, NaiveTable};
use crate::stored::stored;

/// Rows of the table: enough for several blocks, and few enough for thousands of requests a second.
const ROWS: usize = 60;

/// The same rows in three forms.
pub struct Twins {
    pub naive: NaiveTable,
    pub indexed: Table,
    pub plain: Table,
}

impl Twins {
    pub fn new() -> Twins {
        let naive = naive_table();
        let with = |index: bool| stored(&naive, &vec![index; naive.columns.len()]);
        Twins { indexed: with(true), plain: with(false), naive }
    }
}

fn naive_table() -> NaiveTable {
    let column = |name: &str, kind: ColumnKind, cell: &dyn Fn(usize) -> Option<Cell>| NaiveColumn {
        name: name.to_owned(),
        kind,
        width: FloatWidth::Double,
        cells: (0..ROWS).map(cell).collect(),
    };
    let some = |row: usize| row % 9 != 4;
    let number = |value: i128| Some(Cell::Number(value));
    let texts = ["", "a", "t1", "t1 é", "\"q\"", "a,b\n", "prefix one", "prefix two", "T1", "z\u{1F600}"];
    let floats = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, -2.25];
    let decimal = ColumnKind::Decimal { precision: 38, scale: 3 };
    let time = ColumnKind::Timestamp { unit: TimeUnit::Millisecond };
    let columns = vec![
        column("id", ColumnKind::Integer, &|row| number(row as i128)),
        column("few", ColumnKind::Text, &|row| some(row).then(|| Cell::Text(texts[row % 3].into()))),
        column("text", ColumnKind::Text, &|row| {
            (row % 7 != 2).then(|| Cell::Text(format!("{}{}", texts[row % texts.len()], row % 31)))
        }),
        column("n", ColumnKind::Integer, &|row| match row {
            5 => number(i64::MAX.into()),
            6 => number(i64::MIN.into()),
            _ => some(row).then_some(Cell::Number((row * 7_919 % 53) as i128 - 20)),
        }),
        column("price", decimal, &|row| match row {
            8 => number(i128::MAX - 7),
            _ => (row % 5 != 1).then_some(Cell::Number((row * 31 % 17) as i128 * 125)),
        }),
        column("ratio", ColumnKind::Float, &|row| {
            some(row).then_some(Cell::Float(floats[row % floats.len()]))
        }),
        column("open", ColumnKind::Boolean, &|row| some(row).then_some(Cell::Flag(row % 4 == 0))),
        column("day", ColumnKind::Date, &|row| number(row as i128 / 6 - 3)),
        column("at", time, &|row| {
            (row % 11 != 3).then_some(Cell::Number(1_700_000_000_000 + row as i128 * 333))
        }),
        column("n_min", ColumnKind::Integer, &|row| number((row % 2) as i128)),
        column("$odd", ColumnKind::Integer, &|row| (row != 0).then_some(Cell::Number(1))),
        column("nothing", ColumnKind::Float, &|_| None),
    ];
    NaiveTable { columns, rows: ROWS }
}

/// Small files of every storage, as bytes, for damage tests.
pub fn files() -> Vec<Vec<u8>> {
    vec![
        file(40, &storages(40)),
        file(3, &storages(3)),
        file(0, &storages(0)),
        file(5_000, &long(5_000)),
        file(9_000, &posting_lists(9_000)),
    ]
}

fn file(_rows: i64, columns: &[Column]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.mcol");
    write_table(&path, columns).expect("a sound table");
    std::fs::read(path).expect("the file just written")
}

fn storages(rows: i64) -> Vec<Column> {
    let maybe = |row: i64| row % 9 != 4;
    let integers = |value: fn(i64) -> i64| {
        ColumnValues::Integers((0..rows).map(|row| maybe(row).then(|| value(row))).collect())
    };
    let texts = |value: fn(i64) -> String| {
        ColumnValues::Texts((0..rows).map(|row| maybe(row).then(|| value(row))).collect())
    };
    let floats = (0..rows)
        .map(|row| maybe(row).then_some(if row == 7 { f64::NAN } else { row as f64 * 0.37 }))
        .collect();
    let wide = (0..rows).map(|row| maybe(row).then(|| i128::from(row) << 70)).collect();
    let mut columns = vec![
        Column::new("many", ColumnKind::Integer, integers(|row| row * 7_919 % 1_009)),
        Column::new("few", ColumnKind::Text, texts(|row| format!("group \"{}\"", row % 3))),
        Column::new("text", ColumnKind::Text, texts(|row| format!("text, {}", row * 31 % 37))),
        Column::new("float", ColumnKind::Float, ColumnValues::Floats(floats)),
        Column::new("wide", ColumnKind::Decimal { precision: 38, scale: 2 }, ColumnValues::Wide(wide)),
        Column::new("time", ColumnKind::Timestamp { unit: TimeUnit::Second }, integers(|row| row / 4)),
        Column::new("file", ColumnKind::Integer, ColumnValues::Integers((0..rows).map(Some).collect())),
        Column::new(
            "flag",
            ColumnKind::Boolean,
            ColumnValues::Booleans((0..rows).map(|row| Some(row % 3 == 0)).collect()),
        ),
    ];
    let mut unsorted = Column::new("bare", ColumnKind::Integer, integers(|row| row * 31 % 101));
    unsorted.sort_index = false;
    columns.push(unsorted);
    columns
}

/// Enough rows for fences, several zones and run lengths above one.
fn long(rows: i64) -> Vec<Column> {
    let integers = (0..rows).map(|row| (row % 50 != 7).then_some(row * 7_919 % 4_999)).collect();
    let texts = (0..rows).map(|row| Some(format!("{:x}", row * 2_654_435_761_i64 % 65_521))).collect();
    vec![
        Column::new("many", ColumnKind::Integer, ColumnValues::Integers(integers)),
        Column::new("text", ColumnKind::Text, ColumnValues::Texts(texts)),
    ]
}

/// Runs of more than a 32nd of the rows, of 64 rows and more, and of fewer, so that their posting lists have every form.
fn posting_lists(rows: i64) -> Vec<Column> {
    let run = |place: i64| match place {
        0..6_000 => Some(place / 1_000),
        6_000..8_600 => Some(10 + (place - 6_000) / 65),
        8_600..8_900 => Some(100 + (place - 8_600) / 25),
        _ => None,
    };
    let scattered: Vec<Option<i64>> = (0..rows).map(|row| run(row * 7_919 % rows)).collect();
    let texts = scattered.iter().map(|run| run.map(|run| format!("group {}", run / 7))).collect();
    vec![
        Column::new("many", ColumnKind::Integer, ColumnValues::Integers(scattered)),
        Column::new("few", ColumnKind::Text, ColumnValues::Texts(texts)),
    ]
}
