//! Answers that workers send to clients themselves: the same bytes as through the guard, and nothing of one answer in the
//! place of another.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mercato::edge::EdgeLimits;
use mercato::outlets::{Claim, ClaimWriter, put_out};

use super::fake::{Asked, Fake};
use super::raw::Raw;
use crate::harness::{Answer, Ask, Site, city_columns, wait_until};

const LARGE: usize = 12_000_000;

fn broken() -> std::io::Error {
    std::io::ErrorKind::BrokenPipe.into()
}

fn page(length: usize) -> Vec<u8> {
    let body: Vec<u8> = (0..length).map(|number| b'a' + (number / 7 % 26) as u8).collect();
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes(), &body].concat()
}

/// What a worker keeps of a request that the guard no longer waits for.
static LATE: Mutex<Option<Receiver<()>>> = Mutex::new(None);

fn act(asked: &Asked, back: &mut UnixStream) -> std::io::Result<()> {
    let writer = |claim: Option<Claim>, back: &UnixStream| {
        Ok::<_, std::io::Error>(ClaimWriter::new(claim.ok_or_else(broken)?, Box::new(back.try_clone()?)))
    };
    match asked.target.as_str() {
        "/page" => put_out(asked.claim(), &page(100), back),
        // That the client is gone is no reason for a worker to end: the guard was told where its answer ends.
        "/large" => put_out(asked.claim(), &page(LARGE), back).or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        }),
        "/empty" => put_out(asked.claim(), b"HTTP/1.1 204 No Content\r\n\r\n", back),
        "/stream" => {
            let mut writer = writer(asked.claim(), back)?;
            writer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for _ in 0..3 {
                writer.write_all(b"3\r\nrow\r\n")?;
                writer.flush()?;
            }
            writer.write_all(b"0\r\n\r\n")?;
            writer.finish(true)
        }
        "/cut" => {
            let mut writer = writer(asked.claim(), back)?;
            writer.write_all(&page(1_000)[..500])?;
            writer.finish(false)
        }
        "/dies" => {
            let mut writer = writer(asked.claim(), back)?;
            writer.write_all(&page(1_000)[..500])?;
            writer.flush()?;
            Err(broken())
        }
        "/panics" => {
            drop(asked.claim().ok_or_else(broken)?);
            // What tiny_http says for a request that was dropped.
            back.write_all(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        }
        "/endless" => {
            let mut writer = writer(asked.claim(), back)?;
            let sent = (0..1_000_000).try_for_each(|_| writer.write_all(&[b'x'; 65_536]));
            assert!(sent.is_err());
            writer.finish(false)
        }
        "/late" => {
            LATE.lock().unwrap().as_ref().unwrap().recv().map_err(|_| broken())?;
            assert!(asked.claim().is_none(), "the guard has told the client already that there is no answer");
            put_out(asked.claim(), &page(100), back)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_worker_that_sends_itself_leaves_a_connection_that_goes_on() {
    let fake = Fake::start(1, EdgeLimits::default(), act);
    let mut raw = Raw::connect(fake.address);
    for _ in 0..3 {
        for target in ["/page", "/stream", "/empty", "/page", "/large"] {
            let answer = raw.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")).answer();
            let expected = match target {
                "/page" => page(100).split_off(page(100).len() - 100),
                "/large" => page(LARGE).split_off(page(LARGE).len() - LARGE),
                "/stream" => b"rowrowrow".to_vec(),
                _ => Vec::new(),
            };
            assert!(answer.body == expected, "{target}: {} bytes", answer.body.len());
        }
    }
    // Several requests in one write are answered in their order.
    let answer =
        raw.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\nGET /stream HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50));
    for _ in 0..50 {
        assert_eq!(answer.answer().body.len(), 100);
        assert_eq!(answer.answer().text(), "rowrowrow");
    }
}

#[test]
fn what_a_slow_client_does_not_take_waits_without_the_worker() {
    let fake = Fake::start_pages(1, EdgeLimits::default(), act);
    let mut slow = fake.get("/large");
    // There is one worker: it is free although nothing of the large answer is read.
    wait_until("the worker is free", || fake.get("/page").answer().body.len() == 100);
    let answer = slow.answer();
    assert!(answer.body == page(LARGE)[page(LARGE).len() - LARGE..]);
}

#[test]
fn an_answer_that_breaks_off_ends_the_connection() {
    let fake = Fake::start(2, EdgeLimits::default(), act);
    for target in ["/cut", "/dies"] {
        let bytes = fake.get(target).rest();
        assert_eq!(bytes, page(1_000)[..500], "{target}");
        assert_eq!(fake.get("/page").answer().body.len(), 100, "another worker takes its place");
    }
}

/// A claim without an answer is no answer, whatever is said in its place; the client must not wait for one.
#[test]
fn a_worker_that_claims_and_says_nothing_ends_the_connection() {
    let fake = Fake::start(1, EdgeLimits::default(), act);
    assert_eq!(fake.get("/panics").rest(), b"");
    assert_eq!(fake.get("/page").answer().body.len(), 100);
}

