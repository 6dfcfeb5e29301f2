//! Every page that a link leads to: it exists, is complete, small and usable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::security::check_harmless;
use super::{Document, ask, large_site};
use crate::harness::Site;

/// Largest page, before it is encoded.
pub const PAGE_BYTES_MAX: usize = 100 * 1024;
/// Pages that the crawl reads; facets combine to many more.
const PAGES_MAX: usize = 1_500;

/// Targets of this server that a page names.
fn targets(page: &Document) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for element in page.all() {
        for name in ["href", "src", "action"] {
            let Some(link) = element.attribute(name) else { continue };
            let link = link.strip_prefix("http://mercato.test").unwrap_or(link);
            if link.starts_with('/') {
                found.insert(link.split('#').next().unwrap().to_owned());
            }
        }
    }
    found
}

#[track_caller]
pub fn check_usable(target: &str, page: &Document) {
    assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
    check_harmless(target, page);
    for only in [
        "html[lang]",
        "head title",
        "main#main",
        "h1",
        "meta[name=description]",
        "link[rel=canonical]",
        "a.skip",
    ] {
        page.one(only);
    }
    let mut ids = BTreeSet::new();
    for id in page.all().iter().filter_map(|element| element.attribute("id")) {
        assert!(ids.insert(id), "{target}: #{id} stands twice");
    }
    for element in page.all() {
        let (name, attribute) = (element.name.as_str(), |name| element.attribute(name));
        match name {
            "img" => assert!(attribute("alt").is_some(), "{target}: {element:?}"),
            "nav" | "form" if page.select(name).len() > 1 => {
                let is_named = attribute("aria-label").is_some() || attribute("role").is_some();
                assert!(is_named || attribute("aria-labelledby").is_some(), "{target}: {element:?}");
            }
            "th" => assert!(attribute("scope").is_some(), "{target}: {element:?}"),
            "a" => {
                let text = element.line();
                let has_name = !text.is_empty() || attribute("aria-label").is_some();
                assert!(has_name && attribute("href").is_some(), "{target}: {element:?}");
            }
            "input" | "select" | "textarea" if attribute("type") != Some("hidden") => {
                let label = attribute("id").map(|id| page.select(&format!("label[for={id}]")).len());
                assert!(label == Some(1) || attribute("aria-label").is_some(), "{target}: {element:?}");
            }
            _ => {}
        }
        for name in ["aria-labelledby", "aria-describedby", "for"] {
            for id in attribute(name).into_iter().flat_map(|list| list.split(' ')) {
                assert!(ids.contains(id), "{target}: {name}={id} names nothing");
            }
        }
        if let Some(id) = attribute("href").and_then(|link| link.strip_prefix('#')) {
            assert!(ids.contains(id), "{target}: #{id} leads nowhere");
        }
    }
    assert_eq!(page.select("table").len(), page.select("table caption").len(), "{target}: captions");
}

/// Follows every link from these pages on. Says how often each first segment was seen.
fn crawl(site: &Site, begin: &[&str]) -> BTreeMap<String, usize> {
    let mut waiting: VecDeque<String> = begin.iter().map(ToString::to_string).collect();
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut seen = BTreeMap::new();
    let mut pages = 0;
    while let Some(target) = waiting.pop_front() {
        let answer = site.send(&ask(&target));
        assert!(answer.status < 400, "{target}: {}", answer.status);
        let first = target.trim_start_matches('/').split(['/', '?']).next().unwrap().to_owned();
        *seen.entry(first.clone()).or_insert(0) += 1;
        let is_ours = answer.header("Content-Type") == Some("text/html; charset=utf-8")
            && answer.status == 200
            && !["docs", "api"].contains(&first.as_str());
        if !is_ours {
            continue;
        }
        pages += 1;
        assert!(answer.body.len() <= PAGE_BYTES_MAX, "{target}: {} bytes", answer.body.len());
        let page = Document::parse(&answer.text());
        check_usable(&target, &page);
        for next in targets(&page) {
            if known.len() < PAGES_MAX && known.insert(next.clone()) {
                waiting.push_back(next);
            }
        }
    }
    assert!(pages > 20, "{pages}");
    seen
}

#[test]
fn follows_every_link_to_usable_page() {
    let site = large_site(&[]);
    let begin = [
        "/",
        "/datasets",
        "/datasets/cities",
        "/graph",
        "/pricing",
        "/status",
        "/account",
        "/account/sign-in",
        "/account/sign-up",
        "/account/reset",
        "/datasets?q=set",
        "/?lang=it",
    ];
    let seen = crawl(&site, &begin);
    for part in ["account", "datasets", "pricing", "status", "assets", "feed.atom", "docs"] {
        assert!(seen.contains_key(part), "{part}: {seen:?}");
    }
}
