//! Datasets in lists, and their headers.

use serde_json::{Value, json};

use crate::http::openapi::parts::{
    Fields, Node, bounded, count, count_or_null, flag, list, list_of, moment, named, text, text_or_null, word,
};

/// A dataset as examples show it.
pub(in crate::http::openapi) fn item_example() -> Value {
    json!({
        "slug": "tpch-orders",
        "title": "Orders",
        "description": "Orders of a wholesale supplier.",
        "license": "CC-BY-4.0",
        "currentVersion": "1.0.0",
        "rowCount": 150_000,
        "fileSize": 12_582_912,
        "tags": ["tpch", "trade"],
        "featured": true,
        "updatedAt": "2026-11-21T02:31:37.123Z"
    })
}

pub(super) fn all() -> Vec<(&'static str, Node)> {
    vec![
        ("Item", item(Fields::closed("A dataset as lists show it.")).example(item_example()).node()),
        ("DatasetList", dataset_list()),
        ("Header", header()),
    ]
}

/// Adds the fields that every list shows of a dataset.
pub(super) fn item(fields: Fields) -> Fields {
    fields
        .has("slug", named("Slug"))
        .has(
            "title",
            text(
                "In the language asked for, where the publisher gave it; else the other one, else the slug.",
            ),
        )
        .has("description", text("As `title`; empty when there is none."))
        .has("license", text_or_null("Name of the license; null when the publisher gave none."))
        .has("currentVersion", text("Semantic version that is read unless a cursor says otherwise."))
        .has("rowCount", count("Rows of the current version."))
        .has("fileSize", count("Bytes of the store file of the current version."))
        .has("tags", list("Tags of the publisher.", text("A tag.")))
        .has("featured", flag("Stands first in the list."))
        .has("updatedAt", moment("The last change of anything about the dataset."))
}

fn dataset_list() -> Node {
    Fields::closed("A page of the catalog: featured datasets first, then the last updated, then by slug.")
        .has("results", list_of("Datasets of this page.", named("Item"), 0, 100))
        .has("total", count("Datasets in all pages."))
        .has("limit", bounded("As asked.", 1, 100, 20))
        .has("offset", count("As asked."))
        .has("nextOffset", count_or_null("`offset` of the next page; null on the last one."))
        .node()
}

fn header() -> Node {
    let format = Fields::closed("One format of the download.")
        .has("format", word("Value of `format`.", &["csv", "json", "ndjson"]))
        .has("bytes", count_or_null("Size of the download; null while it is not known."));
    let version = Fields::closed("A version that cursors can still read.")
        .has("version", text("Semantic version."))
        .has("rowCount", count("Rows."))
        .has("fileSize", count("Bytes of the store file."))
        .has("publishedAt", moment("When it was published."))
        .has("current", flag("Whether it is the one that is read unless a cursor says otherwise."));
    item(Fields::closed("A dataset with all that a visitor wants to know first."))
        .has("licenseUrl", text_or_null("Where the license can be read."))
        .has("methodologyUrl", text("Path of the methodology."))
        .has("changelogUrl", text("Path of the changelog."))
        .has("schemaUrl", text("Path of the schema."))
        .has("sampleUrl", text("Path of the sample."))
        .has("croissantUrl", text("Path of the description for machines."))
        .has("columnCount", count("Columns."))
        .has("formats", list("What can be downloaded.", format.node()))
        .has("creditsForDownload", count("What a download costs."))
        .has("versions", list("The highest first.", version.node()))
        .node()
}
