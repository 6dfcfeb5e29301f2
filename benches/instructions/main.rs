//! Requests answered one after the other by one thread without a socket, for a tool that counts instructions.
//!
//! `instructions REQUESTS WORK..` answers so many requests of each work, after some to warm up, and checks what was
//! charged. `benches/instructions.py` runs it under callgrind. Without arguments, as `cargo bench` calls it, each work
//! is answered a few times and nothing is counted.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops at the first surprise")]

#[path = "../shared/filters.rs"]
mod filters;
#[path = "../shared/lineitem.rs"]
mod lineitem;
mod shop;
#[path = "../shared/site.rs"]
mod site;
#[path = "../shared/works.rs"]
mod works;

use mercato_format::Table;
use shop::{Ask, Shop};

/// Scale factor of the table: 600,572 rows.
const SCALE: f64 = 0.1;
/// Requests after which caches are filled, buffers have grown and the window of a minute is as full as it gets.
const WARM_REQUESTS: usize = 64;
/// The name of the charge alone.
const CHARGE: &str = "charge";
/// How many charges count as one request: enough that what is done every 200 ms beside them is spread evenly.
const CHARGES_PER_REQUEST: usize = 32;

fn main() {
    let typed: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let store = lineitem::store(SCALE, true);
    let table = Table::open(&store).unwrap();
    let mut shop = Shop::open(&store);
    let Some((requests, names)) = typed.split_first() else {
        works::NAMES.iter().chain([&CHARGE]).for_each(|name| run(&mut shop, &table, name, 1));
        return println!("every work was answered; benches/instructions.py counts instructions");
    };
    let requests = requests.parse().expect("a number of requests");
    names.iter().for_each(|name| run(&mut shop, &table, name, requests));
}

/// Warms up, answers so many requests, and sees whether every row was charged once. The script looks for this name.
#[inline(never)]
fn run(shop: &mut Shop, table: &Table, name: &str, requests: usize) {
    if name == CHARGE {
        let before = shop.credits();
        for _ in 0..WARM_REQUESTS {
            shop.charge();
        }
        let charges = requests * CHARGES_PER_REQUEST;
        counted_charges(shop, charges);
        return assert_eq!(before - shop.credits(), (WARM_REQUESTS + charges) as u64);
    }
    let expected = format!("one of {:?}", works::NAMES);
    let work = works::work(name, table).expect(&expected);
    let asks: Vec<Ask> = work.iter().map(|query| shop.ask(&query.body)).collect();
    let before = shop.credits();
    (0..WARM_REQUESTS).zip(asks.iter().cycle()).for_each(|(_, ask)| shop.answer(ask));
    counted(shop, &asks, requests);
    let rows = |requests: usize| work.iter().cycle().take(requests).map(|query| query.rows).sum::<u64>();
    assert_eq!(before - shop.credits(), rows(WARM_REQUESTS) + rows(requests), "{name}: credits for rows");
}

/// The same for charges alone.
#[inline(never)]
fn counted_charges(shop: &Shop, charges: usize) {
    for _ in 0..charges {
        shop.charge();
    }
}

/// The counted function; the script looks for this name too.
#[inline(never)]
fn counted(shop: &mut Shop, asks: &[Ask], requests: usize) {
    (0..requests).zip(asks.iter().cycle()).for_each(|(_, ask)| shop.answer(ask));
}
