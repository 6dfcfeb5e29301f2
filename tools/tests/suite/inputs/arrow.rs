//! Arrow IPC inputs: files and streams, plain and compressed, with every kind of dictionary, beside other inputs.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, Decimal32Array, Decimal128Array, DictionaryArray, Int64Array, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray, TimestampSecondArray, UnionArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields, UnionFields};

use super::{check_refusal, conversion, converted, put, read, refused};

/// Batches as a file.
pub(super) fn file(options: IpcWriteOptions, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// Batches as a stream.
pub(super) fn stream(options: IpcWriteOptions, batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

pub(super) fn packed(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// Numbers and texts, some of them null.
pub(super) fn numbers(rows: std::ops::Range<i64>) -> RecordBatch {
    let texts = rows.clone().map(|row| (row % 3 != 0).then(|| format!("text {}", row % 7)));
    batch(vec![
        ("n", Arc::new(Int64Array::from_iter(rows.map(|row| (row % 5 != 0).then_some(row * 1_000))))),
        ("t", Arc::new(StringArray::from_iter(texts))),
    ])
}

fn expected(rows: std::ops::Range<i64>) -> Vec<String> {
    let row = |row: i64| {
        let number = if row % 5 == 0 { "null".to_owned() } else { (row * 1_000).to_string() };
        let text = if row % 3 == 0 { "null".to_owned() } else { format!("\"text {}\"", row % 7) };
        format!("{{\"n\":{number},\"t\":{text}}}")
    };
    rows.map(row).collect()
}

#[test]
fn reads_files_and_streams_plain_and_compressed() {
    let batches = [numbers(0..100), numbers(100..100), numbers(100..4_000)];
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        for (name, bytes) in [
            ("a.arrow", file(packed(compression), &batches)),
            ("a.feather", file(packed(compression), &batches)),
            ("a.arrows", stream(packed(compression), &batches)),
            ("a.ipc", stream(packed(compression), &batches)),
            // Without an ending the first bytes tell.
            ("file", file(packed(compression), &batches)),
            ("stream", stream(packed(compression), &batches)),
        ] {
            let (columns, rows) = converted(name, bytes).unwrap();
            assert_eq!(columns, ["n integer?", "t text?"], "{name}");
            assert_eq!(rows, expected(0..4_000), "{name} {compression:?}");
        }
    }
}

fn keys(entries: &[Option<&str>], keys: &[Option<i8>]) -> RecordBatch {
    let entries = Arc::new(StringArray::from(entries.to_vec()));
    let array = DictionaryArray::<Int8Type>::try_new(keys.to_vec().into(), entries).unwrap();
    batch(vec![("d", Arc::new(array))])
}

#[test]
fn reads_replaced_and_growing_dictionaries() {
    let rows = |texts: &[&str]| texts.iter().map(|text| format!("{{\"d\":{text}}}")).collect::<Vec<_>>();
    let replaced = [
        keys(&[Some("a"), Some("b")], &[Some(0), Some(1), None]),
        keys(&[Some("c"), None], &[Some(0), Some(1), Some(0)]),
    ];
    let wanted = rows(&["\"a\"", "\"b\"", "null", "\"c\"", "null", "\"c\""]);
    assert_eq!(converted("a.arrows", stream(packed(None), &replaced)).unwrap().1, wanted);
    let growing = [
        keys(&[Some("a")], &[Some(0), Some(0)]),
        keys(&[Some("a"), Some("b"), Some("c")], &[Some(2), Some(1), Some(0)]),
    ];
    let wanted = rows(&["\"a\"", "\"a\"", "\"c\"", "\"b\"", "\"a\""]);
    let delta = || packed(None).with_dictionary_handling(DictionaryHandling::Delta);
    assert_eq!(converted("a.arrows", stream(delta(), &growing)).unwrap().1, wanted);
    assert_eq!(converted("a.arrow", file(delta(), &growing)).unwrap().1, wanted);
}

#[test]
fn drops_columns_and_fields_of_structs() {
    let union = UnionArray::try_new(
        UnionFields::from_fields(vec![Field::new("x", DataType::Int64, true)]),
        vec![0_i8; 2].into(),
        None,
        vec![Arc::new(Int64Array::from(vec![1, 2]))],
    )
    .unwrap();
    let fields = Fields::from(vec![
        Field::new("kept", DataType::Int64, true),
        Field::new("strange", union.data_type_of(), false),
    ]);
    let inner = StructArray::new(
        fields,
        vec![Arc::new(Int64Array::from(vec![Some(7), None])), Arc::new(union.clone())],
        None,
    );
    let whole = batch(vec![
        ("s", Arc::new(inner)),
        ("view", Arc::new(StringViewArray::from(vec![Some("a text that is longer than a view"), None]))),
    ]);
    let bytes = stream(packed(None), &[whole]);
    refused("a.arrows", &bytes, &["a.arrows", "column `s.strange`", "Union", "--drop s.strange"]);
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.arrows", &bytes);
    let mut conversion = conversion(folder.path(), &["a.arrows"]);
    conversion.drop = vec!["s.strange".into()];
    let (columns, rows) = read(&conversion).unwrap();
    assert_eq!(columns, ["s.kept integer?", "view text?"]);
    assert_eq!(
        rows,
        ["{\"s.kept\":7,\"view\":\"a text that is longer than a view\"}", "{\"s.kept\":null,\"view\":null}"]
    );
    conversion.drop = vec!["s".into()];
    assert_eq!(read(&conversion).unwrap().0, ["view text?"]);
    conversion.drop = vec!["s.strange".into(), "absent".into()];
    std::fs::remove_file(&conversion.output).unwrap();
    check_refusal(&conversion, &["--drop absent"]);
}

trait TypeOf {
    fn data_type_of(&self) -> DataType;
}

impl TypeOf for UnionArray {
    fn data_type_of(&self) -> DataType {
        Array::data_type(self).clone()
    }
}

#[test]
fn joins_other_inputs_and_columns_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "year=2024/a.arrow", file(packed(Some(CompressionType::ZSTD)), &[numbers(0..3)]));
    put(folder.path(), "year=2025/b.arrows", stream(packed(None), &[numbers(3..5)]));
    put(folder.path(), "year=2026/c.csv", "n,t\n9,x\n");
    let (columns, rows) = read(&conversion(folder.path(), &["."])).unwrap();
    assert_eq!(columns, ["n integer?", "t text?", "year integer"]);
    let with_year = |row: &str, year: i64| row.replace('}', &format!(",\"year\":{year}}}"));
    let mut wanted: Vec<String> = expected(0..3).iter().map(|row| with_year(row, 2024)).collect();
    wanted.extend(expected(3..5).iter().map(|row| with_year(row, 2025)));
    wanted.push("{\"n\":9,\"t\":\"x\",\"year\":2026}".into());
    assert_eq!(rows, wanted);
}

