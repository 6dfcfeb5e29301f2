//! Refusals as the document describes them: one answer for each status of the table in `http/errors`.
//!
//! Knows what a status means and which headers go with it; knows no route.

use serde_json::{Value, json};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use super::headers;
use super::parts::{
    Fields, Node, any_of, count, exactly, list, moment, named, null, text, text_or_null, word,
};
use crate::http::errors::{ErrorKind, reason_phrase};

/// What a status says, beside its code.
struct Meaning {
    kind: ErrorKind,
    name: &'static str,
    description: &'static str,
    headers: &'static [&'static str],
    message: &'static str,
    reason: &'static str,
    hint: &'static str,
}

const fn meaning(
    kind: ErrorKind,
    name: &'static str,
    description: &'static str,
    message: &'static str,
) -> Meaning {
    Meaning { kind, name, description, headers: &[], message, reason: "", hint: "" }
}

impl Meaning {
    const fn because(mut self, reason: &'static str, hint: &'static str) -> Self {
        self.reason = reason;
        self.hint = hint;
        self
    }

    const fn with(mut self, headers: &'static [&'static str]) -> Self {
        self.headers = headers;
        self
    }
}

const MEANINGS: &[Meaning] = &[
    meaning(
        ErrorKind::BadRequest,
        "BadRequest",
        "A parameter, a slug or a field of the body is wrong. `details.errors` has the faults.",
        "limit: expected a whole number from 1 to 100, found 0",
    )
    .because("OUT_OF_RANGE", "send a whole number from 1 to 100"),
    meaning(
        ErrorKind::Unauthorized,
        "Unauthorized",
        "The API key is missing, malformed, unknown, revoked or expired.",
        "this path needs an API key in the header X-Api-Key",
    )
    .because("API_KEY_MISSING", "send a valid key as `X-Api-Key: mk_…`")
    .with(&["WWW-Authenticate"]),
    meaning(
        ErrorKind::NoCredits,
        "NoCredits",
        "The account cannot pay, or the key may not spend that or read the dataset. Nothing was charged. `details` has `required`, \
         `available` and `shortfall`; where a limit of the key stands in the way, `cap` and what goes with it.",
        "this costs 100 credits and the account has 7 credits",
    )
    .because("INSUFFICIENT_CREDITS", "lower `limit`, narrow the filters, or buy credits"),
    meaning(
        ErrorKind::NotFound,
        "NotFound",
        "No such path, or no such published dataset.",
        "no dataset `sales` is published",
    )
    .because("DATASET_NOT_FOUND", "list the datasets with GET /api/v1/datasets"),
    meaning(
        ErrorKind::MethodNotAllowed,
        "MethodNotAllowed",
        "The path does not answer that method.",
        "this path does not answer that method",
    )
    .because("METHOD_NOT_ALLOWED", "use one of GET, HEAD, OPTIONS")
    .with(&["Allow"]),
    meaning(
        ErrorKind::NotAcceptable,
        "NotAcceptable",
        "None of the accepted media types is offered; `details.allowed` lists them.",
        "none of the accepted media types is offered",
    )
    .because("NOT_ACCEPTABLE", "accept one of the listed media types"),
    meaning(
        ErrorKind::LengthRequired,
        "LengthRequired",
        "The body has neither a length nor chunks.",
        "the request has neither Content-Length nor Transfer-Encoding",
    ),
    meaning(
        ErrorKind::PreconditionFailed,
        "PreconditionFailed",
        "The content is not the one that `If-Match` or `If-Unmodified-Since` names. Nothing was charged.",
        "there is another content now than If-Match or If-Unmodified-Since names",
    )
    .because("PRECONDITION_FAILED", "ask anew without the condition, or with the ETag of this answer"),
    meaning(
        ErrorKind::PayloadTooLarge,
        "PayloadTooLarge",
        "The body is larger than 1 MiB.",
        "the body is larger than 1048576 bytes",
    )
    .because("BODY_TOO_LARGE", "split long IN lists over several requests"),
    meaning(
        ErrorKind::UnsupportedMediaType,
        "UnsupportedMediaType",
        "The body is not JSON in UTF-8, or it is compressed.",
        "a body of type `text/plain` is not read here",
    )
    .because("MEDIA_TYPE", "send `Content-Type: application/json`"),
    meaning(
        ErrorKind::RangeNotSatisfiable,
        "RangeNotSatisfiable",
        "No byte of the file is in the range, or the range cannot be read.",
        "the file has 4711 bytes and no such part",
    )
    .because("RANGE_NOT_SATISFIABLE", "ask for one range of bytes inside the file")
    .with(&["Content-Range"]),
    meaning(
        ErrorKind::Conflict,
        "Conflict",
        "The request of this `Idempotency-Key` is still being answered.",
        "the request of this Idempotency-Key is still being answered",
    )
    .because("IDEMPOTENCY_KEY_IN_USE", "wait until that answer has ended, then try again")
    .with(&["Retry-After"]),
    meaning(
        ErrorKind::Unprocessable,
        "Unprocessable",
        "The `Idempotency-Key` was used with another request within 24 hours, or the version that it paid for is gone.",
        "this Idempotency-Key was used with another request within the last 24 hours",
    )
    .because(
        "IDEMPOTENCY_KEY_REUSED",
        "use a new key for each distinct request, and for the same one once the version that it read is gone",
    ),
    meaning(
        ErrorKind::RateLimited,
        "RateLimited",
        "Too many requests within a minute or a UTC day; `Retry-After` says when one will succeed.",
        "more than 120 requests within a minute; a request will succeed in 12 s",
    )
    .because("MINUTE_RATE_EXCEEDED", "wait for Retry-After seconds before the next request")
    .with(&["Retry-After"]),
    meaning(
        ErrorKind::RequestTimeout,
        "RequestTimeout",
        "The request did not arrive in time.",
        "the request did not arrive in time",
    ),
    meaning(
        ErrorKind::TargetTooLong,
        "TargetTooLong",
        "The request line is longer than 64 KiB.",
        "the request line is longer than 65536 bytes",
    )
    .because("REQUEST_LINE_TOO_LONG", "send a query as the body of a POST"),
    meaning(
        ErrorKind::ExpectationFailed,
        "ExpectationFailed",
        "`Expect` asks for something other than `100-continue`.",
        "the expectation cannot be met",
    ),
    meaning(
        ErrorKind::NotImplemented,
        "NotImplemented",
        "A transfer coding or a feature of HTTP that is not served.",
        "this is not served",
    ),
    meaning(
        ErrorKind::VersionUnsupported,
        "VersionUnsupported",
        "A version of HTTP other than 1.0 and 1.1.",
        "this version of HTTP is not served",
    ),
    meaning(
        ErrorKind::HeadersTooLarge,
        "HeadersTooLarge",
        "The head of the request is too large.",
        "the head of the request is too large",
    ),
    meaning(
        ErrorKind::Internal,
        "Internal",
        "A fault of the server. Nothing was charged.",
        "the server failed to answer; quote meta.requestId to support",
    ),
    meaning(
        ErrorKind::Unavailable,
        "Unavailable",
        "The server is busy, or this dataset is out of service.",
        "all workers are busy",
    )
    .because("BUSY", "try again after Retry-After seconds")
    .with(&["Retry-After"]),
];

