//! Queries that need more processor time than they may, and clients that do not wait for them.

use std::time::{Duration, Instant};

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, MANIFEST, Site, wait_until};
use crate::net::raw::Raw;

/// Rows whose texts never repeat, so that none of them can be skipped.
const ROWS: i64 = 100_000;
/// More than a quick query takes, and less than a costly one.
pub const TENTH: [&str; 6] =
    ["--requests-per-minute", "0", "--requests-per-day", "0", "--work-seconds", "0.1"];
const LIFTED: [&str; 6] = ["--requests-per-minute", "0", "--requests-per-day", "0", "--work-seconds", "0"];

pub fn site(flags: &[&str]) -> Site {
    site_with_rows(flags, ROWS)
}

fn site_with_rows(flags: &[&str], rows: i64) -> Site {
    let site = Site::empty(flags);
    let texts = (0..rows).map(|row| Some(format!("the measured value of row {row} in its own words")));
    let words = ColumnValues::Texts(texts.collect());
    let ids = ColumnValues::Integers((0..rows).map(Some).collect());
    let columns = [
        Column::new("id", ColumnKind::Integer, ids),
        Column { sort_index: false, ..Column::new("words", ColumnKind::Text, words) },
    ];
    site.publish("cities", MANIFEST, "1.0.0", &columns);
    site
}

/// 99 texts, of which no row has one.
pub fn costly(mut body: Value) -> String {
    let tests: Vec<Value> =
        (0..99).map(|number| json!({ "words": {"contains": format!("~{number}")} })).collect();
    body["filters"] = json!({ "$or": tests });
    body.to_string()
}

fn is_free(site: &Site, key: &str) -> Value {
    let account = site.send(&Ask::get("/api/v1/account").header("X-Api-Key", key)).json();
    json!([account["data"]["credits"], account["data"]["reserved"], account["data"]["freeQueriesRemaining"]])
}

#[track_caller]
fn check_refused(answer: &Answer) {
    assert_eq!(answer.refusal(), (503, "UNAVAILABLE".into(), "QUERY_TOO_EXPENSIVE".into()));
    assert_eq!(answer.header("Retry-After"), None, "a repetition would end the same way");
    assert_eq!(answer.header("X-Credits-Charged"), Some("0"));
    let json = answer.json();
    assert_eq!(json["error"]["details"]["limitSeconds"], 0.1);
    assert!(json["error"]["details"]["hint"].as_str().unwrap().contains("narrow"), "{json}");
}

#[test]
fn refuses_query_that_takes_too_much_work_for_nothing() {
    let site = site(&TENTH);
    let query = "/api/v1/datasets/cities/query";
    let send =
        |key: &str, target: &str, body: &str| site.send(&Ask::post(target, body).header("X-Api-Key", key));
    for key in [site.paying_key(1_000_000), site.free_key()] {
        let before = is_free(&site, &key);
        check_refused(&send(&key, query, &costly(json!({}))));
        check_refused(&send(&key, query, &costly(json!({ "sortBy": "id", "count": "exact" }))));
        check_refused(&send(&key, &format!("{query}/estimate"), &costly(json!({}))));
        let filters: Value = serde_json::from_str(&costly(json!({}))).unwrap();
        let mut target = format!("{query}?filters=");
        mercato_web::percent_encode(&filters["filters"].to_string(), &mut target);
        check_refused(&site.send(&Ask::get(&target).header("X-Api-Key", &key)));
        assert_eq!(is_free(&site, &key), before);
    }
    let key = site.paying_key(10);
    assert_eq!(site.query("cities", &key, r#"{"filters": {"words": {"contains": "row 7 "}}}"#).status, 200);
    // The account can pay for fewer rows than the limit, so they are counted before the stream begins.
    check_refused(&send(&key, &format!("{query}/stream"), &costly(json!({ "limit": 1_000 }))));
}

#[test]
fn ends_stream_whose_search_takes_too_much_work() {
    let site = site(&TENTH);
    let key = site.paying_key(1_000_000);
    let before = is_free(&site, &key);
    let ask = Ask::post("/api/v1/datasets/cities/query/stream", &costly(json!({ "limit": 1_000 })));
    let mut raw = Raw::connect(site.address());
    raw.send(ask.header("X-Api-Key", &key).header("Connection", "close").bytes());
    let wire = String::from_utf8(raw.rest()).unwrap();
    assert!(wire.starts_with("HTTP/1.1 200 ") && !wire.ends_with("\r\n0\r\n\r\n"), "{wire}");
    assert!(wire.contains("event: error\n") && wire.contains("QUERY_TOO_EXPENSIVE"), "{wire}");
    wait_until("it is settled", || is_free(&site, &key) == before);
    // Rows that are found soon are streamed, however many there are.
    let ask = Ask::post("/api/v1/datasets/cities/query/stream", r#"{"limit": 100000, "columns": ["id"]}"#);
    let answer = site.send(&ask.header("X-Api-Key", &key).header("Accept", "application/x-ndjson"));
    assert_eq!(answer.text().lines().count(), usize::try_from(ROWS).unwrap());
}

/// Sends a costly query, and says how long its worker goes on after `leave`.
#[track_caller]
fn time_after(site: &Site, leave: impl FnOnce(Raw)) -> Duration {
    let key = site.paying_key(1_000);
    let ask = Ask::post("/api/v1/datasets/cities/query", &costly(json!({})));
    let mut raw = Raw::connect(site.address());
    raw.send(ask.header("X-Api-Key", &key).bytes());
    let running = || crate::harness::exchange(site.admin_address(), &Ask::get("/metrics")).text();
    wait_until("it runs", || running().contains("mercato_workers_free{pool=\"page\"} 7\n"));
    std::thread::sleep(Duration::from_millis(100));
    let left = Instant::now();
    leave(raw);
    wait_until("it ends", || running().contains("mercato_workers_free{pool=\"page\"} 8\n"));
    left.elapsed()
}

#[test]
fn stops_search_of_client_that_leaves() {
    let site = site_with_rows(&LIFTED, 3 * ROWS);
    let whole = time_after(&site, |mut raw| assert_eq!(raw.answer().status, 200));
    assert!(whole > Duration::from_millis(200), "too quick for this test: {whole:?}");
    let closed = time_after(&site, drop);
    let half_closed = time_after(&site, |mut raw| {
        let refusal = raw.finish_sending().answer().refusal();
        assert_eq!(refusal, (503, "UNAVAILABLE".into(), "CLIENT_LEFT".into()));
    });
    // The loop publishes its gauges when it wakes, and the test asks for them.
    for took in [closed, half_closed] {
        assert!(took < whole / 2, "{took:?} of {whole:?}");
    }
}

#[test]
fn answers_half_closed_client_whose_query_is_quick() {
    let site = site(&LIFTED);
    let key = site.paying_key(1_000);
    let ask = Ask::post("/api/v1/datasets/cities/query", r#"{"filters": {"id_min": 99990}, "limit": 3}"#);
    let mut raw = Raw::connect(site.address());
    raw.send(ask.header("X-Api-Key", &key).bytes()).finish_sending();
    assert_eq!(raw.answer().json()["data"]["rowsReturned"], 3);
}