#[test]
fn a_client_that_leaves_or_does_not_read_ends_the_work() {
    let limits = EdgeLimits { write_time: Duration::from_millis(300), ..EdgeLimits::default() };
    let fake = Fake::start(1, limits, act);
    let counted = |name: &str| {
        let samples = fake.guard.as_ref().unwrap().sampler()();
        samples.iter().find(|sample| sample.name == name).unwrap().value
    };
    let leaving = fake.get("/endless");
    leaving.stream().read_exact(&mut [0; 100]).unwrap();
    drop(leaving);
    wait_until("it is seen that the client left", || counted("mercato_clients_gone_total") == 1);
    let stalled = fake.get("/endless");
    wait_until("it is seen that the client does not read", || counted("mercato_slow_readers_total") == 1);
    assert_eq!(counted("mercato_answers_cut_total"), 0, "it was not the worker's fault");
    drop(stalled);
    assert_eq!(fake.get("/page").answer().body.len(), 100);
}

#[test]
fn a_client_that_leaves_before_its_page_costs_no_worker() {
    let limits = EdgeLimits { queue_wait: Duration::from_secs(30), ..EdgeLimits::default() };
    let fake = Fake::start_pages(1, limits, act);
    for _ in 0..20 {
        drop(fake.get("/page"));
        drop(fake.get("/large"));
    }
    assert_eq!(fake.get("/page").answer().body.len(), 100);
    let samples = fake.guard.as_ref().unwrap().sampler()();
    let replaced = samples.iter().find(|sample| sample.name == "mercato_private_replaced_total").unwrap();
    assert_eq!(replaced.value, 0, "private connections are not given up for clients");
}

/// An answer that comes when the client was told that there is none must not be taken for the answer to its next request.
#[test]
fn an_answer_that_comes_too_late_reaches_nobody() {
    let (tell, told): (Sender<()>, _) = channel();
    *LATE.lock().unwrap() = Some(told);
    let limits = EdgeLimits { answer_wait: Duration::from_millis(200), ..EdgeLimits::default() };
    let fake = Fake::start(2, limits, act);
    let mut raw = fake.get("/late");
    assert_eq!(raw.answer().text(), "no_answer");
    for turn in 0..3 {
        let answer = raw.send("GET /page HTTP/1.1\r\nHost: x\r\n\r\n").answer();
        assert_eq!(answer.body.len(), 100, "{turn}");
        if turn == 0 {
            tell.send(()).unwrap();
        }
    }
}

fn without_what_differs(answer: &Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut plain = Vec::new();
    let read = match answer.header("Content-Encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut plain),
        Some(_) => zstd::stream::read::Decoder::new(&*answer.body).unwrap().read_to_end(&mut plain),
        None => (&*answer.body).read_to_end(&mut plain),
    };
    assert!(read.is_ok());
    let text = String::from_utf8(plain).unwrap();
    // The last member of an envelope tells time and credits, and so its length is not the same twice.
    let (body, is_envelope) = match text.split_once(r#","meta":{"#) {
        Some((body, _)) if body.starts_with(r#"{"success""#) => (body, true),
        _ => (text.as_str(), false),
    };
    let differs = |name: &str| {
        let own =
            ["Date", "X-Request-Id", "RateLimit", "X-Credits-Remaining", "Connection", "Transfer-Encoding"];
        own.contains(&name) || (is_envelope && name == "Content-Length")
    };
    let headers = answer.headers.iter().filter(|(name, _)| !differs(name)).cloned().collect();
    (answer.status, headers, body.as_bytes().to_vec())
}

/// The naive twin of a short way is the long one: an answer to an old client comes through the guard, without chunks.
#[test]
fn every_kind_of_answer_is_the_same_both_ways() {
    let site = Site::empty(&[]);
    site.publish("cities", crate::harness::MANIFEST, "1.0.0", &city_columns(30_000));
    let key = site.paying_key(10_000_000);
    let all = r#"{"limit":10000}"#;
    let query = |body: &str| Ask::post("/api/v1/datasets/cities/query", body);
    let stream =
        |accept: &str| Ask::post("/api/v1/datasets/cities/query/stream", "{}").header("Accept", accept);
    let download = |format: &str| Ask::get(&format!("/api/v1/datasets/cities/download?format={format}"));
    let asks = [
        query(r#"{"limit":3}"#),
        query(all),
        query(all).header("Accept", "text/csv"),
        query(all).header("Accept-Encoding", "gzip"),
        query(r#"{"limit":0}"#),
        stream("text/event-stream"),
        stream("application/x-ndjson"),
        stream("application/x-ndjson").header("Accept-Encoding", "zstd"),
        download("csv"),
        download("json"),
        download("csv").header("Accept-Encoding", "gzip"),
        download("csv").header("Range", "bytes=1000-50000"),
        download("csv").header("Range", "bytes=999999999-"),
        Ask::get("/api/v1/datasets"),
        Ask::get("/api/v1/datasets/cities/sample"),
        Ask::get("/healthz"),
        Ask::get("/nowhere"),
        Ask::new("OPTIONS", "/api/v1/datasets"),
    ];
    let mut kept = Raw::connect(site.address());
    for ask in asks {
        let ask = ask.header("X-Api-Key", &key);
        let through_the_guard =
            crate::harness::parse(&Raw::connect(site.address()).send(ask.old_bytes()).rest());
        let straight = kept.send(ask.bytes()).answer();
        let last = ask.clone().header("Connection", "close");
        let mut closing = Raw::connect(site.address());
        let closed = closing.send(last.bytes()).answer();
        assert!(closing.is_over());
        assert_eq!((straight.header("Connection"), closed.header("Connection")), (None, Some("close")));
        let expected = without_what_differs(&through_the_guard);
        assert!(without_what_differs(&straight) == expected, "{ask:?}");
        assert!(without_what_differs(&closed) == expected, "{last:?}");
    }
}
