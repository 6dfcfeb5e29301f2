//! Encoded answers: pages, streams, downloads and public data.

use std::io::Read;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns};

const QUERY: &str = "/api/v1/datasets/cities/query";
const STREAM: &str = "/api/v1/datasets/cities/query/stream";
const DOWNLOAD: &str = "/api/v1/datasets/cities/download";

fn site() -> Site {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(3_000));
    site
}

/// The body as it was before it was encoded.
fn decoded(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.header("Content-Encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut plain).unwrap(),
        Some("zstd") => {
            zstd::stream::read::Decoder::new(&answer.body[..]).unwrap().read_to_end(&mut plain).unwrap()
        }
        other => panic!("not encoded: {other:?}"),
    };
    plain
}

#[test]
fn encodes_content_losslessly() {
    let site = site();
    let key = site.paying_key(1_000_000);
    let body = r#"{"limit": 2000}"#;
    let asks = [
        Ask::post(QUERY, body).header("Accept", "text/csv"),
        Ask::post(QUERY, body).header("Accept", "application/x-ndjson"),
        Ask::post(STREAM, body).header("Accept", "application/x-ndjson"),
        Ask::get(&format!("{DOWNLOAD}?format=csv")),
        Ask::get(&format!("{DOWNLOAD}?format=json")),
    ];
    for ask in asks {
        let ask = ask.header("X-Api-Key", &key);
        let plain = site.send(&ask);
        assert_eq!((plain.status, plain.header("Content-Encoding")), (200, None));
        assert!(plain.header("Vary").is_some_and(|vary| vary.contains("Accept-Encoding")), "{plain:?}");
        for coding in ["gzip", "zstd"] {
            let answer = site.send(&ask.clone().header("Accept-Encoding", coding));
            assert_eq!(answer.header("Content-Encoding"), Some(coding));
            assert!(decoded(&answer) == plain.body, "{coding}");
            assert!(answer.body.len() < plain.body.len() / 2);
        }
    }
}

