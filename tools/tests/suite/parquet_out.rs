//! Parquet and Arrow out: the file beside a published version and the exports hold every row, as a reader sees that knows
//! nothing of Arrow, and converting them gives the same store again.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use mercato_format::writer::{Column, ColumnValues, write_table};
use mercato_format::{ColumnKind, Table, TimeUnit};
use mercato_query::render::Labels;
use mercato_tools::interruption::Interruption;
use mercato_tools::parquet_file::ParquetJob;
use parquet::basic::Compression;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use serde_json::Value;

use crate::cli::{json, names, refused, run};
use crate::convert::files;

const MANIFEST: &str = "slug = \"small\"\n[title]\nen = \"Small\"\n";
const STORE: &str = "data/datasets/small/versions/1.0.0.mcol";
const PARQUET: &str = "data/datasets/small/versions/1.0.0.parquet";

fn folder_with(manifest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    fs::create_dir(folder.path().join("small")).unwrap();
    fs::write(folder.path().join("small/dataset.toml"), manifest).unwrap();
    folder
}

fn publish(folder: &Path, version: &str, further: &[&str]) -> Value {
    let command =
        ["publish", "small", "--parquet", "small.parquet", "--version", version, "--data", "data", "--json"];
    json(folder, &[&command, further].concat())
}

fn exported(folder: &Path, store: &str, format: &str) -> Vec<u8> {
    let output = run(folder, &["export", store, "--format", format]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

#[test]
fn published_parquet_converts_to_same_rows() {
    let folder = folder_with(MANIFEST);
    let report = publish(folder.path(), "1.0.0", &[]);
    let path = folder.path().join(PARQUET);
    assert_eq!(report["parquetBytes"], fs::metadata(&path).unwrap().len());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
    json(folder.path(), &["convert", PARQUET, "--output", "again.mcol", "--json"]);
    assert_eq!(exported(folder.path(), "again.mcol", "ndjson"), exported(folder.path(), STORE, "ndjson"));
    let reader = reader(&path);
    let facts = reader.metadata().file_metadata();
    let named: Vec<_> = facts.key_value_metadata().unwrap().iter().collect();
    for (key, value) in [("dataset", "small"), ("version", "1.0.0")] {
        let found: Vec<_> = named.iter().filter(|one| one.key == key).collect();
        assert_eq!((found.len(), found[0].value.as_deref()), (1, Some(value)));
    }
    assert!(facts.created_by().unwrap().starts_with("mercato version "));
    let group = reader.metadata().row_group(0);
    for column in group.columns() {
        assert!(matches!(column.compression(), Compression::ZSTD(_)), "{:?}", column.compression());
        assert!(column.offset_index_offset().is_some() && column.column_index_offset().is_some());
        assert!(column.statistics().is_some());
    }
    assert_eq!(group.num_rows(), 12);
}

#[test]
fn exports_parquet_as_published() {
    let folder = folder_with(MANIFEST);
    publish(folder.path(), "1.0.0", &[]);
    let bytes = exported(folder.path(), STORE, "parquet");
    fs::write(folder.path().join("out.parquet"), &bytes).unwrap();
    json(folder.path(), &["convert", "out.parquet", "--output", "again.mcol", "--json"]);
    assert_eq!(exported(folder.path(), "again.mcol", "csv"), exported(folder.path(), STORE, "csv"));
    run(folder.path(), &["export", STORE, "--format", "parquet", "--output", "file.parquet"]);
    assert_eq!(fs::read(folder.path().join("file.parquet")).unwrap(), bytes);
    let arrow = exported(folder.path(), STORE, "arrow");
    assert!(arrow.ends_with(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]));
}

#[test]
fn leaves_parquet_out_on_demand() {
    let folder = folder_with(&format!("parquet = false\n{MANIFEST}"));
    assert_eq!(publish(folder.path(), "1.0.0", &[])["parquetBytes"], Value::Null);
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol"]);
    json(folder.path(), &["verify", STORE, "--json"]);
}

#[test]
fn appended_version_holds_all_rows() {
    let folder = folder_with(MANIFEST);
    publish(folder.path(), "1.0.0", &[]);
    publish(folder.path(), "1.1.0", &["--append"]);
    let path = folder.path().join("data/datasets/small/versions/1.1.0.parquet");
    assert_eq!(reader(&path).metadata().file_metadata().num_rows(), 24);
}

#[test]
fn verify_checks_parquet_file_beside() {
    let folder = folder_with(MANIFEST);
    publish(folder.path(), "1.0.0", &[]);
    let path = folder.path().join(PARQUET);
    let verified = json(folder.path(), &["verify", STORE, "--json"]);
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(verified["parquetBytes"], bytes.len());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, bytes).unwrap();
    refused(
        folder.path(),
        &["verify", STORE],
        1,
        &["1.0.0.parquet", "differ from those that were published"],
    );
}

