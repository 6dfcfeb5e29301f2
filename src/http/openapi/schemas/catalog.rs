//! Datasets in lists, and their headers.

use serde_json::{Value, json};

use crate::catalog::UPDATE_FREQUENCIES;
use crate::http::openapi::parts::{
    Fields, Node, bounded, count, count_or_null, exactly, flag, list, list_of, moment, named, or_null,
    ordinal, text, text_like, text_or_null, word,
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
        ("TagList", tag_list()),
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
    Fields::closed("A page of the catalog.")
        .has("results", list_of("Datasets of this page.", named("Item"), 0, 100))
        .has("total", count("Datasets in all pages."))
        .has("limit", bounded("As asked.", 1, 100, 20))
        .has("offset", count("As asked."))
        .has("nextOffset", count_or_null("`offset` of the next page; null on the last one."))
        .node()
}

fn tag_list() -> Node {
    let tag = Fields::closed("A tag.")
        .has("tag", text("The tag."))
        .has("count", ordinal("Published datasets that carry it."));
    Fields::closed("The most frequent tags first, then by name.")
        .has("results", list_of("Tags of this page.", tag.node(), 0, 1_000))
        .has("total", count("Tags in all pages."))
        .has("limit", bounded("As asked.", 1, 1_000, 100))
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
    let publisher = Fields::closed("Who publishes it.")
        .has("name", text("The name."))
        .has("url", text_or_null("The web address."));
    let coverage = Fields::closed("A time and places. Dates are days, months or years.")
        .has("from", text_or_null("The first date."))
        .has("to", text_or_null("The last date; null where it goes on."))
        .has("places", list("Names of places.", text("A place.")));
    let frequency = word("Frequency", &UPDATE_FREQUENCIES.map(|known| known.word));
    let price = Fields::closed("The price of the whole dataset.")
        .has("credits", count("As `creditsForDownload`."))
        .has("eur", text_like("Euros, exact, without VAT.", "^[0-9]+\\.[0-9]{2,5}$", "750.00"))
        .has("vatIncluded", exactly(false));
    item(Fields::closed("A dataset with all that a visitor wants to know first."))
        .has("licenseUrl", text_or_null("Where the license can be read."))
        .has("publisher", or_null("Who publishes it, where that is said.", publisher.node()))
        .has("contact", text_or_null("Whom to ask: an e-mail address or a web address."))
        .has("homepage", text_or_null("Its page at the publisher."))
        .has("citation", text_or_null("How to cite it."))
        .has("coverage", or_null("What it covers, where that is said.", coverage.node()))
        .has("updateFrequency", or_null("How often it is renewed, where that is said.", frequency))
        .has("methodologyUrl", text("Address of the methodology."))
        .has("changelogUrl", text("Address of the changelog."))
        .has("schemaUrl", text("Address of the schema."))
        .has("sampleUrl", text("Address of the sample."))
        .has("statsUrl", text("Address of the statistics."))
        .has("relatedUrl", text("Address of the related datasets."))
        .has("croissantUrl", text("Address of the description for machines."))
        .has("queryUrl", text("Address of queries."))
        .has("streamUrl", text("Address of streams."))
        .has("downloadUrl", text("Address of downloads."))
        .has("columnCount", count("Columns."))
        .has("formats", list("What can be downloaded.", format.node()))
        .has("creditsForDownload", count("What a download costs."))
        .has("priceForDownload", price.node())
        .has("versions", list("The highest first.", version.node()))
        .node()
}
