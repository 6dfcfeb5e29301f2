//! Arrow streams carry the cells of a naive table, whatever the rows, and batches and dictionaries keep their bounds.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Schema, TimeUnit as ArrowUnit};
use mercato_format::writer::{Column, ColumnValues, temporary_table};
use mercato_format::{ColumnKind, Table, TimeUnit};
use mercato_query::render::limits::{ARROW_BATCH_BYTES, ARROW_BATCH_ROWS_MAX};
use mercato_query::render::{ArrowEncoder, BatchEncoder, Format, Labels, render_arrow, render_rows};
use proptest::prelude::*;
use serde_json::Value;

use crate::naive::Cell;
use crate::stored::stored;
use crate::tables;

const LABELS: Labels<'_> = Labels { dataset: "towns", version: "1.2.3" };

/// The schema and the batches of a whole stream.
fn read(stream: &[u8]) -> (Arc<Schema>, Vec<RecordBatch>) {
    assert!(stream.ends_with(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]), "the mark of the end");
    let reader = StreamReader::try_new(Cursor::new(stream), None).unwrap();
    let schema = reader.schema();
    (schema, reader.collect::<Result<_, _>>().unwrap())
}

fn streamed(table: &Table, columns: &[usize], rows: &[u32]) -> (Arc<Schema>, Vec<RecordBatch>) {
    let mut out = Vec::new();
    render_arrow(table, columns, rows, LABELS, &mut out).unwrap();
    read(&out)
}

/// The cell at a place, as the naive table has it.
fn cell(array: &ArrayRef, row: usize) -> Option<Cell> {
    if array.is_null(row) {
        return None;
    }
    let number = |value: i64| Some(Cell::Number(value.into()));
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            cell(dictionary.values(), dictionary.normalized_keys()[row])
        }
        DataType::Utf8 => Some(Cell::Text(array.as_string::<i32>().value(row).to_owned())),
        DataType::Boolean => Some(Cell::Flag(array.as_boolean().value(row))),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Some(Cell::Number(array.as_primitive::<UInt64Type>().value(row).into())),
        DataType::Decimal128(..) => Some(Cell::Number(array.as_primitive::<Decimal128Type>().value(row))),
        DataType::Decimal256(..) => {
            Some(Cell::Number(array.as_primitive::<Decimal256Type>().value(row).to_i128().unwrap()))
        }
        DataType::Float32 => Some(Cell::Float(array.as_primitive::<Float32Type>().value(row).into())),
        DataType::Float64 => Some(Cell::Float(array.as_primitive::<Float64Type>().value(row))),
        DataType::Date32 => number(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Date64 => number(array.as_primitive::<Date64Type>().value(row) / 86_400_000),
        DataType::Timestamp(unit, _) => number(match unit {
            ArrowUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
            ArrowUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
            ArrowUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
            ArrowUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
        }),
        other => panic!("{other}"),
    }
}

fn column_cells(batches: &[RecordBatch], column: usize) -> Vec<Option<Cell>> {
    let arrays = batches.iter().map(|batch| batch.column(column));
    arrays.flat_map(|array| (0..array.len()).map(|row| cell(array, row)).collect::<Vec<_>>()).collect()
}

