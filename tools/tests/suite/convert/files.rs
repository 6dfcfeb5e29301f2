//! Small Parquet files for tests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field};
use mercato_tools::convert::Conversion;
use mercato_tools::convert::isolation::Isolation;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A conversion in a worker, whose decoders may be stuck for a few seconds.
pub fn isolated(input: &Path, output: &Path) -> Conversion {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_mercato-tools"));
    let mut conversion = Conversion::new(input, output);
    conversion.progress = false;
    conversion.threads = 1;
    conversion.isolation = Some(Isolation { program, decoder_time_max: Duration::from_secs(4) });
    conversion
}

/// Writes a batch of named columns.
pub fn write(path: &Path, columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A file of a few columns of different kinds in two row groups, uncompressed, so that damage reaches the decoders.
pub fn small(folder: &Path) -> PathBuf {
    let path = folder.join("small.parquet");
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_max_row_group_row_count(Some(7))
        .build();
    write(&path, small_columns(), properties);
    path
}

fn small_columns() -> Vec<(&'static str, ArrayRef)> {
    let rows = 0..12_i64;
    let text = |row: i64| (row % 5 != 3).then(|| ["alpha", "beta", "", "\"quoted\", è"][(row % 4) as usize]);
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in rows.clone() {
        tags.append_value((0..row % 3).map(|tag| Some(format!("tag {tag}"))));
    }
    let inner: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.clone().map(|row| row as f64 / 3.0)));
    let amounts = rows.clone().map(|row| Some(i128::from(row) * 105 - 300));
    vec![
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row * 1_000_003)))),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(rows.clone().map(|row| (row % 4 != 1).then_some(row % 2 == 0)))),
        ),
        ("text", Arc::new(StringArray::from_iter(rows.clone().map(text)))),
        ("amount", Arc::new(Decimal128Array::from_iter(amounts).with_precision_and_scale(15, 2).unwrap())),
        ("day", Arc::new(Date32Array::from_iter_values(rows.clone().map(|row| row as i32 * 400 - 900)))),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(rows.map(|row| row * 1_234_567_891_011))),
        ),
        ("tags", Arc::new(tags.finish())),
        (
            "box",
            Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", DataType::Float64, true)), inner)])),
        ),
    ]
}
