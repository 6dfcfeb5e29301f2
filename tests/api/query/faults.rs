//! Requests that are refused, and what they are told.

use mercato::limits::api::FAULTS_BYTES_MAX;

use crate::harness::{Answer, Ask, Site};

#[track_caller]
fn faults(answer: &Answer) -> Vec<(String, String)> {
    assert_eq!(answer.refusal().1, "BAD_REQUEST", "{}", answer.text());
    let json = answer.json();
    let details = &json["error"]["details"];
    let errors = details["errors"].as_array().unwrap();
    assert_eq!((&details["reason"], &details["pointer"]), (&errors[0]["reason"], &errors[0]["pointer"]));
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    errors
        .iter()
        .map(|fault| {
            assert!(!word(&fault["hint"]).is_empty() && !word(&fault["message"]).is_empty());
            (word(&fault["pointer"]), word(&fault["reason"]))
        })
        .collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(pointer, reason)| ((*pointer).to_owned(), (*reason).to_owned())).collect()
}

#[test]
fn reports_all_errors_of_body_at_once() {
    let site = Site::with_cities();
    let body = r#"{"limit": 10001, "colums": ["id"], "sortDirection": "up"}"#;
    let mut found = faults(&site.query("cities", &site.paying_key(10), body));
    found.sort();
    assert_eq!(
        found,
        pairs(&[
            ("/colums", "UNKNOWN_FIELD"),
            ("/limit", "OUT_OF_RANGE"),
            ("/sortDirection", "UNKNOWN_VALUE")
        ])
    );
}

#[test]
fn reports_shape_and_column_errors_together() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let body = r#"{"limit": 0, "columns": ["id", "nmae"], "sortBy": "ara"}"#;
    let mut found = faults(&site.query("cities", &key, body));
    found.sort();
    assert_eq!(
        found,
        pairs(&[("/columns/1", "UNKNOWN_COLUMN"), ("/limit", "OUT_OF_RANGE"), ("/sortBy", "UNKNOWN_COLUMN")])
    );
    let target = "/api/v1/datasets/cities/query?limit=0&sortBy=ara";
    let mut found = faults(&site.send(&Ask::get(target).header("X-Api-Key", &key)));
    found.sort();
    assert_eq!(found, pairs(&[("limit", "OUT_OF_RANGE"), ("sortBy", "UNKNOWN_COLUMN")]));
}

#[test]
fn names_each_invalid_list_element() {
    let site = Site::with_cities();
    let body = r#"{"filters": {"id": {"in": [1, "x", 2, "y"]}}}"#;
    let found = faults(&site.query("cities", &site.paying_key(10), body));
    assert_eq!(found, pairs(&[("/filters/id/in/1", "TYPE_MISMATCH"), ("/filters/id/in/3", "TYPE_MISMATCH")]));
}

#[test]
fn bounds_number_of_reported_errors() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let names: Vec<String> = (0..50_000).map(|number| format!("\"q{number}\": 1")).collect();
    assert_eq!(faults(&site.query("cities", &key, &format!("{{{}}}", names.join(",")))).len(), 100);
    let names: Vec<String> = (0..10_000).map(|number| format!("\"q{number}\"")).collect();
    let body = format!("{{\"columns\": [{}]}}", names.join(","));
    assert_eq!(faults(&site.query("cities", &key, &body)).len(), 100);
}

#[test]
fn bounds_size_of_refusal() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let list =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
    let wrong_types = format!("{{\"id\": [{}]}}", list(100, &|_| "\"a\"".to_owned()));
    let operators = list(100, &|number| format!("\"x{number}\": 1"));
    let posts = [
        format!("{{\"filters\": {{\"$or\": [{}]}}}}", list(100, &|_| wrong_types.clone())),
        format!("{{\"filters\": {{\"{}\": {{{operators}}}}}}}", "\\u0001".repeat(1_000)),
        format!("{{\"filters\": {{\"{}\": 1}}}}", "~".repeat(1_000_000)),
        format!("{{\"columns\": [{}]}}", list(16_000, &|_| "\"\"".to_owned())),
    ];
    let parameters = list(2_000, &|number| format!("p{number}=")).replace(',', "&");
    let gets = [format!("columns={}", ",".repeat(5_000)), parameters[..7_000].to_owned()];
    let asks = posts.iter().map(|body| site.query("cities", &key, body)).chain(gets.iter().map(|query| {
        let target = format!("/api/v1/datasets/cities/query?{query}");
        site.send(&Ask::get(&target).header("X-Api-Key", &key))
    }));
    for (number, answer) in asks.enumerate() {
        assert!((1..=100).contains(&faults(&answer).len()), "{number}");
        // The bound on all faults, the first fault once more, and the fields of every response.
        let most = FAULTS_BYTES_MAX + 20_000;
        assert!(answer.text().len() <= most, "{number}: {} bytes", answer.text().len());
    }
}

