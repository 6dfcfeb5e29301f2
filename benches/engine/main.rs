//! The query engine and the renderer, without HTTP, on TPC-H `lineitem`.
//!
//! `MERCATO_BENCH_SCALE` sets the scale factor (default 1: 6,001,215 rows); the store file is made once and kept in the
//! target folder. Every figure is the time from the bytes of a request to the bytes of its answer, unless the name
//! says otherwise.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops at the first surprise")]

mod cursor;
mod data;
mod filter;
#[path = "../shared/filters.rs"]
mod filters;
mod gather;
#[path = "../shared/lineitem.rs"]
mod lineitem;
mod open;
mod page;
mod render;
#[path = "../shared/scale.rs"]
mod scale;
mod sort;

use criterion::Criterion;

fn main() {
    let table = data::table();
    let mut criterion = Criterion::default().configure_from_args().sample_size(30);
    open::bench(&mut criterion);
    page::bench(&mut criterion, &table);
    filter::bench(&mut criterion, &table);
    sort::bench(&mut criterion, &table);
    cursor::bench(&mut criterion, &table);
    gather::bench(&mut criterion, &table);
    render::bench(&mut criterion, &table);
    criterion.final_summary();
}
