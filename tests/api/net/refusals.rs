//! Refusals at the socket. A refused request is never executed.

use super::raw::{Raw, ask};
use crate::harness::Site;

fn site() -> Site {
    Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"])
}

fn reason(site: &Site, request: impl AsRef<[u8]>) -> (u16, String, String) {
    let (answer, closes) = ask(site.address(), request);
    assert!(closes, "what cannot be understood ends the connection");
    answer.refusal()
}

#[track_caller]
fn check(site: &Site, request: impl AsRef<[u8]>, status: u16, code: &str, why: &str) {
    let expected = (status, code.to_owned(), why.to_owned());
    assert_eq!(reason(site, request.as_ref()), expected, "{:?}", String::from_utf8_lossy(request.as_ref()));
}

#[test]
fn maps_each_bound_to_its_status() {
    let site = site();
    let long = |length: usize| "a".repeat(length);
    let get = |target: &str, lines: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
    let post = |lines: &str| format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
    check(&site, get(&format!("/{}", long(65_536)), ""), 414, "URI_TOO_LONG", "REQUEST_LINE_TOO_LONG");
    check(
        &site,
        get("/", &format!("A: {}\r\n", long(40_000))),
        431,
        "HEADERS_TOO_LARGE",
        "HEADERS_TOO_LARGE",
    );
    check(&site, get("/", &"A: 1\r\n".repeat(101)), 431, "HEADERS_TOO_LARGE", "HEADERS_TOO_LARGE");
    check(&site, post("Content-Length: 1048577\r\n"), 413, "PAYLOAD_TOO_LARGE", "BODY_TOO_LARGE");
    check(&site, post("Transfer-Encoding: gzip, chunked\r\n"), 501, "NOT_IMPLEMENTED", "TRANSFER_ENCODING");
    check(&site, "GET / HTTP/2.0\r\n\r\n", 505, "HTTP_VERSION_NOT_SUPPORTED", "VERSION_UNSUPPORTED");
    check(&site, "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", 400, "BAD_REQUEST", "REQUEST_MALFORMED");
    // A head that is merely large passes.
    let (answer, _) = ask(site.address(), get("/healthz", &format!("A: {}\r\n", long(10_000))));
    assert_eq!(answer.status, 200);
    let (answer, _) = ask(site.address(), get(&format!("/healthz?{}", long(60_000)), ""));
    assert_eq!(answer.refusal().0, 400, "the handler has seen it");
}

/// Hazard 1: a length that no memory holds ends nothing but its own connection.
#[test]
fn refuses_huge_body_before_reading() {
    let site = site();
    for length in ["1000000000000000", "9223372036854775808", "18446744073709551616", "999999999999"] {
        for target in ["/healthz", "/api/v1/datasets/x/query", "/nowhere"] {
            let head = format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
            check(&site, head, 413, "PAYLOAD_TOO_LARGE", "BODY_TOO_LARGE");
        }
    }
    assert_eq!(site.get("/healthz").status, 200);
}

/// Hazard 13: each of these hides a second request from one of two readers.
#[test]
fn rejects_smuggled_requests() {
    let site = site();
    let hidden = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let variants = [
        format!(
            "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
            hidden.len() + 5
        ),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n{hidden}", hidden.len()),
        format!("Content-Length: {}x\r\n\r\n{hidden}", hidden.len()),
        format!("Content-Length: 3, 3\r\n\r\nabc{hidden}"),
        format!("Content-Length: +3\r\n\r\nabc{hidden}"),
        format!("Content-Length : 3\r\n\r\nabc{hidden}"),
        format!("Transfer-Encoding: identity\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("A: b\rContent-Length: 3\r\n\r\nabc{hidden}"),
        format!("A: b\u{0}c\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\n\r\n3;{}\r\nabc\r\n0\r\n\r\n{hidden}", "a".repeat(5000)),
    ];
    for variant in variants {
        let mut raw = Raw::connect(site.address());
        raw.send(format!("POST /nowhere HTTP/1.1\r\nHost: x\r\n{variant}"));
        let status = raw.answer().status;
        assert!(matches!(status, 400 | 501), "{variant:?}: {status}");
        assert!(raw.is_over(), "{variant:?}: the hidden request was answered");
    }
}

/// Hazard 13: what the handler does not read is not read as the next request.
#[test]
fn discards_unread_body_before_next_request() {
    let site = site();
    let hidden = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
    for framing in [
        format!("Content-Length: {}\r\n\r\n{hidden}", hidden.len()),
        format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len()),
    ] {
        let mut raw = Raw::connect(site.address());
        raw.send(format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{framing}"));
        assert_eq!(raw.answer().status, 200);
        raw.finish_sending();
        assert!(raw.is_over());
    }
}

/// Hazard 23: header values are visible ASCII, and the client is told so.
#[test]
fn rejects_bytes_outside_visible_ascii() {
    let site = site();
    for value in [b"caf\xc3\xa9".as_slice(), b"\x01", b"\xff", b"a\x7fb"] {
        let request = [b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ".as_slice(), value, b"\r\n\r\n"].concat();
        check(&site, request, 400, "BAD_REQUEST", "REQUEST_MALFORMED");
    }
    check(&site, b"GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BAD_REQUEST", "REQUEST_MALFORMED");
    check(&site, b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "BAD_REQUEST", "REQUEST_MALFORMED");
    assert_eq!(site.get("/healthz").status, 200);
}

/// The headers of the private wire are not the client's to write.
#[test]
fn ignores_address_headers_of_client() {
    let site = Site::empty(&["--requests-per-minute", "3"]);
    let ask_as = |address: &str| {
        let request = format!(
            "GET /nowhere HTTP/1.1\r\nHost: x\r\nX-Edge-Client: {address}\r\nx-edge-CLIENT: {address}\r\nX-Edge-Probe: 1\r\n\r\n"
        );
        ask(site.address(), request).0.status
    };
    assert_eq!([ask_as("10.0.0.1"), ask_as("10.0.0.2"), ask_as("10.0.0.3")], [404, 404, 404]);
    assert_eq!(ask_as("10.0.0.4"), 429, "all of them were counted as one");
}

#[test]
fn counts_refusals() {
    let site = site();
    check(&site, "GET / HTTP/2.0\r\n\r\n", 505, "HTTP_VERSION_NOT_SUPPORTED", "VERSION_UNSUPPORTED");
    site.wait_for_metrics(&[
        "mercato_edge_refusals_total{reason=\"malformed\"} 1",
        "mercato_requests_total{route=\"none\",status=\"505\"} 1",
        "mercato_workers{pool=\"page\"} 8",
        "mercato_connections_open 0",
    ]);
}