/// Equal, and a NaN is a NaN.
fn same(found: &Option<Cell>, expected: &Option<Cell>) -> bool {
    match (found, expected) {
        (Some(Cell::Float(a)), Some(Cell::Float(b))) => a == b || (a.is_nan() && b.is_nan()),
        _ => found == expected,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_cell_survives((table, indexed) in tables::table(60), seed in any::<u64>(), contiguous in any::<bool>()) {
        let stored = stored(&table, &indexed);
        let columns: Vec<usize> = (0..table.columns.len()).rev().collect();
        let count = u32::try_from(table.rows).unwrap();
        let pick = |number: u32| (u64::from(number).wrapping_mul(seed | 1) % u64::from(count.max(1))) as u32;
        let first = u32::try_from(seed % u64::from(count + 1)).unwrap();
        let rows: Vec<u32> = if contiguous { (first..count).collect() } else { (0..count).map(pick).collect() };
        let (schema, batches) = streamed(&stored, &columns, &rows);
        prop_assert_eq!(schema.fields().len(), columns.len());
        for (place, column) in columns.iter().enumerate() {
            let naive = &table.columns[*column];
            prop_assert_eq!(schema.field(place).name(), &naive.name);
            let found = column_cells(&batches, place);
            let expected: Vec<_> = rows.iter().map(|row| naive.cells[*row as usize].clone()).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!(same(found, expected), "{:?} instead of {:?}", found, expected);
            }
        }
        // The JSON of the same rows says the same of nulls and texts.
        let mut json = Vec::new();
        render_rows(Format::Json, &stored, &columns, &rows, &mut json).unwrap();
        let json: Vec<Value> = serde_json::from_slice(&json).unwrap();
        for (place, column) in columns.iter().enumerate() {
            let name = &table.columns[*column].name;
            for (row, found) in json.iter().zip(column_cells(&batches, place)) {
                match (&row[name], found) {
                    (Value::Null, found) => {
                        prop_assert!(found.is_none() || matches!(found, Some(Cell::Float(value)) if !value.is_finite()));
                    }
                    (Value::String(text), Some(Cell::Text(found))) => prop_assert_eq!(text, &found),
                    (Value::Bool(flag), Some(Cell::Flag(found))) => prop_assert_eq!(*flag, found),
                    (_, found) => prop_assert!(found.is_some()),
                }
            }
        }
    }

    /// Batches that are encoded apart from each other, in any pieces and order, make a whole stream of the same rows.
    #[test]
    fn batches_fit_together((table, indexed) in tables::table(3_000), piece in 1_usize..1_500) {
        let stored = stored(&table, &indexed);
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let rows: Vec<u32> = (0..stored.row_count()).collect();
        let encoder = ArrowEncoder::new(&stored, &columns, LABELS, u64::MAX).unwrap();
        let mut pieces: Vec<Vec<u8>> = rows.chunks(piece).rev().map(|rows| batches_of(&encoder, rows)).collect();
        let mut whole = Vec::new();
        encoder.begin(&mut whole).unwrap();
        pieces.drain(..).rev().for_each(|piece| whole.extend(piece));
        encoder.end(&mut whole);
        let (found, expected) = (read(&whole).1, streamed(&stored, &columns, &rows).1);
        for place in 0..columns.len() {
            let (found, expected) = (column_cells(&found, place), column_cells(&expected, place));
            prop_assert!(found.len() == expected.len());
            prop_assert!(found.iter().zip(&expected).all(|(found, expected)| same(found, expected)));
        }
    }
}

fn batches_of(encoder: &ArrowEncoder<'_>, mut rows: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    while !rows.is_empty() {
        let done = encoder.batch(rows, 0, &mut out).unwrap();
        rows = &rows[done..];
    }
    out
}

fn integers(rows: u32) -> Table {
    let values = (0..i64::from(rows)).map(|row| (row % 7 != 0).then_some(row * 1_000_003)).collect();
    temporary_table(&[Column::new("n", ColumnKind::Integer, ColumnValues::Integers(values))]).unwrap()
}

fn texts(values: Vec<Option<String>>) -> Table {
    temporary_table(&[Column::new("t", ColumnKind::Text, ColumnValues::Texts(values))]).unwrap()
}

fn batch_rows(batches: &[RecordBatch]) -> Vec<usize> {
    batches.iter().map(RecordBatch::num_rows).collect()
}

#[test]
fn ends_batch_at_65536_rows() {
    let most = u32::try_from(ARROW_BATCH_ROWS_MAX).unwrap();
    for (rows, expected) in [
        (0, vec![]),
        (1, vec![1]),
        (most - 1, vec![65_535]),
        (most, vec![65_536]),
        (most + 1, vec![65_536, 1]),
    ] {
        let table = integers(rows);
        let all: Vec<u32> = (0..rows).collect();
        let (schema, batches) = streamed(&table, &[0], &all);
        assert_eq!((batch_rows(&batches), schema.fields().len()), (expected, 1));
    }
}

