//! Whole files and parts of them.

use serde_json::{Value, json};

use super::QUERY;
use super::query::idempotency_key;
use crate::http::errors::ErrorKind;
use crate::http::openapi::headers;
use crate::http::openapi::operation::{Answer, Entry, Op, parameter, request_header, version};
use crate::http::openapi::parts::{Node, list, named, text, word};

const FILE: [&str; 6] = [
    "Accept-Ranges",
    "Content-Disposition",
    "Content-Encoding",
    "Repr-Digest",
    "X-Dataset-Version",
    "Idempotent-Replayed",
];
const CSV: &str = "o_orderkey,o_totalprice\r\n1,173665.47\r\n";
const NDJSON: &str = "{\"o_orderkey\":1,\"o_totalprice\":173665.47}\n";

pub(super) fn all() -> Vec<Entry> {
    let format = word("A format; beats `Accept`.", &["csv", "json", "ndjson"]);
    let condition =
        "The tag or date of what the client has begun; when it no longer holds, the whole file comes.";
    let held =
        headers::HELD.iter().fold(Answer::empty("You hold it already."), |held, name| held.header(name));
    let rows = json!([{"o_orderkey": 1, "o_totalprice": 173_665.47}]);
    let part = file(
        "The part that was asked for.",
        text("A part of an array of objects."),
        "{\"o_orderkey\":1,".into(),
    );
    vec![
        Op::get("/api/v1/datasets/{slug}/download", "downloadDataset", QUERY, "Download a whole version")
            .saying(
                "Costs as many credits as the dataset has rows. A download that breaks off costs the rows that arrived, and \
                 nothing where its data turn out damaged; the first range afterwards pays the rest, and further ranges of \
                 the same version and format are free for 24 hours. `HEAD`, 304, 412 and 416 are free.",
            )
            .of_dataset()
            .with_key()
            .taking(parameter("format", "What the file looks like; CSV unless said otherwise.", format))
            .taking(version())
            .taking(idempotency_key())
            .taking(request_header("Range", "One range of bytes.", text("RFC 9110")))
            .taking(request_header("If-Range", condition, text("As the answer carried it.")))
            .taking(request_header("If-None-Match", "Entity tags that the client holds.", text("As the answer carried it.")))
            .taking(request_header("If-Modified-Since", "Date of what the client holds.", text("As the answer carried it.")))
            .expecting()
            .answering("200", file("The whole file.", list("Every row.", named("Row")), rows).header(headers::WARNING))
            .answering("206", part.header("Content-Range").header(headers::WARNING))
            .answering("304", held.headers(&headers::CREDITS))
            .refusing(&[
                ErrorKind::NoCredits,
                ErrorKind::NotAcceptable,
                ErrorKind::Conflict,
                ErrorKind::RangeNotSatisfiable,
                ErrorKind::Unprocessable,
            ])
            .entry(),
    ]
}

fn file(description: &str, json: Node, example: Value) -> Answer {
    Answer::plain(description, "text/csv", text("RFC 4180 with a header row and CRLF."), CSV)
        .or("application/json", json, example)
        .or("application/x-ndjson", text("One object a line."), NDJSON)
        .headers(&headers::HELD)
        .headers(&headers::CREDITS)
        .headers(&FILE)
}
