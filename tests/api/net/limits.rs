//! Times and numbers: who is slow, idle or many is told or cut, and nobody else notices.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::raw::Raw;
use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange, wait_until};

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

fn site(flags: &[&str]) -> Site {
    Site::empty(&[&["--requests-per-minute", "0", "--requests-per-day", "0"], flags].concat())
}

fn metric(site: &Site, name: &str) -> u64 {
    let text = exchange(site.admin_address(), &Ask::get("/metrics")).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
}

/// Hazard 9: a head that does not end.
#[test]
fn answers_408_to_slow_head() {
    let site = Site::tuned(tempfile::tempdir().unwrap(), &[], |settings| {
        settings.net.head_time = Duration::from_secs(1)
    });
    let mut raw = Raw::connect(site.address());
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n");
    assert_eq!(raw.answer().refusal(), (408, "REQUEST_TIMEOUT".to_owned(), "HEAD_TIMEOUT".to_owned()));
    assert!(raw.is_over());
    // One byte at a time does not begin the time anew.
    let mut dripping = Raw::connect(site.address());
    let mut sender = dripping.stream().try_clone().unwrap();
    let drip = thread::spawn(move || {
        for byte in b"GET / HTTP/1.1\r\nA: ".iter().chain(&[b'a'; 400]) {
            if sender.write_all(&[*byte]).is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(50));
        }
        false
    });
    assert_eq!(dripping.answer().status, 408);
    assert!(dripping.is_over());
    assert!(drip.join().unwrap(), "the server listened to the end");
}

/// Hazard 9: a body that does not end, and clients that send neither hold up those that do.
#[test]
fn answers_408_to_slow_body_without_worker() {
    let flags = ["--stream-workers", "1"];
    let site = Site::tuned(tempfile::tempdir().unwrap(), &flags, |settings| {
        settings.net.body_time = Duration::from_secs(1)
    });
    let key = site.paying_key(1);
    let mut slow: Vec<Raw> = (0..20)
        .map(|number| {
            let mut raw = Raw::connect(site.address());
            let target = if number % 2 == 0 { "query" } else { "query/stream" };
            raw.send(format!(
                "POST /api/v1/datasets/x/{target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: 50000\r\n\r\nabc"
            ));
            raw
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(site.get("/api/v1/datasets").status, 200);
    }
    for raw in &mut slow {
        assert_eq!(raw.answer().refusal().2, "BODY_TIMEOUT");
        assert!(raw.is_over());
    }
    assert_eq!(metric(&site, "mercato_edge_refusals_total{reason=\"body_timeout\"}"), 20);
}

#[test]
fn closes_idle_connection_silently() {
    let site = Site::tuned(tempfile::tempdir().unwrap(), &[], |settings| {
        settings.net.idle_time = Duration::from_secs(1)
    });
    let mut fresh = Raw::connect(site.address());
    let mut used = Raw::connect(site.address());
    assert_eq!(used.send(HEALTH).answer().status, 200);
    assert!(fresh.is_over() && used.is_over());
    site.wait_for_metrics(&["mercato_connections_idle_closed_total 2"]);
    // Hazard 5: the listener itself has no such time.
    assert_eq!(site.get("/healthz").status, 200);
}

#[test]
fn closes_idle_crowd_and_keeps_active_client() {
    let site = Site::tuned(tempfile::tempdir().unwrap(), &[], |settings| {
        settings.net.idle_time = Duration::from_secs(3)
    });
    let mut crowd: Vec<Raw> = (0..200).map(|_| Raw::connect(site.address())).collect();
    let mut asking = Raw::connect(site.address());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let kept = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(asking.send(HEALTH).answer().status, 200);
                thread::sleep(Duration::from_millis(50));
            }
        });
        let all_over = crowd.iter_mut().all(Raw::is_over);
        is_over.store(true, Ordering::Relaxed);
        assert!(all_over);
        kept.join().unwrap();
    });
    site.wait_for_metrics(&["mercato_connections_idle_closed_total 200"]);
}

