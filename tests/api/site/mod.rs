//! The web pages: their content, their caching, and their safety.

mod account;
pub mod browser;
mod caching;
pub mod crawl;
mod dataset;
mod document;
mod explore;
mod languages;
mod operator;
mod pages;
mod place;
mod publishers;
mod refusals;
mod security;

use document::Document;

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

/// The `Accept` header of a browser.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const UNLIMITED: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

fn ask(target: &str) -> Ask {
    Ask::get(target).header("Accept", BROWSER)
}

/// The page at a target, which is there and is HTML without a fault.
#[track_caller]
fn open(site: &Site, target: &str) -> Document {
    read(target, &site.send(&ask(target)))
}

#[track_caller]
fn read(target: &str, answer: &Answer) -> Document {
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    assert_eq!(answer.header("Content-Type"), Some("text/html; charset=utf-8"), "{target}");
    let page = Document::parse(&answer.text());
    assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
    page
}

/// A manifest with that slug and English title.
fn manifest(slug: &str, title: &str, more: &str) -> String {
    format!("slug = \"{slug}\"\n{more}\n[title]\nen = \"{title}\"\nit = \"{title} (it)\"\n")
}

/// A site with `cities`, featured and with texts, and 44 further datasets.
fn large_site(flags: &[&str]) -> Site {
    let site = Site::empty(&[&UNLIMITED[..], flags].concat());
    for number in 1..=44 {
        let more = format!(
            "tags = [\"{}\", \"all\"]\nlicense = \"{}\"",
            if number % 4 == 0 { "fourth" } else { "other & more" },
            if number % 2 == 0 { "CC0-1.0" } else { "CC-BY-4.0" },
        );
        let slug = format!("set-{number:02}");
        publish_files(
            &site.data(),
            &manifest(&slug, &format!("Set {number:02}"), &more),
            "1.0.0",
            &city_columns(number),
            &[],
        );
    }
    let texts = [
        ("methodology.md", "# How\n\nCounted."),
        ("changelog.md", "## [1.0.0] - 2026-01-01\n\n- first <b>edition</b>\n"),
    ];
    let cities = MANIFEST.replace("license =", "featured = true\nrelated = [\"set-01\"]\nlicense =");
    publish_files(&site.data(), &cities, "1.0.0", &city_columns(6), &texts);
    wait_until("all are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 45);
    // The dataset that was published last: one index holds all of them.
    wait_until("all are found", || {
        let found = site.get("/api/v1/datasets/search?q=cities").json();
        found["data"]["results"][0]["slug"] == "cities"
    });
    site
}
