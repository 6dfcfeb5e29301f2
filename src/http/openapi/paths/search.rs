//! Search over the catalog.

use serde_json::json;
use utoipa::openapi::Required;

use super::CATALOG;
use super::catalog::{lang, limit};
use crate::http::openapi::operation::{Answer, Entry, Op, parameter};
use crate::http::openapi::parts::{bounded, list as list_of, named, text, text_like};
use crate::http::openapi::schemas::item_example;
use crate::limits::search::{RESULTS_DEFAULT, RESULTS_MAX, RESULTS_REACH_MAX};

/// Without the spaces around it, which do not count.
const QUESTION: &str =
    r"^[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]{0,198}[^\s\u0000-\u001f\u007f-\u009f]$";

pub(super) fn all() -> Vec<Entry> {
    let mut item = item_example();
    if let Some(members) = item.as_object_mut() {
        members.insert("score".to_owned(), json!(0.83));
        members.insert("rank".to_owned(), json!(1));
        members.insert("matchedOn".to_owned(), json!(["title", "description"]));
        members.insert("snippet".to_owned(), json!("Orders of a wholesale supplier."));
    }
    let example = json!({ "query": "wholesale orders", "lang": "en", "ranking": "lexical", "total": 1, "limit": 10, "offset": 0, "nextOffset": null, "results": [item] });
    let offset_max = usize::try_from(RESULTS_REACH_MAX.saturating_sub(1)).unwrap_or(usize::MAX);
    let question = text_like("What is looked for, 2 to 200 characters.", QUESTION, "wholesale orders");
    let found = Op::get("/api/v1/datasets/search", "searchDatasets", CATALOG, "Find datasets by what they are about")
        .saying(
            "In English and Italian: other words, translations, acronyms and typing errors are understood. A dataset whose \
             slug or title is the question stands first. `ranking` says what made the order.",
        )
        .taking(parameter("q", "The question.", question).required(Required::True))
        .taking(limit("Results at most.", RESULTS_MAX, RESULTS_DEFAULT))
        .taking(parameter("offset", "Results to skip.", bounded("Number", 0, offset_max, 0)))
        .taking(parameter("tag", "Only datasets with exactly this tag; given several times, with all of them.", list_of("Tags", text("Tag"))))
        .taking(lang())
        .holding(Answer::data("What was found, the best first.", named("SearchList"), example).header("Link"));
    vec![found.entry()]
}
