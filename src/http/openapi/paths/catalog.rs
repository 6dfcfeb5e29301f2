//! The list of datasets and the header of one.

use serde_json::{Value, json};
use utoipa::openapi::path::ParameterBuilder;

use super::CATALOG;
use crate::http::openapi::operation::{Answer, Entry, Op, parameter};
use crate::http::openapi::parts::{bounded, list as list_of, named, text, word};
use crate::http::openapi::schemas::item_example;
use crate::limits::http::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, TAGS_LIMIT_DEFAULT, TAGS_LIMIT_MAX};

pub(super) fn all() -> Vec<Entry> {
    vec![list(), tags(), header()]
}

/// The parameter `lang`.
pub(super) fn lang() -> ParameterBuilder {
    let description = "Language of titles and descriptions, where the publisher wrote them in it. Without it English comes first.";
    parameter("lang", description, word("Language", &["en", "it"]))
}

/// A `limit` between bounds.
pub(super) fn limit(description: &str, maximum: u64, default: u64) -> ParameterBuilder {
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    parameter("limit", description, bounded("Number", 1, whole(maximum), whole(default)))
}

fn list() -> Entry {
    let example =
        json!({ "results": [item_example()], "total": 1, "limit": 20, "offset": 0, "nextOffset": null });
    let answer = Answer::data("A page of the catalog.", named("DatasetList"), example).header("Link");
    let order = word("Order", &["featured", "updated", "title", "rows"]);
    Op::get("/api/v1/datasets", "listDatasets", CATALOG, "List the datasets")
        .saying("Featured datasets first, then the last updated, then by slug, unless `sort` says otherwise. `Link` leads to the neighbouring pages.")
        .taking(limit("Datasets of this page at most.", LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT))
        .taking(parameter("offset", "Datasets to skip.", bounded("Number", 0, usize::MAX, 0)))
        .taking(parameter("tag", "Only datasets with exactly this tag; given several times, with all of them.", list_of("Tags", text("Tag"))))
        .taking(parameter("license", "Only datasets under the license of this name, in upper or lower case.", text("License")))
        .taking(parameter("sort", "`featured`: featured datasets first, then the last updated. `updated`: the last updated first. `title`: from A to Z. `rows`: the most rows first. Equal ones by slug.", order))
        .taking(lang())
        .holding(answer)
        .entry()
}

fn tags() -> Entry {
    let example = json!({
        "results": [{ "tag": "demonstration", "count": 16 }, { "tag": "tpch", "count": 8 }],
        "total": 2, "limit": 100, "offset": 0, "nextOffset": null
    });
    let answer = Answer::data("A page of the tags.", named("TagList"), example).header("Link");
    Op::get("/api/v1/tags", "listTags", CATALOG, "List the tags")
        .saying(
            "With the number of published datasets that carry each, the most frequent first, then by name.",
        )
        .taking(limit("Tags of this page at most.", TAGS_LIMIT_MAX, TAGS_LIMIT_DEFAULT))
        .taking(parameter("offset", "Tags to skip.", bounded("Number", 0, usize::MAX, 0)))
        .holding(answer)
        .entry()
}

fn header() -> Entry {
    Op::get("/api/v1/datasets/{slug}", "getDataset", CATALOG, "Look at a dataset")
        .saying(
            "What it is, where its texts are, what a download costs, and which versions cursors can read.",
        )
        .of_dataset()
        .taking(lang())
        .holding(Answer::data("The header of the dataset.", named("Header"), header_example()))
        .entry()
}

fn header_example() -> Value {
    let mut example = item_example();
    let more = json!({
        "licenseUrl": "https://creativecommons.org/licenses/by/4.0/",
        "publisher": { "name": "City of Valdoro", "url": "https://valdoro.example" },
        "contact": "data@valdoro.example",
        "homepage": null,
        "citation": "City of Valdoro (2026). Orders.",
        "coverage": { "from": "1992-01-01", "to": "1998-12-31", "places": ["Valdoro"] },
        "updateFrequency": "never",
        "methodologyUrl": "/api/v1/datasets/tpch-orders/methodology",
        "changelogUrl": "/api/v1/datasets/tpch-orders/changelog",
        "schemaUrl": "/api/v1/datasets/tpch-orders/schema",
        "sampleUrl": "/api/v1/datasets/tpch-orders/sample",
        "statsUrl": "/api/v1/datasets/tpch-orders/stats",
        "relatedUrl": "/api/v1/datasets/tpch-orders/related",
        "croissantUrl": "/api/v1/datasets/tpch-orders/croissant",
        "queryUrl": "/api/v1/datasets/tpch-orders/query",
        "streamUrl": "/api/v1/datasets/tpch-orders/query/stream",
        "downloadUrl": "/api/v1/datasets/tpch-orders/download",
        "columnCount": 9,
        "formats": [{ "format": "csv", "bytes": 17_000_000 }],
        "creditsForDownload": 150_000,
        "priceForDownload": { "credits": 150_000, "eur": "750.00", "vatIncluded": false },
        "versions": [{
            "version": "1.0.0",
            "rowCount": 150_000,
            "fileSize": 12_582_912,
            "publishedAt": "2026-11-21T02:31:37.123Z",
            "current": true
        }]
    });
    if let (Some(example), Value::Object(more)) = (example.as_object_mut(), more) {
        example.extend(more);
    }
    example
}
