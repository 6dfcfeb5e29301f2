//! Inputs of handlers against the document: parameters, fields of bodies, headers, words and numbers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DOCUMENT, Operation, busy_site, operations, resolved};
use crate::harness::{Answer, Ask, Site};

/// The names that a refusal of an unknown one lists.
#[track_caller]
fn allowed(answer: &Answer, unknown: &str) -> BTreeSet<String> {
    let json = answer.json();
    let faults = json["error"]["details"]["errors"].as_array().unwrap();
    let fault = faults.iter().find(|fault| fault["pointer"].as_str().unwrap().ends_with(unknown)).unwrap();
    let names = fault.get("allowed").and_then(Value::as_array).into_iter().flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn owned(names: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Names that a handler reads and that its list of known names leaves out.
const UNTOLD: [(&str, &str); 3] =
    [("queryDatasetByUrl", "format"), ("estimateQuery", "for"), ("estimateQuery", "facets")];

/// The described names that a handler lists.
fn told(operation: Operation, described: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    owned(described.into_iter().filter(|name| !UNTOLD.contains(&(operation.id(), name))))
}

#[test]
fn describes_every_query_parameter_of_handlers() {
    let (site, key) = busy_site();
    for operation in operations() {
        let answer = site.send(&operation.ask(&key, "zzz=1"));
        assert_eq!(answer.status, 400, "{}", operation.id());
        assert_eq!(allowed(&answer, "zzz"), told(operation, operation.names("query")), "{}", operation.id());
    }
}

#[test]
fn describes_every_body_field_of_handlers() {
    let (site, key) = busy_site();
    for operation in operations() {
        let Some(body) = operation.body() else { continue };
        let answer = site.send(&operation.ask(&key, "").body(br#"{"zzz": 1}"#));
        let described = body["properties"].as_object().unwrap().keys().map(String::as_str);
        assert_eq!(allowed(&answer, "zzz"), told(operation, described), "{}", operation.id());
    }
}

#[test]
fn accepts_exactly_described_purposes_of_estimates() {
    let (site, key) = busy_site();
    let operation = operations().find(|operation| operation.id() == "estimateQuery").unwrap();
    let asked = |purpose: &str| {
        site.send(&operation.ask(&key, "").body(format!(r#"{{"for": "{purpose}"}}"#).as_bytes()))
    };
    let words =
        operation.body().unwrap().pointer("/properties/for/anyOf/0/enum").unwrap().as_array().unwrap();
    let words: BTreeSet<String> = words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    assert!(words.iter().all(|purpose| asked(purpose).status == 200));
    assert_eq!(allowed(&asked("zzz"), "for"), words);
}

#[test]
fn describes_every_filter_operator() {
    let (site, key) = busy_site();
    let answer = site.query("cities", &key, r#"{"filters": {"id": {"zzz": 1}}}"#);
    let described = DOCUMENT["components"]["schemas"]["Operators"]["properties"].as_object().unwrap();
    assert_eq!(allowed(&answer, "zzz"), owned(described.keys().map(String::as_str)));
}

/// A header, a value that no handler lets pass that reads it, and the status of the refusal.
const REFUSED_HEADERS: [(&str, &str, u16); 5] = [
    ("Idempotency-Key", "", 400),
    ("Last-Event-ID", "none", 400),
    ("If-Match", "\"none\"", 412),
    ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:01 GMT", 412),
    ("Range", "bytes=99999999-", 416),
];

#[test]
fn describes_every_header_that_handlers_refuse() {
    let (site, key) = busy_site();
    for operation in operations() {
        for (name, value, refusal) in REFUSED_HEADERS {
            // The rules for robots are dated 1970, and no date of HTTP is earlier.
            if (operation.id(), name) == ("getRobots", "If-Unmodified-Since") {
                continue;
            }
            let status = site.send(&operation.ask(&key, "").header(name, value)).status;
            let is_read = operation.names("header").contains(name);
            assert_eq!(status == refusal, is_read, "{} answers {status} to {name}", operation.id());
        }
    }
}

#[test]
fn describes_every_header_that_leads_to_304() {
    let (site, key) = busy_site();
    for operation in operations() {
        let whole = site.send(&operation.ask(&key, ""));
        let later = "Fri, 01 Jan 2100 00:00:00 GMT";
        let tag = whole.header("ETag").unwrap_or("*");
        for (name, value) in [("If-None-Match", tag), ("If-Modified-Since", later)] {
            let status = site.send(&operation.ask(&key, "").header(name, value)).status;
            let is_read = operation.names("header").contains(name);
            assert_eq!(status == 304, is_read, "{} answers {status} to {name}", operation.id());
        }
    }
}

#[test]
fn allows_and_exposes_every_described_header_to_browsers() {
    let (site, _) = busy_site();
    let listed = |answer: &Answer, name: &str| -> BTreeSet<String> {
        answer.header(name).unwrap().split(", ").map(str::to_owned).collect()
    };
    let preflight = site.send(&Ask::new("OPTIONS", "/api/v1/datasets/cities/query"));
    let key = DOCUMENT["components"]["securitySchemes"]["ApiKey"]["name"].as_str().unwrap();
    let mut sent: BTreeSet<&str> = operations().flat_map(|operation| operation.names("header")).collect();
    // OpenAPI leaves these two to the descriptions of bodies.
    sent.extend([key, "Accept", "Content-Type"]);
    // A key is taken as a bearer token too, and `/mcp` has headers of its own.
    sent.extend(["Authorization", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]);
    assert_eq!(listed(&preflight, "Access-Control-Allow-Headers"), owned(sent));
    let mut exposed = listed(&site.get("/healthz"), "Access-Control-Expose-Headers");
    let described = DOCUMENT["components"]["headers"].as_object().unwrap().keys();
    // Browsers expose the first two to scripts by default; scripts do not need the others.
    let safe = [
        "Cache-Control",
        "Last-Modified",
        "Allow",
        "Location",
        "WWW-Authenticate",
        "Trailer",
        "Content-Encoding",
    ];
    exposed.retain(|name| !safe.contains(&name.as_str()));
    let described: BTreeSet<String> =
        described.filter(|name| !safe.contains(&name.as_str())).cloned().collect();
    assert_eq!(exposed, described);
}

fn status_with(site: &Site, key: &str, operation: Operation, name: &str, value: &str) -> u16 {
    site.send(&operation.ask(key, &format!("{name}={value}"))).status
}

#[test]
fn accepts_exactly_described_words() {
    let (site, key) = busy_site();
    let mut count = 0;
    for operation in operations() {
        for parameter in operation.parameters("query") {
            let Some(words) = parameter["schema"]["enum"].as_array() else { continue };
            let name = parameter["name"].as_str().unwrap();
            for word in words {
                let status = status_with(&site, &key, operation, name, word.as_str().unwrap());
                assert_eq!(status, 200, "{} {name}={word}", operation.id());
            }
            let refusal = site.send(&operation.ask(&key, &format!("{name}=zzz")));
            let described = words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
            assert_eq!(allowed(&refusal, name), described, "{}", operation.id());
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn accepts_exactly_described_numbers() {
    let (site, key) = busy_site();
    for operation in operations() {
        for parameter in operation.parameters("query") {
            let schema = resolved(&parameter["schema"]);
            if schema["type"] != "integer" {
                continue;
            }
            let name = parameter["name"].as_str().unwrap();
            let status = |number: u64| status_with(&site, &key, operation, name, &number.to_string());
            let minimum = schema["minimum"].as_u64().unwrap();
            assert_ne!(status(minimum), 400, "{} {name}={minimum}", operation.id());
            if let Some(below) = minimum.checked_sub(1) {
                assert_eq!(status(below), 400, "{} {name}={below}", operation.id());
            }
            if let Some(maximum) = schema["maximum"].as_u64() {
                assert_ne!(status(maximum), 400, "{} {name}={maximum}", operation.id());
                let above = u128::from(maximum) + 1;
                let status = status_with(&site, &key, operation, name, &above.to_string());
                assert_eq!(status, 400, "{} {name}={above}", operation.id());
            }
        }
    }
}

#[test]
fn applies_described_defaults() {
    let (site, key) = busy_site();
    for operation in operations() {
        for parameter in operation.parameters("query") {
            let (name, default) = (parameter["name"].as_str().unwrap(), &parameter["schema"]["default"]);
            let answer = site.send(&operation.ask(&key, ""));
            // Lists repeat the parameters of the request.
            if let (false, Some(told)) = (default.is_null(), answer.json_or_null()["data"].get(name)) {
                assert_eq!(told, default, "{} {name}", operation.id());
            }
        }
    }
}
