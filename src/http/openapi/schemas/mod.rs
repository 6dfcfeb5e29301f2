//! The named schemas of the document.

mod account;
mod catalog;
mod graph;
mod query;
mod search;
mod stats;
mod texts;

pub(super) use catalog::item_example;

use super::parts::{Fields, Node, count, list, moment, text, text_like};
use super::paths::croissant_schema;
use super::refusals;

/// Every schema that others refer to by name.
pub(super) fn all() -> Vec<(&'static str, Node)> {
    let mut schemas = vec![
        ("Slug", slug()),
        ("Meta", meta()),
        ("ErrorDetails", refusals::details()),
        ("Croissant", croissant_schema()),
    ];
    schemas.extend(catalog::all());
    schemas.extend(search::all());
    schemas.extend(texts::all());
    schemas.extend(stats::all());
    schemas.extend(graph::all());
    schemas.extend(query::all());
    schemas.extend(account::all());
    schemas
}

fn slug() -> Node {
    let pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$";
    text_like("Lower-case letters, digits and inner hyphens.", pattern, "tpch-orders")
}

fn meta() -> Node {
    let credits = Fields::closed("What the answer cost. Stands in answers that can cost credits.")
        .has("charged", count("Credits taken for this answer."))
        .has("remaining", count("Credits left in the account."));
    Fields::closed("Facts about the answer itself.")
        .has("requestId", text("The same as the header `X-Request-Id`."))
        .has("timestamp", moment("When the answer was made."))
        .has("durationMs", count("Whole milliseconds since the request was received, waiting included."))
        .may("credits", credits.node())
        .may("warnings", list("Sentences about the answer.", text("One warning.")))
        .node()
}
