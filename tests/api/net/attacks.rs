//! Bursts, floods and rude endings, against a program of its own where its threads and descriptors are counted.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use socket2::SockRef;

use super::raw::Raw;
use crate::harness::{MANIFEST, Site, city_columns, wait_until};
use crate::process::Program;

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// Hazard 3: a burst of keep-alive connections, of which each is served.
#[test]
fn serves_thousand_connections_at_once() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    let mut open: Vec<Raw> = (0..1000).map(|_| Raw::connect(site.address())).collect();
    for _ in 0..2 {
        for raw in &mut open {
            raw.send("GET /api/v1/datasets HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        for raw in &mut open {
            assert_eq!(raw.answer().status, 200);
        }
    }
}

/// Hazards 2 and 16, and every other way to leave: nothing is left behind.
#[test]
fn leaks_nothing_after_any_departure() {
    let program = Program::start_with(&[]);
    let settle = || {
        let mut raw = Raw::connect(program.address);
        assert_eq!(raw.send(HEALTH).answer().status, 200);
    };
    settle();
    wait_until("the first connection is gone", || {
        program.threads() > 0 && Raw::connect(program.address).send(HEALTH).answer().status == 200
    });
    let before = program.settled();
    for round in 0..40 {
        let mut old = Raw::connect(program.address);
        old.send("GET / HTTP/2.0\r\nHost: x\r\n\r\n");
        assert_eq!(old.answer().status, 505);
        let mut huge = Raw::connect(program.address);
        huge.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999999\r\n\r\nabc");
        assert_eq!(huge.answer().status, 413);
        // A request, and a reset before anybody has accepted.
        let reset = std::net::TcpStream::connect(program.address).unwrap();
        let _ = (&reset).write_all(HEALTH.as_bytes());
        SockRef::from(&reset).set_linger(Some(Duration::ZERO)).unwrap();
        drop(reset);
        // A head, and no more.
        let half = Raw::connect(program.address);
        let _ = half.stream().write_all(b"GET / HTTP/1.1\r\n");
        let mut gone = Raw::connect(program.address);
        gone.send(format!("{HEALTH}{HEALTH}GET /api/v1/data"));
        if round % 2 == 0 {
            assert_eq!(gone.answer().status, 200);
        }
    }
    wait_until("threads and descriptors are what they were", || {
        program.threads() <= before.0 && program.descriptors() <= before.1
    });
    settle();
}

/// Hazard 4: when descriptors run out, the server waits, and serves again.
#[test]
fn recovers_from_descriptor_exhaustion() {
    let program = Program::start_limited("ulimit -n 160", &[]);
    let open: Vec<Raw> = (0..400).map(|_| Raw::connect(program.address)).collect();
    for raw in &open {
        let _ = raw.stream().write_all(HEALTH.as_bytes());
    }
    std::thread::sleep(Duration::from_millis(300));
    drop(open);
    wait_until("the server serves again", || {
        let mut raw = Raw::connect(program.address);
        raw.send("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        raw.rest().starts_with(b"HTTP/1.1 200 ")
    });
}

/// Hazard 10: a head without end takes no memory worth the name.
#[test]
fn bounds_memory_of_endless_heads() {
    let program = Program::start_with(&[]);
    let before = program.resident_kibibytes();
    for line in ["A", "A: b\r\nA"] {
        let mut raw = Raw::connect(program.address);
        raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n");
        let piece = line.repeat(100_000);
        for _ in 0..100_000_000 / piece.len() {
            if raw.stream().write_all(piece.as_bytes()).is_err() {
                break;
            }
        }
    }
    let mut raw = Raw::connect(program.address);
    assert_eq!(raw.send(HEALTH).answer().status, 200);
    let grown = program.resident_kibibytes().saturating_sub(before);
    assert!(grown < 40_000, "{grown} KiB");
}

/// Hazard 11: requests that nobody reads the answers of are not read either.
#[test]
fn throttles_pipelined_flood_by_unread_responses() {
    let program = Program::start_with(&[]);
    let before = program.resident_kibibytes();
    let raw = Raw::connect(program.address);
    raw.stream().set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let piece = HEALTH.repeat(20_000);
    let mut sent = 0;
    let ended = loop {
        match raw.stream().write_all(piece.as_bytes()) {
            Ok(()) => sent += piece.len(),
            Err(error) => break error.kind(),
        }
        assert!(sent < 200_000_000, "the server reads on and on");
    };
    assert_eq!(ended, ErrorKind::WouldBlock);
    let grown = program.resident_kibibytes().saturating_sub(before);
    assert!(grown < 40_000, "{grown} KiB");
    assert_eq!(Raw::connect(program.address).send(HEALTH).answer().status, 200);
}

/// Hazard 12: what waits behind a stream on its own connection holds up nobody else.
#[test]
fn confines_requests_behind_stream_to_their_connection() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(100_000));
    let key = site.paying_key(10_000_000);
    let body = r#"{"limit":100000}"#;
    let mut raw = Raw::connect(site.address());
    raw.send(format!(
        "POST /api/v1/datasets/cities/query/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    for _ in 0..20 {
        raw.send("GET /api/v1/datasets HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for _ in 0..20 {
        assert_eq!(site.get("/api/v1/datasets").status, 200);
    }
    let stream = raw.answer();
    assert!(stream.text().contains("\n: end {"));
    for _ in 0..20 {
        assert_eq!(raw.answer().status, 200);
    }
}

/// Bytes without sense, seeded, so that a finding repeats.
#[test]
fn rejects_random_bytes_and_survives() {
    let site = Site::tuned(tempfile::tempdir().unwrap(), &[], |settings| {
        settings.net.head_time = Duration::from_secs(1)
    });
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: [&[u8]; 12] = [
        b"GET ",
        b"/healthz",
        b" HTTP/1.1",
        b"\r\n",
        b"\n",
        b"Host: x",
        b"Content-Length: ",
        b"9",
        b"Transfer-Encoding: chunked",
        b"0\r\n\r\n",
        b": ",
        b"\0",
    ];
    for _ in 0..300 {
        let mut bytes = Vec::new();
        for _ in 0..next() % 20 {
            match next() % 3 {
                0 => bytes.extend_from_slice(&next().to_le_bytes()),
                _ => bytes.extend_from_slice(words[usize::try_from(next() % 12).unwrap()]),
            }
        }
        let mut raw = Raw::connect(site.address());
        raw.send(&bytes);
        let _ = raw.stream().shutdown(std::net::Shutdown::Write);
        let rest = raw.rest();
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 "), "{rest:?}");
    }
    assert_eq!(site.get("/healthz").status, 200);
}

/// Hazards 19 and 20: at the end, who waits is let go, and who is being answered gets the answer.
#[test]
fn closes_idle_connections_and_finishes_streams_at_end() {
    let mut site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(100_000));
    let key = site.paying_key(10_000_000);
    let mut idle = Raw::connect(site.address());
    assert_eq!(idle.send(HEALTH).answer().status, 200);
    let body = r#"{"limit":100000}"#;
    let mut running = Raw::connect(site.address());
    running.send(format!(
        "POST /api/v1/datasets/cities/query/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    wait_until("the stream has begun", || running.stream().peek(&mut [0]).is_ok());
    let reading = std::thread::spawn(move || {
        let answer = running.answer();
        (answer.text().contains("\n: end {"), running.is_over())
    });
    assert!(site.stop(), "everything was finished in time");
    assert!(idle.is_over());
    assert_eq!(reading.join().unwrap(), (true, true));
}