/// Hazard 8: a client that does not read holds no worker, and is cut in the end.
#[test]
fn cuts_clients_that_do_not_read() {
    let site =
        Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0", "--write-seconds", "1"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(50_000));
    let key = site.paying_key(10_000_000);
    // More than the buffers of both kernels hold, so that it cannot be written without a reader.
    let body = r#"{"limit":10000}"#;
    let request = format!(
        "POST /api/v1/datasets/cities/query HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // Eight workers, and more than as many answers of more than a megabyte each that nobody reads.
    let stuck: Vec<Raw> = (0..12)
        .map(|_| {
            let mut raw = Raw::connect(site.address());
            for _ in 0..8 {
                raw.send(&request);
            }
            raw
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(site.query("cities", &key, r#"{"limit":1}"#).status, 200);
    }
    wait_until("all of them are cut", || metric(&site, "mercato_slow_readers_total") == 12);
    drop(stuck);
    wait_until("every worker is free", || metric(&site, "mercato_workers_free{pool=\"page\"}") == 8);
}

/// As many streams as may run can stall, and pages do not notice; one more is told to come back. One account holds half of
/// their workers, so it takes two to hold all.
#[test]
fn confines_stalled_streams_to_their_workers() {
    let site = Site::empty(&[
        "--requests-per-minute",
        "0",
        "--requests-per-day",
        "0",
        "--stream-workers",
        "2",
        "--queue-wait-millis",
        "50",
    ]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(200_000));
    let (key, other) = (site.paying_key(100_000_000), site.paying_key(100_000_000));
    let body = r#"{"limit":200000}"#;
    let begin = |key: &str| {
        let mut raw = Raw::connect(site.address());
        raw.send(format!(
            "POST /api/v1/datasets/cities/query/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let mut first = [0; 17];
        raw.stream().read_exact(&mut first).unwrap();
        (raw, first)
    };
    let refused = |key: &str| {
        let ask = Ask::post("/api/v1/datasets/cities/query/stream", body).header("X-Api-Key", key);
        let refused = exchange(site.address(), &ask);
        assert_eq!(refused.refusal(), (503, "UNAVAILABLE".to_owned(), "BUSY".to_owned()));
        assert_eq!(refused.header("Retry-After"), Some("1"));
    };
    let first = begin(&key);
    refused(&key);
    let second = begin(&other);
    assert_eq!((&first.1, &second.1), (b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n"));
    refused(&site.paying_key(100_000_000));
    assert_eq!(site.query("cities", &key, r#"{"limit":1}"#).status, 200);
    drop((first, second));
    wait_until("both workers have noticed that their clients left", || {
        metric(&site, "mercato_workers_free{pool=\"stream\"}") == 2
    });
    assert_eq!(metric(&site, "mercato_clients_gone_total"), 2);
}

#[test]
fn bounds_streams_per_key() {
    let site =
        Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0", "--streams-per-key", "1"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(200_000));
    let (key, other) = (site.paying_key(10_000_000), site.paying_key(10_000_000));
    let body = r#"{"limit":200000}"#;
    let stream = |key: &str, body: &str| {
        Ask::post("/api/v1/datasets/cities/query/stream", body).header("X-Api-Key", key)
    };
    let mut running = Raw::connect(site.address());
    running.send(format!(
        "POST /api/v1/datasets/cities/query/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let mut first = [0; 15];
    running.stream().read_exact(&mut first).unwrap();
    let refused = site.send(&stream(&key, "{}"));
    assert_eq!(refused.refusal(), (429, "RATE_LIMITED".to_owned(), "TOO_MANY_STREAMS".to_owned()));
    let details = refused.json()["error"]["details"].clone();
    assert_eq!((&details["limit"], &details["scope"]), (&1.into(), &"key".into()));
    assert!(details["resetAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(details["retryAfterSeconds"].to_string(), refused.header("Retry-After").unwrap());
    assert_eq!(refused.header("X-Credits-Charged"), Some("0"));
    assert!(refused.header("X-Credits-Remaining").is_some());
    assert_eq!(refused.header("Retry-After"), Some("1"));
    assert_eq!(site.query("cities", &key, r#"{"limit":1}"#).status, 200, "pages are not streams");
    assert_eq!(site.send(&stream(&other, "{}")).status, 200);
    drop(running);
    wait_until("the place is free again", || site.send(&stream(&key, "{}")).status == 200);
}

/// Hazard 21: connections have an end, for everybody and for one address.
#[test]
fn bounds_connections_in_total_and_per_address() {
    for (flag, status, reason) in
        [("--max-connections", 503, "BUSY"), ("--max-connections-per-address", 429, "TOO_MANY_CONNECTIONS")]
    {
        let site = site(&[flag, "3"]);
        let mut open: Vec<Raw> = (0..3).map(|_| Raw::connect(site.address())).collect();
        for raw in &mut open {
            assert_eq!(raw.send(HEALTH).answer().status, 200);
        }
        let mut refused = Raw::connect(site.address());
        let answer = refused.answer();
        assert_eq!((answer.status, answer.refusal().2.as_str()), (status, reason));
        assert!(answer.header("Retry-After").is_some() && refused.is_over());
        assert_eq!(open[0].send(HEALTH).answer().status, 200, "who is in stays in");
        drop(open.pop());
        wait_until("a place is free", || {
            let mut raw = Raw::connect(site.address());
            raw.send(HEALTH).answer().status == 200
        });
    }
}

/// A request that is under way when its connection is refused does not reset the connection.
#[test]
fn delivers_reason_to_refused_client_that_still_sends() {
    let site = site(&["--max-connections", "1"]);
    let mut inside = Raw::connect(site.address());
    assert_eq!(inside.send(HEALTH).answer().status, 200);
    let mut refused: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(site.address()).unwrap()).collect();
    for stream in &mut refused {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.peek(&mut [0]).unwrap();
        for _ in 0..2 {
            stream.write_all(HEALTH.as_bytes()).expect("the connection is not reset");
            thread::sleep(Duration::from_millis(20));
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the answer comes to its end");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("BUSY"), "{answer}");
    }
    assert_eq!(inside.send(HEALTH).answer().status, 200);
}

#[test]
fn exempts_trusted_proxy_from_address_limit() {
    let site = site(&["--max-connections-per-address", "1", "--trusted-proxy", "127.0.0.0/8"]);
    let mut open: Vec<Raw> = (0..5).map(|_| Raw::connect(site.address())).collect();
    for raw in &mut open {
        assert_eq!(raw.send(HEALTH).answer().status, 200);
    }
}
