//! Versions appear one after the other while clients walk and stream: no request is lost, no walk mixes versions.
//!
//! The publisher goes on only after every walker has read two more pages, so that what is tested does not depend on
//! how fast the machine is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};
use serde_json::{Value, json};

use crate::harness::{Ask, Site, wait_until};

const ROWS: i64 = 400;
const PAGE: i64 = 37;
const VERSIONS: i64 = 8;
const WALKERS: usize = 3;
const MANIFEST: &str = "slug = \"moving\"\n";

/// Every row says of which version it is; sorted by `key`, rows of two versions would mix everywhere.
fn columns(version: i64) -> Vec<Column> {
    let integers =
        |value: &dyn Fn(i64) -> i64| ColumnValues::Integers((0..ROWS).map(|row| Some(value(row))).collect());
    vec![
        Column::new("id", ColumnKind::Integer, integers(&|row| row)),
        Column::new("version", ColumnKind::Integer, integers(&|_| version)),
        Column::new("key", ColumnKind::Integer, integers(&|row| (row * 7 + version * 13) % 50)),
    ]
}

/// The rows of one walk or stream are all rows of one version. Returns that version.
fn check_rows(rows: &[Value]) -> i64 {
    let version = rows[0]["version"].as_i64().unwrap();
    assert!(rows.iter().all(|row| row["version"] == version), "two versions in one walk");
    let mut ids: Vec<i64> = rows.iter().map(|row| row["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..ROWS).collect::<Vec<_>>(), "a row is missing or stands twice");
    version
}

/// Walks from the first page to the last.
fn walk(site: &Site, key: &str, sorted: bool, pages: &AtomicUsize) -> i64 {
    let mut rows: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut body = json!({"limit": PAGE, "cursor": cursor});
        if sorted {
            body["sortBy"] = "key".into();
            body["sortDirection"] = "desc".into();
        }
        let page = site.query("moving", key, &body.to_string());
        assert_eq!(page.status, 200, "{}", page.text());
        pages.fetch_add(1, Ordering::SeqCst);
        let mut data = page.json()["data"].take();
        rows.append(data["results"].as_array_mut().unwrap());
        cursor = data["nextCursor"].take();
        if cursor.is_null() {
            return check_rows(&rows);
        }
    }
}

fn stream(site: &Site, key: &str) -> i64 {
    let ask =
        Ask::post("/api/v1/datasets/moving/query/stream", r#"{"limit": 1000}"#).header("X-Api-Key", key);
    let answer = site.send(&ask.header("Accept", "application/x-ndjson"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let rows: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    check_rows(&rows)
}

#[test]
fn publishes_under_load_without_lost_or_mixed_pages() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("moving", MANIFEST, "1.0.0", &columns(0));
    let key = site.paying_key(100_000_000);
    let pages: [AtomicUsize; WALKERS] = Default::default();
    let (finished, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let seen: Vec<Vec<i64>> = thread::scope(|scope| {
        let mut clients = Vec::new();
        for (number, pages) in pages.iter().enumerate() {
            let (site, key, is_over, finished) = (&site, &key, &is_over, &finished);
            clients.push(scope.spawn(move || {
                let _end = End(finished);
                let mut seen = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    seen.push(walk(site, key, number % 2 == 1, pages));
                }
                seen
            }));
        }
        let (stream_site, stream_key, over) = (&site, &key, &is_over);
        clients.push(scope.spawn(move || {
            let mut seen = Vec::new();
            while !over.load(Ordering::SeqCst) {
                seen.push(stream(stream_site, stream_key));
            }
            seen
        }));
        let _over = Over(&is_over);
        for version in 1..=VERSIONS {
            let before: Vec<usize> = pages.iter().map(|pages| pages.load(Ordering::SeqCst)).collect();
            wait_until("every walker reads on", || {
                let has_failed = finished.load(Ordering::SeqCst) > 0;
                let ahead =
                    |(pages, before): (&AtomicUsize, &usize)| pages.load(Ordering::SeqCst) >= before + 2;
                has_failed || pages.iter().zip(&before).all(ahead)
            });
            site.publish("moving", MANIFEST, &format!("1.{version}.0"), &columns(version));
        }
        is_over.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for versions in &seen {
        assert!(
            versions.is_sorted(),
            "a walk began on an older version than the one before it: {versions:?}"
        );
    }
    let mut all: Vec<i64> = seen.concat();
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > 1, "all walks saw the same version");
}

/// Tells the publisher that a walker has ended, also when it failed.
struct End<'a>(&'a AtomicUsize);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Ends the walkers when the publisher fails, so that the test does.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
