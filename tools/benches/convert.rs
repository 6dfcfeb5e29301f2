//! Conversion of TPC-H lineitem with and without sort indexes, of one column of each type, and of thousands of columns.
//!
//! `MERCATO_BENCH_SCALE` sets the scale factor of lineitem (default 0.1: 600,572 rows). The first run writes the
//! Parquet files into the target folder. Generated values are the same in every run.
#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use indicatif::ProgressBar;
use mercato_tools::convert::{Conversion, SortIndex, convert};
use mercato_tools::demo::tables::{self, Table};

/// Rows of the files of one column.
const ROWS: i64 = 500_000;
/// Column counts of the wide files; the last one is the maximum of the converter.
const WIDTHS: [usize; 3] = [1_024, 4_096, 16_384];
/// Rows of the wide files.
const WIDE_ROWS: usize = 10;
/// Multiplier of a full-period generator modulo 2^64, which spreads neighbours.
const SPREAD: i64 = 6_364_136_223_846_793_005;

fn lineitem(criterion: &mut Criterion) {
    let scale = std::env::var("MERCATO_BENCH_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(0.1);
    let parquet = kept(&format!("lineitem-{scale}.parquet"), |path| {
        tables::write(Table::LineItem, scale, path, &ProgressBar::hidden()).unwrap();
    });
    measure(criterion, "convert lineitem", "every sort index", &parquet, SortIndex::All);
    measure(criterion, "convert lineitem", "no sort index", &parquet, SortIndex::None);
}

fn types(criterion: &mut Criterion) {
    for (name, make) in COLUMNS {
        let parquet = kept(&format!("column-{}-{ROWS}.parquet", name.replace(' ', "-")), |path| {
            let batch = RecordBatch::try_from_iter_with_nullable([("value", make(), true)]).unwrap();
            tables::write_batch(batch, path, &ProgressBar::hidden()).unwrap();
        });
        measure(criterion, "convert a column", name, &parquet, SortIndex::All);
    }
}

/// Integer columns, as top-level fields and as fields of one struct.
fn widths(criterion: &mut Criterion) {
    for width in WIDTHS {
        for (name, inside_one) in [("columns", false), ("columns in a struct", true)] {
            let parquet = kept(&format!("{}-{width}.parquet", name.replace(' ', "-")), |path| {
                tables::write_batch(wide(width, inside_one), path, &ProgressBar::hidden()).unwrap();
            });
            let (_folder, conversion) = prepared(&parquet, SortIndex::All);
            let mut group = criterion.benchmark_group("convert many");
            group
                .sample_size(10)
                .sampling_mode(SamplingMode::Flat)
                .throughput(Throughput::Elements(width as u64));
            let name = format!("{width} {name}");
            group.bench_function(name, |bencher| bencher.iter(|| convert(&conversion).unwrap().bytes_out));
            group.finish();
        }
    }
}

fn wide(width: usize, inside_one: bool) -> RecordBatch {
    let values = |column| spread().skip(column).take(WIDE_ROWS);
    let column = |number| -> (String, ArrayRef, bool) {
        (format!("c{number}"), Arc::new(Int64Array::from_iter_values(values(number))), true)
    };
    let batch = RecordBatch::try_from_iter_with_nullable((0..width).map(column)).unwrap();
    if !inside_one {
        return batch;
    }
    let all: ArrayRef = Arc::new(StructArray::from(batch));
    RecordBatch::try_from_iter_with_nullable([("all", all, true)]).unwrap()
}

/// Name and generator of each column.
type Column = (&'static str, fn() -> ArrayRef);

const COLUMNS: [Column; 10] = [
    ("distinct integers", || Arc::new(Int64Array::from_iter_values(spread()))),
    ("few integers", || Arc::new(Int64Array::from_iter_values(spread().map(|value| value.rem_euclid(50))))),
    ("decimals", || {
        let values = spread().map(|value| i128::from(value.rem_euclid(10_000_000)));
        Arc::new(Decimal128Array::from_iter_values(values).with_precision_and_scale(15, 2).unwrap())
    }),
    ("doubles", || Arc::new(Float64Array::from_iter_values(spread().map(|value| value as f64 / 1e9)))),
    ("booleans with nulls", || {
        Arc::new(BooleanArray::from_iter(spread().map(|value| (value % 7 != 0).then_some(value > 0))))
    }),
    ("dates", || {
        Arc::new(Date32Array::from_iter_values(spread().map(|value| value.rem_euclid(20_000) as i32)))
    }),
    ("timestamps", || {
        let micros = spread().map(|value| value.rem_euclid(1 << 50));
        Arc::new(TimestampMicrosecondArray::from_iter_values(micros))
    }),
    ("few texts", || {
        let texts = spread().map(|value| format!("category {}", value.rem_euclid(100)));
        Arc::new(StringArray::from_iter_values(texts))
    }),
    ("distinct texts", || {
        Arc::new(StringArray::from_iter_values(
            spread().map(|value| format!("a text that ends with {value}")),
        ))
    }),
    ("lists of integers", || {
        let mut lists = ListBuilder::new(Int32Builder::new());
        spread().for_each(|value| lists.append_value((0..value.rem_euclid(4) as i32).map(Some)));
        Arc::new(lists.finish())
    }),
];

/// Widely spread numbers, the same in every run.
fn spread() -> impl Iterator<Item = i64> {
    (1..=ROWS).map(|row| row.wrapping_mul(SPREAD))
}

/// A cached file in the target folder.
fn kept(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("making {} ...", path.display());
        make(&path);
    }
    path
}

/// Throughput is in rows. The time includes verification and sync.
fn measure(criterion: &mut Criterion, group: &str, name: &str, parquet: &Path, sort_index: SortIndex) {
    let (_folder, conversion) = prepared(parquet, sort_index);
    let rows = convert(&conversion).unwrap().rows;
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10).measurement_time(Duration::from_secs(10)).throughput(Throughput::Elements(rows));
    group.bench_function(name, |bencher| bencher.iter(|| convert(&conversion).unwrap().bytes_out));
    group.finish();
}

/// A conversion into its own folder.
fn prepared(parquet: &Path, sort_index: SortIndex) -> (tempfile::TempDir, Conversion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let conversion = Conversion {
        sort_index,
        replace: true,
        progress: false,
        ..Conversion::new(parquet, &folder.path().join("converted.mcol"))
    };
    (folder, conversion)
}

criterion_group!(benches, lineitem, types, widths);
criterion_main!(benches);
