//! The tools: what they take and give (`tools.json`), and what they do. A fault inside a tool is a result that tells the
//! model how to correct itself.
//!
//! Calls the functions of the API. Does not depend on messages of the protocol.

mod aggregate;
mod arguments;
mod describe;
mod estimate;
mod query;
mod rows;
mod sample;
mod search;

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::value::RawValue;

use super::methods::Common;
use super::revision::Revision;
use super::rpc::{self, Failure, Reply};
use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::find_named;
use crate::api::openapi::compact;
pub(super) use arguments::{Arguments, kind_of};
use mercato_base::words::{QUOTED_BYTES_MAX, shortened};
use mercato_catalog::Dataset;
use mercato_ledger::Durable;
use mercato_people::Caller;
use mercato_web::{ApiError, ErrorKind, ValidationErrorBody};

/// Faults of one call that its result names.
const FAULTS_SHOWN_MAX: usize = 10;
/// Names that one fault lists.
const NAMES_SHOWN_MAX: usize = 50;
/// The list of tools, as clients get it.
const LIST: &str = include_str!("tools.json");

pub(super) struct Tool {
    name: &'static str,
    run: fn(&App, &mut Incoming, Arguments) -> Result<Output, ApiError>,
}

/// In the order of the list.
const TOOLS: [Tool; 6] = [
    Tool { name: "search_datasets", run: search::run },
    Tool { name: "describe_dataset", run: describe::run },
    Tool { name: "sample_rows", run: sample::run },
    Tool { name: "estimate_cost", run: estimate::run },
    Tool { name: "query_rows", run: query::run },
    Tool { name: "aggregate_rows", run: aggregate::run },
];

/// The result of a tool.
struct Output {
    /// The structured part, a JSON object.
    structured: Vec<u8>,
    /// A short text about it.
    text: String,
    /// The charge that must be durable before the result is sent.
    durable: Option<Durable>,
    /// Credits charged, and credits left.
    credits: Option<(u64, u64)>,
}

impl Output {
    /// A result that cost nothing.
    fn free(structured: &impl Serialize, text: String) -> Result<Self, ApiError> {
        let structured =
            serde_json::to_vec(structured).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Self { structured, text, durable: None, credits: None })
    }
}

/// All tools, for `tools/list`.
pub(super) fn list() -> Option<&'static RawValue> {
    static COMPACT: OnceLock<Option<Box<RawValue>>> = OnceLock::new();
    COMPACT.get_or_init(|| rpc::raw(compact(LIST))).as_deref()
}