#[test]
fn encodes_page_with_complete_envelope() {
    let site = site();
    let key = site.paying_key(10_000);
    let ask =
        Ask::post(QUERY, r#"{"limit": 1000}"#).header("X-Api-Key", &key).header("Accept-Encoding", "gzip");
    let answer = site.send(&ask);
    let json: serde_json::Value = serde_json::from_slice(&decoded(&answer)).unwrap();
    assert_eq!(
        (&json["data"]["rowsReturned"], &json["meta"]["credits"]["charged"]),
        (&1000.into(), &1000.into())
    );
    assert_eq!(answer.header("Content-Length"), Some(answer.body.len().to_string().as_str()));
    let small = site.send(
        &Ask::post(QUERY, r#"{"limit": 1}"#).header("X-Api-Key", &key).header("Accept-Encoding", "gzip"),
    );
    assert_eq!(small.header("Content-Encoding"), None, "what fits into a packet goes out as it is");
}

#[test]
fn binds_tag_to_one_coding() {
    let site = site();
    let target = "/api/v1/datasets/cities/sample";
    let plain = site.get(target);
    let encoded = site.send(&Ask::get(target).header("Accept-Encoding", "gzip"));
    let (plain_tag, tag) = (plain.header("ETag").unwrap(), encoded.header("ETag").unwrap());
    assert_eq!(tag, format!("{}-gzip\"", plain_tag.trim_end_matches('"')));
    let again = Ask::get(target).header("If-None-Match", tag);
    assert_eq!(site.send(&again.clone().header("Accept-Encoding", "gzip")).status, 304);
    assert_eq!(site.send(&again).status, 200, "the plain form is not what the client holds");
    let key = site.paying_key(100_000);
    let ask = Ask::get(DOWNLOAD).header("X-Api-Key", &key);
    let plain = site.send(&ask);
    let encoded = site.send(&ask.clone().header("Accept-Encoding", "zstd"));
    assert_ne!(plain.header("ETag"), encoded.header("ETag"));
    assert_eq!((encoded.header("Accept-Ranges"), encoded.header("Content-Length")), (Some("none"), None));
}

#[test]
fn encodes_static_content() {
    let site = Site::with_cities();
    for target in ["/api/v1/openapi.json", "/docs/swagger-ui-bundle.js"] {
        let plain = site.get(target);
        assert_eq!(plain.header("Content-Encoding"), None);
        assert!(plain.header("Vary").unwrap().contains("Accept-Encoding"));
        for coding in ["gzip", "zstd"] {
            let ask = Ask::get(target).header("Accept-Encoding", coding);
            let answer = site.send(&ask);
            assert_eq!(answer.header("Content-Encoding"), Some(coding), "{target}");
            assert!(decoded(&answer) == plain.body && answer.body.len() < plain.body.len() / 2, "{target}");
            assert!(answer.header("Vary").unwrap().contains("Accept-Encoding"));
            let tag = answer.header("ETag").unwrap();
            assert!(tag.ends_with(&format!("-{coding}\"")), "{tag}");
            let again = site.send(&ask.clone().header("If-None-Match", tag));
            assert_eq!((again.status, again.header("ETag")), (304, Some(tag)));
            assert_eq!(site.send(&Ask::get(target).header("If-None-Match", tag)).status, 200);
            let head = site.send(&Ask::new("HEAD", target).header("Accept-Encoding", coding));
            assert_eq!(head.header("Content-Length"), Some(answer.body.len().to_string().as_str()));
        }
    }
    let small = site.send(&Ask::get("/docs/favicon-16x16.png").header("Accept-Encoding", "gzip"));
    assert_eq!((small.status, small.header("Content-Encoding")), (200, None));
}

#[test]
fn sends_parts_and_events_unencoded() {
    let site = site();
    let key = site.paying_key(100_000);
    let ask = Ask::get(DOWNLOAD).header("X-Api-Key", &key).header("Accept-Encoding", "gzip");
    let plain = site.send(&Ask::get(DOWNLOAD).header("X-Api-Key", &key));
    let part = site.send(&ask.clone().header("Range", "bytes=0-2999"));
    assert_eq!((part.status, part.header("Content-Encoding")), (206, None));
    assert!(part.body == plain.body[..3000]);
    assert_eq!(part.header("ETag"), plain.header("ETag"));
    let head =
        site.send(&Ask::new("HEAD", DOWNLOAD).header("X-Api-Key", &key).header("Accept-Encoding", "gzip"));
    assert_eq!(
        head.header("Content-Length"),
        plain.header("Content-Length"),
        "HEAD describes what parts are of"
    );
    let events = Ask::post(STREAM, r#"{"limit": 500}"#).header("X-Api-Key", &key);
    let usual = site.send(&events.clone().header("Accept-Encoding", "gzip, deflate, br, zstd"));
    assert_eq!(usual.header("Content-Encoding"), None);
    let insisting = site.send(&events.header("Accept-Encoding", "gzip, identity;q=0"));
    assert_eq!(insisting.header("Content-Encoding"), Some("gzip"));
    let text = String::from_utf8(decoded(&insisting)).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("data: ")).count(), 500);
}

#[test]
fn declares_vary_of_encodable_content() {
    let site = site();
    let key = site.paying_key(1_000);
    let vary = |ask: &Ask| site.send(ask).header("Vary").unwrap_or_default().to_owned();
    let query = |accept: &str| Ask::post(QUERY, "{}").header("X-Api-Key", &key).header("Accept", accept);
    assert_eq!(vary(&query("text/csv")), "Accept-Encoding, Accept");
    assert_eq!(vary(&query("image/png")), "Accept-Encoding, Accept", "also where nothing is acceptable");
    assert_eq!(vary(&Ask::get("/api/v1/datasets")), "Accept-Encoding");
    assert_eq!(vary(&Ask::get("/api/v1/datasets/cities/methodology")), "Accept-Encoding, Accept");
}
