//! Search without HTTP: what a question costs at three sizes of the catalog, and what a new index costs.
//!
//! The catalog is made up of the datasets of `tests/search/catalog.json`, each many times with other words of its own.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench stops at the first surprise")]

mod lexical;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(30);
    lexical::bench(&mut criterion);
    criterion.final_summary();
}
