//! Protection of pages: headers, and texts of publishers and visitors that never become markup.

use super::{Document, ask, open};
use crate::harness::{Answer, Ask, Site, city_columns, publish_files, wait_until};

const PATHS: [&str; 8] = [
    "/",
    "/datasets",
    "/datasets?q=cities",
    "/pricing",
    "/status",
    "/feed.atom",
    "/datasets/cities/feed.atom",
    "/nowhere",
];

#[track_caller]
fn check_headers(target: &str, answer: &Answer) {
    assert_eq!(answer.header("X-Frame-Options"), Some("DENY"), "{target}");
    assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{target}");
    assert_eq!(answer.header("Referrer-Policy"), Some("same-origin"), "{target}");
    let policy = answer.header("Content-Security-Policy").unwrap_or_else(|| panic!("{target} has no policy"));
    if target.starts_with("/assets/") || target == "/favicon.ico" {
        assert!(policy.starts_with("default-src 'none'") && policy.contains("sandbox"), "{target}: {policy}");
    } else {
        let expected = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
        assert_eq!(policy, expected, "{target}");
    }
}

#[test]
fn sends_security_headers_with_every_response() {
    let site = Site::with_cities();
    let mut targets: Vec<String> = PATHS.iter().map(ToString::to_string).collect();
    targets.push("/favicon.ico".to_owned());
    let home = open(&site, "/");
    for (selector, attribute) in
        [("link[rel=stylesheet]", "href"), ("script[src]", "src"), ("link[rel=icon]", "href")]
    {
        let found = home.select(selector);
        assert!(!found.is_empty(), "{selector}");
        targets.extend(found.iter().map(|element| element.attribute(attribute).unwrap().to_owned()));
    }
    for target in &targets {
        check_headers(target, &site.send(&ask(target)));
        check_headers(target, &site.send(&Ask::new("HEAD", target).header("Accept", super::BROWSER)));
    }
}

/// Asserts that nothing in the page runs, loads from elsewhere, or was injected.
#[track_caller]
pub fn check_harmless(target: &str, page: &Document) {
    for element in page.all() {
        let name = element.name.as_str();
        assert!(!["iframe", "object", "embed", "base", "style", "xss"].contains(&name), "{target}: <{name}>");
        if name == "script" {
            let is_data = element.attribute("type") == Some("application/ld+json");
            assert!(
                is_data || element.attribute("src").is_some() && element.text.is_empty(),
                "{target}: {element:?}"
            );
        }
        for (attribute, value) in &element.attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{target}: {attribute}={value}");
            if ["href", "src", "action", "formaction"].contains(&attribute.as_str()) {
                let scheme = value.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
                assert!(!["javascript", "data", "vbscript"].contains(&scheme.as_str()), "{target}: {value}");
            }
            if attribute == "src" {
                assert!(value.starts_with('/') && !value.starts_with("//"), "{target}: {value}");
            }
        }
    }
}

/// One text that would break out of every place where texts stand.
const ATTACK: &str = "\\\"'><xss onx=1><script>alert(1)</script>{{7*7}}&lt;b&gt;</title></script>--><img src=x onerror=alert(1)>";

#[test]
fn escapes_texts_of_publisher() {
    let site = Site::empty(&super::UNLIMITED);
    let short = "'><script>alert(1)</script>\\\" onmouseover=x";
    let manifest = format!(
        "slug = \"cities\"\nfeatured = true\nlicense = \"{ATTACK}\"\nlicense_url = \"https://a.test/?x='%3E\"\n\
         tags = [\"{short}\", \"b\"]\ncitation = \"{ATTACK}\"\ncontact = \"https://a.test/contact\"\n\
         homepage = \"https://a.test/?q=1&x=2\"\n\
         [title]\nen = \"{ATTACK}\"\nit = \"{ATTACK}\"\n[description]\nen = \"{ATTACK} {ATTACK}\"\n\
         [publisher]\nname = \"{ATTACK}\"\n[coverage]\nplaces = [\"{ATTACK}\"]\n\
         [columns.name]\ndescription = \"{ATTACK}\"\nexample = \"{ATTACK}\"\n"
    );
    let markdown =
        format!("## [1.0.0] - {ATTACK}\n\n{ATTACK}\n\n[x](javascript:alert(1)) ![x](data:text/html,x)\n");
    let texts = [("methodology.md", markdown.as_str()), ("changelog.md", markdown.as_str())];
    publish_files(&site.data(), &manifest, "1.0.0", &city_columns(6), &texts);
    wait_until("it is served", || site.serves("cities", "1.0.0"));
    wait_until("it is found", || site.get("/api/v1/datasets/search?q=alert").text().contains("\"cities\""));
    let by_tag = format!("/datasets?tag={}", "'%3E%3Cscript%3Ealert(1)%3C/script%3E%22%20onmouseover=x");
    for target in ["/", "/datasets", "/datasets?q=alert", "/pricing", "/status", &by_tag] {
        let page = open(&site, target);
        check_harmless(target, &page);
        if target != "/status" {
            assert!(
                page.one("main").text.contains("<script>alert(1)</script>"),
                "{target}: shown as it is written"
            );
        }
    }
    for target in ["/feed.atom", "/datasets/cities/feed.atom"] {
        let text = site.get(target).text();
        assert!(
            !text.contains("<script") && !text.contains("<xss") && text.contains("&#60;script&#62;"),
            "{target}"
        );
    }
}

#[test]
fn escapes_texts_of_visitor() {
    let site = Site::with_cities();
    let attack = "%22'%3E%3Cxss%20onx=1%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for name in ["q", "tag", "license", "size", "updated", "sort", "page", "lang", "other"] {
        let target = format!("/datasets?{name}={attack}");
        let page = open(&site, &target);
        check_harmless(&target, &page);
    }
    for target in [format!("/{attack}"), format!("/datasets/{attack}"), format!("/?lang={attack}")] {
        let answer = site
            .send(&ask(&target).header("Cookie", "lang=\"><script>").header("Accept-Language", "<script>"));
        let page = Document::parse(&answer.text());
        assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
        check_harmless(&target, &page);
    }
    let host = Ask::get("/").header("Accept", super::BROWSER).header("X-Forwarded-Host", "evil.test");
    assert!(!site.send(&host).text().contains("evil.test"));
}

#[test]
fn rejects_oversized_known_parameters() {
    let site = Site::with_cities();
    let long = site.send(&ask(&format!("/datasets?tag={}", "a".repeat(5_000))));
    assert_eq!((long.status, long.header("Content-Type")), (400, Some("text/html; charset=utf-8")));
    assert!(!long.text().contains("aaaaaaaaaa"));
    let unknown = site.send(&ask(&format!("/datasets?utm_source={}", "a".repeat(5_000))));
    assert!(unknown.status == 200 && !unknown.text().contains("aaaaaaaaaa"));
}
