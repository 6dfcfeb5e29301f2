//! Streams of rows.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, wait_until};

const TARGET: &str = "/api/v1/datasets/cities/query/stream";

fn site_with_rows(rows: i64) -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(rows));
    site
}

fn ask(key: &str, body: &str) -> Ask {
    Ask::post(TARGET, body).header("X-Api-Key", key)
}

/// Blocks between blank lines.
fn events(answer: &Answer) -> Vec<String> {
    answer.text().split_terminator("\n\n").map(ToOwned::to_owned).collect()
}

fn data(events: &[String]) -> Vec<Value> {
    let lines = events.iter().flat_map(|event| event.lines());
    lines
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

fn end_of(events: &[String]) -> Value {
    serde_json::from_str(events.last().unwrap().strip_prefix(": end ").unwrap()).unwrap()
}

fn id_lines(events: &[String]) -> Vec<(usize, &str)> {
    events
        .iter()
        .enumerate()
        .filter_map(|(at, event)| Some((at + 1, event.lines().find_map(|line| line.strip_prefix("id: "))?)))
        .collect()
}

fn credits(site: &Site) -> u64 {
    site.running().app().ledger.accounts()[0].credits()
}

#[test]
fn streams_rows_as_data_and_end_as_comment() {
    let site = site_with_rows(2500);
    let key = site.paying_key(10_000);
    let answer = site.send(&ask(&key, r#"{"limit": 100000, "columns": ["id"]}"#));
    assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("text/event-stream")));
    assert_eq!(answer.header("X-Accel-Buffering"), Some("no"));
    assert_eq!(answer.header("X-Dataset-Version"), Some("1.1.0"));
    let events = events(&answer);
    let rows = data(&events);
    let ids: Vec<i64> = rows.iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, (1..=2500).collect::<Vec<_>>());
    let places: Vec<usize> = id_lines(&events).iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [1, 1000, 2000, 2500]);
    let end = end_of(&events);
    assert_eq!(
        (&end["rowsReturned"], &end["creditsCharged"], &end["nextCursor"]),
        (&2500.into(), &2500.into(), &Value::Null)
    );
    assert_eq!(credits(&site), 7500);
}

