//! Exact totals, and estimates of pages, streams and downloads.

use serde_json::{Value, json};

use crate::harness::{Ask, MANIFEST, Site, city_columns};

const QUERY: &str = "/api/v1/datasets/cities/query";
/// Two conditions, whose number of rows no index knows; 29 of 60 rows hold them.
const CONJUNCTION: &str = r#"{"id_min": 2, "area_min": 900.71}"#;

fn site() -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(60));
    site
}

#[test]
fn counts_exact_total_on_demand() {
    let site = site();
    let key = site.paying_key(1_000);
    let query = |rest: &str| {
        site.query("cities", &key, &format!(r#"{{"filters": {CONJUNCTION}, "limit": 7{rest}}}"#)).json()
    };
    assert_eq!(query("")["data"]["totalRows"], Value::Null);
    assert_eq!(query(r#", "count": null"#)["data"]["totalRows"], Value::Null);
    let exact = query(r#", "count": "exact""#);
    assert_eq!((&exact["data"]["totalRows"], &exact["data"]["rowsReturned"]), (&29.into(), &7.into()));
    assert_eq!(exact["meta"]["credits"]["charged"], 7);
    let next = query(&format!(r#", "count": "exact", "cursor": {}"#, exact["data"]["nextCursor"]));
    assert_eq!((&next["data"]["totalRows"], &next["data"]["paginationMode"]), (&29.into(), &"cursor".into()));
    let target = format!(
        "{QUERY}?limit=1&count=exact&filters={}",
        CONJUNCTION.replace('{', "%7B").replace('}', "%7D").replace('"', "%22").replace(' ', "")
    );
    let got = site.send(&Ask::get(&target).header("X-Api-Key", &key).header("Accept", "text/csv"));
    assert_eq!(got.header("X-Total-Rows"), Some("29"), "{}", got.text());
}

#[test]
fn rejects_unknown_count_kind() {
    let site = site();
    let key = site.paying_key(10);
    let posted = site.query("cities", &key, r#"{"count": "about"}"#);
    let got = site.send(&Ask::get(&format!("{QUERY}?count=about")).header("X-Api-Key", &key));
    for (answer, pointer) in [(posted, "/count"), (got, "count")] {
        assert_eq!(answer.refusal(), (400, "BAD_REQUEST".into(), "UNKNOWN_VALUE".into()));
        let details = answer.json()["error"]["details"].clone();
        assert_eq!((&details["pointer"], &details["allowed"]), (&pointer.into(), &json!(["exact"])));
    }
}

#[test]
fn counts_stream_and_reserves_only_its_rows() {
    let site = site();
    let key = site.paying_key(29);
    let stream =
        |body: &str| site.send(&Ask::post(&format!("{QUERY}/stream"), body).header("X-Api-Key", &key));
    let body = format!(r#"{{"filters": {CONJUNCTION}, "limit": 1000000, "count": "exact"}}"#);
    let exact = stream(&body);
    assert_eq!((exact.status, exact.header("X-Total-Rows")), (200, Some("29")), "{}", exact.text());
    assert_eq!(exact.text().matches("data: ").count(), 29);
    assert_eq!(stream(&body).status, 402);
}

#[test]
fn streams_when_balance_covers_found_rows() {
    let site = site();
    let body = format!(r#"{{"filters": {CONJUNCTION}, "limit": 1000000}}"#);
    for (credits, status) in [(29, 200), (28, 402)] {
        let key = site.paying_key(credits);
        let target = format!("{QUERY}/stream");
        let answer = site.send(&Ask::post(&target, &body).header("X-Api-Key", &key));
        assert_eq!(answer.status, status, "{}", answer.text());
        let estimate =
            Ask::post(&format!("{QUERY}/estimate"), &body.replacen('{', r#"{"for": "stream", "#, 1));
        let estimate = site.send(&estimate.header("X-Api-Key", &site.paying_key(credits))).json();
        assert_eq!(estimate["data"]["affordable"], status == 200, "{estimate}");
    }
}

#[test]
fn estimates_deliverable_rows() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(25_000));
    let key = site.paying_key(20_000);
    let estimate = |body: Value| {
        let ask = Ask::post(&format!("{QUERY}/estimate"), &body.to_string()).header("X-Api-Key", &key);
        site.send(&ask).json()["data"].clone()
    };
    let of = |rows: u64, affordable: bool| json!({"rows": rows, "creditsRequired": rows, "creditsAvailable": 20_000, "affordable": affordable});
    let filters = json!({"id_min": 2, "area_max": 901});
    assert_eq!(estimate(json!({})), of(100, true));
    assert_eq!(estimate(json!({"for": "page", "filters": filters, "limit": 10_000})), of(10_000, true));
    assert_eq!(estimate(json!({"for": "stream", "filters": filters, "limit": 1_000_000})), of(24_999, false));
    assert_eq!(estimate(json!({"for": "stream", "filters": filters, "limit": 15_000})), of(15_000, true));
    assert_eq!(
        estimate(json!({"for": "stream", "filters": filters, "offset": 24_000, "limit": 15_000})),
        of(999, true)
    );
    assert_eq!(estimate(json!({"for": "download"})), of(25_000, false));
}

#[test]
fn rejects_estimate_fields_of_other_kinds() {
    let site = site();
    let key = site.paying_key(10);
    let refused = |body: &str| {
        let answer = site.send(&Ask::post(&format!("{QUERY}/estimate"), body).header("X-Api-Key", &key));
        assert_eq!(answer.status, 400, "{body}");
        let details = answer.json()["error"]["details"].clone();
        (details["reason"].as_str().unwrap().to_owned(), details["pointer"].as_str().unwrap().to_owned())
    };
    let expected = |reason: &str, pointer: &str| (reason.to_owned(), pointer.to_owned());
    assert_eq!(refused(r#"{"limit": 10001}"#), expected("OUT_OF_RANGE", "/limit"));
    assert_eq!(refused(r#"{"for": "stream", "limit": 1000001}"#), expected("OUT_OF_RANGE", "/limit"));
    assert_eq!(refused(r#"{"for": "file"}"#), expected("UNKNOWN_VALUE", "/for"));
    assert_eq!(
        refused(r#"{"for": "download", "filters": {"id": 1}}"#),
        expected("FIELD_NOT_APPLICABLE", "/filters")
    );
    assert_eq!(site.query("cities", &key, r#"{"for": "page"}"#).refusal().2, "UNKNOWN_FIELD");
}

#[test]
fn estimates_coverage_of_free_plan() {
    let site = site();
    let key = site.free_key();
    let affordable = |body: &str| {
        let ask = Ask::post(&format!("{QUERY}/estimate"), body).header("X-Api-Key", &key);
        site.send(&ask).json()["data"]["affordable"].clone()
    };
    assert_eq!(affordable("{}"), true);
    for purpose in ["page", "stream"] {
        assert_eq!(affordable(&format!(r#"{{"for": "{purpose}", "limit": 100}}"#)), true);
        assert_eq!(affordable(&format!(r#"{{"for": "{purpose}", "limit": 101}}"#)), false);
    }
    assert_eq!(affordable(r#"{"for": "download"}"#), false);
}
