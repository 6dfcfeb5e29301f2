//! Requests from bytes that are cut anywhere, against a reader that sees them whole.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;
use crate::HeadError;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 2, 3));

fn parser(body_bytes: usize) -> RequestParser {
    let limits = NetLimits { body_bytes, ..NetLimits::default() };
    RequestParser::new(
        CLIENT,
        &limits,
        BodyMemory::new(1024 * 1024),
        Arc::new(|head, peer| Classified::new(head.target.len(), Client::Address(peer))),
    )
}

fn put(parser: &mut RequestParser, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let room = parser.room();
        let length = room.len().min(bytes.len());
        room[..length].copy_from_slice(&bytes[..length]);
        parser.received(length);
        bytes = &bytes[length..];
    }
}

/// Every request that comes out of `bytes`, fed in pieces, and how it ended.
fn run(bytes: &[u8], cuts: &[usize]) -> (Vec<(String, Vec<u8>)>, Step) {
    let mut parser = parser(1000);
    let mut requests = Vec::new();
    let mut step = Step::Wait(Phase::Idle);
    let mut from = 0;
    for end in cuts.iter().copied().chain([bytes.len()]) {
        let end = end.clamp(from, bytes.len());
        put(&mut parser, &bytes[from..end]);
        from = end;
        loop {
            step = parser.advance();
            match step {
                Step::Ready => {
                    let request = parser.request().unwrap();
                    let body = request.body.map(|body| body.bytes).unwrap_or_default();
                    requests.push((request.head.as_str().to_owned(), body));
                    parser.next();
                }
                Step::Continue => {}
                Step::Wait(_) => break,
                Step::Refused(_) => return (requests, step),
            }
        }
    }
    (requests, step)
}

#[test]
fn forwards_request_in_canonical_form() {
    let bytes = b"\r\nPOST /a?b=c HTTP/1.0\r\nConnection: keep-alive\r\n\
        TE: trailers\r\nExpect: 100-continue\r\nUpgrade: h2c\r\nX-Api-Key:  k \r\nContent-Length: 2\r\n\r\n{}";
    let (requests, step) = run(bytes, &[]);
    assert_eq!(step, Step::Wait(Phase::Idle));
    let expected = "POST /a?b=c HTTP/1.1\r\nX-Api-Key: k\r\n\r\n";
    assert_eq!(requests, [(expected.to_owned(), b"{}".to_vec())]);
}

