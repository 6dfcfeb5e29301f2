//! How often a page calls the memory allocator, from the bytes of its request to the bytes of its response.
//!
//! Counts everything that one thread does for it: parser, authentication, limits, plan, rows, charge, log line. In place of
//! tiny_http's reader of heads stands one that takes about as many allocations.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../benches/shared/lineitem.rs"]
mod lineitem;
#[path = "../benches/instructions/shop.rs"]
#[expect(dead_code, reason = "the benchmark charges alone, too")]
mod shop;
#[path = "../benches/shared/site.rs"]
mod site;

use shop::Shop;

/// Scale factor of the table: 6,005 rows.
const SCALE: f64 = 0.001;
/// Requests after which caches are filled and buffers have grown.
const WARM_REQUESTS: usize = 64;
const COUNTED_REQUESTS: usize = 9;
/// Allocations of a page of 100 rows with its charge, at most.
const ALLOCATIONS_MAX: u64 = 145;

#[test]
fn bounds_allocations_of_page() {
    let mut shop = Shop::open(&lineitem::store(SCALE, true));
    let ask = shop.ask("{\"limit\":100}");
    (0..WARM_REQUESTS).for_each(|_| shop.answer(&ask));
    let mut counts: Vec<u64> = (0..COUNTED_REQUESTS)
        .map(|_| allocation_counter::measure(|| shop.answer(&ask)).count_total)
        .collect();
    counts.sort_unstable();
    let median = counts.get(COUNTED_REQUESTS / 2).copied().unwrap();
    println!("allocations of a page of 100 rows: {median}");
    assert!(median <= ALLOCATIONS_MAX, "{counts:?}");
}
