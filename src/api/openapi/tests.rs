//! Compares the document with the tables of routes and errors.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::*;
use crate::api::route::{Guard, Route};
use crate::api::routes::PUBLIC;
use mercato_web::{ErrorKind, reason_phrase};

/// Every refusal.
const KINDS: [ErrorKind; 23] = [
    ErrorKind::BadRequest,
    ErrorKind::Unauthorized,
    ErrorKind::NoCredits,
    ErrorKind::Forbidden,
    ErrorKind::NotFound,
    ErrorKind::MethodNotAllowed,
    ErrorKind::NotAcceptable,
    ErrorKind::RequestTimeout,
    ErrorKind::Conflict,
    ErrorKind::PreconditionFailed,
    ErrorKind::LengthRequired,
    ErrorKind::PayloadTooLarge,
    ErrorKind::TargetTooLong,
    ErrorKind::UnsupportedMediaType,
    ErrorKind::RangeNotSatisfiable,
    ErrorKind::ExpectationFailed,
    ErrorKind::Unprocessable,
    ErrorKind::RateLimited,
    ErrorKind::HeadersTooLarge,
    ErrorKind::Internal,
    ErrorKind::NotImplemented,
    ErrorKind::Unavailable,
    ErrorKind::VersionUnsupported,
];

/// The response of the document that describes a refusal. A new kind stands in `KINDS` too.
fn component(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::BadRequest => "BadRequest",
        ErrorKind::Unauthorized => "Unauthorized",
        ErrorKind::NoCredits => "NoCredits",
        ErrorKind::Forbidden => "Forbidden",
        ErrorKind::NotFound => "NotFound",
        ErrorKind::MethodNotAllowed => "MethodNotAllowed",
        ErrorKind::NotAcceptable => "NotAcceptable",
        ErrorKind::RequestTimeout => "RequestTimeout",
        ErrorKind::Conflict => "Conflict",
        ErrorKind::PreconditionFailed => "PreconditionFailed",
        ErrorKind::LengthRequired => "LengthRequired",
        ErrorKind::PayloadTooLarge => "PayloadTooLarge",
        ErrorKind::TargetTooLong => "TargetTooLong",
        ErrorKind::UnsupportedMediaType => "UnsupportedMediaType",
        ErrorKind::RangeNotSatisfiable => "RangeNotSatisfiable",
        ErrorKind::ExpectationFailed => "ExpectationFailed",
        ErrorKind::Unprocessable => "Unprocessable",
        ErrorKind::RateLimited => "RateLimited",
        ErrorKind::HeadersTooLarge => "HeadersTooLarge",
        ErrorKind::Internal => "Internal",
        ErrorKind::NotImplemented => "NotImplemented",
        ErrorKind::Unavailable => "Unavailable",
        ErrorKind::VersionUnsupported => "VersionUnsupported",
    }
}

/// Statuses of refusals that any request can get.
const ANYWHERE: [u16; 9] = [400, 408, 414, 417, 431, 500, 501, 503, 505];
/// Refusals of single operations that follow from nothing else in their description.
const OF_THEIR_OWN: [(&str, u16); 9] = [
    ("estimateQuery", 402),
    ("estimateQuery", 403),
    ("estimateQuery", 422),
    ("queryDataset", 403),
    ("queryDatasetByUrl", 403),
    ("streamDataset", 403),
    ("getUsage", 404),
    ("getRoot", 404),
    ("getSitemap", 404),
];

fn json() -> Value {
    serde_json::from_str(&document(None)).unwrap()
}

fn routes() -> impl Iterator<Item = &'static Route> {
    PUBLIC.iter().flat_map(|table| table.iter())
}

fn method_of(route: &Route) -> String {
    route.method.as_str().to_ascii_lowercase()
}

fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    members(&document["paths"]).values().flat_map(|item| members(item).values())
}

fn takes(operation: &Value, place: &str, name: &str) -> bool {
    let parameters = operation["parameters"].as_array();
    let is_meant = |parameter: &Value| parameter["in"] == place && parameter["name"] == name;
    parameters.is_some_and(|parameters| parameters.iter().any(is_meant))
}

#[test]
fn describes_exactly_operations_of_route_table() {
    let routed: BTreeSet<(String, String)> =
        routes().map(|route| (route.pattern.to_owned(), method_of(route))).collect();
    let mut described = BTreeSet::new();
    for (path, item) in members(&json()["paths"]) {
        described.extend(members(item).keys().map(|method| (path.clone(), method.clone())));
    }
    let missing: Vec<_> = routed.difference(&described).collect();
    let surplus: Vec<_> = described.difference(&routed).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "not described: {missing:?}; not routed: {surplus:?}");
}

#[test]
fn requires_key_exactly_where_route_does() {
    let document = json();
    for route in routes() {
        let operation = &document["paths"][route.pattern][method_of(route)];
        let security = operation["security"].as_array().unwrap();
        assert_eq!(!security.is_empty(), route.guard == Guard::Key, "{}", route.pattern);
    }
}