#[test]
fn joins_chunks_and_drops_trailers() {
    let bytes = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{\"\r\n3;x\r\na\"}\r\n0\r\nX-Edge-Client: 1.1.1.1\r\n\r\n";
    let (requests, _) = run(bytes, &[]);
    assert_eq!(requests[0].0, "POST / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(requests[0].1, b"{\"a\"}");
}

#[test]
fn sends_continue_once_to_waiting_client_only() {
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    let mut waiting = parser(1000);
    put(&mut waiting, head);
    assert_eq!(waiting.advance(), Step::Continue);
    assert_eq!(waiting.advance(), Step::Wait(Phase::Body));
    put(&mut waiting, b"abc");
    assert_eq!(waiting.advance(), Step::Ready);
    let mut eager = parser(1000);
    put(&mut eager, &[head.as_slice(), b"a"].concat());
    assert_eq!(eager.advance(), Step::Wait(Phase::Body));
    let mut refused = parser(2);
    put(&mut refused, head);
    assert_eq!(refused.advance(), Step::Refused(Refusal::BodyTooLarge { limit: 2 }));
}

#[test]
fn refuses_oversized_body_as_soon_as_known() {
    let head = "POST / HTTP/1.1\r\nHost: x\r\n";
    let too_large = Step::Refused(Refusal::BodyTooLarge { limit: 1000 });
    assert_eq!(run(format!("{head}Content-Length: 1001\r\n\r\n").as_bytes(), &[]).1, too_large);
    let chunks = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{}",
        "64\r\n".to_owned() + &"a".repeat(100) + "\r\n"
    );
    let flood = chunks.clone() + &("64\r\n".to_owned() + &"a".repeat(100) + "\r\n").repeat(10);
    assert_eq!(run(chunks.as_bytes(), &[]).1, Step::Wait(Phase::Body));
    assert_eq!(run(flood.as_bytes(), &[]).1, too_large);
    let length = "1000000000000000";
    let found = run(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes(), &[]).1;
    assert_eq!(found, Step::Refused(Refusal::Head(HeadError::LengthTooLarge)));
}

#[test]
fn shares_budget_among_large_bodies() {
    let bodies = BodyMemory::new(300 * 1024);
    let limits = NetLimits::default();
    let begin = || {
        let mut parser = RequestParser::new(
            CLIENT,
            &limits,
            Arc::clone(&bodies),
            Arc::new(|_, peer| Classified::new(0, Client::Address(peer))),
        );
        put(&mut parser, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
        parser.advance();
        put(&mut parser, &[b'a'; 90_000]);
        let step = parser.advance();
        (parser, step)
    };
    let (mut first, step) = begin();
    assert_eq!(step, Step::Wait(Phase::Body));
    let (_second, step) = begin();
    assert_eq!(step, Step::Wait(Phase::Body));
    let (third, step) = begin();
    assert_eq!(step, Step::Refused(Refusal::BodiesFull));
    drop(third);
    put(&mut first, &[b'a'; 10_000]);
    assert_eq!(first.advance(), Step::Ready);
    let body = first.request().unwrap().body;
    first.next();
    let fits = || bodies.share(Client::Account(1)).grow(100_000);
    assert!(!fits(), "the body holds its part");
    drop(body);
    assert!(fits());
}

#[test]
fn leaves_body_unread_that_cannot_change_answer() {
    let classifier = |_: &Head<'_, '_>, peer| Classified {
        reads_body: false,
        ..Classified::new(0, Client::Address(peer))
    };
    for (body, keeps_alive) in [
        ("Content-Length: 300000\r\n", false),
        ("Content-Length: 300000\r\nExpect: 100-continue\r\n", false),
        ("Transfer-Encoding: chunked\r\n", false),
        ("Content-Length: 2\r\n", false),
        ("", true),
    ] {
        let (limits, bodies) = (NetLimits::default(), BodyMemory::new(0));
        let mut parser = RequestParser::new(CLIENT, &limits, bodies, Arc::new(classifier));
        put(&mut parser, format!("POST / HTTP/1.1\r\nHost: x\r\n{body}\r\n").as_bytes());
        assert_eq!(parser.advance(), Step::Ready, "{body}");
        let request = parser.request().unwrap();
        assert!(request.body.is_none());
        assert_eq!(
            request.facts.fields.keep_alive, keeps_alive,
            "the bytes that follow are no request: {body}"
        );
    }
}

/// One request as a client might write it, and what should come out.
fn written(number: usize, kind: u8, body: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = format!("POST /{number} HTTP/1.1\r\nHost: x\r\n").into_bytes();
    match kind % 3 {
        0 => {
            bytes.extend_from_slice(b"\r\n");
            return (bytes, Vec::new());
        }
        1 => {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
        }
        _ => {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(7) {
                bytes.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
    (bytes, body.to_vec())
}

proptest! {
    #[test]
    fn parses_pipelined_requests_across_any_cuts(
        requests in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..60)), 1..6),
        cuts in prop::collection::vec(0_usize..600, 0..12),
    ) {
        let mut bytes = Vec::new();
        let mut bodies = Vec::new();
        for (number, (kind, body)) in requests.iter().enumerate() {
            let (wire, expected) = written(number, *kind, body);
            bytes.extend_from_slice(&wire);
            bodies.push(expected);
        }
        let mut cuts = cuts;
        cuts.sort_unstable();
        let (found, step) = run(&bytes, &cuts);
        prop_assert_eq!(step, Step::Wait(Phase::Idle));
        prop_assert_eq!(found.len(), bodies.len());
        for (number, ((head, body), expected)) in found.iter().zip(&bodies).enumerate() {
            let prefix = format!("POST /{number} HTTP/1.1\r\n");
            prop_assert!(head.starts_with(&prefix));
            prop_assert_eq!(body, expected);
        }
    }

    #[test]
    fn parses_arbitrary_bytes_alike_however_cut(
        bytes in "(GET|POST) /[a-z]{0,3} HTTP/1\\.[012]\r?\n(Host: x\r\n|Content-Length: [0-9]{1,2}\r\n|Transfer-Encoding: chunked\r\n|A:[ b]{0,3}\r?\n){0,4}\r\n[0-9a-z\r\n]{0,30}",
        cuts in prop::collection::vec(0_usize..150, 0..6),
    ) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        prop_assert_eq!(run(bytes.as_bytes(), &cuts), run(bytes.as_bytes(), &[]));
    }
}
