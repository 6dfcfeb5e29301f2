//! Pages, their price, and streams.

use serde_json::{Value, json};
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::{ContentBuilder, Required};

use super::QUERY;
use crate::http::errors::ErrorKind;
use crate::http::openapi::headers;
use crate::http::openapi::operation::{Answer, Entry, Op, json_body, parameter, request_header, version};
use crate::http::openapi::parts::{Fields, Node, any_of, bounded, count, named, text, text_like, word};
use crate::limits::http::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::query::LIMIT_DEFAULT;

const PATH: &str = "/api/v1/datasets/{slug}/query";
pub(super) const CSV: &str = "o_orderkey,o_totalprice\r\n1,173665.47\r\n";
pub(super) const NDJSON: &str = "{\"o_orderkey\":1,\"o_totalprice\":173665.47}\n";
const EVENTS: &str = "id: eyJsYXN0…\ndata: {\"o_orderkey\":1,\"o_totalprice\":173665.47}\n\n\
    : end {\"rowsReturned\":1,\"nextCursor\":null,\"creditsCharged\":1}\n";

pub(super) fn all() -> Vec<Entry> {
    vec![post(), get(), estimate(), stream()]
}

fn post() -> Entry {
    asking(Op::post(PATH, "queryDataset", QUERY, "Read a page of rows"))
        .reading(json_body("What to read. An empty body is an empty object.", "QueryBody", examples()))
        .entry()
}

fn get() -> Entry {
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let filters = ParameterBuilder::new()
        .name("filters")
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some("Conditions, as JSON text."))
        .content("application/json", ContentBuilder::new().schema(Some(named("Filter"))).build());
    let limit = bounded("Number", 1, whole(QUERY_LIMIT_MAX), whole(LIMIT_DEFAULT));
    asking(Op::get(PATH, "queryDatasetByUrl", QUERY, "Read a page of rows with a URL alone"))
        .saying("The same as `POST`, for clients that can only `GET`. `HEAD` costs nothing and tells nothing of the rows.")
        .taking(filters)
        .taking(parameter("columns", "Names as a JSON list, or separated by commas.", text("Names")))
        .taking(parameter("limit", "Rows at most.", limit))
        .taking(parameter(
            "offset",
            "Rows to skip; ignored beside a cursor.",
            bounded("Number", 0, usize::MAX, 0),
        ))
        .taking(parameter("sortBy", "The column that orders the rows.", text("Name")))
        .taking(parameter("sortDirection", "Direction of the order.", word("Direction", &["asc", "desc"])))
        .taking(parameter("cursor", "`nextCursor` of an answer.", text("Base64")))
        .taking(version())
        .taking(parameter("count", "Has the rows that match counted in any case.", word("Exactly", &["exact"])))
        .taking(format())
        .entry()
}

/// The parameter `format` of a path that answers in the formats of a page.
pub(super) fn format() -> ParameterBuilder {
    parameter("format", "How rows are printed; beats `Accept`.", word("Format", &["json", "csv", "ndjson"]))
}

/// What both ways to ask for a page have in common.
fn asking(op: Op) -> Op {
    let page = Answer::data(
        "A page of rows. CSV and NDJSON say in headers what JSON says in fields.",
        named("Page"),
        page_example(),
    )
    .or("text/csv", text("RFC 4180 with a header row and CRLF."), CSV)
    .or("application/x-ndjson", text("One object a line."), NDJSON)
    .headers(&headers::CREDITS)
    .headers(&headers::PAGE)
    .headers(&["X-Dataset-Version", "Idempotent-Replayed", headers::WARNING]);
    op.saying(
        "`Accept` picks JSON, CSV or NDJSON. One credit for each row returned; a page is paid whole or refused whole, and a \
         refusal costs nothing. To go on, repeat the request with `nextCursor` as `cursor`.",
    )
    .of_dataset()
    .with_key()
    .taking(idempotency_key())
    .answering("200", page)
    .refusing(&[
        ErrorKind::NoCredits,
        ErrorKind::NotAcceptable,
        ErrorKind::Conflict,
        ErrorKind::PreconditionFailed,
        ErrorKind::Unprocessable,
    ])
}

/// The header that makes a retry free of a second charge.
pub(super) fn idempotency_key() -> ParameterBuilder {
    let key = text_like(
        "1 to 255 ASCII characters from the space to the tilde; spaces around them do not count.",
        "^[!-~]([ -~]{0,253}[!-~])?$",
        "order-4711-page-1",
    );
    let description =
        "Makes a retry safe: the same key with the same request within 24 hours is charged once.";
    request_header("Idempotency-Key", description, key)
}