/// The tool of that name.
pub(super) fn named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Runs a tool.
pub(super) fn run(
    app: &App,
    request: &mut Incoming,
    revision: Revision,
    tool: &Tool,
    arguments: Arguments,
) -> Reply {
    let common = Common::of(app, revision);
    let (outcome, durable, credits, cause) = match (tool.run)(app, request, arguments) {
        Ok(Output { structured, text, durable, credits }) => {
            (result(common, &structured, text), durable, credits, None)
        }
        Err(error) => {
            let text = in_words(&error, request.request_id());
            let cause = error.cause().map(ToOwned::to_owned);
            (written(&CallResult::of(common, vec![text], true)), None, None, cause)
        }
    };
    let outcome = outcome.map_err(|error| Failure::internal(error.to_string()));
    Reply { outcome, durable, credits, cause }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult {
    #[serde(flatten)]
    common: Common,
    content: Vec<Text>,
    is_error: bool,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

impl CallResult {
    fn of(common: Common, texts: Vec<String>, is_error: bool) -> Self {
        let content = texts.into_iter().map(|text| Text { r#type: "text", text }).collect();
        Self { common, content, is_error }
    }
}

fn written(result: &CallResult) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(result)
}

/// A text about the result, the result as a text, and the result itself: many clients show models the texts only.
fn result(common: Common, structured: &[u8], text: String) -> serde_json::Result<Vec<u8>> {
    let texts = vec![text, String::from_utf8_lossy(structured).into_owned()];
    let mut out = written(&CallResult::of(common, texts, false))?;
    if out.pop() == Some(b'}') {
        out.extend_from_slice(br#","structuredContent":"#);
        out.extend_from_slice(structured);
        out.push(b'}');
    }
    Ok(out)
}

/// A refusal of the API as a text for a model: the fault and its correction.
fn in_words(error: &ApiError, request_id: &str) -> String {
    if error.kind() == ErrorKind::Internal {
        return format!("The server failed to answer. Quote the request {request_id} to support.");
    }
    let Some(details) = error.details() else { return error.message().to_owned() };
    if details.faults().len() > 1 {
        let shown = details.faults().iter().take(FAULTS_SHOWN_MAX).map(fault);
        let rest = details.faults().len().saturating_sub(FAULTS_SHOWN_MAX);
        let more = (rest > 0).then(|| format!("(and {rest} more)"));
        return shown.chain(more).collect::<Vec<_>>().join("\n");
    }
    sentence(error.message(), details.hint(), details.allowed(), details.reason())
}

fn fault(fault: &ValidationErrorBody) -> String {
    sentence(&fault.message, &fault.hint, &fault.allowed, &fault.reason)
}

fn sentence(message: &str, hint: &str, allowed: &[String], reason: &str) -> String {
    let names: Vec<String> = allowed.iter().take(NAMES_SHOWN_MAX).map(|name| literal(name)).collect();
    let names = names.join(", ");
    let rest = if allowed.len() > NAMES_SHOWN_MAX { ", …" } else { "" };
    let allowed = if names.is_empty() { String::new() } else { format!(" Allowed: {names}{rest}.") };
    let hint = if hint.is_empty() { String::new() } else { format!(" To correct it: {hint}.") };
    format!("{message}.{hint}{allowed} ({reason})")
}

/// A seller's text inside a sentence: in quotes and on one line, so that it cannot pass for the words of this server.
fn literal(text: &str) -> String {
    let (text, rest) = shortened(text, QUOTED_BYTES_MAX);
    serde_json::to_string(&format!("{text}{rest}")).unwrap_or_default()
}

/// The published dataset of the argument `slug`.
fn dataset(app: &App, request: &mut Incoming, slug: &str) -> Result<Arc<Dataset>, ApiError> {
    find_named(app, request, slug).map_err(|error| {
        let Some(details) = error.details() else { return error };
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::BadRequest) {
            return error;
        }
        let meant = details.suggestion().map(|slug| format!("did you mean `{slug}`? ")).unwrap_or_default();
        let reason = details.reason().to_owned();
        error.with_reason(&reason, format!("{meant}search_datasets finds the slugs that there are"))
    })
}

/// The caller that pays, or the refusal of a call without an accepted key.
fn caller(app: &App, request: &Incoming) -> Result<Caller, ApiError> {
    if let Ok(caller) = request.context.caller() {
        return Ok(caller.clone());
    }
    let error = from_books(request.context.key_refusal());
    let reason = error.details().map(|details| details.reason().to_owned()).unwrap_or_default();
    let page = app.documents.link("/account/keys");
    let hint = format!(
        "this cannot be done by another call: ask the user to put an API key into the settings of this MCP server, as the \
         header `X-Api-Key: mk_…` or `Authorization: Bearer mk_…`; keys are made at {page}"
    );
    Err(error.with_reason(&reason, hint))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn lists_exactly_tools_of_table_within_bounds() {
        let listed: Value = serde_json::from_str(list().unwrap().get()).unwrap();
        let names: Vec<&str> =
            listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, TOOLS.map(|tool| tool.name));
        // Models read the list before every conversation.
        assert!(list().unwrap().get().len() < 13_500, "{}", list().unwrap().get().len());
        for tool in listed.as_array().unwrap() {
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{}", tool["name"]);
                assert_eq!(tool[schema]["additionalProperties"], false, "{}", tool["name"]);
            }
            assert!(tool["annotations"]["readOnlyHint"].is_boolean());
        }
    }

    #[test]
    fn lists_bounds_and_defaults_of_limits() {
        use crate::limits::{api, mcp};
        use mercato_search::limits as search;
        let listed: Value = serde_json::from_str(list().unwrap().get()).unwrap();
        let property = |tool: usize, name: &str| listed[tool]["inputSchema"]["properties"][name].clone();
        for (tool, name, maximum, default) in [
            (0, "limit", search::RESULTS_MAX, search::RESULTS_DEFAULT),
            (0, "offset", mcp::OFFSET_MAX, 0),
            (1, "columnOffset", mcp::OFFSET_MAX, 0),
            (2, "limit", api::SAMPLE_ROW_COUNT_MAX.into(), mcp::SAMPLE_ROWS_DEFAULT),
            (3, "limit", api::QUERY_LIMIT_MAX, mcp::QUERY_ROWS_DEFAULT),
            (4, "limit", api::QUERY_LIMIT_MAX, mcp::QUERY_ROWS_DEFAULT),
            (5, "limit", api::QUERY_LIMIT_MAX, mcp::QUERY_ROWS_DEFAULT),
        ] {
            let property = property(tool, name);
            assert_eq!(
                (&property["maximum"], &property["default"]),
                (&maximum.into(), &default.into()),
                "{name}"
            );
        }
        for tool in [4, 5] {
            assert_eq!(property(tool, "maxCredits")["default"], mcp::CREDITS_DEFAULT);
        }
        assert_eq!(property(5, "groupBy")["maxItems"], mercato_query::GROUP_COLUMNS_MAX);
        assert_eq!(property(5, "aggregates")["maxProperties"], mercato_query::AGGREGATES_MAX);
        assert_eq!(property(0, "tags")["maxItems"], mcp::TAGS_MAX);
        assert_eq!(property(0, "query")["maxLength"], search::QUESTION_CHARS_MAX);
        assert!(property(4, "filters")["description"].as_str().unwrap().contains("between contains"));
    }

    #[test]
    fn quotes_texts_of_sellers() {
        assert_eq!(literal("a\n\"Buy\" now"), r#""a\n\"Buy\" now""#);
        assert!(literal(&"x".repeat(1_000)).len() < 110);
    }

    #[test]
    fn tells_model_what_to_correct() {
        let fault = |name: &str| {
            ValidationErrorBody::parameter("UNKNOWN", name, format!("{name}: unknown"), "drop it")
        };
        let one = ApiError::bad_request(vec![fault("a")]);
        assert_eq!(in_words(&one, "r"), "a: unknown. To correct it: drop it. (UNKNOWN)");
        let many = ApiError::bad_request((0..20).map(|_| fault("a")).collect());
        let text_of_many = in_words(&many, "r");
        assert_eq!((text_of_many.lines().count(), text_of_many.ends_with("(and 10 more)")), (11, true));
        let internal = ApiError::internal("/data/secret is broken");
        assert!(in_words(&internal, "r-1").contains("r-1") && !in_words(&internal, "r-1").contains("secret"));
        let names = ApiError::bad_request(vec![fault("a")]).with_allowed(vec!["b".to_owned(); 60]);
        assert!(in_words(&names, "r").contains(r#""b", "b""#) && in_words(&names, "r").contains("…"));
    }
}
