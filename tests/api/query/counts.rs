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
    let up_to = |most: u64, least: u64, affordable: bool| {
        let mut told = of(most, affordable);
        told["rowsAtLeast"] = least.into();
        told
    };
    let stream = |rest: Value| {
        let mut body = json!({"for": "stream", "filters": filters});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        estimate(body)
    };
    // 24,999 rows match, which is told to those who pay.
    assert_eq!(stream(json!({"limit": 1_000_000})), up_to(25_000, 10_000, false));
    assert_eq!(stream(json!({"limit": 15_000})), up_to(15_000, 10_000, true));
    assert_eq!(stream(json!({"limit": 6_000, "offset": 4_000})), of(6_000, true));
    assert_eq!(stream(json!({"limit": 6_000, "offset": 4_001})), up_to(6_000, 5_999, true));
    assert_eq!(stream(json!({"limit": 15_000, "offset": 24_000})), up_to(1_000, 0, true));
    assert_eq!(estimate(json!({"for": "stream", "offset": 24_000, "limit": 15_000})), of(1_000, true));
    assert_eq!(estimate(json!({"for": "download"})), of(25_000, false));
}

/// A site whose filter on `name` finds 13,334 of 80,000 rows, which an index knows.
fn large() -> Site {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(80_000));
    site
}

const ROMA: &str = r#"{"name": "Roma"}"#;

#[test]
fn tells_exact_count_beyond_ten_thousand_to_payers_only() {
    let site = large();
    let (paying, free) = (site.paying_key(1_000), site.free_key());
    let totals = |key: &str, rest: &str| {
        let body = format!(r#"{{"filters": {ROMA}, "count": "exact"{rest}}}"#);
        let data = site.query("cities", key, &body).json()["data"].clone();
        (data["totalRows"].clone(), data.get("totalRowsAtLeast").cloned().unwrap_or(Value::Null))
    };
    let (exact, least) = ((json!(13_334), Value::Null), (Value::Null, json!(10_000)));
    assert_eq!(totals(&paying, r#", "limit": 1"#), exact);
    for offset in ["1000000000000000000", "13334"] {
        let none = totals(&paying, &format!(r#", "limit": 1, "offset": {offset}"#));
        assert_eq!(none, least, "a page without rows at {offset}");
    }
    assert_eq!(totals(&free, r#", "limit": 1"#), least, "a free query");
    let unfiltered = site.query("cities", &free, r#"{"limit": 1}"#).json();
    assert_eq!(unfiltered["data"]["totalRows"], 80_000, "which the header of the dataset tells");
    let few = site.query("cities", &free, r#"{"limit": 1, "filters": {"id_max": 9999}, "count": "exact"}"#);
    assert!(few.json()["data"]["totalRows"].as_u64().unwrap() <= 10_000);

    let ask = |accept: &str| {
        let body = format!(r#"{{"filters": {ROMA}, "limit": 1, "offset": 99999}}"#);
        let ask = Ask::post(QUERY, &body).header("X-Api-Key", &paying).header("Accept", accept);
        site.send(&ask)
    };
    for accept in ["text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"] {
        let answer = ask(accept);
        let header = |name: &str| answer.header(name).map(str::to_owned);
        assert_eq!(
            (header("X-Total-Rows"), header("X-Total-Rows-At-Least")),
            (None, Some("10000".to_owned())),
            "{accept}"
        );
    }
}

/// The same page again under its key costs nothing, so it tells no more than others that cost nothing.
#[test]
fn tells_no_exact_count_by_repetition_of_free_query() {
    let site = large();
    let key = site.free_key();
    let ask = || {
        let body = format!(r#"{{"filters": {ROMA}, "limit": 1, "count": "exact"}}"#);
        let ask = Ask::post(QUERY, &body).header("X-Api-Key", &key).header("Idempotency-Key", "a");
        site.send(&ask).json()["data"].clone()
    };
    for _ in 0..2 {
        let data = ask();
        assert_eq!((&data["totalRows"], &data["totalRowsAtLeast"]), (&Value::Null, &json!(10_000)));
    }
}

#[test]
fn begins_stream_without_telling_exact_count() {
    let site = large();
    let key = site.paying_key(100_000);
    let stream = |limit: u64, offset: u64| {
        let body =
            format!(r#"{{"filters": {ROMA}, "limit": {limit}, "offset": {offset}, "count": "exact"}}"#);
        site.send(&Ask::post(&format!("{QUERY}/stream"), &body).header("X-Api-Key", &key))
    };
    for (limit, offset, reserved) in [(1, 0, "1"), (90_000, 0, "80000"), (5, 50_000, "5"), (5, 99_999, "0")] {
        let answer = stream(limit, offset);
        assert_eq!(answer.header("X-Total-Rows"), None, "{limit} {offset}");
        assert_eq!(answer.header("X-Total-Rows-At-Least"), Some("10000"));
        assert_eq!(answer.header("X-Credits-Reserved"), Some(reserved), "{limit} {offset}");
    }
}

/// Neither 402 nor an empty page tells whether rows stand there, without a charge.
#[test]
fn refuses_distant_page_alike_with_and_without_rows() {
    let site = large();
    let key = site.paying_key(3);
    let refusal = |path: &str, limit: u64, offset: u64| {
        let body = format!(r#"{{"filters": {ROMA}, "limit": {limit}, "offset": {offset}}}"#);
        let answer = site.send(&Ask::post(&format!("{QUERY}{path}"), &body).header("X-Api-Key", &key));
        (answer.status, answer.json()["error"]["details"]["required"].clone())
    };
    for offset in [13_000, 13_332, 13_334, 20_000] {
        assert_eq!(refusal("", 4, offset), (402, json!(4)), "{offset}");
        assert_eq!(refusal("/stream", 4, offset), (402, json!(4)), "{offset}");
    }
    assert_eq!(refusal("/stream", 1_000_000, 0), (402, json!(80_000)));
    assert_eq!(refusal("", 3, 20_000), (200, Value::Null), "what can be paid is answered");
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
