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
fn a_client_that_holds_the_answer_gets_304() {
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
fn a_new_version_has_a_new_tag() {
    let site = Site::with_cities();
    let before = site.get("/api/v1/datasets/cities/sample").header("ETag").unwrap().to_owned();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(7));
    let after = site.send(&Ask::get("/api/v1/datasets/cities/sample").header("If-None-Match", &before));
    assert_eq!(after.status, 200);
    assert_ne!(after.header("ETag"), Some(before.as_str()));
}

#[test]
fn languages_have_different_tags() {
    let site = Site::with_cities();
    let tag = |target: &str| site.get(target).header("ETag").unwrap().to_owned();
    assert_ne!(tag("/api/v1/datasets/cities?lang=it"), tag("/api/v1/datasets/cities?lang=en"));
}

#[test]
fn answers_with_a_key_are_not_kept_by_caches() {
    let site = Site::with_cities();
    let answer = site.query("cities", &site.paying_key(10), "{}");
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    assert_eq!(answer.header("ETag"), None);
    assert_eq!(site.get("/nowhere").header("Cache-Control"), Some("no-store"));
}
