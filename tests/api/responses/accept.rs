//! One dataset in several forms: which one an answer takes, and that documents made of a publisher's text are harmless.

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, publish_files, wait_until};

const SAMPLE: &str = "/api/v1/datasets/cities/sample";
const QUERY: &str = "/api/v1/datasets/cities/query";

fn accepting(site: &Site, target: &str, accept: &str) -> Answer {
    site.send(&Ask::get(target).header("Accept", accept))
}

#[test]
fn serves_sample_in_formats_of_page() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    for (accept, word, expected) in [
        ("text/csv", "csv", "text/csv; charset=utf-8; header=present"),
        ("application/x-ndjson", "ndjson", "application/x-ndjson"),
    ] {
        let answer = accepting(&site, SAMPLE, accept);
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(expected)));
        let header = |name| answer.header(name).unwrap_or("absent");
        assert_eq!((header("X-Rows-Returned"), header("X-Total-Rows")), ("6", "6"));
        assert_eq!((header("X-Dataset-Version"), header("Vary")), ("1.0.0", "Accept-Encoding, Accept"));
        assert_eq!(header("Cache-Control"), "public, max-age=300");
        assert_eq!((header("X-Credits-Charged"), header("X-Next-Cursor")), ("absent", "absent"));
        // Six rows are all rows: the sample is the same bytes as a page of them.
        let page = site.send(&Ask::get(QUERY).header("X-Api-Key", &key).header("Accept", accept));
        assert_eq!(answer.text(), page.text());
        let tag = header("ETag");
        let again = Ask::get(SAMPLE).header("Accept", accept).header("If-None-Match", tag);
        assert_eq!(site.send(&again).status, 304);
        assert_ne!(site.get(SAMPLE).header("ETag").unwrap(), tag);
        let named = accepting(&site, &format!("{SAMPLE}?format={word}"), "application/json");
        assert_eq!(named.body, answer.body, "`format` beats `Accept`");
    }
    assert_eq!(accepting(&site, SAMPLE, "image/png").refusal().1, "NOT_ACCEPTABLE");
    assert_eq!(site.get(&format!("{SAMPLE}?format=json")).json()["data"]["rowsReturned"], 6);
}

#[test]
fn rejects_unknown_format_and_lists_known_ones() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    for (target, count) in [(SAMPLE, 5), (QUERY, 5), ("/api/v1/datasets/cities/download", 6)] {
        let answer = site.send(&Ask::get(&format!("{target}?format=cvs")).header("X-Api-Key", &key));
        let details = &answer.json()["error"]["details"];
        assert_eq!((answer.status, &details["pointer"]), (400, &"format".into()), "{target}");
        assert_eq!(details["suggestion"], "csv", "{target}");
        assert_eq!(details["allowed"].as_array().unwrap().len(), count, "{target}");
        let twice =
            site.send(&Ask::get(&format!("{target}?format=csv&format=csv")).header("X-Api-Key", &key));
        assert_eq!(twice.status, 400, "{target}");
    }
}

#[test]
fn takes_query_format_from_url() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let ask = |parameters: &str, accept: &str| {
        let target = format!("{QUERY}?{parameters}");
        site.send(&Ask::get(&target).header("X-Api-Key", &key).header("Accept", accept))
    };
    let csv = ask("format=csv&columns=id,name&limit=2", "application/json");
    assert_eq!(csv.text(), "id,name\r\n1,Roma\r\n2,Milano\r\n");
    assert_eq!(csv.header("X-Rows-Returned"), Some("2"));
    assert_eq!(ask("format=ndjson&columns=id&limit=1", "text/csv").text(), "{\"id\":1}\n");
    assert_eq!(ask("format=json&limit=1", "image/png").json()["data"]["rowsReturned"], 1);
    let both = ask("format=xml&limit=0", "*/*").json();
    let errors = both["error"]["details"]["errors"].as_array().unwrap().clone();
    let mut pointers: Vec<&str> = errors.iter().map(|fault| fault["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["format", "limit"], "all faults at once");
    let posted = Ask::post(&format!("{QUERY}?format=csv"), "{}").header("X-Api-Key", &key);
    assert_eq!(site.send(&posted).status, 400, "a body has no place for it, and `Accept` is there");
}

#[test]
fn excludes_format_from_idempotency_key() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    let ask = |target: &str| {
        site.send(&Ask::get(target).header("X-Api-Key", &key).header("Idempotency-Key", "one"))
    };
    assert_eq!(ask(&format!("{QUERY}?limit=2")).header("X-Credits-Charged"), Some("2"));
    let again = ask(&format!("{QUERY}?limit=2&format=csv"));
    assert_eq!((again.status, again.header("Idempotent-Replayed")), (200, Some("true")));
    assert_eq!(ask(&format!("{QUERY}?limit=3&format=csv")).status, 422);
}

#[test]
fn renders_texts_as_html_on_request() {
    let site = Site::with_cities();
    let hostile = "# How\n\nBy [hand](https://a.test) and [not](javascript:alert(1)).\n\n<script>alert(1)</script>\n\n\
                   ![x](data:image/svg+xml;base64,AA)\n\n<svg onload=alert(1)>\n";
    let changelog = "## [1.1.0] - 2026-02-01\n- more <b>rows</b>\n";
    let texts = [("methodology.md", hostile), ("changelog.md", changelog)];
    let manifest = MANIFEST.replace("\"Cities\"", "\"Cities & <towns>\"");
    publish_files(&site.data(), &manifest, "1.1.0", &city_columns(6), &texts);
    wait_until("the texts are served", || site.serves("cities", "1.1.0"));
    let target = "/api/v1/datasets/cities/methodology";
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let page = accepting(&site, target, browser);
    assert_eq!((page.status, page.header("Content-Type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(page.header("Vary").unwrap().contains("Accept"));
    let text = page.text();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("<h1>How</h1>"), "{text}");
    assert!(text.contains("<title>Methodology of Cities &amp; &lt;towns&gt;</title>"), "{text}");
    assert!(text.contains("<a href=\"https://a.test\">hand</a> and not."), "{text}");
    for never in ["<script", "<svg", "<img", "href=\"javascript", "href=\"data"] {
        assert!(!text.contains(never), "{never}: {text}");
    }
    let tag = page.header("ETag").unwrap();
    let again = Ask::get(target).header("Accept", browser).header("If-None-Match", tag);
    assert_eq!(site.send(&again).status, 304);
    let changes = accepting(&site, "/api/v1/datasets/cities/changelog", "text/html").text();
    assert!(changes.contains("more &lt;b&gt;rows&lt;/b&gt;"), "{changes}");
    assert_eq!(
        accepting(&site, target, "text/*").header("Content-Type"),
        Some("text/markdown; charset=utf-8")
    );
    assert_eq!(accepting(&site, target, "text/markdown").text(), hostile);
    assert_eq!(
        accepting(&site, target, "text/html;q=0.1, application/json").json()["data"]["markdown"],
        hostile
    );
    let refused = accepting(&site, target, "image/png");
    assert!(refused.json()["error"]["details"]["allowed"].as_array().unwrap().contains(&"text/html".into()));
}
