//! The guard in front of workers that misbehave: what the client sees is whole, or is seen not to be.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use mercato::edge::EdgeLimits;

use super::fake::{Asked, Fake};
use super::raw::Raw;

fn broken() -> std::io::Error {
    std::io::ErrorKind::BrokenPipe.into()
}

fn misbehave(asked: &Asked, stream: &mut UnixStream) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\n";
    match asked.target.as_str() {
        "/good" => stream.write_all(format!("{head}Content-Length: 4\r\n\r\ngood").as_bytes()),
        "/short" => {
            stream.write_all(format!("{head}Content-Length: 900000\r\n\r\nabc").as_bytes())?;
            Err(broken())
        }
        "/short-page" => {
            stream.write_all(format!("{head}Content-Length: 10\r\n\r\nabc").as_bytes())?;
            Err(broken())
        }
        "/silent" => Err(broken()),
        "/junk" => stream.write_all(b"what?\r\n\r\n"),
        "/endless-head" => stream.write_all(&[b'a'; 300_000]),
        "/surplus" => stream.write_all(
            format!("{head}Content-Length: 3\r\n\r\nabc{head}Content-Length: 5\r\n\r\nother").as_bytes(),
        ),
        "/cut" => stream
            .write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nrow\r\ncut\r\n\r\n").as_bytes()),
        "/gone" => {
            stream.write_all(
                format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\nrow\r\n3\r\nro").as_bytes(),
            )?;
            Err(broken())
        }
        "/chunks" => {
            stream.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())?;
            for _ in 0..3 {
                stream.write_all(b"3\r\nrow\r\n")?;
                thread::sleep(Duration::from_millis(20));
            }
            stream.write_all(b"0\r\n\r\n")
        }
        "/empty" => stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"),
        "/unchanged" => stream.write_all(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"),
        _ => stream.write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()),
    }
}

/// Hazard 14: an answer that broke off ends the connection before its own end.
#[test]
fn a_part_never_looks_like_the_whole() {
    let fake = Fake::start(2, EdgeLimits::default(), misbehave);
    for _ in 0..5 {
        let short = fake.get("/short").rest();
        assert!(short.starts_with(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n") && short.len() < 1000);
        for target in ["/cut", "/gone"] {
            let bytes = fake.get(target).rest();
            assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n"), "{target}");
            assert!(!bytes.ends_with(b"0\r\n\r\n"), "{target} looks whole");
        }
        // Of a page, nothing has gone out yet: the client is told.
        for target in ["/short-page", "/silent", "/junk", "/endless-head", "/surplus"] {
            let answer = fake.get(target).answer();
            assert_eq!((answer.status, answer.text().as_str()), (503, "no_answer"), "{target}");
        }
        assert_eq!(fake.get("/good").answer().text(), "good", "broken connections are replaced");
    }
}

#[test]
fn an_old_client_is_reset_where_only_the_end_tells_a_part_from_the_whole() {
    let fake = Fake::start(1, EdgeLimits::default(), misbehave);
    let mut raw = Raw::connect(fake.address);
    raw.send("GET /cut HTTP/1.0\r\n\r\n");
    let mut bytes = Vec::new();
    let ended = raw.stream().read_to_end(&mut bytes);
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    let mut raw = Raw::connect(fake.address);
    raw.send("GET /chunks HTTP/1.0\r\n\r\n");
    let whole = String::from_utf8(raw.rest()).unwrap();
    assert_eq!(whole, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nrowrowrow");
}

#[test]
fn answers_pass_as_they_are_and_the_connection_goes_on() {
    let fake = Fake::start(1, EdgeLimits::default(), misbehave);
    let mut raw = Raw::connect(fake.address);
    let mut get = |target: &str| {
        raw.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let answer = if target == "/unchanged" { raw.head_answer() } else { raw.answer() };
        (answer.status, answer.text())
    };
    for _ in 0..3 {
        assert_eq!(get("/chunks"), (200, "rowrowrow".to_owned()));
        assert_eq!(get("/empty"), (204, String::new()));
        assert_eq!(get("/unchanged"), (304, String::new()));
        assert_eq!(get("/good"), (200, "good".to_owned()));
        assert_eq!(get("/nothing"), (200, String::new()));
    }
}

static GATE: std::sync::Mutex<Option<Receiver<()>>> = std::sync::Mutex::new(None);

/// Answers when the test says so.
fn wait_for_the_word(asked: &Asked, stream: &mut UnixStream) -> std::io::Result<()> {
    if asked.target == "/slow" {
        let gate = GATE.lock().unwrap();
        gate.as_ref().unwrap().recv_timeout(Duration::from_secs(30)).map_err(|_| broken())?;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

/// Hazard 27: what waits for a worker is bounded in number and in time.
#[test]
fn what_finds_no_worker_waits_in_a_bounded_line() {
    let (tell, told): (Sender<()>, _) = channel();
    *GATE.lock().unwrap() = Some(told);
    let limits = EdgeLimits { queue_wait: Duration::from_secs(20), queue_length: 2, ..EdgeLimits::default() };
    let fake = Fake::start(1, limits, wait_for_the_word);
    let mut running = fake.get("/slow");
    let samples = fake.guard.as_ref().unwrap().sampler();
    let gauge = |name: &str| samples().iter().find(|sample| sample.name == name).unwrap().value;
    let settle = |name: &str, value: u64| crate::harness::wait_until(name, || gauge(name) == value);
    settle("mercato_workers_free", 0);
    let mut waiting = [fake.get("/quick"), fake.get("/quick")];
    settle("mercato_requests_waiting", 2);
    let mut refused = fake.get("/quick");
    assert_eq!(refused.answer().text(), "busy");
    tell.send(()).unwrap();
    assert_eq!(running.answer().text(), "ok");
    for raw in &mut waiting {
        assert_eq!(raw.answer().text(), "ok");
    }
    refused.send("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(refused.answer().text(), "ok", "who was refused may try again on the same connection");
}