#[test]
fn refuses_value_that_parquet_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let far = Column::new(
        "at",
        ColumnKind::Timestamp { unit: TimeUnit::Second },
        ColumnValues::Integers(vec![Some(1), Some(i64::MAX / 10)]),
    );
    let store = folder.path().join("far.mcol");
    write_table(&store, &[far]).unwrap();
    let out = folder.path().join("far.parquet");
    let reason = written_parquet(&store, &out, 1 << 30).unwrap_err();
    assert!(reason.contains("milliseconds") && reason.contains("parquet = false"), "{reason}");
    assert!(!out.exists());
}

#[test]
fn interruption_leaves_no_file() {
    let folder = folder_with(MANIFEST);
    json(folder.path(), &["convert", "small.parquet", "--json"]);
    let (source, out) = (folder.path().join("small.mcol"), folder.path().join("out.parquet"));
    let (table, interruption) = (Table::open(&source).unwrap(), Interruption::default());
    interruption.request();
    let job = ParquetJob {
        table: &table,
        source: &source,
        labels: Labels::default(),
        memory_limit: 1 << 30,
        interruption: &interruption,
    };
    assert!(job.write_verified(&out).unwrap_err().one_line().contains("ended by a signal"));
    assert!(!out.exists());
}

/// Row groups are as small as the memory demands, and a text larger than a batch does not stop them.
#[test]
fn row_groups_stay_inside_memory_share() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 200_000_i64;
    let mut state = 7_u64;
    let noise = (0..rows).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.cast_signed()
    });
    let text = |row| if row == 100_000 { "x".repeat(3_000_000) } else { format!("text {row}") };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(noise))),
        ("text", Arc::new(StringArray::from_iter_values((0..rows).map(text)))),
    ];
    files::write(&folder.path().join("in.parquet"), columns, WriterProperties::default());
    json(folder.path(), &["convert", "in.parquet", "--json"]);
    let out = folder.path().join("out.parquet");
    written_parquet(&folder.path().join("in.mcol"), &out, 1 << 20).unwrap();
    let reader = reader(&out);
    let groups: Vec<_> = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert!(groups.len() > 4 && groups.iter().sum::<i64>() == rows, "{groups:?}");
    let large = reader.metadata().row_groups().iter().filter(|group| group.compressed_size() > 512 * 1024);
    assert_eq!(large.count(), 0, "{groups:?}");
    json(folder.path(), &["convert", "out.parquet", "--json"]);
    assert_eq!(
        exported(folder.path(), "out.mcol", "csv").len(),
        exported(folder.path(), "in.mcol", "csv").len()
    );
}

fn written_parquet(source: &Path, out: &Path, memory_limit: u64) -> Result<(), String> {
    let (table, interruption) = (Table::open(source).unwrap(), Interruption::default());
    let labels = Labels { dataset: "random", version: "1.2.3" };
    let job = ParquetJob { table: &table, source, labels, memory_limit, interruption: &interruption };
    job.write_verified(out).map_err(|failure| failure.one_line())
}

/// A value as the record reader of the parquet crate gives it, which knows nothing of Arrow.
fn told(field: &Field) -> String {
    match field {
        Field::Null => "null".into(),
        Field::Bool(value) => value.to_string(),
        Field::Int(value) | Field::Date(value) => value.to_string(),
        Field::Long(value) | Field::TimestampMillis(value) | Field::TimestampMicros(value) => {
            value.to_string()
        }
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => format!("{:016x}", value.to_bits()),
        Field::Str(value) => format!("{value:?}"),
        Field::Decimal(value) => {
            let bytes = value.data();
            let sign = if bytes[0] < 0x80 { 0 } else { 0xFF };
            let mut wide = [sign; 16];
            wide[16 - bytes.len().min(16)..].copy_from_slice(&bytes[bytes.len().saturating_sub(16)..]);
            i128::from_be_bytes(wide).to_string()
        }
        other => format!("{other:?}"),
    }
}

