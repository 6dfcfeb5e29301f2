//! Headers of answers, each described once.

use utoipa::openapi::{Header, HeaderBuilder, Ref, RefOr};

use super::parts::{Node, count, text, text_like, word};

/// On every answer.
pub(super) const EVERYWHERE: [&str; 3] = ["X-Request-Id", "RateLimit", "RateLimit-Policy"];
/// On answers that a client can hold.
pub(super) const HELD: [&str; 3] = ["ETag", "Last-Modified", "Cache-Control"];
/// On answers that can cost credits.
pub(super) const CREDITS: [&str; 2] = ["X-Credits-Charged", "X-Credits-Remaining"];
/// On answers that a warning of them may come with.
pub(super) const WARNING: &str = "X-Credits-Warning";
/// On pages that are no JSON: what JSON says in fields.
pub(super) const PAGE: [&str; 5] =
    ["X-Rows-Returned", "X-Next-Cursor", "X-Pagination-Mode", "X-Total-Rows", "X-Warnings"];

/// A header among the components.
pub(super) fn named(name: &str) -> Ref {
    Ref::new(format!("#/components/headers/{name}"))
}

/// All headers, by name.
pub(super) fn all() -> Vec<(&'static str, RefOr<Header>)> {
    let mut headers = general();
    headers.extend(of_rows());
    headers
}

fn header(name: &'static str, schema: Node, description: &str) -> (&'static str, RefOr<Header>) {
    (name, HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build().into())
}

fn general() -> Vec<(&'static str, RefOr<Header>)> {
    let uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
    let example = "6f0c1c7e-3a52-4c55-9a1c-0d6f3f1f2b11";
    vec![
        header(
            "X-Request-Id",
            text_like("UUID", uuid, example),
            "The request; the same as `meta.requestId`.",
        ),
        header(
            "RateLimit-Policy",
            text("Quoted name, quota `q` and window `w` in seconds."),
            "The limits in force, such as `\"minute\";q=120;w=60, \"day\";q=5000;w=86400`. Absent when all are lifted.",
        ),
        header(
            "RateLimit",
            text("Quoted name, remaining requests `r` and seconds `t` until more are allowed."),
            "Where the caller stands, such as `\"minute\";r=118;t=60, \"day\";r=4998;t=41000`. Absent when all limits are lifted.",
        ),
        header("Retry-After", count("Seconds"), "Whole seconds until another try will succeed."),
        header("Allow", text("Names of methods"), "The methods of the path."),
        header("WWW-Authenticate", text("Challenge"), "How to authenticate."),
        header(
            "ETag",
            text_like("Strong tag", "^\"[^\"]+\"$", "\"9f3c2b\""),
            "For `If-None-Match` and `If-Range`.",
        ),
        header("Last-Modified", text("HTTP date"), "For `If-Modified-Since`."),
        header("Cache-Control", text("Directives"), "How long caches may keep the answer."),
        header("Link", text("RFC 8288"), "The relations `first`, `prev` and `next` of a list that goes on."),
    ]
}

fn of_rows() -> Vec<(&'static str, RefOr<Header>)> {
    vec![
        header("X-Credits-Charged", count("Credits"), "What this answer cost."),
        header("X-Credits-Remaining", count("Credits"), "What is left in the account."),
        header(
            "X-Credits-Warning",
            text("Warnings separated by commas, each a word with values behind semicolons."),
            "Where the answer leaves the key near a cap, or a prepaid account with few credits, such as \
             `day-cap; spent=850; cap=1000; resetsAt=2026-11-23T00:00:00Z, low-balance; remaining=312`.",
        ),
        header(
            "X-Credits-Reserved",
            count("Credits"),
            "What is set aside for this stream; what it does not use comes back.",
        ),
        header("Accept-Ranges", word("Ranges", &["bytes", "none"]), "Whether parts can be asked for."),
        header("Content-Disposition", text("RFC 6266"), "The name of the file."),
        header("Content-Encoding", word("Coding", &["gzip", "zstd"]), "How the body is encoded, if it is."),
        header("Content-Range", text("RFC 9110"), "Which bytes these are, and how many the file has."),
        header("Repr-Digest", text("RFC 9530"), "SHA-256 of the whole file, on small files."),
        header("X-Dataset-Version", text("Semantic version"), "The version that was read."),
        header("Trailer", text("Names of fields"), "The fields that stand behind the last chunk."),
        header("X-Rows-Returned", count("Rows"), "Rows in this answer."),
        header(
            "X-Next-Cursor",
            text("Base64"),
            "Where the next page begins; absent when no further row exists.",
        ),
        header(
            "X-Pagination-Mode",
            word("How the page was found", &["cursor", "offset"]),
            "How the page was found.",
        ),
        header(
            "X-Warnings",
            text("Strings of a structured field (RFC 9651)"),
            "Sentences about the answer, where there is no `meta.warnings`; absent when there are none.",
        ),
        header(
            "X-Total-Rows",
            count("Rows"),
            "Rows that match; absent where no index knows it and `count` does not ask for it.",
        ),
        header(
            "Idempotent-Replayed",
            word("Always true", &["true"]),
            "This `Idempotency-Key` was charged before; this answer cost nothing more.",
        ),
    ]
}
