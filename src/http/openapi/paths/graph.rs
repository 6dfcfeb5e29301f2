//! Related datasets, and all relations as a graph.

use serde_json::json;

use super::CATALOG;
use super::catalog::{lang, limit};
use crate::http::openapi::operation::{Answer, Entry, Op};
use crate::http::openapi::parts::named;
use crate::http::openapi::schemas::item_example;
use crate::limits::http::{RELATED_LIMIT_DEFAULT, RELATED_LIMIT_MAX};

pub(super) fn all() -> Vec<Entry> {
    vec![related(), graph()]
}

fn related() -> Entry {
    let mut item = item_example();
    if let Some(members) = item.as_object_mut() {
        members.insert("relationType".to_owned(), json!("foreign-key"));
        members.insert("relationDescription".to_owned(), json!("Who ordered"));
        members.insert("direction".to_owned(), json!("incoming"));
        members.insert("weight".to_owned(), json!(1.0));
    }
    let example = json!({ "slug": "tpch-customer", "source": "relations", "results": [item] });
    Op::get("/api/v1/datasets/{slug}/related", "getRelated", CATALOG, "Find what belongs to a dataset")
        .saying("Relations that the operator curates, the strongest first; without any, the list of the publisher.")
        .of_dataset()
        .taking(limit("Datasets of the answer at most.", RELATED_LIMIT_MAX, RELATED_LIMIT_DEFAULT))
        .taking(lang())
        .holding(Answer::data("Related datasets.", named("RelatedList"), example))
        .entry()
}

fn graph() -> Entry {
    let node = |slug: &str, title: &str, size: u32| json!({ "id": slug, "slug": slug, "title": title, "group": "tpch", "size": size, "featured": false });
    let example = json!({
        "nodes": [node("tpch-orders", "Orders", 150_000), node("tpch-customer", "Customers", 15_000)],
        "edges": [{
            "source": "tpch-orders",
            "target": "tpch-customer",
            "type": "foreign-key",
            "label": "Who ordered",
            "weight": 1.0
        }]
    });
    Op::get(
        "/api/v1/datasets/relations/graph",
        "getRelationGraph",
        CATALOG,
        "Draw how all datasets belong together",
    )
    .saying("Ready for `d3.forceLink(edges).id(d => d.id)`; no edge dangles. Caches may keep it for an hour.")
    .taking(lang())
    .holding(Answer::data("The graph.", named("Graph"), example))
    .entry()
}
