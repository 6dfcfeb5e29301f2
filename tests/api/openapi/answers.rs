//! Every operation answers in every form that the document promises. Every test that receives an answer checks its content
//! (`check_answer`), so these tests ask for every status and media type of a success.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DOCUMENT, Operation, busy_site, operations};
use crate::harness::{Answer, Ask, Site};

/// The file of the console that has a media type.
fn console_file(media_type: &str) -> &'static str {
    match media_type {
        "text/css" => "/docs/index.css",
        "text/javascript" => "/docs/initializer.js",
        "text/html" => "/docs/index.html",
        "image/png" => "/docs/favicon-32x32.png",
        other => panic!("no file of the console is {other}"),
    }
}

fn ask_for(operation: Operation, key: &str, media_type: &str) -> Ask {
    match operation.id() {
        "getConsoleFile" => Ask::get(console_file(media_type)),
        _ => operation.ask(key, "").header("Accept", media_type),
    }
}

/// Asks for a success in every media type.
#[track_caller]
fn check_successes(site: &Site, key: &str, operation: Operation) {
    let described = operation.response(200);
    let media_types = described.and_then(|described| described["content"].as_object());
    for media_type in media_types.into_iter().flatten().map(|(media_type, _)| media_type) {
        let answer = site.send(&ask_for(operation, key, media_type));
        let sent = answer.header("Content-Type").and_then(|sent| sent.split(';').next());
        assert_eq!((answer.status, sent), (200, Some(media_type.as_str())), "{}", operation.id());
        assert!(!answer.body.is_empty(), "{}", operation.id());
    }
    if operation.response(206).is_some() {
        assert_eq!(site.send(&operation.ask(key, "").header("Range", "bytes=0-3")).status, 206);
    }
    if operation.response(304).is_some() {
        let whole = site.send(&operation.ask(key, ""));
        let held = operation.ask(key, "").header("If-None-Match", whole.header("ETag").unwrap());
        assert_eq!(site.send(&held).status, 304, "{}", operation.id());
    }
}

#[test]
fn answers_every_operation_in_every_described_form() {
    let (site, key) = busy_site();
    operations().for_each(|operation| check_successes(&site, &key, operation));
    let successes: BTreeSet<u16> = operations()
        .flat_map(|operation| operation.node["responses"].as_object().unwrap().keys())
        .map(|status| status.parse().unwrap())
        .filter(|status| *status < 400)
        .collect();
    assert_eq!(successes, BTreeSet::from([200, 206, 304]), "this test knows these successes");
}

#[test]
fn fills_every_list_of_checked_responses() {
    let (site, key) = busy_site();
    site.query("cities", &key, r#"{"limit": 2}"#);
    let lists = [
        ("/api/v1/datasets", "/results"),
        ("/api/v1/datasets/search?q=cities", "/results"),
        ("/api/v1/tags", "/results"),
        ("/api/v1/datasets/cities", "/versions"),
        ("/api/v1/datasets/cities/schema", "/columns"),
        ("/api/v1/datasets/cities/sample", "/results"),
        ("/api/v1/datasets/cities/stats", "/columns"),
        ("/api/v1/datasets/cities/changelog", "/entries"),
        ("/api/v1/datasets/cities/related", "/results"),
        ("/api/v1/datasets/relations/graph", "/nodes"),
        ("/api/v1/account", "/keys"),
        ("/api/v1/account/usage?by=key", "/usage"),
    ];
    for (target, place) in lists {
        let answer = site.send(&Ask::get(target).header("X-Api-Key", &key));
        let list = answer.json()["data"].pointer(place).and_then(Value::as_array).map_or(0, Vec::len);
        assert!(list > 0, "{target}: {}", answer.text());
    }
}

#[test]
fn refuses_like_described_by_every_operation() {
    let (site, key) = busy_site();
    for operation in operations() {
        let asked = |ask: &Ask| site.send(ask).status;
        let id = operation.id();
        assert_eq!(asked(&operation.ask(&key, "zzz=1")), 400, "{id}");
        if operation.response(401).is_some() {
            assert_eq!(asked(&operation.ask("mk_none", "")), 401, "{id}");
            let poor = site.free_key();
            assert!([200, 402].contains(&asked(&operation.ask(&poor, ""))), "{id}");
        }
        if operation.names("path").contains("slug") {
            let target = operation.path.replace("{slug}", "nowhere");
            let ask = if operation.method == "post" { Ask::post(&target, "{}") } else { Ask::get(&target) };
            assert_eq!(asked(&ask.header("X-Api-Key", &key)), 404, "{id}");
        }
        if operation.response(406).is_some() {
            assert_eq!(asked(&operation.ask(&key, "").header("Accept", "image/webp")), 406, "{id}");
        }
        if operation.body().is_some() {
            let typed = operation.ask(&key, "").without_header("Content-Type");
            assert_eq!(asked(&typed.header("Content-Type", "text/plain")), 415, "{id}");
            assert_eq!(asked(&operation.ask(&key, "").body(&vec![b' '; 1024 * 1024 + 1])), 413, "{id}");
            assert_eq!(
                asked(
                    &Ask::new("POST", &operation.path.replace("{slug}", "cities")).header("X-Api-Key", &key)
                ),
                411,
                "{id}"
            );
        }
        let other = if operation.method == "post" { "DELETE" } else { "PUT" };
        check_method_refusal(&site.send(&Ask::new(other, operation.path)), operation);
    }
}

/// 405 is described once for all paths.
#[track_caller]
fn check_method_refusal(answer: &Answer, operation: Operation) {
    assert_eq!(answer.status, 405, "{}", operation.id());
    let schema =
        &DOCUMENT["components"]["responses"]["MethodNotAllowed"]["content"]["application/json"]["schema"];
    assert_eq!(super::schema::faults(schema, &answer.json()), [""; 0]);
    let allowed = answer.header("Allow").unwrap();
    assert!(allowed.contains(&operation.method.to_ascii_uppercase()), "{allowed}");
}
