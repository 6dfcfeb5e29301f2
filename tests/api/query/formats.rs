//! Pages as CSV and NDJSON.

use crate::harness::{Answer, Ask, Site};

fn ask(site: &Site, accept: &str, body: &str) -> Answer {
    let key = site.paying_key(100);
    let ask =
        Ask::post("/api/v1/datasets/cities/query", body).header("X-Api-Key", &key).header("Accept", accept);
    site.send(&ask)
}

#[test]
fn returns_page_fields_as_csv_headers() {
    let site = Site::with_cities();
    let answer = ask(&site, "text/csv", r#"{"columns": ["id", "name", "height"], "limit": 3}"#);
    assert_eq!(answer.text(), "id,name,height\r\n1,Roma,0.5\r\n2,Milano,NaN\r\n3,Napoli,\r\n");
    assert!(answer.header("Content-Type").unwrap().starts_with("text/csv"));
    let header = |name| answer.header(name).unwrap_or("absent").to_owned();
    assert_eq!(header("X-Rows-Returned"), "3");
    assert_eq!(header("X-Pagination-Mode"), "offset");
    assert_eq!(header("X-Total-Rows"), "6");
    assert_eq!(header("X-Dataset-Version"), "1.0.0");
    assert_eq!((header("X-Credits-Charged"), header("X-Credits-Remaining")), ("3".into(), "97".into()));
    assert!(answer.header("X-Next-Cursor").is_some());
    assert_eq!(header("Vary"), "Accept-Encoding, Accept");
}

#[test]
fn writes_ndjson_object_per_line() {
    let site = Site::with_cities();
    let answer = ask(&site, "application/x-ndjson", r#"{"columns": ["id", "name"], "limit": 6}"#);
    assert_eq!(answer.header("Content-Type"), Some("application/x-ndjson"));
    let text = answer.text();
    assert_eq!(text.lines().count(), 6);
    assert_eq!(text.lines().next(), Some(r#"{"id":1,"name":"Roma"}"#));
    assert!(text.ends_with('\n'));
    assert_eq!(answer.header("X-Next-Cursor"), None);
}

#[test]
fn continues_walk_by_cursor_header() {
    let site = Site::with_cities();
    let first = ask(&site, "text/csv", r#"{"columns": ["id"], "limit": 4}"#);
    let cursor = first.header("X-Next-Cursor").unwrap();
    let second =
        ask(&site, "text/csv", &format!(r#"{{"columns": ["id"], "limit": 4, "cursor": "{cursor}"}}"#));
    assert_eq!(second.text(), "id\r\n5\r\n6\r\n");
    assert_eq!(second.header("X-Pagination-Mode"), Some("cursor"));
}

#[test]
fn selects_format_by_quality() {
    let site = Site::with_cities();
    for (accept, expected) in [
        ("*/*", "application/json"),
        ("application/json;q=0.1, application/jsonl;q=0.2", "application/x-ndjson"),
        ("application/csv", "text/csv"),
        ("text/html, */*;q=0.1", "application/json"),
    ] {
        let answer = ask(&site, accept, r#"{"limit": 1}"#);
        assert!(answer.header("Content-Type").unwrap().starts_with(expected), "{accept}");
    }
}

#[test]
fn rejects_types_not_offered_without_charge() {
    let site = Site::with_cities();
    let answer = ask(&site, "application/xml", "{}");
    assert_eq!(answer.refusal(), (406, "NOT_ACCEPTABLE".into(), "NOT_ACCEPTABLE".into()));
    assert!(answer.json()["error"]["details"]["allowed"].as_array().unwrap().contains(&"text/csv".into()));
    assert_eq!(answer.header("X-Credits-Charged"), Some("0"));
}

#[test]
fn reports_errors_as_json_whatever_is_accepted() {
    let site = Site::with_cities();
    let answer = ask(&site, "text/csv", r#"{"limit": 0}"#);
    assert_eq!(answer.refusal().1, "BAD_REQUEST");
}

#[test]
fn warns_of_ndjson_nulls_in_header() {
    let site = Site::with_cities();
    let sentence = "\"1 value is NaN or infinite, which JSON cannot express; it is null\"";
    let answer = ask(&site, "application/x-ndjson", r#"{"columns": ["height"], "limit": 2}"#);
    assert_eq!(answer.text(), "{\"height\":0.5}\n{\"height\":null}\n");
    assert_eq!(answer.header("X-Warnings"), Some(sentence));
    assert!(answer.header("Access-Control-Expose-Headers").unwrap().contains("X-Warnings"));
    let none = ask(&site, "application/x-ndjson", r#"{"columns": ["height"], "limit": 1}"#);
    assert_eq!(none.header("X-Warnings"), None);
    let csv = ask(&site, "text/csv", r#"{"columns": ["height"], "limit": 2}"#);
    assert_eq!((csv.text().as_str(), csv.header("X-Warnings")), ("\"height\"\r\n0.5\r\nNaN\r\n", None));
    let key = site.paying_key(100);
    let head = Ask::new("HEAD", "/api/v1/datasets/cities/query?limit=2&columns=height")
        .header("X-Api-Key", &key)
        .header("Accept", "application/x-ndjson");
    assert_eq!(site.send(&head).header("X-Warnings"), None, "what costs nothing tells nothing of the values");
}
