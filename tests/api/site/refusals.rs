//! Refusals: pages for browsers, JSON for other clients and for all paths below `/api`.

use super::{BROWSER, Document, ask, security::check_harmless};
use crate::harness::{Answer, Ask, Site};

#[track_caller]
fn check_page(target: &str, answer: &Answer, status: u16, title: &str) -> Document {
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (status, Some("text/html; charset=utf-8")),
        "{target}"
    );
    let page = Document::parse(&answer.text());
    assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
    check_harmless(target, &page);
    assert_eq!(page.one("h1").line(), title, "{target}");
    assert_eq!(page.one("meta[name=robots]").attribute("content"), Some("noindex, follow"));
    page
}

#[test]
fn refuses_browser_with_page() {
    let site = Site::with_cities();
    for target in ["/nowhere", "/datasets/", "/pricing/x", "/assets/x.css"] {
        let page = check_page(target, &site.send(&ask(target)), 404, "This page does not exist");
        assert_eq!(page.one("main a.button[href=/datasets]").line(), "All datasets");
        assert!(page.one("main").line().contains("Request ID: "));
    }
    let near = site.send(&ask("/datasets/citis/feed.atom"));
    let page = check_page("/datasets/citis/feed.atom", &near, 404, "This page does not exist");
    assert_eq!(page.one("main a[href=/datasets/cities]").line(), "cities");
    let posted = site.send(&Ask::post("/datasets", "{}").header("Accept", BROWSER));
    check_page("/datasets", &posted, 405, "Request refused");
    assert_eq!(posted.header("Allow"), Some("GET, HEAD, OPTIONS"));
}

#[test]
fn refuses_api_client_with_json() {
    let site = Site::with_cities();
    for accept in ["*/*", "application/json", "application/json, text/html;q=0.5"] {
        for target in ["/nowhere", "/datasets/nowhere/feed.atom", "/assets/x.css"] {
            let answer = site.send(&Ask::get(target).header("Accept", accept));
            assert_eq!(
                (answer.status, answer.refusal().1),
                (404, "NOT_FOUND".to_owned()),
                "{accept} {target}"
            );
        }
    }
    for target in
        ["/api/nowhere", "/api/v1/datasets/nowhere", "/metrics", "/healthz/x", "/api/v1/account", "/readyz/x"]
    {
        let answer = site.send(&ask(target));
        assert!(answer.status >= 400 && answer.json()["success"] == false, "{target}");
    }
    assert_eq!(site.send(&ask("/%zz")).refusal().0, 400, "of what cannot be read nothing is known");
}

#[test]
fn counts_pages_but_no_files_against_limits() {
    let site = Site::empty(&["--requests-per-minute", "3", "--requests-per-day", "0"]);
    for _ in 0..3 {
        assert_eq!(site.send(&ask("/datasets")).status, 200);
    }
    let refused = site.send(&ask("/datasets").header("Accept-Language", "it"));
    let page = check_page("/datasets", &refused, 429, "Troppe richieste");
    assert!(refused.header("Retry-After").is_some() && refused.header("RateLimit").is_some());
    let style = page.one("link[rel=stylesheet]").attribute("href").unwrap();
    assert_eq!(site.get(style).status, 200, "files count against no limit");
}