#[test]
fn bounds_bytes_of_batch() {
    let long = |row: i64| (row % 9 != 0).then(|| format!("{row} {}", "long ".repeat(20_000)));
    let table = texts((0..60).map(long).collect());
    let rows: Vec<u32> = (0..60).collect();
    let (_, batches) = streamed(&table, &[0], &rows);
    assert!(batches.len() > 4, "{:?}", batch_rows(&batches));
    for batch in &batches {
        let bytes = batch.column(0).as_string::<i32>().value_data().len();
        assert!(
            batch.num_rows() == 1 || bytes <= ARROW_BATCH_BYTES,
            "{} rows, {bytes} bytes",
            batch.num_rows()
        );
    }
    let expected: Vec<_> = (0..60).map(|row| long(row).map(Cell::Text)).collect();
    assert_eq!(column_cells(&batches, 0), expected);
}

fn repeated(distinct: usize, bytes: usize, times: usize) -> Table {
    let text = |number: usize| Some(format!("{number:05} {}", "x".repeat(bytes)));
    texts((0..distinct * times).map(|row| text(row % distinct)).collect())
}

fn type_of(table: &Table, rows_max: u64) -> DataType {
    let encoder = ArrowEncoder::new(table, &[0], LABELS, rows_max).unwrap();
    encoder.schema().field(0).data_type().clone()
}

#[test]
fn sends_dictionary_only_within_bounds() {
    let key = |key: DataType| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    assert_eq!(type_of(&repeated(3, 2, 10), u64::MAX), key(DataType::Int8));
    assert_eq!(type_of(&repeated(129, 2, 10), u64::MAX), key(DataType::Int16));
    assert_eq!(type_of(&repeated(3, 2, 10), 2), DataType::Utf8, "more entries than rows");
    assert_eq!(
        type_of(&repeated(40, 40_000, 8), u64::MAX),
        DataType::Utf8,
        "more bytes than a dictionary has"
    );
    let plain = repeated(40, 40_000, 8);
    let rows: Vec<u32> = (0..320).rev().collect();
    let found = column_cells(&streamed(&plain, &[0], &rows).1, 0);
    let expected = (0..320_usize).rev().map(|row| format!("{:05} {}", row % 40, "x".repeat(40_000)));
    assert!(found.into_iter().eq(expected.map(|text| Some(Cell::Text(text)))));
}

#[test]
fn page_carries_only_its_entries() {
    let table = repeated(1_000, 2, 4);
    let (whole, page) =
        (streamed(&table, &[0], &(0..4_000).collect::<Vec<_>>()), streamed(&table, &[0], &[7, 5, 7]));
    assert_eq!(whole.0, page.0, "pages fit together");
    let entries = |batches: &[RecordBatch]| batches[0].column(0).as_any_dictionary().values().len();
    assert_eq!((entries(&whole.1), entries(&page.1)), (1_000, 2));
}

#[test]
fn names_dataset_and_version_in_schema() {
    let table = integers(3);
    let (schema, _) = streamed(&table, &[0], &[0]);
    let named: Vec<_> =
        schema.metadata().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(named, [("dataset", "towns"), ("version", "1.2.3")]);
    let mut out = Vec::new();
    render_arrow(&table, &[0], &[0], Labels::default(), &mut out).unwrap();
    assert!(read(&out).0.metadata().is_empty());
}

#[test]
fn streams_rows_without_columns() {
    let (schema, batches) = streamed(&integers(9), &[], &[0, 1, 2]);
    assert_eq!((schema.fields().len(), batch_rows(&batches)), (0, vec![3]));
}

