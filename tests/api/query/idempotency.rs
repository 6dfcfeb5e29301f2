//! Streams and downloads under an `Idempotency-Key`: what was paid is not paid again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, wait_until};

const CREDITS: u64 = 1_000_000;
const STREAM: &str = "/api/v1/datasets/cities/query/stream";
const DOWNLOAD: &str = "/api/v1/datasets/cities/download?format=ndjson";

fn site_with_rows(rows: i64) -> (Site, String) {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    let key = site.paying_key(CREDITS);
    (site, key)
}

fn spent(site: &Site) -> u64 {
    let ledger = &site.running().app().ledger;
    wait_until("everything is settled", || ledger.stats().open_reservations == 0);
    CREDITS - ledger.accounts()[0].credits()
}

fn lines(key: &str, target: &str, body: &str, once: &str) -> Ask {
    let ask = Ask::post(target, body).header("X-Api-Key", key).header("Accept", "application/x-ndjson");
    ask.header("Idempotency-Key", once)
}

fn is_replayed(answer: &Answer) -> bool {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.header("Idempotent-Replayed") == Some("true")
}

#[test]
fn charges_stream_under_same_key_once() {
    let (site, key) = site_with_rows(500);
    let body = r#"{"limit": 300, "filters": {"id": {"gt": 100}}}"#;
    let first = site.send(&lines(&key, STREAM, body, "s-1"));
    assert!(!is_replayed(&first));
    let again = site.send(&lines(&key, STREAM, body, "s-1"));
    assert!(is_replayed(&again) && again.body == first.body);
    let charges = [&first, &again].map(|answer| answer.trailer("X-Credits-Charged").unwrap().to_owned());
    assert_eq!((charges, spent(&site)), (["300".to_owned(), "0".to_owned()], 300));
    let events = site.send(&lines(&key, STREAM, body, "s-1").without_header("Accept"));
    assert!(is_replayed(&events), "the same rows in another form");
    let reused = (422, "UNPROCESSABLE".to_owned(), "IDEMPOTENCY_KEY_REUSED".to_owned());
    assert_eq!(site.send(&lines(&key, STREAM, r#"{"limit": 301}"#, "s-1")).refusal(), reused);
    let page = lines(&key, "/api/v1/datasets/cities/query", body, "s-1");
    assert_eq!(site.send(&page).refusal(), reused);
    let file = Ask::get(DOWNLOAD).header("X-Api-Key", &key).header("Idempotency-Key", "s-1");
    assert_eq!(site.send(&file).refusal(), reused);
    assert_eq!(site.send(&lines(&key, STREAM, body, "")).refusal().2, "IDEMPOTENCY_KEY_INVALID");
    assert_eq!(spent(&site), 300);
}

#[test]
fn rejects_key_of_page_for_stream() {
    let (site, key) = site_with_rows(50);
    let page = lines(&key, "/api/v1/datasets/cities/query", r#"{"limit": 5}"#, "p-1");
    assert!(!is_replayed(&site.send(&page)));
    let stream = lines(&key, STREAM, r#"{"limit": 5}"#, "p-1");
    assert_eq!(site.send(&stream).refusal().2, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(spent(&site), 5);
}

/// Reads so many rows of a stream, then leaves.
fn read_some(site: &Site, ask: &Ask, rows: usize) -> Vec<String> {
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(&ask.bytes()).unwrap();
    let mut wire = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&wire);
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let found: Vec<String> =
            whole.lines().filter(|line| line.starts_with('{')).map(ToOwned::to_owned).collect();
        if found.len() >= rows {
            return found[..rows].to_vec();
        }
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "{text}");
        wire.extend_from_slice(&piece[..length]);
    }
}

#[test]
fn resumes_cut_stream_after_received_rows_and_charges_once() {
    let (site, key) = site_with_rows(100_000);
    let body = r#"{"limit": 90000, "sortBy": "name", "columns": ["id"]}"#;
    let whole = site.send(&lines(&key, STREAM, body, "whole")).text();
    let paid_for_whole = spent(&site);
    let mut got = read_some(&site, &lines(&key, STREAM, body, "cut"), 2_000);
    let after_first = spent(&site) - paid_for_whole;
    assert!((2_000..90_000).contains(&after_first), "{after_first}");
    // A newer version changes nothing: the key goes on with the one that it began on.
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(10));
    let resume = |got: &[String]| lines(&key, &format!("{STREAM}?afterRows={}", got.len()), body, "cut");
    got.extend(read_some(&site, &resume(&got), 1_500));
    spent(&site);
    let last = site.send(&resume(&got));
    assert!(is_replayed(&last));
    assert_eq!(last.header("X-Dataset-Version"), Some("1.1.0"));
    assert_eq!(last.trailer("X-Rows-Returned"), Some("86500"));
    got.extend(last.text().lines().map(ToOwned::to_owned));
    assert!(got == whole.lines().collect::<Vec<_>>());
    assert_eq!(spent(&site), 2 * paid_for_whole);
    let nothing_left = site.send(&resume(&got));
    assert_eq!((nothing_left.text().as_str(), nothing_left.trailer("X-Credits-Charged")), ("", Some("0")));
    assert_eq!(nothing_left.trailer("X-Next-Cursor"), last.trailer("X-Next-Cursor"));
    let unknown = lines(&key, &format!("{STREAM}?afterRows=5"), body, "never used");
    assert_eq!(site.send(&unknown).refusal().2, "NOTHING_TO_RESUME");
    let without = lines(&key, &format!("{STREAM}?afterRows=5"), body, "").without_header("Idempotency-Key");
    assert_eq!(site.send(&without).refusal().2, "NOTHING_TO_RESUME");
}

#[test]
fn refuses_concurrent_stream_under_same_key() {
    let (site, key) = site_with_rows(300_000);
    let ask = lines(&key, STREAM, r#"{"limit": 300000}"#, "twice");
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.write_all(&ask.bytes()).unwrap();
    stream.read_exact(&mut [0; 2_000]).unwrap();
    let refused = site.send(&ask);
    assert_eq!(refused.refusal(), (409, "CONFLICT".to_owned(), "IDEMPOTENCY_KEY_IN_USE".to_owned()));
    assert_eq!((refused.header("Retry-After"), refused.header("X-Credits-Charged")), (Some("1"), Some("0")));
    let other = lines(&key, STREAM, r#"{"limit": 1}"#, "twice");
    assert_eq!(site.send(&other).refusal().2, "IDEMPOTENCY_KEY_REUSED");
    drop(stream);
    let paid = spent(&site);
    assert!(paid > 0 && paid < 300_000, "{paid}");
    assert!(is_replayed(&site.send(&ask)));
    assert_eq!(spent(&site), 300_000);
}

#[test]
fn charges_whole_download_once_per_key() {
    let (site, key) = site_with_rows(1_000);
    let plain = Ask::get(DOWNLOAD).header("X-Api-Key", &key);
    let ask = plain.clone().header("Idempotency-Key", "d-1");
    let first = site.send(&ask);
    assert!(!is_replayed(&first));
    assert_eq!((first.header("X-Credits-Charged"), spent(&site)), (Some("1000"), 1_000));
    let again = site.send(&ask);
    assert!(is_replayed(&again) && again.body == first.body);
    assert_eq!((again.header("X-Credits-Charged"), spent(&site)), (Some("0"), 1_000));
    let part = site.send(&ask.clone().header("Range", "bytes=0-9"));
    assert_eq!((part.status, spent(&site)), (206, 1_000));
    let other = Ask::get(&DOWNLOAD.replace("ndjson", "csv")).header("X-Api-Key", &key);
    let other = other.header("Idempotency-Key", "d-1");
    assert_eq!(site.send(&other).refusal().2, "IDEMPOTENCY_KEY_REUSED");
    site.send(&plain);
    assert_eq!(spent(&site), 2_000);
    site.publish("cities", MANIFEST, "1.2.0", &city_columns(700));
    let bound = site.send(&ask);
    assert!(is_replayed(&bound) && bound.body == first.body, "the version that was paid");
    let newest = site.send(&plain.header("Idempotency-Key", "d-2"));
    assert_eq!(newest.header("X-Dataset-Version"), Some("1.2.0"));
    assert_eq!(spent(&site), 2_700);
}