#[test]
fn keeps_seconds_that_parquet_does_not_have() {
    let seconds = TimestampSecondArray::from(vec![Some(0), None, Some(1_700_000_000)]);
    let bytes = file(packed(None), &[batch(vec![("at", Arc::new(seconds))])]);
    let (columns, rows) = converted("a.arrow", bytes).unwrap();
    assert_eq!(columns, ["at timestamp?"]);
    assert_eq!(
        rows,
        ["{\"at\":\"1970-01-01T00:00:00Z\"}", "{\"at\":null}", "{\"at\":\"2023-11-14T22:13:20Z\"}"]
    );
}

/// The writer of spilled rows would cut 123456 of five digits to four bytes, and larger ones to other values.
#[test]
fn refuses_decimals_beyond_their_precision() {
    let wide = 987_654_321_012_345_i128;
    let amounts = Decimal128Array::from(vec![Some(99_999), None, Some(-99_999), Some(wide)]);
    let amounts: ArrayRef = Arc::new(amounts.with_precision_and_scale(5, 2).unwrap());
    let bytes =
        file(packed(None), &[batch(vec![("a", amounts.slice(0, 3))]), batch(vec![("a", amounts.clone())])]);
    refused("a.arrow", &bytes, &["a.arrow", "column `a`, row 6", "at most 5 digits", "9876543210123.45"]);
    let bytes = stream(packed(None), &[batch(vec![("a", amounts.slice(0, 3))])]);
    let rows = converted("a.arrows", bytes).unwrap().1;
    assert_eq!(rows, ["{\"a\":999.99}", "{\"a\":null}", "{\"a\":-999.99}"]);
}

#[test]
fn refuses_nested_decimals_beyond_their_precision() {
    let decimals = Decimal32Array::from(vec![1, 12_345, 2, 3]).with_precision_and_scale(4, 0).unwrap();
    let kind = DataType::Decimal32(4, 0);
    let keys = arrow_array::Int8Array::from(vec![Some(0), None, Some(2), Some(1)]);
    let keyed: ArrayRef =
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys, Arc::new(decimals.clone())).unwrap());
    refused(
        "a.arrows",
        stream(packed(None), &[batch(vec![("d", keyed.clone())])]),
        &["column `d`, row 3", "12345"],
    );
    let sound = stream(packed(None), &[batch(vec![("d", keyed.slice(0, 3))])]);
    assert_eq!(converted("a.arrows", sound).unwrap().1, ["{\"d\":1}", "{\"d\":null}", "{\"d\":2}"]);
    let item = Arc::new(Field::new("item", kind, true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([0, 1, 3]);
    let list = |nulls: [bool; 3]| -> ArrayRef {
        let nulls = Some(nulls.to_vec().into());
        Arc::new(ListArray::new(item.clone(), offsets.clone(), Arc::new(decimals.clone()), nulls))
    };
    let words = ["column `l`, row 2", "at most 4 digits", "12345"];
    let inside = |list: ArrayRef| -> ArrayRef {
        Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", list.data_type().clone(), true)), list)]))
    };
    let bytes = stream(packed(None), &[batch(vec![("l", inside(list([true; 3])))])]);
    refused("a.arrows", &bytes, &words);
    // Values behind nulls do not count.
    let bytes = stream(packed(None), &[batch(vec![("l", inside(list([true, true, false])))])]);
    assert_eq!(converted("a.arrows", bytes).unwrap().1.len(), 3);
}
