//! English and Italian: the choice of a language, and how it is kept.

use super::{ask, open, read};
use crate::harness::{Ask, Site};

fn in_language(site: &Site, target: &str, headers: &[(&str, &str)]) -> String {
    let ask = headers.iter().fold(ask(target), |ask, (name, value)| ask.header(name, value));
    read(target, &site.send(&ask)).one("html").attribute("lang").unwrap().to_owned()
}

#[test]
fn prefers_address_to_cookie_and_cookie_to_browser() {
    let site = Site::with_cities();
    let (accept, cookie) = ("Accept-Language", "Cookie");
    for target in ["/", "/datasets", "/pricing", "/status"] {
        assert_eq!(in_language(&site, target, &[]), "en");
        assert_eq!(in_language(&site, target, &[(accept, "it-IT,it;q=0.9,en;q=0.5")]), "it");
        assert_eq!(in_language(&site, target, &[(accept, "it"), (cookie, "a=b; lang=en")]), "en");
        assert_eq!(
            in_language(&site, &format!("{target}?lang=it"), &[(accept, "en"), (cookie, "lang=en")]),
            "it"
        );
        assert_eq!(in_language(&site, &format!("{target}?lang=de"), &[]), "en");
    }
    let refused = site.send(&ask("/nowhere").header(accept, "it"));
    assert!(refused.status == 404 && refused.text().contains("Questa pagina non esiste"));
    assert_eq!(open(&site, "/datasets?lang=it").one("main h2 a").line(), "Città");
}

#[test]
fn carries_language_in_links_until_cookie_holds_it() {
    let site = Site::with_cities();
    let switched = site.send(&ask("/datasets?sort=title&lang=it"));
    let cookie = switched.header("Set-Cookie").unwrap();
    assert_eq!(cookie, "lang=it; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly");
    let page = read("/datasets", &switched);
    assert_eq!(page.one("header nav a[aria-current=page]").attribute("href"), Some("/datasets?lang=it"));
    assert_eq!(page.one("header form input[name=lang]").attribute("value"), Some("it"));
    let remembered = site.send(&ask("/datasets?sort=title&lang=it").header("Cookie", "lang=it"));
    assert_eq!(remembered.header("Set-Cookie"), None);
    let page = read("/datasets", &remembered);
    assert_eq!(page.one("header nav a[aria-current=page]").attribute("href"), Some("/datasets"));
    assert!(page.select("header form input[name=lang]").is_empty());
    let links: Vec<_> =
        page.select("footer ul.languages a").iter().map(|link| link.attribute("href").unwrap()).collect();
    assert_eq!(links, ["/datasets?sort=title&lang=en", "/datasets?sort=title&lang=it"]);
    assert_eq!(page.one("footer ul.languages a[aria-current=true]").line(), "Italiano");
    assert_eq!(site.send(&ask("/datasets")).header("Set-Cookie"), None);
    let secure = Site::empty(&["--public-url", "https://data.example.org/m"]);
    let cookie = secure.send(&ask("/datasets?lang=it")).header("Set-Cookie").unwrap().to_owned();
    assert_eq!(cookie, "lang=it; Path=/m; Max-Age=31536000; SameSite=Lax; HttpOnly; Secure");
}

#[test]
fn links_canonical_and_other_language() {
    let site = Site::empty(&["--public-url", "https://data.example.org/m"]);
    for (target, canonical) in [
        ("/pricing", "https://data.example.org/m/pricing"),
        ("/pricing?x=1", "https://data.example.org/m/pricing"),
        ("/pricing?lang=it", "https://data.example.org/m/pricing?lang=it"),
        ("/", "https://data.example.org/m/"),
    ] {
        let page = open(&site, target);
        assert_eq!(page.one("link[rel=canonical]").attribute("href"), Some(canonical), "{target}");
        assert_eq!(page.one("meta[property=og:url]").attribute("content"), Some(canonical), "{target}");
        let path = if target == "/" { "" } else { "pricing" };
        for (language, query) in [("en", "?lang=en"), ("it", "?lang=it"), ("x-default", "")] {
            let link = page.one(&format!("link[hreflang={language}]"));
            let expected = format!("https://data.example.org/m/{path}{query}");
            assert_eq!(link.attribute("href"), Some(expected.as_str()), "{target}");
        }
        assert_eq!(page.one("header .place").attribute("href").unwrap().split('?').next(), Some("/m/"));
    }
}

#[test]
fn varies_by_language_and_cookie() {
    let site = Site::with_cities();
    for target in ["/", "/datasets", "/pricing", "/status", "/feed.atom"] {
        let vary = site.send(&ask(target)).header("Vary").unwrap().to_owned();
        assert!(vary.contains("Accept-Language") && vary.contains("Cookie"), "{target}: {vary}");
        assert_eq!(vary.contains("Accept,") || vary.ends_with("Accept"), target == "/", "{target}: {vary}");
    }
    let refused = site.send(&Ask::get("/nowhere").header("Accept", super::BROWSER));
    assert!(refused.header("Vary").unwrap().ends_with("Accept"));
}
