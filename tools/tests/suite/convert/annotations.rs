//! Parquet types that need a hand-made schema: INT96, INTERVAL, UUID, ENUM, JSON, BSON, and unsupported types.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal256Array, Int64Array, StructArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::cli::{refused, run};
use crate::convert::files;
use crate::convert::read_back::{converted, refusal};

/// Values of one leaf; none is null.
enum Leaf {
    Int96(Vec<Int96>),
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
}

fn write(folder: &Path, schema: &str, leaves: Vec<Leaf>) -> PathBuf {
    let path = folder.join("hand.parquet");
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(&path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for leaf in leaves {
        let mut column = group.next_column().unwrap().unwrap();
        match leaf {
            Leaf::Int96(values) => column.typed::<Int96Type>().write_batch(&values, None, None),
            Leaf::Bytes(values) => {
                let values: Vec<_> = values.into_iter().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)
            }
            Leaf::Fixed(values) => {
                let values: Vec<_> = values.into_iter().map(FixedLenByteArray::from).collect();
                column.typed::<FixedLenByteArrayType>().write_batch(&values, None, None)
            }
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    path
}

fn int96(julian_day: u32, nanoseconds: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, julian_day);
    value
}

#[test]
fn chooses_finest_int96_unit() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int96 near; required int96 far; }";
    let near = vec![int96(2_440_588, 1), int96(2_440_587, 86_399_999_999_999)];
    let far = vec![int96(2_440_588, 1_500), int96(2_440_588 + 2_932_897, 0)];
    let rows = converted(&write(folder.path(), schema, vec![Leaf::Int96(near), Leaf::Int96(far)]));
    assert_eq!(rows[0]["near"], "\"1970-01-01T00:00:00.000000001Z\"");
    assert_eq!(rows[1]["near"], "\"1969-12-31T23:59:59.999999999Z\"");
    assert_eq!(rows[0]["far"], "\"1970-01-01T00:00:00.000001Z\"");
    assert_eq!(rows[1]["far"], "\"+010000-01-01T00:00:00.000000Z\"");
}

/// 64 bits of nanoseconds end 854,775,807 ns into a second of 2262-04-11.
#[test]
fn keeps_int96_nanoseconds_or_warns() {
    let (day, seconds) = (2_440_588 + 106_751, 85_636_000_000_000);
    let schema = "message m { required int96 at; }";
    for (last, unit_of_first) in [(854_775_807, "000000005"), (854_775_808, "000000")] {
        let folder = tempfile::tempdir().unwrap();
        let values = vec![int96(2_440_588, 5), int96(day, seconds + last)];
        write(folder.path(), schema, vec![Leaf::Int96(values)]);
        let output = run(folder.path(), &["convert", "hand.parquet", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let rows = run(folder.path(), &["export", "hand.mcol", "--format", "csv"]).stdout;
        let rows = String::from_utf8(rows).unwrap();
        assert_eq!(rows.lines().nth(1).unwrap(), format!("1970-01-01T00:00:00.{unit_of_first}Z"));
        if last == 854_775_807 {
            assert_eq!((report["warnings"].as_array().unwrap().len(), said.as_str()), (0, ""));
        } else {
            for told in [&said, report["warnings"][0].as_str().unwrap()] {
                for word in [
                    "`at`",
                    "in us",
                    "2262-04-11T23:47:16.854775808Z",
                    "row 1",
                    "2 of its values lose digits",
                ] {
                    assert!(told.contains(word), "{word}: {told}");
                }
            }
        }
    }
}

#[test]
fn accepts_requested_int96_unit() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m { required int96 near; required int96 far; }";
    let near = vec![int96(2_440_588, 1_500), int96(2_440_588, 2_000)];
    let far = vec![int96(2_440_588, 0), int96(2_440_588 + 2_932_896, 0)];
    write(folder.path(), schema, vec![Leaf::Int96(near), Leaf::Int96(far)]);
    let wrong = ["convert", "hand.parquet", "--timestamp-unit", "ns"];
    refused(folder.path(), &wrong, 1, &["`far`, row 1", "9999-12-31", "--timestamp-unit us", "--drop far"]);
    refused(folder.path(), &["convert", "hand.parquet", "--timestamp-unit", "s"], 2, &["--timestamp-unit"]);
    let output = run(folder.path(), &["convert", "hand.parquet", "--timestamp-unit", "us"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`near` is kept in us: 1 of its values lose digits"), "{said}");
    let csv = run(folder.path(), &["export", "hand.mcol", "--format", "csv"]).stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().nth(1), Some("1970-01-01T00:00:00.000001Z,1970-01-01T00:00:00.000000Z"));
}

#[test]
fn converts_annotated_bytes_to_text() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "message m {
        required fixed_len_byte_array(12) span (INTERVAL);
        required fixed_len_byte_array(16) id (UUID);
        required binary kind (ENUM);
        required binary document (JSON);
        required binary bson (BSON);
        required binary bare;
        required group deep { required fixed_len_byte_array(12) span (INTERVAL); }
    }";
    let interval = [14_u32, 3, 14_706_007].map(u32::to_le_bytes).concat();
    let path = write(
        folder.path(),
        schema,
        vec![
            Leaf::Fixed(vec![interval.clone()]),
            Leaf::Fixed(vec![(0..16).map(|n| n * 17).collect()]),
            Leaf::Bytes(vec![b"RED".to_vec()]),
            Leaf::Bytes(vec![b"{\"a\": 1}".to_vec()]),
            Leaf::Bytes(vec![vec![5, 0, 0, 0, 0]]),
            Leaf::Bytes(vec![b"bare".to_vec()]),
            Leaf::Fixed(vec![interval]),
        ],
    );
    let rows = converted(&path);
    assert_eq!(rows[0]["span"], "\"P1Y2M3DT4H5M6.007S\"");
    assert_eq!(rows[0]["deep.span"], "\"P1Y2M3DT4H5M6.007S\"");
    assert_eq!(rows[0]["id"], "\"00112233-4455-6677-8899-aabbccddeeff\"");
    assert_eq!(rows[0]["kind"], "\"RED\"");
    assert_eq!(rows[0]["document"], "\"{\\\"a\\\": 1}\"");
    assert_eq!(rows[0]["bson"], "\"BQAAAAA=\"");
    assert_eq!(rows[0]["bare"], "\"YmFyZQ==\"");
}

