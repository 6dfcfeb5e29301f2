//! Fuzzes the bytes of a connection. The parsed requests do not depend on how the bytes are split, and the canonical
//! form of a request parses to the same request.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use mercato_net::{BodyMemory, Classified, Client, Head, HeadLimits, NetLimits, RequestParser, Step};
use mercato_web::Target;

/// Most requests of a connection.
const REQUESTS_MAX: usize = 64;
/// Small limits, so that inputs reach them.
const HEAD: HeadLimits = HeadLimits { request_line_bytes: 256, header_bytes: 1024, header_count: 12 };
/// Limits for the canonical form, which has additional lines.
const HEAD_AGAIN: HeadLimits = HeadLimits { request_line_bytes: 256, header_bytes: 2048, header_count: 16 };
const BODY_BYTES_MAX: usize = 4096;

/// The result of parsing a connection.
#[derive(Debug, PartialEq)]
struct Outcome {
    requests: Vec<(Vec<u8>, Vec<u8>)>,
    refused: bool,
}

/// The first two bytes determine how the rest is split.
pub fn run(data: &[u8]) {
    let [first, second, wire @ ..] = data else { return };
    let whole = parse(wire, HEAD, usize::MAX, usize::MAX);
    let cut = parse(wire, HEAD, usize::from(*first % 64) + 1, usize::from(*second) + 1);
    assert_eq!(whole, cut, "the cut of the bytes changes what they say");
    for (head, _) in &whole.requests {
        check_canonical(head);
    }
}

/// Feeds the bytes in pieces of two alternating lengths.
fn parse(mut wire: &[u8], head: HeadLimits, one: usize, other: usize) -> Outcome {
    let limits = NetLimits { head, body_bytes: BODY_BYTES_MAX, ..NetLimits::default() };
    let bodies = BodyMemory::new(1 << 20);
    let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let classifier = Arc::new(|_: &Head<'_, '_>, peer| Classified::new(0, Client::Address(peer)));
    let mut parser = RequestParser::new(client, &limits, bodies, classifier);
    let mut outcome = Outcome { requests: Vec::new(), refused: false };
    let mut turn = 0;
    loop {
        match parser.advance() {
            Step::Ready => {
                let request = parser.request().expect("it is ready");
                let (is_last, head) =
                    (!request.facts.fields.keep_alive, request.head.as_str().as_bytes().to_vec());
                outcome.requests.push((head, request.body.map(|body| body.bytes).unwrap_or_default()));
                parser.next();
                if is_last || outcome.requests.len() == REQUESTS_MAX {
                    return outcome;
                }
            }
            Step::Refused(_) => {
                outcome.refused = true;
                return outcome;
            }
            Step::Continue => {}
            Step::Wait(_) if wire.is_empty() => return outcome,
            Step::Wait(_) => {
                let room = parser.room();
                assert!(!room.is_empty(), "a reader that waits has room");
                let piece = if turn % 2 == 0 { one } else { other };
                let length = piece.min(room.len()).min(wire.len());
                room[..length].copy_from_slice(&wire[..length]);
                parser.received(length);
                wire = &wire[length..];
                turn += 1;
            }
        }
    }
}

/// Checks a canonical head: no body bytes, one end, no ambiguous line ends, and it parses to itself.
fn check_canonical(head: &[u8]) {
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    let [lines @ .., blank, rest] = lines.as_slice() else { panic!("{head:?}") };
    assert!(rest.is_empty() && *blank == b"\r", "{}", String::from_utf8_lossy(head));
    for line in lines {
        let content = line.strip_suffix(b"\r").expect("a line ends with CR LF");
        assert!(!content.is_empty() && !content.contains(&b'\r') && !content.contains(&0));
    }
    let head = with_host(head, lines);
    let head = head.as_slice();
    let again = parse(head, HEAD_AGAIN, usize::MAX, usize::MAX);
    assert!(!again.refused, "{}", String::from_utf8_lossy(head));
    assert_eq!(again.requests, [(head.to_vec(), Vec::new())], "{}", String::from_utf8_lossy(head));
    let target = lines.first().and_then(|line| line.split(|byte| *byte == b' ').nth(1)).unwrap_or_default();
    let target = std::str::from_utf8(target).expect("a target is ASCII");
    if let Ok(target) = Target::parse(target) {
        assert!(target.segments.len() <= 16 && target.pairs.len() <= 64);
    }
}

/// Adds a host: a forwarded HTTP/1.0 request may lack one, which HTTP/1.1 requires.
fn with_host(head: &[u8], lines: &[&[u8]]) -> Vec<u8> {
    let names_host = |line: &&[u8]| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"host:"));
    let first = lines.first().map_or(0, |line| line.len() + 1);
    let host: &[u8] = if lines.iter().any(names_host) { b"" } else { b"Host: a\r\n" };
    [&head[..first], host, &head[first..]].concat()
}