#[test]
fn lists_refusals_of_every_operation() {
    let document = json();
    for route in routes() {
        let operation = &document["paths"][route.pattern][method_of(route)];
        let id = operation["operationId"].as_str().unwrap();
        let takes_header = |name| takes(operation, "header", name);
        let forms = operation["responses"]["200"]["content"].as_object().map_or(0, Map::len);
        let is_paid = takes_header("Idempotency-Key");
        let parts: [(bool, &[u16]); 9] = [
            (true, &ANYWHERE),
            (route.guard != Guard::Uncounted, &[429]),
            (route.guard == Guard::Key, &[401]),
            (route.pattern.contains('{'), &[404]),
            (operation.get("requestBody").is_some(), &[411, 413, 415]),
            (forms > 1 && !route.pattern.starts_with("/docs/"), &[406]),
            (is_paid, &[402, 409, 422]),
            (takes_header("If-Match"), &[412]),
            (takes_header("Range"), &[416]),
        ];
        let given = parts.into_iter().filter(|(applies, _)| *applies).flat_map(|(_, statuses)| statuses);
        let own = OF_THEIR_OWN.iter().filter(|(owner, _)| *owner == id).map(|(_, status)| status);
        let expected: BTreeSet<u16> = given.chain(own).copied().collect();
        let statuses = members(&operation["responses"]).keys().map(|status| status.parse::<u16>().unwrap());
        let (described, others): (BTreeSet<u16>, BTreeSet<u16>) = statuses.partition(|status| *status >= 400);
        assert_eq!(described, expected, "{id}");
        assert_eq!(others.contains(&304), takes_header("If-None-Match"), "{id}");
        assert_eq!(others.contains(&206), takes_header("Range"), "{id}");
    }
}

#[test]
fn describes_refusals_like_error_table() {
    let document = json();
    let described = &document["components"]["responses"];
    let names: BTreeSet<&str> = members(described).keys().map(String::as_str).collect();
    assert_eq!(names, KINDS.into_iter().map(component).collect::<BTreeSet<_>>());
    for kind in KINDS {
        let name = component(kind);
        let (status, code) = kind.wire();
        let text = described[name]["description"].as_str().unwrap();
        assert!(text.starts_with(&format!("{}. ", reason_phrase(status))), "{name}: {text}");
        let content = &described[name]["content"]["application/json"];
        let codes = &content["schema"]["properties"]["error"]["properties"]["code"]["enum"];
        assert_eq!(*codes, serde_json::json!([code]), "{name}");
        assert_eq!(content["example"]["error"]["code"], code, "{name}");
        let reference = format!("#/components/responses/{name}");
        for operation in operations(&document) {
            for (described, answer) in members(&operation["responses"]) {
                let is_this = answer["$ref"] == reference;
                assert!(!is_this || *described == status.to_string(), "{name} stands at {described}");
            }
        }
    }
}

#[test]
fn resolves_references_and_uses_every_component() {
    let document = json();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for group in ["schemas", "responses", "headers"] {
        for name in members(&document["components"][group]).keys() {
            let reference = format!("#/components/{group}/{name}");
            // No operation has this response: all other methods of a path get it.
            let general = matches!(name.as_str(), "MethodNotAllowed" | "Allow");
            assert!(general || references.contains(reference.as_str()), "{reference} is not used");
        }
    }
}

#[test]
fn gives_operations_unique_names_and_declared_tags() {
    let document = json();
    let tags: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let (mut names, mut used) = (BTreeSet::new(), BTreeSet::new());
    for operation in operations(&document) {
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name), "{name} is used twice");
        used.insert(operation["tags"][0].as_str().unwrap());
        assert!(operation["summary"].is_string(), "{name}");
    }
    assert_eq!(used, tags);
}

#[test]
fn describes_exactly_path_parameters_of_pattern() {
    for (path, item) in members(&json()["paths"]) {
        for operation in members(item).values() {
            let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let named: Vec<&str> = named.collect();
            assert!(named.iter().all(|name| takes(operation, "path", name)), "{path}");
            let parameters = operation["parameters"].as_array();
            let described = parameters.into_iter().flatten().filter(|parameter| parameter["in"] == "path");
            assert_eq!(described.count(), named.len(), "{path}");
        }
    }
}

#[test]
fn states_version_and_licence_of_package() {
    let info = &json()["info"];
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["license"]["identifier"], env!("CARGO_PKG_LICENSE"));
}

#[test]
fn names_public_url_as_server() {
    assert_eq!(json()["servers"], serde_json::json!([{ "url": "/" }]));
    let public: Value = serde_json::from_str(&document(Some("https://data.example.org/\"m"))).unwrap();
    assert_eq!(public["servers"], serde_json::json!([{ "url": "https://data.example.org/\"m" }]));
    assert_eq!(public["paths"], json()["paths"]);
}

#[test]
fn keeps_white_space_of_strings_in_compact_json() {
    assert_eq!(
        compact("{ \"a \\\" b\" : [ 1 ,\n\t2 ] ,\r\n\"\\\\\" : \" \" }"),
        r#"{"a \" b":[1,2],"\\":" "}"#
    );
    let source: Value = serde_json::from_str(SOURCE).unwrap();
    assert_eq!(json(), source);
    assert_eq!(document(None).lines().count(), 1);
}

fn collect_references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}
