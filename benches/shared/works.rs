//! The named works as bodies of requests. A work has several bodies where one place of the table could flatter it.

use mercato_format::Table;
use mercato_query::{NoSelections, Page, QueryRequest, execute, plan};

use crate::filters::{W3, W5};
use crate::site::SLUG;

pub const NAMES: [&str; 6] = ["W1", "W2k", "W3", "W3s", "W4", "W5p"];
/// Orders that W4 looks up.
const ORDERS: u32 = 16;

/// The body of a query, and how many rows it returns.
pub struct Query {
    pub body: String,
    pub rows: u64,
}

/// The queries of a work on `lineitem`, `None` when there is no work of that name.
pub fn work(name: &str, table: &Table) -> Option<Vec<Query>> {
    let bodies = match name {
        "W1" => vec!["{\"limit\":100}".to_owned()],
        "W2k" => keyset_pages(table),
        "W3" => vec![format!("{{{W3},\"limit\":1000}}")],
        "W3s" => {
            vec![format!("{{{W3},\"limit\":1000,\"sortBy\":\"l_shipdate\",\"sortDirection\":\"desc\"}}")]
        }
        "W4" => (0..ORDERS).map(|number| one_order(table, number)).collect(),
        "W5p" => vec![format!("{{{W5},\"limit\":100}}")],
        _ => return None,
    };
    let with_rows = |body: String| Query { rows: page(table, &body).rows.len() as u64, body };
    Some(bodies.into_iter().map(with_rows).collect())
}

/// Pages by price at four depths, each by the cursor that the page before it gave.
fn keyset_pages(table: &Table) -> Vec<String> {
    let rows = u64::from(table.row_count());
    let depths = [100, rows / 60, rows / 2, rows - rows / 60];
    let by_price = "\"limit\":100,\"sortBy\":\"l_extendedprice\"";
    let page_at = |depth: u64| {
        let before = page(table, &format!("{{{by_price},\"offset\":{}}}", depth - 100));
        format!("{{{by_price},\"cursor\":\"{}\"}}", before.next_cursor.unwrap())
    };
    depths.map(page_at).to_vec()
}

/// The generator gives eight keys of every thirty-two to orders, and at most seven lines to an order.
fn one_order(table: &Table, number: u32) -> String {
    let order = 1 + number * (table.row_count() / 7 / ORDERS);
    format!("{{\"filters\":{{\"l_orderkey\":{}}}}}", (order >> 3 << 5) | (order & 7))
}

fn page(table: &Table, body: &str) -> Page {
    let request = QueryRequest::from_json(body.as_bytes(), 10_000).unwrap();
    execute(&plan(&request, table, SLUG, &mercato_query::Unlimited).unwrap(), &NoSelections).unwrap()
}
