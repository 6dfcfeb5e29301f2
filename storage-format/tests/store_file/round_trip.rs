//! Round trips: values, encoded texts and sort order.

use std::cmp::Ordering;

use mercato_format::encode::{push_date, push_decimal, push_finite, push_timestamp};
use mercato_format::text::push_json_string;
use mercato_format::writer::{Column, ColumnValues, temporary_table, write_table};
use mercato_format::{CellValues, ColumnData, ColumnKind, RowReader, Table, TimeUnit};
use proptest::prelude::*;

use crate::random_table;

/// A value that compares as the format orders values.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(i128),
    Float(f64),
    Text(String),
}

fn value(values: &ColumnValues, row: usize) -> Option<Value> {
    match values {
        ColumnValues::Integers(values) => values[row].map(|value| Value::Number(value.into())),
        ColumnValues::Wide(values) => values[row].map(Value::Number),
        ColumnValues::Floats(values) => values[row].map(Value::Float),
        ColumnValues::Booleans(values) => values[row].map(|value| Value::Number(value.into())),
        ColumnValues::Texts(values) => values[row].clone().map(Value::Text),
    }
}

fn len(values: &ColumnValues) -> usize {
    match values {
        ColumnValues::Integers(values) => values.len(),
        ColumnValues::Wide(values) => values.len(),
        ColumnValues::Floats(values) => values.len(),
        ColumnValues::Booleans(values) => values.len(),
        ColumnValues::Texts(values) => values.len(),
    }
}

fn json(kind: ColumnKind, value: Option<&Value>) -> String {
    let mut out = Vec::new();
    match (kind, value) {
        (_, None) => out.extend_from_slice(b"null"),
        (_, Some(Value::Text(text))) => push_json_string(&mut out, text.as_bytes()),
        (_, Some(Value::Float(number))) => {
            if !push_finite(&mut out, *number) {
                out.extend_from_slice(b"null");
            }
        }
        (ColumnKind::Boolean, Some(Value::Number(number))) => {
            out.extend_from_slice((*number == 1).to_string().as_bytes())
        }
        (ColumnKind::Decimal { scale, .. }, Some(Value::Number(number))) => {
            push_decimal(&mut out, *number, scale)
        }
        (ColumnKind::Date, Some(Value::Number(number))) => {
            out.push(b'"');
            push_date(&mut out, i64::try_from(*number).unwrap());
            out.push(b'"');
        }
        (ColumnKind::Timestamp { unit }, Some(Value::Number(number))) => {
            out.push(b'"');
            push_timestamp(&mut out, i64::try_from(*number).unwrap(), unit);
            out.push(b'"');
        }
        (_, Some(Value::Number(number))) => out.extend_from_slice(number.to_string().as_bytes()),
    }
    String::from_utf8(out).unwrap()
}

