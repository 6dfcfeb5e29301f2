//! Conversion of TPC-H lineitem with every sort index. `MERCATO_BENCH_SCALE` chooses the scale factor (default 0.1).

use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use indicatif::ProgressBar;
use mercato_tools::convert::{Conversion, SortIndex, convert};
use mercato_tools::demo::tables::{self, Table};

fn conversion(criterion: &mut Criterion) {
    let scale = std::env::var("MERCATO_BENCH_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(0.1);
    let Ok(folder) = tempfile::tempdir() else { return };
    let parquet = folder.path().join("lineitem.parquet");
    if let Err(failure) = tables::write(Table::LineItem, scale, &parquet, &ProgressBar::hidden()) {
        return eprintln!("{failure}");
    }
    let mut group = criterion.benchmark_group("convert lineitem");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(20))
        .throughput(Throughput::Elements(rows(&parquet)));
    for (name, sort_index) in [("every sort index", SortIndex::All), ("no sort index", SortIndex::None)] {
        let conversion = Conversion {
            sort_index,
            progress: false,
            ..Conversion::new(&parquet, &folder.path().join("lineitem.mcol"))
        };
        group
            .bench_function(name, |bench| bench.iter(|| convert(&conversion).map(|report| report.bytes_out)));
    }
    group.finish();
}

fn rows(parquet: &Path) -> u64 {
    convert(&Conversion::new(parquet, &parquet.with_extension("mcol"))).map_or(0, |report| report.rows)
}

criterion_group!(benches, conversion);
criterion_main!(benches);
