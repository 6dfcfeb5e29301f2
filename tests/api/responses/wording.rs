//! The wording of refusals: the field, the expected value, the value found, and a suggestion.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};

const QUERY: &str = "/api/v1/datasets/cities/query";

fn message(answer: &Answer) -> String {
    answer.json()["error"]["message"].as_str().unwrap().to_owned()
}

fn details(answer: &Answer) -> Value {
    answer.json()["error"]["details"].clone()
}

#[test]
fn words_range_errors_alike_everywhere() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let get = |target: &str| message(&site.send(&Ask::get(target).header("X-Api-Key", &key)));
    let post = |path: &str, body: &str| {
        message(&site.send(&Ask::post(&format!("{QUERY}{path}"), body).header("X-Api-Key", &key)))
    };
    let expected =
        |most: &str, found: &str| format!("limit: expected a whole number from 1 to {most}, found {found}");
    for (typed, found) in [("0", "0"), ("-1", "-1"), ("1.5", "1.5"), ("10000000", "10000000")] {
        assert_eq!(get(&format!("{QUERY}?limit={typed}")), expected("10,000", found));
        let body = format!(r#"{{"limit": {typed}}}"#);
        assert_eq!(post("", &body), expected("10,000", found));
        assert_eq!(post("/estimate", &body), expected("10,000", found));
        assert_eq!(post("/stream", &body), expected("1,000,000", found));
        assert_eq!(get(&format!("/api/v1/datasets?limit={typed}")), expected("100", found));
        assert_eq!(get(&format!("/api/v1/datasets/search?q=towns&limit={typed}")), expected("50", found));
        assert_eq!(get(&format!("/api/v1/datasets/cities/related?limit={typed}")), expected("50", found));
    }
    let found = "the string `abc`";
    assert_eq!(get(&format!("{QUERY}?limit=abc")), expected("10,000", found));
    assert_eq!(post("", r#"{"limit": "abc"}"#), expected("10,000", found));
    assert_eq!(get("/api/v1/datasets?limit=abc"), expected("100", found));
    assert_eq!(post("", r#"{"limit": "5"}"#), expected("10,000", "the string `5`"));
    assert_eq!(
        post("", r#"{"offset": -1}"#),
        "offset: expected a whole number from 0 to 18,446,744,073,709,551,615, found -1"
    );
}

#[test]
fn words_unknown_names_alike_everywhere() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let get = |target: &str| message(&site.send(&Ask::get(target).header("X-Api-Key", &key)));
    let post = |body: &str| message(&site.query("cities", &key, body));
    let direction = "sortDirection: expected `asc` or `desc`, found `up`";
    assert_eq!(get(&format!("{QUERY}?sortDirection=up")), direction);
    assert_eq!(post(r#"{"sortDirection": "up"}"#), direction);
    assert!(get("/api/v1/datasets?lang=de").starts_with("lang: expected `"));
    let unknown = "lmit: the name is not known here";
    assert_eq!(get(&format!("{QUERY}?lmit=5")), unknown);
    assert_eq!(post(r#"{"lmit": 5}"#), unknown);
    assert_eq!(get("/api/v1/datasets?lmit=5"), unknown);
    assert!(post(r#"{"filters": {"id": "x"}}"#).starts_with("filters/id: column `id` holds"));
}

#[test]
fn suggests_names_for_terms_of_other_services() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    for (body, suggestion) in [
        (r#"{"sort": "id"}"#, "sortBy"),
        (r#"{"order_by": "id"}"#, "sortBy"),
        (r#"{"select": ["id"]}"#, "columns"),
        (r#"{"where": {}}"#, "filters"),
        (r#"{"top": 5}"#, "limit"),
        (r#"{"skip": 5}"#, "offset"),
        (r#"{"filters": {"id": {">=": 5}}}"#, "gte"),
        (r#"{"filters": {"id": {"!=": 5}}}"#, "ne"),
        (r#"{"filters": {"name": {"like": "R"}}}"#, "contains"),
        (r#"{"filters": {"name": {"starts_with": "R"}}}"#, "startsWith"),
        (r#"{"filters": {"or": [{"id": 1}, {"id": 2}]}}"#, "$or"),
        (r#"{"filters": {"nmae": "Roma"}}"#, "name"),
    ] {
        let refused = details(&site.query("cities", &key, body));
        let faults = refused["errors"].as_array().unwrap();
        let fault = faults.iter().find(|fault| fault["suggestion"] == suggestion);
        let hint = fault.unwrap_or_else(|| panic!("{body}: {refused}"))["hint"].as_str().unwrap();
        assert_eq!(hint, format!("did you mean `{suggestion}`?"), "{body}");
    }
    let strange = details(&site.query("cities", &key, r#"{"colour": 5}"#));
    assert_eq!((&strange["hint"], &strange["suggestion"]), (&"leave it out".into(), &Value::Null));
    assert!(strange["allowed"].as_array().unwrap().contains(&"limit".into()));
}

#[test]
fn inflects_nouns_by_number() {
    let site = Site::with_cities();
    let key = site.paying_key(1);
    let page = site.query("cities", &key, r#"{"limit": 2}"#);
    assert_eq!(message(&page), "this costs 2 credits and the account has 1 credit");
    let between = site.query("cities", &key, r#"{"filters": {"id": {"between": [1, 2, 3]}}}"#);
    assert_eq!(message(&between), "filters/id/between: expected a list of two values, found 3");
    let none = site.query("cities", &key, r#"{"filters": {"id": []}}"#);
    assert_eq!(message(&none), "filters/id: expected a list of 1 to 10,000 values, found 0");
    let nan = site.query("cities", &key, r#"{"columns": ["height"], "offset": 1, "limit": 1}"#);
    assert_eq!(
        nan.json()["meta"]["warnings"],
        json!(["1 value is NaN or infinite, which JSON cannot express; it is null"])
    );
}

#[test]
fn reports_all_filter_errors_together() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let faults = |filters: Value| {
        let refused = details(&site.query("cities", &key, &json!({ "filters": filters }).to_string()));
        let word = |fault: &Value, name: &str| fault[name].as_str().unwrap().to_owned();
        let told = refused["errors"].as_array().unwrap().iter();
        let mut told: Vec<_> = told.map(|fault| (word(fault, "pointer"), word(fault, "reason"))).collect();
        told.sort();
        told
    };
    let expected = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(pointer, reason)| ((*pointer).to_owned(), (*reason).to_owned())).collect()
    };
    let mixed = json!({
        "nmae": {"gte": "A", "lt": "B"},
        "ara": {"gtee": 1},
        "id": {"in": [1, "x"]},
        "name": {"between": ["a"]},
        "$or": [{"capital": "yes"}, {"seen": {"like": 1}}, 5]
    });
    assert_eq!(
        faults(mixed),
        expected(&[
            ("/filters/$or/0/capital", "TYPE_MISMATCH"),
            ("/filters/$or/1/seen/like", "UNKNOWN_OPERATOR"),
            ("/filters/$or/2", "WRONG_TYPE"),
            ("/filters/ara", "UNKNOWN_COLUMN"),
            ("/filters/ara/gtee", "UNKNOWN_OPERATOR"),
            ("/filters/id/in/1", "TYPE_MISMATCH"),
            ("/filters/name/between", "WRONG_TYPE"),
            ("/filters/nmae", "UNKNOWN_COLUMN"),
        ])
    );
    // A bound by suffix names a column that exists, also where its value cannot be read.
    assert_eq!(faults(json!({"area_min": {}})), expected(&[("/filters/area_min", "WRONG_TYPE")]));
}

#[test]
fn points_at_invalid_last_event_id() {
    let site = Site::with_cities();
    let key = site.paying_key(100);
    let page = site.query("cities", &key, r#"{"limit": 1, "sortBy": "name"}"#).json();
    let cursor = page["data"]["nextCursor"].as_str().unwrap();
    for (last_event, reason) in [("junk", "CURSOR_INVALID"), (cursor, "CURSOR_QUERY_MISMATCH")] {
        let ask = Ask::post(&format!("{QUERY}/stream"), "{}").header("X-Api-Key", &key);
        let refused = site.send(&ask.header("Last-Event-ID", last_event));
        let told = details(&refused);
        assert_eq!((&told["reason"], &told["pointer"]), (&reason.into(), &"Last-Event-ID".into()));
        assert_eq!(told["errors"][0]["pointer"], "Last-Event-ID");
        assert!(message(&refused).starts_with("Last-Event-ID: it "), "{}", message(&refused));
        assert_eq!(told["errors"][0]["message"], message(&refused).as_str());
    }
}

#[test]
fn states_reserved_and_remaining_credits_of_stream() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(50));
    let key = site.paying_key(1_000);
    for (accept, body, reserved) in
        [("text/event-stream", r#"{"limit": 20}"#, 20), ("application/x-ndjson", r#"{"limit": 1000000}"#, 50)]
    {
        let before = site.running().app().ledger.accounts()[0].credits();
        let ask = Ask::post(&format!("{QUERY}/stream"), body).header("X-Api-Key", &key);
        let answer = site.send(&ask.header("Accept", accept));
        assert_eq!(answer.header("X-Credits-Reserved"), Some(reserved.to_string().as_str()));
        assert_eq!(answer.header("X-Credits-Remaining"), Some((before - reserved).to_string().as_str()));
        assert!(answer.header("Access-Control-Expose-Headers").unwrap().contains("X-Credits-Reserved"));
    }
}