#[test]
fn chooses_type_by_kind_and_extremes() {
    let wide = |values: Vec<i128>| ColumnValues::Wide(values.into_iter().map(Some).chain([None]).collect());
    let longs =
        |values: Vec<i64>| ColumnValues::Integers(values.into_iter().map(Some).chain([None]).collect());
    let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let decimal = |precision, scale| ColumnKind::Decimal { precision, scale };
    let stamp = |unit| ColumnKind::Timestamp { unit };
    let ten_to_38 = 10_i128.pow(38);
    let cases = [
        (ColumnKind::Integer, wide(vec![1, i64::MAX.into()]), DataType::Int64),
        (ColumnKind::Integer, wide(vec![0, u64::MAX.into()]), DataType::UInt64),
        (ColumnKind::Integer, wide(vec![-1, u64::MAX.into()]), DataType::Decimal128(38, 0)),
        (ColumnKind::Integer, wide(vec![1 - ten_to_38, ten_to_38 - 1]), DataType::Decimal128(38, 0)),
        (ColumnKind::Integer, wide(vec![0, ten_to_38]), DataType::Decimal256(39, 0)),
        (decimal(15, 2), longs(vec![-5, 1_234]), DataType::Decimal128(15, 2)),
        (decimal(38, 38), wide(vec![1, ten_to_38 - 1]), DataType::Decimal128(38, 38)),
        (decimal(50, 3), longs(vec![7]), DataType::Decimal256(50, 3)),
        (decimal(2, 5), longs(vec![7]), DataType::Decimal128(5, 5)),
        (ColumnKind::Date, longs(vec![-719_162, 2_932_896]), DataType::Date32),
        (ColumnKind::Date, longs(vec![0, i64::from(i32::MAX) + 1]), DataType::Date64),
        (stamp(TimeUnit::Second), longs(vec![-1]), utc(ArrowUnit::Second)),
        (stamp(TimeUnit::Millisecond), longs(vec![-1]), utc(ArrowUnit::Millisecond)),
        (stamp(TimeUnit::Microsecond), longs(vec![-1]), utc(ArrowUnit::Microsecond)),
        (stamp(TimeUnit::Nanosecond), longs(vec![i64::MIN, i64::MAX]), utc(ArrowUnit::Nanosecond)),
        (ColumnKind::Boolean, ColumnValues::Booleans(vec![Some(true), None]), DataType::Boolean),
        (ColumnKind::Float, ColumnValues::Floats(vec![Some(0.1), None]), DataType::Float64),
    ];
    for (kind, values, expected) in cases {
        let numbers: Vec<Option<i128>> = match &values {
            ColumnValues::Wide(values) => values.clone(),
            ColumnValues::Integers(values) => values.iter().map(|value| value.map(i128::from)).collect(),
            _ => Vec::new(),
        };
        // Few values make a dictionary, and many numbers are packed.
        let many = match &values {
            ColumnValues::Wide(values) => ColumnValues::Wide(values.repeat(50)),
            ColumnValues::Integers(values) => ColumnValues::Integers(values.repeat(50)),
            other => other.clone(),
        };
        for values in [values, many] {
            let table = temporary_table(&[Column::new("v", kind, values)]).unwrap();
            let (schema, batches) = streamed(&table, &[0], &(0..table.row_count()).collect::<Vec<_>>());
            assert_eq!(
                (schema.field(0).data_type(), schema.field(0).is_nullable()),
                (&expected, true),
                "{kind:?}"
            );
            if !numbers.is_empty() {
                let found = column_cells(&batches, 0);
                let expected: Vec<_> = numbers.iter().map(|value| value.map(Cell::Number)).collect();
                assert!(found.iter().eq(expected.iter().cycle().take(found.len())), "{kind:?}");
            }
        }
    }
    let mut local = Column::new("l", stamp(TimeUnit::Microsecond), longs(vec![1]));
    local.spec.source_type = "INT64 (Timestamp(MICROS,local))".into();
    assert_eq!(
        type_of(&temporary_table(&[local]).unwrap(), u64::MAX),
        DataType::Timestamp(ArrowUnit::Microsecond, None)
    );
}

/// Tags of downloads name the version of the encoding. When this fails, raise `ARROW_VERSION`.
#[test]
fn keeps_bytes_of_encoding() {
    use sha2::{Digest, Sha256};
    let texts = ["a", "b", "a", "è\n", "a", "b"].map(|text| Some(text.to_owned())).to_vec();
    let table = temporary_table(&[
        Column::new("t", ColumnKind::Text, ColumnValues::Texts(texts)),
        Column::new(
            "n",
            ColumnKind::Integer,
            ColumnValues::Integers((0..6).map(|n| (n != 2).then_some(n)).collect()),
        ),
        Column::new(
            "f",
            ColumnKind::Float,
            ColumnValues::Floats((0..6).map(|n| Some(f64::from(n) / 8.0)).collect()),
        ),
    ])
    .unwrap();
    let mut stream = Vec::new();
    render_arrow(&table, &[0, 1, 2], &(0..6).collect::<Vec<_>>(), LABELS, &mut stream).unwrap();
    let digest = Sha256::digest(stream);
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((mercato_query::render::ARROW_VERSION, hex.as_str()), (1, "259eab3f55506b2f"));
}
