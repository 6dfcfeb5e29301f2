//! Caching of the site: pages with tags, files for ever, and passing states never.

use std::collections::BTreeSet;

use super::{ask, open};
use crate::harness::{Answer, Ask, Site, wait_until};

fn head(site: &Site, target: &str) -> Answer {
    site.send(&Ask::new("HEAD", target).header("Accept", super::BROWSER))
}

#[test]
fn gives_every_route_its_cache_lifetime() {
    let site = Site::with_cities();
    let (revalidate, forever, never) = ("no-cache", "public, max-age=31536000, immutable", "no-store");
    let mut expected: Vec<(String, &str)> = [
        ("/", revalidate),
        ("/datasets", revalidate),
        ("/datasets?q=cities", revalidate),
        ("/datasets?q=x", never),
        ("/pricing", revalidate),
        ("/feed.atom", revalidate),
        ("/datasets/cities/feed.atom", revalidate),
        ("/favicon.ico", revalidate),
        ("/status", never),
        ("/nowhere", never),
    ]
    .map(|(target, life)| (target.to_owned(), life))
    .to_vec();
    for link in open(&site, "/").select("link[rel=stylesheet]") {
        expected.push((link.attribute("href").unwrap().to_owned(), forever));
    }
    wait_until("the index follows the catalog", || {
        let found = site.get("/api/v1/datasets/search?q=cities");
        found.json()["data"]["results"].as_array().is_some_and(|results| !results.is_empty())
    });
    for (target, life) in &expected {
        let answer = site.send(&ask(target));
        assert_eq!(answer.header("Cache-Control"), Some(*life), "{target}");
        assert_eq!(answer.header("ETag").is_some(), *life != never, "{target}");
        let head = head(&site, target);
        assert_eq!((head.status, head.body.len()), (answer.status, 0), "{target}");
        if *life == never {
            continue;
        }
        let tag = answer.header("ETag").unwrap();
        let again = site.send(&ask(target).header("If-None-Match", tag));
        assert_eq!((again.status, again.body.len(), again.header("ETag")), (304, 0, Some(tag)), "{target}");
        assert!(
            again.header("Vary").is_some() && again.header("Content-Security-Policy").is_some(),
            "{target}"
        );
        assert_eq!(head.header("ETag"), Some(tag), "{target}");
    }
}

#[test]
fn changes_tag_with_language_and_catalogue() {
    let site = Site::with_cities();
    let mut tags = BTreeSet::new();
    let tag = |target: &str, language: &str| {
        site.send(&ask(target).header("Accept-Language", language)).header("ETag").unwrap().to_owned()
    };
    for language in ["en", "it"] {
        assert!(tags.insert(tag("/datasets", language)));
        assert_eq!(tag("/datasets", language), tag("/datasets", language));
    }
    site.publish(
        "cities",
        &crate::harness::MANIFEST.replace("Some cities", "All cities"),
        "1.1.0",
        &crate::harness::city_columns(7),
    );
    assert!(tags.insert(tag("/datasets", "en")) && tags.insert(tag("/datasets", "it")));
}

#[test]
fn compresses_files_and_names_them_by_content() {
    let site = Site::with_cities();
    let page = open(&site, "/");
    let style = page.one("link[rel=stylesheet]").attribute("href").unwrap();
    let plain = site.get(style);
    assert_eq!(plain.header("Content-Type"), Some("text/css; charset=utf-8"));
    let coded = site.send(&Ask::get(style).header("Accept-Encoding", "gzip"));
    assert_eq!(coded.header("Content-Encoding"), Some("gzip"));
    assert!(coded.body.len() < plain.body.len());
    let other = style.replace("style.", "style.0");
    assert_eq!(site.get(&other).refusal().1, "NOT_FOUND");
    for nothing in ["/assets/", "/assets/..%2Fbase.css", "/assets/style.css", "/assets/a/b"] {
        assert_eq!(site.get(nothing).status, 404, "{nothing}");
    }
}
