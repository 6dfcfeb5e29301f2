//! Results of a search.

use super::catalog::item;
use crate::http::openapi::parts::{
    Fields, Node, count, count_or_null, list, list_of, named, number, or_null, ordinal, text, word,
};

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![("SearchItem", search_item()), ("SearchList", search_list())]
}

fn search_item() -> Node {
    let fields = ["title", "tags", "description", "columns", "slug", "methodology", "meaning"];
    let place = word("A field, or the meaning as a model sees it.", &fields);
    item(Fields::closed("A dataset that was found."))
        .has("score", number("How well it answers: 0 to 1, never rising down the list."))
        .has("rank", ordinal("Its place, from 1."))
        .has("matchedOn", list("Where the question was found.", place))
        .has("snippet", text("A piece of its description; `…` stands for what was left out."))
        .node()
}

fn search_list() -> Node {
    let rankings = ["cross-encoder", "embedding", "lexical"];
    Fields::closed("Datasets that answer a question.")
        .has("query", text("The question, without the spaces around it."))
        .has(
            "lang",
            or_null(
                "Null where the question shows none.",
                word("The language it was read in.", &["en", "it"]),
            ),
        )
        .has("ranking", word("What made the order.", &rankings))
        .has("total", count("How many datasets were found: those that have enough of the question, not every one that shares a word with it."))
        .has("limit", count("Results of this page at most."))
        .has("offset", count("Results that were skipped."))
        .has("nextOffset", count_or_null("`offset` of the next page; null on the last one that can be reached."))
        .has("results", list_of("Those of this page, the best first.", named("SearchItem"), 0, 50))
        .node()
}
