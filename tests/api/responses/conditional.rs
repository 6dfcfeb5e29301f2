//! Answers that a client already holds.

use crate::harness::{Ask, MANIFEST, Site, city_columns};

const PUBLIC: [&str; 9] = [
    "/api/v1/datasets",
    "/api/v1/datasets/cities",
    "/api/v1/datasets/cities/schema",
    "/api/v1/datasets/cities/sample",
    "/api/v1/datasets/cities/stats",
    "/api/v1/datasets/cities/methodology",
    "/api/v1/datasets/cities/changelog",
    "/api/v1/datasets/cities/related",
    "/api/v1/datasets/relations/graph",
];

#[test]
fn answers_304_to_held_content() {
    let site = Site::with_cities();
    for target in PUBLIC {
        let first = site.get(target);
        let tag = first.header("ETag").unwrap();
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{target}: {tag}");
        let again = site.send(&Ask::get(target).header("If-None-Match", tag));
        assert_eq!((again.status, again.body.len()), (304, 0), "{target}");
        assert_eq!(again.header("ETag"), Some(tag));
        assert_eq!(again.header("Cache-Control"), first.header("Cache-Control"));
        assert!(again.header("X-Request-Id").is_some());
        let since = first.header("Last-Modified").unwrap();
        assert_eq!(site.send(&Ask::get(target).header("If-Modified-Since", since)).status, 304, "{target}");
        let other = Ask::get(target).header("If-None-Match", "\"other\"").header("If-Modified-Since", since);
        assert_eq!(site.send(&other).status, 200, "{target}");
    }
}

#[test]
fn changes_tag_with_version() {
    let site = Site::with_cities();
    let before = site.get("/api/v1/datasets/cities/sample").header("ETag").unwrap().to_owned();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(7));
    let after = site.send(&Ask::get("/api/v1/datasets/cities/sample").header("If-None-Match", &before));
    assert_eq!(after.status, 200);
    assert_ne!(after.header("ETag"), Some(before.as_str()));
}

#[test]
fn separates_tags_of_languages() {
    let site = Site::with_cities();
    let tag = |target: &str| site.get(target).header("ETag").unwrap().to_owned();
    assert_ne!(tag("/api/v1/datasets/cities?lang=it"), tag("/api/v1/datasets/cities?lang=en"));
}

#[test]
fn forbids_caching_of_keyed_responses() {
    let site = Site::with_cities();
    let answer = site.query("cities", &site.paying_key(10), "{}");
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    assert_eq!(answer.header("ETag"), None);
    assert_eq!(site.get("/nowhere").header("Cache-Control"), Some("no-store"));
}

#[test]
fn answers_412_to_unexpected_content() {
    let site = Site::with_cities();
    for target in PUBLIC.into_iter().chain(["/api/v1/openapi.json", "/docs", "/sitemap.xml"]) {
        let first = site.get(target);
        let (tag, date) = (first.header("ETag").unwrap(), first.header("Last-Modified").unwrap());
        let status = |name: &str, value: &str| site.send(&Ask::get(target).header(name, value)).status;
        assert_eq!(status("If-Match", tag), 200, "{target}");
        assert_eq!(status("If-Match", "*"), 200, "{target}");
        assert_eq!(status("If-Unmodified-Since", date), 200, "{target}");
        assert_eq!(status("If-Match", &format!("W/{tag}")), 412, "{target}");
        let other = Ask::get(target).header("If-Match", "\"other\"").header("If-None-Match", tag);
        let refused = site.send(&other);
        assert_eq!(
            refused.refusal(),
            (412, "PRECONDITION_FAILED".into(), "PRECONDITION_FAILED".into()),
            "{target}"
        );
        assert_eq!((refused.header("ETag"), refused.header("Last-Modified")), (Some(tag), Some(date)));
        assert_eq!(refused.header("Cache-Control"), Some("no-store"));
    }
    let long_ago = Ask::get("/api/v1/datasets/cities/sample");
    let long_ago = long_ago.header("If-Unmodified-Since", "Tue, 14 Nov 2000 22:13:20 GMT");
    assert_eq!(site.send(&long_ago).status, 412);
}

#[test]
fn joins_tags_of_repeated_headers() {
    let site = Site::with_cities();
    let target = "/api/v1/datasets/cities";
    let tag = site.get(target).header("ETag").unwrap().to_owned();
    for (name, status) in [("If-Match", 200), ("If-None-Match", 304)] {
        let ask = Ask::get(target).header(name, "\"other\"").header(name, &tag);
        assert_eq!(site.send(&ask).status, status, "{name}");
    }
}

/// `HEAD` and a client without codings hold the tag of the plain form.
#[test]
fn accepts_plain_tag_from_client_with_codings() {
    let site = Site::with_cities();
    let target = "/api/v1/datasets/cities/stats";
    let plain = site.get(target);
    let tag = plain.header("ETag").unwrap();
    let zstd = Ask::get(target).header("Accept-Encoding", "zstd");
    let encoded = site.send(&zstd);
    assert_eq!(encoded.header("Content-Encoding"), Some("zstd"));
    let expected = site.send(&zstd.clone().header("If-Match", tag));
    assert_eq!((expected.status, expected.header("Content-Encoding")), (200, None));
    assert_eq!(expected.json()["data"], plain.json()["data"]);
    let expected = site.send(&zstd.header("If-Match", encoded.header("ETag").unwrap()));
    assert_eq!((expected.status, expected.header("Content-Encoding")), (200, Some("zstd")));
}

#[test]
fn fails_tag_preconditions_of_queries() {
    let site = Site::with_cities();
    let key = site.paying_key(10);
    let target = "/api/v1/datasets/cities/query";
    let asks = [
        Ask::post(target, r#"{"limit": 1}"#),
        Ask::get(&format!("{target}?limit=1")),
        Ask::post(&format!("{target}/stream"), r#"{"limit": 1}"#),
    ];
    for ask in asks {
        let ask = ask.header("X-Api-Key", &key);
        let refused = site.send(&ask.clone().header("If-Match", "\"x\""));
        assert_eq!(refused.refusal().1, "PRECONDITION_FAILED");
        assert_eq!(refused.header("X-Credits-Charged"), Some("0"));
        assert_eq!(site.send(&ask.header("If-Match", "*")).status, 200);
    }
}
