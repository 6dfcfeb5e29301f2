//! Opening a store file.

use criterion::Criterion;
use mercato_format::Table;

use crate::data;

pub fn bench(criterion: &mut Criterion) {
    let path = data::path();
    criterion.bench_function("open/16 columns", |bencher| {
        bencher.iter(|| Table::open(&path).unwrap().row_count())
    });
}
