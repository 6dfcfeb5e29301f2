//! Related datasets, and all relations as a graph.

use super::catalog::item;
use crate::http::openapi::parts::{
    Fields, Node, count, flag, list, list_of, named, number, or_null, text, text_or_null, word,
};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![("RelatedItem", related_item()), ("RelatedList", related_list()), ("Graph", graph())]
}

fn related_item() -> Node {
    let direction =
        word("The relation begins at the dataset asked for, or leads to it.", &["outgoing", "incoming"]);
    item(Fields::closed("A related dataset, and how it is related."))
        .has("relationType", text("What kind of relation it is."))
        .has("relationDescription", text_or_null("Why the two are related, where the operator wrote that."))
        .has("direction", or_null("Null where the relation comes from the list of the publisher.", direction))
        .has("weight", number("How strong it is."))
        .node()
}

fn related_list() -> Node {
    Fields::closed("Datasets that have to do with this one.")
        .has("slug", named("Slug"))
        .has("source", word("Curated relations, or the list of the publisher.", &["relations", "fallback"]))
        .has("results", list_of("The strongest first.", named("RelatedItem"), 0, 50))
        .node()
}

fn graph() -> Node {
    let node = Fields::closed("A dataset.")
        .has("id", named("Slug"))
        .has("slug", named("Slug"))
        .has("title", text("Its title."))
        .has("group", text("What it belongs to: its first tag, or `untagged`."))
        .has("size", count("Its number of rows."))
        .has("featured", flag("Stands first in the list."));
    let edge = Fields::closed("A relation. Both ends are nodes of this graph.")
        .has("source", named("Slug"))
        .has("target", named("Slug"))
        .has("type", text("What kind of relation it is."))
        .has("label", text("What is said about it; its type where nothing is."))
        .has("weight", number("How strong it is."));
    Fields::closed("Ready for `d3.forceLink(edges).id(d => d.id)`.")
        .has("nodes", list("Every dataset.", node.node()))
        .has("edges", list("Every relation whose two ends are published.", edge.node()))
        .node()
}