fn estimate() -> Entry {
    let example = json!({ "rows": 5, "creditsRequired": 5, "creditsAvailable": 1000, "affordable": true });
    Op::post("/api/v1/datasets/{slug}/query/estimate", "estimateQuery", QUERY, "Learn what it would cost")
        .saying("Counts the rows of a page, a stream or a download without charging them, up to what it would deliver.")
        .of_dataset()
        .with_key()
        .reading(json_body("As for a page or a stream, and `for`.", "EstimateBody", estimate_examples()))
        .answering("200", Answer::data("The price.", named("Estimate"), example))
        .refusing(&[ErrorKind::NoCredits])
        .entry()
}

fn stream() -> Entry {
    let after_rows = bounded("Number", 0, usize::try_from(STREAM_LIMIT_MAX).unwrap_or(usize::MAX), 0);
    let summary = word("`1` says the end in the body too.", &["0", "1"]);
    let rows = Answer::plain(
        "Rows. Each `data:` line is one row; the first, every 1,000th and the last carry `id:`, a cursor. The end is the \
         comment `: end {…}`. A failure after the first byte is `event: error`, and the answer is cut off. Every form ends with the \
         trailer fields `X-Rows-Returned`, `X-Next-Cursor` and `X-Credits-Charged`.",
        "text/event-stream",
        events(),
        EVENTS,
    )
    .or("application/x-ndjson", text("One object a line; a complete chunked body is a complete answer."), NDJSON)
    .or("text/csv", text("RFC 4180 with a header row and CRLF; a complete chunked body is a complete answer."), CSV)
    .headers(&["X-Dataset-Version", "X-Credits-Remaining", "X-Credits-Reserved", "X-Total-Rows", "Trailer", "Idempotent-Replayed", headers::WARNING]);
    Op::post("/api/v1/datasets/{slug}/query/stream", "streamDataset", QUERY, "Read many rows as a stream")
        .saying(
            "Up to 1,000,000 rows. What it can cost is set aside before the first byte; of a stream that its client leaves, the \
             rows that were acknowledged are charged and the rest comes back. One that breaks off because its data turn \
             out damaged costs nothing.",
        )
        .of_dataset()
        .with_key()
        .taking(parameter("summary", "Whether the end is also `event: end`, or the last line.", summary))
        .taking(parameter(
            "afterRows",
            "Rows at the beginning of the answer that the client has; under the `Idempotency-Key` of the answer that broke off.",
            after_rows,
        ))
        .taking(idempotency_key())
        .taking(request_header("Last-Event-ID", "The last `id:` that was received; resumes behind it.", text("Base64")))
        .reading(json_body("What to read. An empty body is an empty object.", "StreamBody", examples()))
        .answering("200", rows)
        .refusing(&[
            ErrorKind::NoCredits,
            ErrorKind::NotAcceptable,
            ErrorKind::Conflict,
            ErrorKind::PreconditionFailed,
            ErrorKind::Unprocessable,
        ])
        .entry()
}

/// A stream as a text, or event by event for readers that take it apart.
fn events() -> Node {
    let event = Fields::closed("One event.")
        .has("data", text("A row as JSON text; of an event `error` or `end`, what it says."))
        .may("event", word("Rows are messages.", &["message", "error", "end"]))
        .may("id", text("The cursor behind this row."))
        .may("retry", count("Milliseconds."));
    any_of("Server-Sent Events.", vec![text("The whole stream."), event.node()])
}

fn estimate_examples() -> Vec<(&'static str, &'static str, Value)> {
    let mut examples = examples();
    examples.push(("stream", "A long stream", json!({ "for": "stream", "limit": 1_000_000 })));
    examples.push(("download", "The whole version", json!({ "for": "download" })));
    examples
}

fn examples() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("first", "The first rows", json!({ "limit": 5 })),
        (
            "filtered",
            "A filter, an order and some columns",
            json!({
                "filters": { "o_orderstatus": ["F", "O"], "o_totalprice": { "gte": 1000, "lt": 200_000 } },
                "columns": ["o_orderkey", "o_totalprice", "o_orderdate"],
                "sortBy": "o_orderdate",
                "sortDirection": "desc",
                "limit": 5
            }),
        ),
        (
            "nested",
            "Conditions in conditions",
            json!({
                "filters": { "$or": [{ "o_orderpriority": "1-URGENT" }, { "$not": { "o_clerk": { "startsWith": "Clerk#0" } } }] },
                "limit": 5
            }),
        ),
    ]
}

fn page_example() -> Value {
    json!({
        "results": [{ "o_orderkey": 1, "o_totalprice": 173_665.47 }],
        "rowsReturned": 1,
        "nextCursor": "eyJsYXN0U29ydFZhbHVlIjpudWxsLCJsYXN0SWQiOiIwIn0=",
        "paginationMode": "offset",
        "totalRows": 150_000
    })
}