#[test]
fn resumes_stream_by_last_event_or_cursor() {
    let site = site_with_rows(50);
    let key = site.paying_key(1000);
    let first = events(&site.send(&ask(&key, r#"{"limit": 20, "sortBy": "name", "columns": ["id"]}"#)));
    let end = end_of(&first);
    let last_id = id_lines(&first).last().unwrap().1.to_owned();
    assert_eq!(end["nextCursor"], last_id.as_str());
    let body = r#"{"limit": 100, "sortBy": "name", "columns": ["id"]}"#;
    let by_event = events(&site.send(&ask(&key, body).header("Last-Event-ID", &last_id)));
    let with_cursor =
        format!(r#"{{"limit": 100, "sortBy": "name", "columns": ["id"], "cursor": "{last_id}"}}"#);
    let by_cursor = events(&site.send(&ask(&key, &with_cursor)));
    assert_eq!(data(&by_event), data(&by_cursor));
    let mut all: Vec<i64> =
        data(&first).iter().chain(&data(&by_event)).map(|row| row["id"].as_i64().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=50).collect::<Vec<_>>());
    assert!(end_of(&by_event)["nextCursor"].is_null());
}

#[test]
fn repeats_end_as_event_in_summary() {
    let site = site_with_rows(3);
    let key = site.paying_key(10);
    let ask = Ask::post(&format!("{TARGET}?summary=1"), "{}").header("X-Api-Key", &key);
    let events = events(&site.send(&ask));
    let (comment, event) = events[3].split_once('\n').unwrap();
    assert!(comment.starts_with(": end {"));
    assert!(event.starts_with("event: end\ndata: {\"rowsReturned\":3"), "{event}");
}

/// A client that remembers the last id makes an event without data of every blank line after a comment.
#[test]
fn ends_comment_without_blank_line() {
    let site = site_with_rows(3);
    let key = site.paying_key(10);
    let text = site.send(&Ask::post(TARGET, "{}").header("X-Api-Key", &key)).text();
    assert!(text.contains("\n: end {") && text.ends_with("}\n") && !text.ends_with("\n\n"), "{text}");
}

#[test]
fn streams_bare_rows_as_ndjson() {
    let site = site_with_rows(700);
    let key = site.paying_key(1000);
    let answer = site.send(&ask(&key, r#"{"limit": 1000}"#).header("Accept", "application/x-ndjson"));
    assert_eq!(answer.header("Content-Type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[699]["id"]), (700, &700.into()));
    assert_eq!(credits(&site), 300);
}

#[test]
fn streams_header_and_filtered_rows_as_csv() {
    let site = site_with_rows(2_500);
    let key = site.paying_key(10_000);
    let body = r#"{"limit": 100000, "columns": ["name", "id"], "filters": {"id": {"gt": 500}}}"#;
    let answer = site.send(&ask(&key, body).header("Accept", "text/csv"));
    assert_eq!(answer.header("Content-Type"), Some("text/csv; charset=utf-8; header=present"));
    let text = answer.text();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!((lines.len(), lines[0], lines[2_000]), (2_001, "name,id", "Torino,2500"));
    assert_eq!(credits(&site), 8_000);
    let empty = site.send(&ask(&key, r#"{"filters": {"id": 0}}"#).header("Accept", "application/csv"));
    assert_eq!(empty.text(), "id,name,area,height,capital,founded,seen\r\n");
}

#[test]
fn ends_every_format_with_cursor_and_charge_trailers() {
    let site = site_with_rows(50);
    let key = site.paying_key(1_000);
    for accept in ["text/csv", "application/x-ndjson", "text/event-stream"] {
        let answer = site.send(&ask(&key, r#"{"limit": 20}"#).header("Accept", accept));
        let announced = answer.header("Trailer").unwrap();
        assert!(answer.trailers.iter().all(|(name, _)| announced.contains(name)), "{announced}");
        let said = [answer.trailer("X-Rows-Returned"), answer.trailer("X-Credits-Charged")];
        assert_eq!(said, [Some("20"), Some("20")], "{accept}");
        let cursor = answer.trailer("X-Next-Cursor").unwrap();
        let rest = site
            .send(&ask(&key, &format!(r#"{{"limit": 100, "cursor": "{cursor}"}}"#)).header("Accept", accept));
        assert_eq!((rest.trailer("X-Rows-Returned"), rest.trailer("X-Next-Cursor")), (Some("30"), None));
    }
}

#[test]
fn writes_summary_as_last_line() {
    let site = site_with_rows(5);
    let key = site.paying_key(100);
    let last_line = |accept: &str, body: &str| {
        let ask = Ask::post(&format!("{TARGET}?summary=1"), body).header("X-Api-Key", &key);
        let answer = site.send(&ask.header("Accept", accept));
        let cursor = answer.trailer("X-Next-Cursor").unwrap_or_default().to_owned();
        (answer.text().lines().last().unwrap().to_owned(), cursor)
    };
    let (line, cursor) = last_line("application/x-ndjson", r#"{"limit": 2}"#);
    let end = format!(r#"{{"$end":{{"rowsReturned":2,"nextCursor":"{cursor}","creditsCharged":2}}}}"#);
    assert_eq!(line, end);
    let (line, cursor) = last_line("text/csv", r#"{"limit": 2}"#);
    assert_eq!(line, format!("$end,2,{cursor},2"));
    assert_eq!(last_line("text/csv", "{}").0, "$end,5,,5");
}

#[test]
fn ends_empty_stream_at_once_without_charge() {
    let site = site_with_rows(3);
    let key = site.paying_key(10);
    let events = events(&site.send(&ask(&key, r#"{"filters": {"id": 99}}"#)));
    assert_eq!(events.len(), 1);
    assert_eq!((&end_of(&events)["rowsReturned"], credits(&site)), (&0.into(), 10));
}

#[test]
fn refuses_stream_before_first_byte() {
    let site = site_with_rows(50);
    let key = site.paying_key(10);
    assert_eq!(site.send(&Ask::post(TARGET, "{}")).status, 401);
    assert_eq!(site.send(&ask(&key, r#"{"limit": 1000001}"#)).refusal().2, "OUT_OF_RANGE");
    assert_eq!(site.send(&ask(&key, "{}")).refusal().2, "INSUFFICIENT_CREDITS");
    assert_eq!(site.send(&ask(&key, "{}").header("Accept", "application/json")).refusal().0, 406);
    assert_eq!(
        site.send(&ask(&key, r#"{"limit": 5}"#).header("Last-Event-ID", "junk")).refusal().2,
        "CURSOR_INVALID"
    );
    let free = site.free_key();
    assert_eq!(site.send(&ask(&free, r#"{"limit": 101}"#)).refusal().2, "FREE_PLAN_ROWS");
    assert_eq!(credits(&site), 10);
}

#[test]
fn sends_first_rows_early_and_refunds_rest_to_leaving_client() {
    let site = site_with_rows(200_000);
    let key = site.paying_key(1_000_000);
    let body = r#"{"limit": 200000}"#;
    let mut stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let head = format!(
        "POST {TARGET} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !seen.windows(6).any(|window| window == b"data: ") {
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0);
        seen.extend_from_slice(&piece[..length]);
    }
    assert_eq!(credits(&site), 800_000, "the whole is set aside while the stream runs");
    stream.shutdown(Shutdown::Both).unwrap();
    drop(stream);
    wait_until("the rest comes back", || credits(&site) > 800_000);
    assert!(credits(&site) < 1_000_000);
}

#[test]
fn streams_to_http_1_0_without_chunks() {
    let site = site_with_rows(3);
    let key = site.paying_key(10);
    let mut stream = TcpStream::connect(site.address()).unwrap();
    let head = format!("POST {TARGET} HTTP/1.0\r\nX-Api-Key: {key}\r\nContent-Length: 2\r\n\r\n{{}}");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(!answer.contains("Transfer-Encoding"));
    assert!(answer.contains("\r\n\r\nid: ") && answer.ends_with("}\n"), "{answer}");
}