fn stored_json(table: &Table, column: usize, row: u32) -> String {
    let kind = table.columns()[column].kind;
    match table.column(column).unwrap() {
        ColumnData::Dictionary(data) => {
            String::from_utf8(data.json.get(data.codes.get(row as usize).unwrap()).unwrap().to_vec()).unwrap()
        }
        ColumnData::Texts(data) => String::from_utf8(data.json(row).unwrap()).unwrap(),
        ColumnData::Numbers(data) => {
            let stored = if data.width == 16 {
                data.values.get_wide(row as usize)
            } else {
                data.values.get(row as usize).map(i128::from)
            };
            let value = if data.is_float() {
                Value::Float(f64::from_bits(i64::try_from(stored.unwrap()).unwrap().cast_unsigned()))
            } else {
                Value::Number(stored.unwrap())
            };
            json(kind, data.is_valid(row).then_some(&value))
        }
    }
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a.cmp(b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => a.as_bytes().cmp(b.as_bytes()),
        (Some(Value::Float(a)), Some(Value::Float(b))) => {
            a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

fn check(columns: &[Column]) {
    let table = temporary_table(columns).unwrap();
    assert_eq!(table.row_count() as usize, len(&columns[0].values));
    for (number, column) in columns.iter().enumerate() {
        let rows = len(&column.values);
        let values: Vec<Option<Value>> = (0..rows).map(|row| value(&column.values, row)).collect();
        for (row, value) in (0u32..).zip(&values) {
            assert_eq!(stored_json(&table, number, row), json(column.spec.kind, value.as_ref()), "row {row}");
        }
        check_read_rows(&table, number, column, &values);
        let order = table.column(number).unwrap().order();
        assert_eq!(order.is_known(), column.sort_index);
        if column.sort_index {
            let mut expected: Vec<u32> = (0..u32::try_from(rows).unwrap()).collect();
            expected.sort_by(|a, b| compare(values[*a as usize].as_ref(), values[*b as usize].as_ref()));
            let mut found = Vec::new();
            assert!(order.copy_rows(0..table.row_count(), &mut found));
            assert_eq!(found, expected);
        }
    }
}

/// The rows that are read for printing are those of the column, in any order.
fn check_read_rows(table: &Table, number: usize, column: &Column, values: &[Option<Value>]) {
    let mut reader = RowReader::new(table, &[number, number]).unwrap();
    let rows: Vec<u32> = (0..table.row_count()).collect();
    let scattered: Vec<u32> = rows.iter().map(|row| (row * 7_919 + 3) % table.row_count()).collect();
    for rows in [&rows, &scattered] {
        reader.read(rows).unwrap();
        for (at, row) in rows.iter().enumerate() {
            let expected = json(column.spec.kind, values[*row as usize].as_ref());
            assert_eq!(cell_json(table, number, reader.cells(1).unwrap(), at), expected, "row {row}");
        }
    }
    assert!(reader.read(&[table.row_count()]).is_err());
}

fn cell_json(table: &Table, column: usize, cells: &CellValues, at: usize) -> String {
    let kind = table.columns()[column].kind;
    let number = |value: i128, valid: bool| match kind {
        ColumnKind::Float => {
            let bits = i64::try_from(value).unwrap().cast_unsigned();
            json(kind, valid.then_some(&Value::Float(f64::from_bits(bits))))
        }
        _ => json(kind, valid.then_some(&Value::Number(value))),
    };
    match (cells, table.column(column).unwrap()) {
        (CellValues::Codes(codes), ColumnData::Dictionary(data)) => {
            String::from_utf8(data.json.get(codes[at]).unwrap().to_vec()).unwrap()
        }
        (CellValues::Numbers { values, valid }, ColumnData::Numbers(_)) => {
            number(values[at].into(), valid[at])
        }
        (CellValues::Wide { values, valid }, ColumnData::Numbers(_)) => number(values[at], valid[at]),
        (CellValues::Texts { json, spans }, ColumnData::Texts(_)) => {
            String::from_utf8(json[spans[at].0..spans[at].1].to_vec()).unwrap()
        }
        (cells, data) => format!("{cells:?} of {data:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn round_trips_random_tables_in_order(columns in random_table::table()) {
        check(&columns);
    }
}

#[test]
fn round_trips_many_chunks_zones_and_fences() {
    let count = 150_000i64;
    let null = |row: i64| row % 1_000 == 7;
    let integers = (0..count).map(|row| (!null(row)).then_some(row * 7_919 % 1_000_003 - 500_000)).collect();
    let floats =
        (0..count).map(|row| (!null(row)).then(|| (row * 31 % 100_019) as f64 / 8.0 - 3_000.0)).collect();
    let texts =
        (0..count).map(|row| (!null(row)).then(|| format!("text number {}", row * 13 % 149_993))).collect();
    let few = (0..count).map(|row| (!null(row)).then(|| format!("group {}", row % 11))).collect();
    check(&[
        Column::new("integers", ColumnKind::Integer, ColumnValues::Integers(integers)),
        Column::new(
            "ordered",
            ColumnKind::Integer,
            ColumnValues::Integers((0..count).map(|row| Some(row / 2)).collect()),
        ),
        Column::new("floats", ColumnKind::Float, ColumnValues::Floats(floats)),
        Column::new("texts", ColumnKind::Text, ColumnValues::Texts(texts)),
        Column::new("few", ColumnKind::Text, ColumnValues::Texts(few)),
    ]);
}

/// Blocks of sorted columns have a base of their own, also with nulls and in every form of cells.
#[test]
fn neighbours_that_are_alike_take_few_bytes() {
    let count = 30_000i64;
    let null = |row: i64| row % 1_000 == 7;
    let some = |row: i64| (!null(row)).then_some(row);
    let moments = ColumnValues::Integers((0..count).map(|row| Some(row * 1_000_003 + row % 3)).collect());
    let numbers =
        ColumnValues::Integers((0..count).map(|row| some(row).map(|row| row * 77 - 9_000)).collect());
    let wide = (0..count).map(|row| some(row).map(|row| i128::from(row) * 3 - (1 << 90)));
    let floats = (0..count).map(|row| some(row).map(|row| row as f64 / 4.0 + 1_000.0));
    let days = ColumnValues::Integers((0..count).map(|row| some(row).map(|row| row / 700)).collect());
    let columns = [
        Column::new("moment", ColumnKind::Timestamp { unit: TimeUnit::Millisecond }, moments),
        Column::new("number", ColumnKind::Integer, numbers),
        Column::new("wide", ColumnKind::Integer, ColumnValues::Wide(wide.collect())),
        Column::new("float", ColumnKind::Float, ColumnValues::Floats(floats.collect())),
        Column::new("day", ColumnKind::Date, days),
    ];
    check(&columns);
    let bytes = |column: &Column| {
        let table = temporary_table(std::slice::from_ref(column)).unwrap();
        let blocks = table.sections().find(|section| section.kind == "row_blocks").unwrap().len;
        (blocks * 8) as f64 / count as f64
    };
    // Bits a row, with two for checksum and nulls. Without bases of their own: 36, 24, 19, 66 and 8.
    assert!(bytes(&columns[0]) < 29.0, "{}", bytes(&columns[0]));
    assert!(bytes(&columns[1]) < 18.0, "{}", bytes(&columns[1]));
    assert!(bytes(&columns[2]) < 13.0, "{}", bytes(&columns[2]));
    assert!(bytes(&columns[3]) < 62.0, "{}", bytes(&columns[3]));
    assert!(bytes(&columns[4]) < 8.0, "{}", bytes(&columns[4]));
}

#[test]
fn file_does_not_depend_on_memory_budget() {
    use mercato_format::{BuildOptions, ColumnBuilder, TableMetadata, TableWriter};
    let folder = tempfile::tempdir().unwrap();
    let write = |budget: u64, name: &str| {
        let mut writer = TableWriter::create(&folder.path().join(name), TableMetadata::default()).unwrap();
        let column = Column::new("t", ColumnKind::Text, ColumnValues::Texts(vec![]));
        let options = |_| BuildOptions {
            memory_budget_bytes: budget,
            spill_directory: folder.path().into(),
            sort_index: true,
        };
        let mut texts = ColumnBuilder::new(column.spec.clone(), options(()));
        let values: Vec<String> = (0..120_000u64)
            .map(|row| format!("some longer text {}", row.wrapping_mul(0x9E37_79B9) % 100_000))
            .collect();
        texts.extend_texts(values.iter().map(|text| Some(text.as_str()))).unwrap();
        writer.append(texts.finish().unwrap()).unwrap();
        let spec = mercato_format::ColumnSpec {
            name: "n".into(),
            kind: ColumnKind::Integer,
            nullable: true,
            source_type: String::new(),
        };
        let mut numbers = ColumnBuilder::new(spec, options(()));
        numbers
            .extend_integers(
                (0..120_000i64).map(|row| (row % 5 != 0).then_some(row.wrapping_mul(0x9E37_79B9_7F4A))),
            )
            .unwrap();
        writer.append(numbers.finish().unwrap()).unwrap();
        writer.commit(&|_| ()).unwrap().fingerprint
    };
    assert_eq!(write(1 << 20, "small"), write(1 << 30, "large"));
}

/// A constant column of each kind, and columns of nulls only.
fn columns_of_one_value(rows: usize) -> Vec<Column> {
    let integers = |value: Option<i64>| ColumnValues::Integers(vec![value; rows]);
    let texts = |value: Option<&str>| ColumnValues::Texts(vec![value.map(str::to_owned); rows]);
    let decimal = ColumnKind::Decimal { precision: 38, scale: 2 };
    let stamp = ColumnKind::Timestamp { unit: TimeUnit::Nanosecond };
    vec![
        Column::new("integer", ColumnKind::Integer, integers(Some(-7))),
        Column::new("wide", decimal, ColumnValues::Wide(vec![Some(i128::MIN); rows])),
        Column::new("float", ColumnKind::Float, ColumnValues::Floats(vec![Some(2.5); rows])),
        Column::new("nan", ColumnKind::Float, ColumnValues::Floats(vec![Some(f64::NAN); rows])),
        Column::new("boolean", ColumnKind::Boolean, ColumnValues::Booleans(vec![Some(true); rows])),
        Column::new("date", ColumnKind::Date, integers(Some(20_000))),
        Column::new("moment", stamp, integers(Some(i64::MAX))),
        Column::new("text", ColumnKind::Text, texts(Some("a,\"b"))),
        Column::new("empty text", ColumnKind::Text, texts(Some(""))),
        Column { sort_index: false, ..Column::new("unsorted", ColumnKind::Text, texts(Some("x"))) },
        Column::new("no integer", ColumnKind::Integer, integers(None)),
        Column::new("no float", ColumnKind::Float, ColumnValues::Floats(vec![None; rows])),
        Column::new("no boolean", ColumnKind::Boolean, ColumnValues::Booleans(vec![None; rows])),
        Column::new("no text", ColumnKind::Text, texts(None)),
    ]
}

#[test]
fn constant_columns_need_no_codes() {
    for rows in [1, 64, 65, 20_000] {
        let columns = columns_of_one_value(rows);
        check(&columns);
        let table = temporary_table(&columns).unwrap();
        let a_row: u64 =
            table.sections().filter(|section| section.column.is_some()).map(|section| section.len).sum();
        let zones = 40 * 14 * rows.div_ceil(8_192) as u64;
        // The place and the checksum of each row block, and what is known of each column in them.
        let blocks = 16 * rows.div_ceil(64) as u64 + 8 + 32 * 14;
        assert!(rows <= 64 || a_row - zones - blocks < 1_200, "{rows} rows take {a_row} bytes");
    }
}

#[test]
fn chooses_text_dictionary_by_whole_column() {
    let encoding = |row_text: &dyn Fn(u64) -> Option<u64>, rows: u64| {
        let texts = (0..rows).map(|row| row_text(row).map(|text| format!("text {text}"))).collect();
        let columns = [Column::new("t", ColumnKind::Text, ColumnValues::Texts(texts))];
        if rows < 200_000 {
            check(&columns);
        }
        let table = temporary_table(&columns).unwrap();
        table.verify(&|_| ()).unwrap();
        matches!(table.column(0).unwrap(), ColumnData::Dictionary(_))
    };
    // The first 65,536 rows are distinct; the following rows repeat them or not.
    assert!(encoding(&|row| Some(row % 70_000), 150_000));
    assert!(encoding(&|row| (row % 3 > 0).then_some(row % 70_000), 290_000));
    assert!(!encoding(&|row| Some(row % 70_000), 139_999));
    assert!(encoding(&|row| Some(row % 70_000), 140_000));
    assert!(!encoding(&Some, 150_000));
    assert!(!encoding(&|row| (row % 3 > 0).then_some(row), 250_000));
}

#[test]
fn round_trips_empty_tables() {
    check(&[Column::new("c", ColumnKind::Text, ColumnValues::Texts(vec![]))]);
    check(&[Column::new("c", ColumnKind::Float, ColumnValues::Floats(vec![None, None, None]))]);
    check(&[Column::new("c", ColumnKind::Text, ColumnValues::Texts(vec![None]))]);
}

#[test]
fn rejects_duplicate_names_and_unequal_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let column = |name: &str, rows: usize| {
        Column::new(name, ColumnKind::Integer, ColumnValues::Integers(vec![Some(1); rows]))
    };
    let refuse =
        |columns: &[Column]| write_table(&folder.path().join("t.mcol"), columns).unwrap_err().to_string();
    assert!(
        refuse(&[column("a", 2), column("a", 2)]).contains("column `a`: expected every column name once")
    );
    assert!(refuse(&[column("a", 2), column("b", 3)]).contains("expected 2 rows"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