#[test]
fn rejects_invalid_utf8_with_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "message m { required binary word (UTF8); }",
        vec![Leaf::Bytes(vec![vec![0xff]])],
    );
    let reason = refusal(&path);
    assert!(reason.contains("`word`") && reason.contains("row group 0"), "{reason}");
}

fn write_columns(folder: &Path, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let path = folder.join("columns.parquet");
    files::write(&path, columns, WriterProperties::builder().build());
    path
}

#[test]
fn rejects_duplicate_column_names() {
    let folder = tempfile::tempdir().unwrap();
    let ones: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let inner =
        StructArray::from(vec![(Arc::new(Field::new("b", DataType::Int64, true)), Arc::clone(&ones))]);
    let reason = refusal(&write_columns(folder.path(), vec![("a.b", ones), ("a", Arc::new(inner))]));
    assert!(reason.contains("`a.b`") && reason.contains("--drop a.b"), "{reason}");
}

#[test]
fn rejects_decimal_wider_than_128_bits() {
    let folder = tempfile::tempdir().unwrap();
    let wide = i256::from_i128(i128::MAX).wrapping_mul(i256::from_i128(1_000));
    let values = Decimal256Array::from(vec![Some(i256::from_i128(1)), None, Some(wide)]);
    let values = values.with_precision_and_scale(76, 2).unwrap();
    let reason = refusal(&write_columns(folder.path(), vec![("amount", Arc::new(values))]));
    assert!(reason.contains("column `amount`, row 2") && reason.contains("128 bits"), "{reason}");
}

#[test]
fn rejects_value_above_limit() {
    let folder = tempfile::tempdir().unwrap();
    let values = arrow_array::StringArray::from(vec!["short".to_owned(), "x".repeat(17 * 1024 * 1024)]);
    let reason = refusal(&write_columns(folder.path(), vec![("essay", Arc::new(values))]));
    assert!(reason.contains("`essay`") && reason.contains("bytes"), "{reason}");
}

#[test]
fn converts_empty_and_single_row_tables() {
    for rows in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let values = Int64Array::from_iter_values(0..rows);
        let found = converted(&write_columns(folder.path(), vec![("n", Arc::new(values))]));
        assert_eq!(found.len() as i64, rows);
    }
}
