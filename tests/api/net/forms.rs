//! Every kind of answer in every form: the same content for clients of HTTP/1.1 and of HTTP/1.0, kept and closed.

use std::io::Read;

use super::raw::Raw;
use crate::harness::{Answer, Ask, Site, city_columns};

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

/// A client of HTTP/1.0 gets the same content without chunks, and the end of the connection is the end of the answer.
#[test]
fn sends_same_content_in_every_form() {
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
        let plain = crate::harness::parse(&Raw::connect(site.address()).send(ask.old_bytes()).rest());
        let chunked = kept.send(ask.bytes()).answer();
        let last = ask.clone().header("Connection", "close");
        let mut closing = Raw::connect(site.address());
        let closed = closing.send(last.bytes()).answer();
        assert!(closing.is_over());
        assert_eq!((chunked.header("Connection"), closed.header("Connection")), (None, Some("close")));
        let expected = without_what_differs(&plain);
        for (found, ask) in [(&chunked, &ask), (&closed, &last)] {
            let (status, headers, body) = without_what_differs(found);
            assert_eq!((status, &headers), (expected.0, &expected.1), "{ask:?}");
            assert!(body == expected.2, "{ask:?}: {} and {} bytes", body.len(), expected.2.len());
        }
    }
}