/// A reference to the answer of a kind, and its status.
pub(super) fn answer(kind: ErrorKind) -> (String, Ref) {
    let name =
        MEANINGS.iter().find(|meaning| meaning.kind == kind).map_or("Internal", |meaning| meaning.name);
    (kind.status().to_string(), Ref::from_response_name(name))
}

/// All refusals, by name.
pub(super) fn all() -> Vec<(&'static str, RefOr<Response>)> {
    MEANINGS.iter().map(|meaning| (meaning.name, response(meaning).into())).collect()
}

/// The body of a refusal.
pub(super) fn body(kind: ErrorKind) -> Node {
    let (_, code) = kind.wire();
    let details = any_of("Why, where, and what to do.", vec![named("ErrorDetails"), null("Nothing to add.")]);
    let error = Fields::closed("What went wrong.")
        .has("code", word("For programs.", &[code]))
        .has("message", text("For people."))
        .has("details", details);
    Fields::closed("A refusal.")
        .has("success", exactly(false))
        .has("data", null("A refusal has no data."))
        .has("error", error.node())
        .has("meta", named("Meta"))
        .node()
}

fn response(meaning: &Meaning) -> Response {
    let (status, code) = meaning.kind.wire();
    let content =
        ContentBuilder::new().schema(Some(body(meaning.kind))).example(Some(example(meaning, code))).build();
    let description = format!("{}. {}", reason_phrase(status), meaning.description);
    let response = ResponseBuilder::new().description(description).content("application/json", content);
    let names = headers::EVERYWHERE.iter().chain(meaning.headers);
    names.fold(response, |response, name| response.header_ref(*name, headers::named(name))).build()
}

fn example(meaning: &Meaning, code: &str) -> Value {
    let details = if meaning.reason.is_empty() {
        Value::Null
    } else {
        json!({ "reason": meaning.reason, "hint": meaning.hint, "errors": [] })
    };
    json!({
        "success": false,
        "data": null,
        "error": { "code": code, "message": meaning.message, "details": details },
        "meta": {
            "requestId": "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11",
            "timestamp": "2026-11-21T02:31:37.123Z",
            "durationMs": 0
        }
    })
}

/// The shape of `error.details`.
pub(super) fn details() -> Node {
    with_fault_fields(Fields::closed("The first fault spread out, facts of the case, then the faults."))
        .may("limit", count("The limit that was exceeded."))
        .may("required", count("Credits that the request needs."))
        .may("available", count("Credits that the account has."))
        .may("shortfall", count("Credits that are missing."))
        .may("cap", any_of("The limit of the key.", vec![count("Credits."), word("It is not for the dataset.", &["datasets"])]))
        .may("spent", count("Credits that the key has spent of the cap, with those that its running streams hold."))
        .may("period", word("Over which UTC time the cap counts.", &["day", "month"]))
        .may("resetsAt", moment("When the cap begins anew."))
        .may("allowance", count("Free queries of a month."))
        .may("resetAt", moment("When the limit or the free plan begins anew."))
        .may("retryAfterSeconds", count("As the header `Retry-After`."))
        .may("scope", word("Whose limit it is.", &["key", "address"]))
        .has("errors", list("One object for each fault, of at most 100 in at most 64 KiB; empty where there is nothing to point at.", fault()))
        .node()
}

fn fault() -> Node {
    with_fault_fields(Fields::closed("One fault.")).has("message", text("What is wrong.")).node()
}

fn with_fault_fields(fields: Fields) -> Fields {
    fields
        .has("reason", text("A stable word for programs, such as `UNKNOWN_COLUMN`."))
        .may("pointer", text("RFC 6901 into the body, or the name of the parameter or header."))
        .has("hint", text("What to do instead."))
        .may("allowed", list("What would have been accepted.", text("A name.")))
        .may("suggestion", text_or_null("The nearest accepted name."))
}
