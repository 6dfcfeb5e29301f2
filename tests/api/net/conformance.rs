//! HTTP/1.1 as RFC 9110 and RFC 9112 have it, item by item.

use std::net::SocketAddr;

use super::raw::{Raw, ask};
use crate::harness::Site;

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

fn site() -> Site {
    Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"])
}

/// The status of a request line with these header lines, and whether the connection goes on.
#[track_caller]
fn check(address: SocketAddr, request: &str, status: u16, goes_on: bool) {
    let mut raw = Raw::connect(address);
    let answer = raw.send(request).answer();
    assert_eq!(answer.status, status, "{request:?}: {}", answer.text());
    assert_eq!(answer.header("Connection") == Some("close"), !goes_on, "{request:?}");
    if goes_on {
        assert_eq!(raw.send(HEALTH).answer().status, 200, "{request:?}");
    } else {
        assert!(raw.is_over(), "{request:?}");
    }
}

#[test]
fn answers_pipelined_requests_in_order() {
    let site = site();
    let mut raw = Raw::connect(site.address());
    let targets: Vec<String> = (0..1000).map(|number| format!("/nowhere/{number}?x={number}")).collect();
    let mut wire = String::new();
    for (number, target) in targets.iter().enumerate() {
        let target = if number % 2 == 0 { "/healthz" } else { target };
        wire.push_str(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    // The answers are read while the requests are still being sent.
    let mut sender = raw.stream().try_clone().unwrap();
    let sending =
        std::thread::spawn(move || std::io::Write::write_all(&mut sender, wire.as_bytes()).unwrap());
    for number in 0..targets.len() {
        let expected = if number % 2 == 0 { 200 } else { 404 };
        assert_eq!(raw.answer().status, expected, "answer {number}");
    }
    sending.join().unwrap();
    raw.finish_sending();
    assert!(raw.is_over());
}

#[test]
fn keeps_connections_as_version_and_client_ask() {
    let site = site();
    let with = |version: &str, line: &str| format!("GET /healthz HTTP/{version}\r\nHost: x\r\n{line}\r\n");
    check(site.address(), &with("1.1", ""), 200, true);
    check(site.address(), &with("1.1", "Connection: close\r\n"), 200, false);
    check(site.address(), &with("1.1", "Connection: foo, Close\r\n"), 200, false);
    check(site.address(), &with("1.0", ""), 200, false);
    let mut raw = Raw::connect(site.address());
    for _ in 0..2 {
        let answer = raw.send(with("1.0", "Connection: keep-alive\r\n")).answer();
        assert_eq!((answer.status, answer.header("Connection")), (200, Some("keep-alive")));
    }
}

#[test]
fn keeps_connection_after_refusal_by_handler() {
    let site = site();
    for (request, status) in [
        ("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        ("DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ("get /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ("BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ("GET /healthz?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("POST /api/v1/datasets/x/query HTTP/1.1\r\nHost: x\r\n\r\n", 401),
        ("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n", 404),
    ] {
        let body = if request.contains("5000") { "a".repeat(5000) } else { String::new() };
        check(site.address(), &format!("{request}{body}"), status, true);
    }
}

/// Bodies that cannot change the answer take neither time nor memory.
#[test]
fn refuses_unknown_key_before_body() {
    let site = Site::empty(&["--requests-per-minute", "6", "--requests-per-day", "0"]);
    for key in ["", "X-Api-Key: wrong\r\n", "Authorization: Bearer mk_0000\r\n"] {
        for body in ["Content-Length: 300000\r\n", "Content-Length: 9\r\nExpect: 100-continue\r\n"] {
            let mut raw = Raw::connect(site.address());
            raw.send(format!("POST /api/v1/datasets/x/query HTTP/1.1\r\nHost: x\r\n{key}{body}\r\n"));
            let answer = raw.answer();
            assert_eq!((answer.status, answer.refusal().1.as_str()), (401, "UNAUTHORIZED"), "{key}{body}");
            assert!(answer.header("WWW-Authenticate").is_some() && answer.header("RateLimit").is_some());
            assert_eq!(answer.header("Connection"), Some("close"), "what follows is no request");
            assert!(raw.is_over());
        }
    }
    let head = "POST /api/v1/datasets/x/query/stream HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n";
    assert_eq!(
        Raw::connect(site.address()).send(head).answer().status,
        429,
        "each was counted for its address"
    );
}

#[test]
fn answers_head_like_get_without_body() {
    let site = site();
    let mut raw = Raw::connect(site.address());
    for target in ["/healthz", "/api/v1/datasets", "/nowhere"] {
        let head = raw.send(format!("HEAD {target} HTTP/1.1\r\nHost: x\r\n\r\n")).head_answer();
        let get = raw.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")).answer();
        assert_eq!((head.status, head.body.len()), (get.status, 0));
        assert!(head.header("Content-Length").is_some());
    }
    let long = format!("HEAD / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "a".repeat(40_000));
    let refused = Raw::connect(site.address()).send(long).head_answer();
    assert_eq!((refused.status, refused.body.len()), (431, 0));
}

#[test]
fn handles_every_form_of_target() {
    let site = site();
    for (target, status) in [
        ("/healthz", 200),
        ("http://any.where/healthz", 200),
        ("HTTP://any.where:80/healthz", 200),
        ("/%68ealthz", 200),
        ("//healthz", 404),
        ("healthz", 400),
        ("any.where:80", 400),
    ] {
        check(site.address(), &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"), status, true);
    }
    let mut raw = Raw::connect(site.address());
    let answer = raw.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").answer();
    assert_eq!((answer.status, answer.header("Allow")), (204, Some("GET, HEAD, POST, OPTIONS")));
    assert_eq!(raw.send(HEALTH).answer().status, 200, "nothing is left of an answer without a body");
}

#[test]
fn requires_exactly_one_host() {
    let site = site();
    check(site.address(), "GET /healthz HTTP/1.1\r\n\r\n", 400, false);
    check(site.address(), "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400, false);
    check(site.address(), "GET /healthz HTTP/1.1\r\nHost: x/y\r\n\r\n", 400, false);
    check(site.address(), "GET /healthz HTTP/1.1\r\nhOsT: x:8080\r\n\r\n", 200, true);
    check(site.address(), "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", 200, true);
}

/// The answer to a query without a key proves that its body was read to the end.
#[test]
fn accepts_bodies_by_chunks_or_length() {
    let site = Site::with_cities();
    let key = site.paying_key(1000);
    let head = format!("POST /api/v1/datasets/cities/query HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n");
    for (rest, status) in [
        ("Content-Length: 11\r\n\r\n{\"limit\":1}", 200),
        ("Transfer-Encoding: chunked\r\n\r\nb\r\n{\"limit\":1}\r\n0\r\n\r\n", 200),
        (
            "Transfer-Encoding: CHUNKED\r\n\r\n1;a=\"b\"\r\n{\r\nA\r\n\"limit\":1}\r\n000\r\nX-Trailer: 1\r\n\r\n",
            200,
        ),
        ("Content-Length: 0\r\n\r\n", 200),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
        ("\r\n", 411),
    ] {
        check(site.address(), &format!("{head}{rest}"), status, true);
    }
}

#[test]
fn sends_continue_to_client_that_expects_it() {
    let site = Site::with_cities();
    let key = site.paying_key(1000);
    let head = |length: usize, expect: &str| {
        format!(
            "POST /api/v1/datasets/cities/query HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\nContent-Length: {length}\r\nExpect: {expect}\r\n\r\n"
        )
    };
    let mut raw = Raw::connect(site.address());
    assert_eq!(raw.send(head(11, "100-Continue")).head_answer().status, 100);
    assert_eq!(raw.send(r#"{"limit":1}"#).answer().status, 200);
    // A client that does not wait gets no interim response.
    assert_eq!(raw.send(head(11, "100-continue") + r#"{"limit":1}"#).answer().status, 200);
    // A client that announces too large a body gets 413 and nothing else.
    assert_eq!(raw.send(head(2_000_000, "100-continue")).answer().status, 413);
    assert!(raw.is_over());
    check(site.address(), &head(2, "something"), 417, false);
    let old = head(11, "100-continue").replace("HTTP/1.1", "HTTP/1.0") + r#"{"limit":1}"#;
    assert_eq!(ask(site.address(), old).0.status, 200);
}

#[test]
fn accepts_head_in_pieces_after_empty_lines() {
    let site = site();
    let mut raw = Raw::connect(site.address());
    for byte in format!("\r\n\r\n{HEALTH}").bytes() {
        raw.send([byte]);
    }
    assert_eq!(raw.answer().status, 200);
}

#[test]
fn answers_half_closed_client() {
    let site = site();
    let mut raw = Raw::connect(site.address());
    raw.send(HEALTH).finish_sending();
    assert_eq!(raw.answer().status, 200);
    assert!(raw.is_over());
}

#[test]
fn ignores_protocol_upgrade() {
    let site = site();
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n";
    check(site.address(), upgrade, 200, true);
    check(site.address(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, false);
}

#[test]
fn sends_standard_headers_with_every_response() {
    let site = site();
    for request in [
        HEALTH,
        "GET / HTTP/1.1\r\n\r\n",
        "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/3.0\r\n\r\n",
    ] {
        let (answer, _) = ask(site.address(), request);
        assert_eq!(answer.header("Server"), Some("mercato"));
        assert!(answer.header("Date").unwrap().ends_with(" GMT"));
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
        assert_eq!(answer.json()["meta"]["requestId"], answer.header("X-Request-Id").unwrap());
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("*"));
    }
}

#[test]
fn sends_large_page_without_chunks_to_any_version() {
    let site = Site::with_cities();
    let key = site.paying_key(100_000);
    site.publish("cities", crate::harness::MANIFEST, "2.0.0", &crate::harness::city_columns(3000));
    let body = r#"{"limit":3000}"#;
    for version in ["1.0", "1.1"] {
        let request = format!(
            "POST /api/v1/datasets/cities/query HTTP/{version}\r\nHost: x\r\nTE: chunked\r\nX-Api-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (answer, _) = ask(site.address(), request);
        assert_eq!((answer.status, answer.header("Transfer-Encoding")), (200, None));
        assert!(answer.body.len() > 300_000, "it does not fit into one buffer");
        assert_eq!(answer.json()["data"]["rowsReturned"], 3000);
    }
}
