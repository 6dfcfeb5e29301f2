//! The OpenAPI document beside the server: every answer that a test of the API receives is checked against it, and the inputs
//! and refusals of handlers are compared with it.

mod answers;
mod bounds;
mod inputs;
mod schema;

pub use schema::faults as schema_faults;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, publish_files_and, wait_until};

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../src/api/openapi/openapi.json")).unwrap());

/// Headers that any answer may have and that the document does not repeat.
const UNDESCRIBED: [&str; 15] = [
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers",
    "Cache-Control",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Security-Policy",
    "Content-Type",
    "Date",
    "Referrer-Policy",
    "Server",
    "Transfer-Encoding",
    "Vary",
    "X-Accel-Buffering",
    "X-Content-Type-Options",
];

/// Follows a reference.
fn resolved(node: &'static Value) -> &'static Value {
    match node.get("$ref").and_then(Value::as_str) {
        Some(reference) => DOCUMENT.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
        None => node,
    }
}

/// One operation of the document.
#[derive(Clone, Copy)]
struct Operation {
    method: &'static str,
    path: &'static str,
    node: &'static Value,
}

impl Operation {
    fn id(&self) -> &'static str {
        self.node["operationId"].as_str().unwrap()
    }

    /// The parameters that stand in `place`: `query`, `header` or `path`.
    fn parameters(&self, place: &'static str) -> impl Iterator<Item = &'static Value> {
        let all = self.node["parameters"].as_array().into_iter().flatten();
        all.filter(move |parameter| parameter["in"] == place)
    }

    fn names(&self, place: &'static str) -> BTreeSet<&'static str> {
        self.parameters(place).map(|parameter| parameter["name"].as_str().unwrap()).collect()
    }

    /// The schema of the body.
    fn body(&self) -> Option<&'static Value> {
        Some(resolved(self.node.get("requestBody")?.pointer("/content/application~1json/schema").unwrap()))
    }

    /// The response of the document with this status.
    fn response(&self, status: u16) -> Option<&'static Value> {
        self.node["responses"].get(status.to_string()).map(resolved)
    }

    /// A request that succeeds, with further parameters such as `limit=1`.
    fn ask(&self, key: &str, parameters: &str) -> Ask {
        let path = self.path.replace("{slug}", "cities").replace("{file}", "index.css");
        let question =
            if self.names("query").contains("q") && !parameters.starts_with("q=") { "q=cities" } else { "" };
        let target = format!("{path}?{question}&{parameters}");
        let target = target.replace("?&", "?");
        let target = target.trim_end_matches(['?', '&']);
        let ask = if self.method == "post" { Ask::post(target, "{}") } else { Ask::get(target) };
        ask.header("X-Api-Key", key)
    }
}

fn operations() -> impl Iterator<Item = Operation> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, node)| Operation { method, path, node })
    })
}

/// The operation that a request means, if its path and method have one.
fn meant(method: &str, target: &str) -> Option<Operation> {
    let path = target.split('?').next()?;
    let method = if method == "HEAD" { "get".to_owned() } else { method.to_ascii_lowercase() };
    let fits = |pattern: &str| {
        let (pattern, path) = (pattern.split('/'), path.split('/'));
        pattern.clone().count() == path.clone().count()
            && pattern
                .zip(path)
                .all(|(part, segment)| part == segment || (part.starts_with('{') && !segment.is_empty()))
    };
    // Words of a path stand before parameters.
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let path = paths.keys().filter(|path| fits(path)).min_by_key(|path| path.matches('{').count())?;
    operations().find(|operation| operation.path == path && operation.method == method)
}

/// Checks that the document allows an answer: its status, its headers where it is a success, its media type, and its body
/// where that is JSON.
#[track_caller]
pub fn check_answer(method: &str, target: &str, answer: &Answer) {
    let Some(operation) = meant(method, target) else { return };
    let status = answer.status;
    let shown = format!("{method} {target}: {status}");
    let described = operation.response(status).unwrap_or_else(|| panic!("{shown} is not described"));
    if status < 400 {
        check_headers(operation, described, answer, &shown);
    }
    if answer.body.is_empty() {
        return;
    }
    let media_type = answer.header("Content-Type").unwrap().split(';').next().unwrap();
    // A browser on a path outside the API gets a page.
    if media_type == "text/html" && status >= 400 && !target.starts_with("/api/") {
        return;
    }
    let content = described["content"].get(media_type).unwrap_or_else(|| panic!("{shown} is {media_type}"));
    let is_json = media_type.ends_with("json") && media_type != "application/x-ndjson";
    if is_json && status != 206 && answer.header("Content-Encoding").is_none() {
        let faults = schema::faults(&content["schema"], &answer.json());
        assert!(faults.is_empty(), "{shown}: {faults:#?}\n{}", answer.text());
    }
}

/// A 304 has headers of the response that the client holds.
#[track_caller]
fn check_headers(operation: Operation, described: &Value, answer: &Answer, shown: &str) {
    let held = operation.response(200).filter(|_| answer.status == 304);
    for (name, _) in &answer.headers {
        let mut responses = [Some(described), held].into_iter().flatten();
        let is_described = responses.any(|response| response["headers"].get(name).is_some());
        assert!(is_described || UNDESCRIBED.contains(&name.as_str()), "{shown} has the header {name}");
    }
}

/// A site on which every operation has something to answer, and a key with credits.
fn busy_site() -> (Site, String) {
    let site = Site::empty(&["--requests-per-minute", "100000", "--requests-per-day", "100000"]);
    let texts = [("methodology.md", "# How\n"), ("changelog.md", "## [1.0.0] - 2026-01-01\n- first\n")];
    publish_files_and(
        &site.data(),
        &MANIFEST.replace("[title]", "related = [\"towns\"]\n[title]"),
        "1.0.0",
        &city_columns(6),
        &texts,
        Some(b"PAR1 any bytes"),
    );
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    wait_until("both are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 2);
    wait_until("both are found", || {
        let found = site.get("/api/v1/datasets/search?q=cities");
        found.status == 200 && found.json()["data"]["total"] == 2
    });
    let key = site.paying_key(1_000_000);
    (site, key)
}