fn told_values(column: &Column) -> Vec<String> {
    fn all<V>(values: &[Option<V>], told: impl Fn(&V) -> String) -> Vec<String> {
        values.iter().map(|value| value.as_ref().map_or("null".into(), &told)).collect()
    }
    let factor = match column.spec.kind {
        ColumnKind::Timestamp { unit: TimeUnit::Second } => 1_000,
        _ => 1,
    };
    match &column.values {
        ColumnValues::Integers(values) => all(values, |value| (value * factor).to_string()),
        ColumnValues::Wide(values) => all(values, ToString::to_string),
        ColumnValues::Floats(values) => all(values, |value| format!("{:016x}", value.to_bits())),
        ColumnValues::Booleans(values) => all(values, ToString::to_string),
        ColumnValues::Texts(values) => all(values, |value| format!("{value:?}")),
    }
}

/// Columns of every kind over the same seeds; texts of few and of many values.
fn columns_of(seeds: &[Option<i64>]) -> Vec<Column> {
    let integers =
        |value: fn(i64) -> i64| ColumnValues::Integers(seeds.iter().map(|seed| seed.map(value)).collect());
    let wide = |factor: i128| {
        ColumnValues::Wide(seeds.iter().map(|seed| seed.map(|seed| i128::from(seed) * factor)).collect())
    };
    let texts =
        |text: fn(i64) -> String| ColumnValues::Texts(seeds.iter().map(|seed| seed.map(text)).collect());
    let floats = seeds.iter().map(|seed| {
        seed.map(|seed| match seed % 5 {
            0 => f64::NAN,
            1 => -0.0,
            2 => f64::INFINITY,
            _ => seed as f64 / 3.0,
        })
    });
    let decimal = |precision, scale| ColumnKind::Decimal { precision, scale };
    let timestamp = |unit| ColumnKind::Timestamp { unit };
    vec![
        Column::new("integer", ColumnKind::Integer, integers(|seed| seed)),
        Column::new("wide", ColumnKind::Integer, wide(1_000_000_000_000_000_000)),
        Column::new("small decimal", decimal(9, 2), integers(|seed| seed % 1_000_000_000)),
        Column::new("decimal", decimal(18, 4), integers(|seed| seed % 1_000_000_000_000_000)),
        Column::new("wide decimal", decimal(38, 10), wide(1_000_000_000)),
        Column::new("float", ColumnKind::Float, ColumnValues::Floats(floats.collect())),
        Column::new(
            "flag",
            ColumnKind::Boolean,
            ColumnValues::Booleans(seeds.iter().map(|s| s.map(|s| s % 2 == 0)).collect()),
        ),
        Column::new(
            "few",
            ColumnKind::Text,
            texts(|seed| ["", "a\"\\\n", "è\u{1F600}"][(seed.unsigned_abs() % 3) as usize].into()),
        ),
        Column::new(
            "many",
            ColumnKind::Text,
            texts(|seed| format!("{seed} {}", "z".repeat((seed.unsigned_abs() % 90) as usize))),
        ),
        Column::new("day", ColumnKind::Date, integers(|seed| seed % 40_000)),
        Column::new("second", timestamp(TimeUnit::Second), integers(|seed| seed % 4_000_000_000)),
        Column::new("milli", timestamp(TimeUnit::Millisecond), integers(|seed| seed % 4_000_000_000_000)),
        Column::new("micro", timestamp(TimeUnit::Microsecond), integers(|seed| seed % 4_000_000_000_000_000)),
        Column::new("nano", timestamp(TimeUnit::Nanosecond), integers(|seed| seed)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The naive twin: the values from which the table was made.
    #[test]
    fn rows_read_back_are_rows_of_store(
        seeds in prop::collection::vec(prop::option::weighted(0.85, any::<i64>()), 0..400),
        memory_limit in prop::sample::select(vec![1_u64, 64 * 1024, 1 << 30]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (store, out) = (folder.path().join("t.mcol"), folder.path().join("t.parquet"));
        let columns = columns_of(&seeds);
        write_table(&store, &columns).unwrap();
        written_parquet(&store, &out, memory_limit).unwrap();
        let expected: Vec<Vec<String>> = columns.iter().map(told_values).collect();
        let reader = reader(&out);
        let mut count = 0;
        for (row, found) in reader.get_row_iter(None).unwrap().enumerate() {
            for (column, (name, field)) in found.unwrap().get_column_iter().enumerate() {
                prop_assert_eq!(name, &columns[column].spec.name);
                prop_assert_eq!(told(field), &expected[column][row][..], "column {}, row {}", name, row);
            }
            count += 1;
        }
        prop_assert_eq!(count, seeds.len());
    }
}
