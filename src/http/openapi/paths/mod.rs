//! Every operation of the public API, in the order in which people read them.

mod account;
mod catalog;
mod discovery;
mod download;
mod graph;
mod health;
mod metadata;
mod query;
mod search;
mod stats;

use super::operation::Entry;

pub(super) use discovery::croissant_schema;

/// Headings of the operations, with what they are about.
pub(super) const TAGS: [(&str, &str); 5] = [
    (CATALOG, "Finding datasets and understanding them. No key, no credits."),
    (QUERY, "Reading rows. Needs a key; costs a credit for each row."),
    (ACCOUNT, "What an account has, may and did. Needs a key; free of credits."),
    (DISCOVERY, "Descriptions for machines and this document."),
    (HEALTH, "Whether the server lives and can serve. Counts against no limit."),
];

const CATALOG: &str = "Catalog";
const QUERY: &str = "Query";
const ACCOUNT: &str = "Account";
const DISCOVERY: &str = "Discovery";
const HEALTH: &str = "Health";

/// All operations.
pub(super) fn all() -> Vec<Entry> {
    [
        search::all(),
        catalog::all(),
        metadata::all(),
        stats::all(),
        graph::all(),
        query::all(),
        download::all(),
        account::all(),
        discovery::all(),
        health::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
