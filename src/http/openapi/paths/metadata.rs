//! What describes a dataset: schema, sample, methodology and changelog.

use serde_json::{Value, json};

use super::CATALOG;
use super::query::{CSV, NDJSON, format};
use crate::http::errors::ErrorKind;
use crate::http::openapi::operation::{Answer, Entry, Op, version};
use crate::http::openapi::parts::{named, text};

pub(super) fn all() -> Vec<Entry> {
    vec![schema(), sample(), methodology(), changelog()]
}

fn schema() -> Entry {
    let column = |name: &str, kind: &str, example: Value| json!({ "name": name, "type": kind, "nullable": true, "sortable": true, "indexed": true, "description": null, "example": example });
    let example = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tpch-orders",
        "type": "object",
        "properties": {
            "o_orderkey": { "type": ["integer", "null"], "examples": [1] },
            "o_orderdate": { "type": ["string", "null"], "format": "date", "examples": ["1996-01-02"] }
        },
        "required": ["o_orderkey", "o_orderdate"],
        "additionalProperties": false,
        "version": "1.0.0",
        "columns": [
            column("o_orderkey", "integer", json!(1)),
            column("o_orderdate", "datetime", json!("1996-01-02"))
        ]
    });
    Op::get("/api/v1/datasets/{slug}/schema", "getSchema", CATALOG, "Read the columns of a dataset")
        .saying("A JSON Schema (2020-12) that every row fits, and the columns in their order.")
        .of_dataset()
        .taking(version())
        .holding(Answer::data("The schema.", named("DatasetSchema"), example))
        .entry()
}

fn sample() -> Entry {
    let example = json!({
        "results": [{ "o_orderkey": 1, "o_totalprice": 173_665.47, "o_orderdate": "1996-01-02" }],
        "rowsReturned": 1,
        "columns": ["o_orderkey", "o_totalprice", "o_orderdate"],
        "totalRows": 150_000,
        "version": "1.0.0"
    });
    let answer = Answer::data(
        "The sample. CSV and NDJSON say in headers what JSON says in fields.",
        named("Sample"),
        example,
    )
    .or("text/csv", text("RFC 4180 with a header row and CRLF."), CSV)
    .or("application/x-ndjson", text("One object a line."), NDJSON)
    .headers(&["X-Rows-Returned", "X-Total-Rows", "X-Dataset-Version", "X-Warnings"]);
    Op::get("/api/v1/datasets/{slug}/sample", "getSample", CATALOG, "Look at rows without paying")
        .saying("At most 100 rows, evenly spaced over the file. Caches may keep them for five minutes. `Accept` or `format` picks JSON, CSV or NDJSON.")
        .of_dataset()
        .taking(version())
        .taking(format())
        .holding(answer)
        .refusing(&[ErrorKind::NotAcceptable])
        .entry()
}

fn methodology() -> Entry {
    let markdown = "# How\n\nCounted by hand.\n";
    let example =
        json!({ "markdown": markdown, "version": "1.0.0", "updatedAt": "2026-11-21T02:31:37.123Z" });
    let answer = Answer::data("The methodology.", named("Methodology"), example);
    text_of("methodology", "getMethodology", "Read how the data were made", answer, markdown)
}

fn changelog() -> Entry {
    let markdown = "## [1.0.0] - 2026-01-31\n- first\n";
    let example = json!({
        "markdown": markdown,
        "version": "1.0.0",
        "updatedAt": "2026-11-21T02:31:37.123Z",
        "entries": [{ "version": "1.0.0", "date": "2026-01-31", "markdown": "- first" }]
    });
    let answer = Answer::data("The changelog.", named("Changelog"), example);
    text_of("changelog", "getChangelog", "Read what changed", answer, markdown)
}

/// A text of the publisher, as JSON or as it is.
fn text_of(what: &str, id: &str, summary: &str, answer: Answer, markdown: &str) -> Entry {
    let path = match what {
        "methodology" => "/api/v1/datasets/{slug}/methodology",
        _ => "/api/v1/datasets/{slug}/changelog",
    };
    Op::get(path, id, CATALOG, summary)
        .saying("`Accept: text/markdown` gives the text as it is, `text/html` a document made of it.")
        .of_dataset()
        .holding(answer.or("text/markdown", text("The raw text."), markdown).or(
            "text/html",
            text("A document."),
            "<!DOCTYPE html>",
        ))
        .refusing(&[ErrorKind::NotAcceptable])
        .entry()
}