#[test]
fn suggests_nearest_column() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    for (body, pointer) in [
        (r#"{"filters": {"nmae": "Roma"}}"#, "/filters/nmae"),
        (r#"{"columns": ["id", "nmae"]}"#, "/columns/1"),
        (r#"{"sortBy": "nmae"}"#, "/sortBy"),
    ] {
        let answer = site.query("cities", &key, body);
        assert_eq!(faults(&answer), pairs(&[(pointer, "UNKNOWN_COLUMN")]), "{body}");
        assert_eq!(answer.json()["error"]["details"]["suggestion"], "name", "{body}");
    }
}

#[test]
fn rejects_numbers_out_of_range() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    for body in [
        r#"{"limit": 0}"#,
        r#"{"limit": 10001}"#,
        r#"{"limit": -1}"#,
        r#"{"limit": 1e30}"#,
        r#"{"offset": -1}"#,
    ] {
        assert_eq!(site.query("cities", &key, body).refusal().1, "BAD_REQUEST", "{body}");
    }
}

#[test]
fn rejects_bodies_other_than_json_objects() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    for body in ["{", "[]", "null", "{}{}", "\u{feff}{}", "{\"limit\": 1,}"] {
        assert_eq!(site.query("cities", &key, body).refusal().0, 400, "{body}");
    }
}

#[test]
fn rejects_cursor_of_other_query_and_invalid_cursor() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let first = site.query("cities", &key, r#"{"limit": 2, "sortBy": "name"}"#).json();
    let cursor = first["data"]["nextCursor"].as_str().unwrap();
    let reason = |body: String| site.query("cities", &key, &body).refusal().2;
    assert_eq!(reason(format!(r#"{{"sortBy": "id", "cursor": "{cursor}"}}"#)), "CURSOR_QUERY_MISMATCH");
    assert_eq!(reason(r#"{"cursor": "not base64 at all!"}"#.into()), "CURSOR_INVALID");
    assert_eq!(reason(format!(r#"{{"cursor": "{}"}}"#, "A".repeat(5000))), "CURSOR_INVALID");
}

#[test]
fn rejects_parameters_of_post_and_unknown_ones_of_get() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let post = Ask::post("/api/v1/datasets/cities/query?limit=3", "{}").header("X-Api-Key", &key);
    assert_eq!(site.send(&post).refusal().2, "UNKNOWN_PARAMETER");
    let get = Ask::get("/api/v1/datasets/cities/query?limt=3").header("X-Api-Key", &key);
    assert_eq!(site.send(&get).status, 400);
}

#[test]
fn rejects_other_media_types() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let ask = Ask::post("/api/v1/datasets/cities/query", "limit=3").header("X-Api-Key", &key);
    let form = ask
        .clone()
        .without_header("Content-Type")
        .header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(site.send(&form).refusal(), (415, "UNSUPPORTED_MEDIA_TYPE".into(), "MEDIA_TYPE".into()));
    let compressed = Ask::post("/api/v1/datasets/cities/query", "{}")
        .header("X-Api-Key", &key)
        .header("Content-Encoding", "gzip");
    assert_eq!(site.send(&compressed).refusal().2, "CONTENT_ENCODING");
    let bare = Ask::post("/api/v1/datasets/cities/query", "{}")
        .header("X-Api-Key", &key)
        .without_header("Content-Type");
    assert_eq!(site.send(&bare).status, 200);
}

#[test]
fn rejects_oversized_body_and_missing_length() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let body = format!(r#"{{"limit": 1{}}}"#, " ".repeat(1024 * 1024));
    let answer = site.query("cities", &key, &body);
    assert_eq!(answer.refusal(), (413, "PAYLOAD_TOO_LARGE".into(), "BODY_TOO_LARGE".into()));
    let fits = format!(r#"{{"limit": 1{}}}"#, " ".repeat(1024 * 1024 - 12));
    assert_eq!(site.query("cities", &key, &fits).status, 200);
    let no_length = Ask::new("POST", "/api/v1/datasets/cities/query").header("X-Api-Key", &key);
    assert_eq!(site.send(&no_length).status, 411);
}

/// The message and the hint of the only fault.
#[track_caller]
fn explanation(answer: &Answer, pointer: &str) -> String {
    assert_eq!(faults(answer).first().map(|(at, _)| at.as_str()), Some(pointer), "{}", answer.text());
    let json = answer.json();
    let fault = &json["error"]["details"]["errors"][0];
    format!("{} | {}", fault["message"].as_str().unwrap(), fault["hint"].as_str().unwrap())
}

#[test]
fn names_unpaired_surrogates() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    for (body, pointer) in [
        (r#"{"filters": {"name": "\ud800"}}"#, "/filters/name"),
        (r#"{"sortBy": "\udfff x"}"#, "/sortBy"),
        (r#"{"columns": ["id", "\ud83d"]}"#, "/columns/1"),
        (r#"{"filters": {"\ud800": 1}}"#, "/filters"),
        (r#"{"\ud800": 1}"#, ""),
    ] {
        let told = explanation(&site.query("cities", &key, body), pointer);
        assert!(told.contains("unpaired surrogate") && told.contains("\\udfff"), "{body}: {told}");
        assert!(!told.contains("found a string |"), "{body}: {told}");
    }
    let pair = r#"{"filters": {"name": "\ud83d\ude00"}}"#;
    assert_eq!(site.query("cities", &key, pair).status, 200);
}

#[test]
fn explains_precision_beyond_nanoseconds() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let body = r#"{"filters": {"seen": {"gte": "2024-01-31T08:00:00.1234567890Z"}}}"#;
    let told = explanation(&site.query("cities", &key, body), "/filters/seen/gte");
    assert!(told.contains("nine digits"), "{told}");
    let nine = r#"{"filters": {"seen": {"gte": "2024-01-31T08:00:00.123456789Z"}}}"#;
    assert_eq!(site.query("cities", &key, nine).status, 200);
}
